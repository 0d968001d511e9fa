#include "paged/internal/prefix_index.h"

#include <algorithm>
#include <bit>

namespace paged::internal {
namespace {

std::size_t EntriesFor(int64_t num_blocks) {
  const auto blocks = static_cast<std::size_t>(num_blocks);
  return std::bit_ceil(std::max<std::size_t>(4, blocks + blocks / 2));
}

}  // namespace

PrefixIndex::PrefixIndex(int64_t num_blocks, int block_size, bool verify_tokens)
    : verifies_(verify_tokens),
      block_size_(static_cast<std::size_t>(block_size)),
      mask_(EntriesFor(num_blocks) - 1),
      entries_(mask_ + 1, Entry{0, -1}),
      digests_(static_cast<std::size_t>(num_blocks)) {
  if (!verifies_) return;
  contents_.resize(digests_.size());
  tokens_.resize(digests_.size() * block_size_);
}

bool PrefixIndex::HoldsContent(int32_t block, const PrefixKey& key) const {
  return contents_[At(block)].parent == key.parent &&
         std::equal(key.tokens, key.tokens + block_size_,
                    tokens_.data() + At(block) * block_size_);
}

void PrefixIndex::Insert(int32_t block, const PrefixKey& key) {
  const uint32_t tag = Tag(*key.digest);
  std::size_t i = Home(tag);
  while (entries_[i].block >= 0) i = (i + 1) & mask_;
  entries_[i] = {tag, block};
  digests_[At(block)] = *key.digest;
  ++size_;
  if (!verifies_) return;
  contents_[At(block)] = {++last_content_, key.parent};
  std::copy_n(key.tokens, block_size_,
              tokens_.data() + At(block) * block_size_);
}

void PrefixIndex::Erase(int32_t block) {
  std::size_t hole = Home(Tag(digests_[At(block)]));
  while (entries_[hole].block != block) hole = (hole + 1) & mask_;
  // Later entries of the run move up, unless that would put them before their
  // home (Knuth, volume 3, section 6.4, algorithm R).
  for (std::size_t i = (hole + 1) & mask_; entries_[i].block >= 0;
       i = (i + 1) & mask_) {
    const std::size_t from_home = (i - Home(entries_[i].tag)) & mask_;
    if (from_home >= ((i - hole) & mask_)) {
      entries_[hole] = entries_[i];
      hole = i;
    }
  }
  entries_[hole].block = -1;
  --size_;
}

void PrefixIndex::Clear() {
  std::fill(entries_.begin(), entries_.end(), Entry{0, -1});
  size_ = 0;
}

PrefixKey PrefixIndex::KeyOf(int32_t block) const {
  PrefixKey key{.digest = &digests_[At(block)]};
  if (verifies_) {
    key.tokens = tokens_.data() + At(block) * block_size_;
    key.parent = contents_[At(block)].parent;
  }
  return key;
}

int64_t PrefixIndex::CountEntries() const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [](const Entry& entry) { return entry.block >= 0; });
}

}  // namespace paged::internal
