#include "paged/block_digest.h"

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

void UpdateTokens(Sha256& hash, absl::Span<const int32_t> tokens) {
  UpdateInteger(hash, static_cast<uint64_t>(tokens.size()));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  hash.Update(tokens.data(), tokens.size() * sizeof(int32_t));
#else
  for (const int32_t token : tokens) {
    UpdateInteger(hash, static_cast<uint32_t>(token));
  }
#endif
}

BlockDigest Finish(Sha256& hash) {
  BlockDigest digest;
  hash.Finish(reinterpret_cast<unsigned char*>(digest.words.data()));
  return digest;
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
  for (std::size_t i = 0; i < digests.size(); ++i) {
    Sha256 hash;
    hash.Update(previous->words.data(), sizeof(previous->words));
    UpdateTokens(hash, tokens.subspan(i * size, size));
    digests[i] = Finish(hash);
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
