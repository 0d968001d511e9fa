#include "paged/block_digest.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "paged/internal/sha256.h"

namespace paged {
namespace {

using internal::Sha256;

// Integers are hashed as little-endian bytes, so that digests agree between
// machines.
template <typename Integer>
void UpdateInteger(Sha256& hash, Integer value) {
  unsigned char bytes[sizeof(Integer)];
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  }
  hash.Update(bytes, sizeof(bytes));
}

void UpdateFramed(Sha256& hash, absl::string_view text) {
  UpdateInteger(hash, static_cast<uint64_t>(text.size()));
  hash.Update(text.data(), text.size());
}

BlockDigest Finish(Sha256& hash) {
  BlockDigest digest;
  hash.Finish(reinterpret_cast<unsigned char*>(digest.words.data()));
  return digest;
}

// Tokens are hashed as they lie in memory.
static_assert(std::endian::native == std::endian::little);

// The message of a block: its parent's digest, the number of tokens as 8 bytes,
// the tokens. All blocks of one size have the same length and padding, so that
// these are laid out once: 113 to 85 ns per 16 tokens, of which the two chunks
// themselves take 75 (EPYC with SHA instructions).
class BlockMessage {
 public:
  explicit BlockMessage(std::size_t size) : token_bytes_(4 * size) {
    if (!fits()) return;
    const uint64_t count = size;
    std::memcpy(bytes_.data() + 32, &count, sizeof(count));
    const std::size_t num_bytes = kHeaderBytes + token_bytes_;
    num_chunks_ = internal::PadSha256(bytes_.data(), num_bytes, num_bytes);
  }

  bool fits() const { return token_bytes_ <= 4 * kMaxTokens; }

  BlockDigest Hash(const BlockDigest& parent, const int32_t* tokens) {
    std::memcpy(bytes_.data(), parent.words.data(), 32);
    std::memcpy(bytes_.data() + kHeaderBytes, tokens, token_bytes_);
    BlockDigest digest;
    internal::Sha256OfPadded(
        bytes_.data(), num_chunks_,
        reinterpret_cast<unsigned char*>(digest.words.data()));
    return digest;
  }

 private:
  static constexpr std::size_t kHeaderBytes = 32 + 8;
  static constexpr std::size_t kMaxTokens = 256;

  std::size_t token_bytes_;
  std::size_t num_chunks_ = 0;
  // Parent, count, tokens, and at most 72 bytes of padding.
  std::array<unsigned char, kHeaderBytes + 4 * kMaxTokens + 72> bytes_;
};

// The same for blocks that are too long to lay out.
BlockDigest HashPieces(const BlockDigest& parent, const int32_t* tokens,
                       std::size_t size) {
  Sha256 hash;
  hash.Update(parent.words.data(), sizeof(parent.words));
  UpdateInteger(hash, static_cast<uint64_t>(size));
  hash.Update(tokens, size * sizeof(int32_t));
  return Finish(hash);
}

}  // namespace

BlockDigest RootDigest(const PrefixDomain& domain, int block_size) {
  Sha256 hash;
  UpdateFramed(hash, "paged prefix 1");
  UpdateInteger(hash, static_cast<uint32_t>(block_size));
  UpdateFramed(hash, domain.salt);
  UpdateInteger(hash, domain.extra_key_type);
  UpdateFramed(hash, domain.extra_key);
  return Finish(hash);
}

void DigestBlocks(const BlockDigest& parent, absl::Span<const int32_t> tokens,
                  int block_size, absl::Span<BlockDigest> digests) {
  const auto size = static_cast<std::size_t>(block_size);
  const BlockDigest* previous = &parent;
  BlockMessage message(size);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    digests[i] = message.fits()
                     ? message.Hash(*previous, &tokens[i * size])
                     : HashPieces(*previous, &tokens[i * size], size);
    previous = &digests[i];
  }
}

std::vector<BlockDigest> DigestPrompt(const PrefixDomain& domain,
                                      absl::Span<const int32_t> tokens,
                                      int block_size) {
  std::vector<BlockDigest> digests(tokens.size() /
                                   static_cast<std::size_t>(block_size));
  DigestBlocks(RootDigest(domain, block_size), tokens, block_size,
               absl::MakeSpan(digests));
  return digests;
}

}  // namespace paged
