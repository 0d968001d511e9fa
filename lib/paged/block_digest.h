// Chained digests of full blocks: the keys of the prefix cache.
//
// Example:
//
//     // Three blocks of four tokens, in the domain of one tenant.
//     std::vector<int32_t> tokens = {1, 2, 3, 4,  5,  6, 7,
//                                    8, 9, 10, 11, 12, 13};
//     const paged::PrefixDomain tenant{.salt = "tenant 7"};
//     std::vector<paged::BlockDigest> digests =
//         paged::DigestPrompt(tenant, tokens, 4);
//     CHECK_EQ(digests.size(), 3u);
//
//     // A digest stands for everything before it too, and for the domain.
//     tokens[0] = 99;
//     CHECK_NE(paged::DigestPrompt(tenant, tokens, 4)[2], digests[2]);
//     tokens[0] = 1;
//     CHECK_NE(paged::DigestPrompt({}, tokens, 4)[2], digests[2]);
#ifndef PAGED_LIB_PAGED_BLOCK_DIGEST_H_
#define PAGED_LIB_PAGED_BLOCK_DIGEST_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paged {

// A SHA-256 value. Words are its bytes in order, in the machine's byte order.
struct BlockDigest {
  std::array<uint64_t, 4> words = {};
  friend bool operator==(const BlockDigest&, const BlockDigest&) = default;
};

// What else the keys and values of a prefix depend on. Sequences of different
// domains never share a block. All text is length-framed: no two different
// domains are hashed alike.
struct PrefixDomain {
  // A secret per tenant: without it, the time that a prompt takes tells one
  // tenant what another has sent.
  absl::string_view salt = {};
  // What `extra_key` is, numbered by the caller (an adapter, an image, ...):
  // the same bytes as another type are another domain.
  uint32_t extra_key_type = 0;
  absl::string_view extra_key = {};
};

// The parent of a first block.
BlockDigest RootDigest(const PrefixDomain& domain, int block_size);

// Writes the digest of each of the digests.size() blocks of `tokens`, which
// holds at least digests.size() * block_size tokens; `parent` is the digest of
// the block before them, or the root. About 50 to 100 ns per 16 tokens on a CPU
// with SHA instructions.
void DigestBlocks(const BlockDigest& parent, absl::Span<const int32_t> tokens,
                  int block_size, absl::Span<BlockDigest> digests);

// The digests of all full blocks of a prompt.
std::vector<BlockDigest> DigestPrompt(const PrefixDomain& domain,
                                      absl::Span<const int32_t> tokens,
                                      int block_size);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BLOCK_DIGEST_H_
