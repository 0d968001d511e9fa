// From digests to the blocks that hold their content.
#ifndef PAGED_LIB_PAGED_INTERNAL_PREFIX_INDEX_H_
#define PAGED_LIB_PAGED_INTERNAL_PREFIX_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paged/block_manager_types.h"
#include "paged/internal/huge_pages.h"

namespace paged::internal {

// What verification compares besides digests: which content a block holds, by
// a number that is never given twice. A block id would not do for a parent: the
// parent may be evicted, and its block hold something else, before its child.
using ContentId = uint64_t;
inline constexpr ContentId kRootContent = 0;
// A parent whose content nobody knows any more; nothing follows from it.
inline constexpr ContentId kUnknownContent = ~ContentId{0};

// One block's worth of a prefix.
struct PrefixKey {
  const BlockDigest* digest;
  const int32_t* tokens = nullptr;  // with verification only
  ContentId parent = kRootContent;  // with verification only
};

// Open addressing with linear probing; at most two thirds full. An entry is a
// block and the digest's first 32 bits, which tell its home as well, so that
// neither a miss nor a removal reads the digests of others.
class PrefixIndex {
 public:
  PrefixIndex(int64_t num_blocks, int block_size, bool verify_tokens);

  bool verifies() const { return verifies_; }
  int64_t size() const { return size_; }

  // What the caches must hold for a look-up: first the entry, then, once that
  // has come, the digest of its block.
  void PrefetchEntry(const BlockDigest& digest) const {
    __builtin_prefetch(&entries_[Home(Tag(digest))]);
  }
  void PrefetchCandidate(const BlockDigest& digest) const {
    const int32_t block = entries_[Home(Tag(digest))].block;
    if (block >= 0) PrefetchDigest(block);
  }
  void PrefetchDigest(int32_t block) const {
    __builtin_prefetch(&digests_[At(block)]);
  }
  // A block, or -1.
  int32_t Find(const PrefixKey& key) const {
    const uint32_t tag = Tag(*key.digest);
    for (std::size_t i = Home(tag); entries_[i].block >= 0;
         i = (i + 1) & mask_) {
      if (entries_[i].tag == tag &&
          digests_[At(entries_[i].block)] == *key.digest &&
          (!verifies_ || HoldsContent(entries_[i].block, key))) {
        return entries_[i].block;
      }
    }
    return -1;
  }
  // `key` must not be there, nor `block` be indexed.
  void Insert(int32_t block, const PrefixKey& key);
  void Erase(int32_t block);
  void Clear();

  const BlockDigest& digest(int32_t block) const { return digests_[At(block)]; }
  ContentId content(int32_t block) const {
    return verifies_ ? contents_[At(block)].own : kRootContent;
  }
  // The key under which an indexed block can be found.
  PrefixKey KeyOf(int32_t block) const;
  int64_t CountEntries() const;  // for Audit

 private:
  friend struct BlockManagerAccess;
  struct Entry {
    uint32_t tag;
    int32_t block;  // -1 if empty
  };
  struct Content {
    ContentId own;
    ContentId parent;
  };

  static std::size_t At(int32_t block) { return static_cast<uint32_t>(block); }
  static uint32_t Tag(const BlockDigest& digest) {
    return static_cast<uint32_t>(digest.words[0]);
  }
  std::size_t Home(uint32_t tag) const { return tag & mask_; }
  bool HoldsContent(int32_t block, const PrefixKey& key) const;

  bool verifies_;
  std::size_t block_size_;
  std::size_t mask_;
  int64_t size_ = 0;
  ContentId last_content_ = kRootContent;
  HugePageVector<Entry> entries_;
  HugePageVector<BlockDigest> digests_;  // [num_blocks]
  std::vector<Content> contents_;        // [num_blocks], with verification
  std::vector<int32_t> tokens_;  // [num_blocks, block_size], with verification
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_PREFIX_INDEX_H_
