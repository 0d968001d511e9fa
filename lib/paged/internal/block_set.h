// A set of blocks of a pool, for the length of one call.
#ifndef PAGED_LIB_PAGED_INTERNAL_BLOCK_SET_H_
#define PAGED_LIB_PAGED_INTERNAL_BLOCK_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace paged::internal {

// One bit per block of the pool where that is no more than 512 bytes per
// member, a hash table else: a member costs nanoseconds either way, and a bit
// a tenth of a hash (4096 copies: 15 us of the host's time, not 150).
class BlockSet {
 public:
  BlockSet(int64_t num_blocks, std::size_t expected_size) {
    constexpr int64_t kBitsPerMember = 4096;
    if (num_blocks / kBitsPerMember <= static_cast<int64_t>(expected_size)) {
      bits_.resize(static_cast<std::size_t>(num_blocks / 64 + 1));
    } else {
      hashed_.reserve(expected_size);
    }
  }

  // Whether the block was new. Of 0..num_blocks - 1.
  bool Insert(int32_t block) {
    if (bits_.empty()) return hashed_.insert(block).second;
    uint64_t& word = bits_[static_cast<std::size_t>(block) / 64];
    const uint64_t bit = uint64_t{1} << (block % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  bool Contains(int32_t block) const {
    if (bits_.empty()) return hashed_.contains(block);
    return (bits_[static_cast<std::size_t>(block) / 64] >> (block % 64) & 1) !=
           0;
  }

 private:
  std::vector<uint64_t> bits_;
  absl::flat_hash_set<int32_t> hashed_;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_BLOCK_SET_H_
