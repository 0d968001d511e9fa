// A batch's blocks in a backend's memory, and tables filled from them.
#ifndef PAGED_TESTS_LIB_TABLE_FILLER_H_
#define PAGED_TESTS_LIB_TABLE_FILLER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "paged/table_adapters.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {

// A batch's source in a backend's memory, and the table that is filled from it.
class Filler {
 public:
  // Of each sequence its blocks, all of one list, and its length.
  Filler(BackendKind kind, int block_size,
         const std::vector<std::vector<int32_t>>& blocks,
         const std::vector<int32_t>& lens)
      : kind_(kind), block_size_(block_size), blocks_(blocks), lens_(lens) {
    indptr_ = {0};
    for (std::size_t s = 0; s < blocks.size(); ++s) {
      indices_.insert(indices_.end(), blocks[s].begin(), blocks[s].end());
      indptr_.push_back(static_cast<int32_t>(indices_.size()));
      last_block_lens_.push_back(lens[s] == 0 ? 0
                                              : (lens[s] - 1) % block_size + 1);
    }
  }

  const std::vector<std::vector<int32_t>>& blocks() const { return blocks_; }
  std::vector<int32_t>& indptr() { return indptr_; }
  std::vector<int32_t>& last_block_lens() { return last_block_lens_; }
  std::vector<int32_t>& lens() { return lens_; }
  int64_t num_indices() const { return static_cast<int64_t>(indices_.size()); }

  struct Result {
    std::vector<int32_t> table;  // [num_seqs, stride]
    std::vector<int32_t> lens;
    std::vector<uint32_t> cuts;
  };

  template <typename T>
  static std::vector<T> ValuesOf(const GuardedBuffer& buffer) {
    const std::vector<std::byte> bytes = buffer.Download();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  // Through one of the adapters: `from_lists` says which.
  Result Fill(bool from_lists, int width, int64_t stride,
              int max_context_len = 0, int missing_list = -1) {
    const auto seqs = lens_.size();
    GuardedBuffer indices(kind_, indices_.size() * 4);
    GuardedBuffer indptr(kind_, indptr_.size() * 4);
    GuardedBuffer last(kind_, seqs * 4), lens(kind_, seqs * 4);
    GuardedBuffer lists(kind_, seqs * sizeof(void*));
    indices.UploadValues(indices_);
    indptr.UploadValues(indptr_);
    last.UploadValues(last_block_lens_);
    lens.UploadValues(lens_);
    std::vector<const int32_t*> pointers;
    int64_t begin = 0;
    for (std::size_t s = 0; s < seqs; ++s) {
      pointers.push_back(static_cast<const int32_t*>(indices.data()) + begin);
      begin += static_cast<int64_t>(blocks_[s].size());
      if (static_cast<int>(s) == missing_list) pointers.back() = nullptr;
    }
    lists.UploadValues(pointers);
    GuardedBuffer table(kind_, seqs * static_cast<std::size_t>(stride) * 4);
    GuardedBuffer out_lens(kind_, seqs * 4), cuts(kind_, seqs * 4);
    for (GuardedBuffer* out : {&table, &out_lens, &cuts}) {
      out->Fill(std::byte{0xff});
    }
    const BatchTable batch{
        .num_seqs = static_cast<int>(seqs),
        .block_size = block_size_,
        .max_blocks_per_seq = width,
        .max_context_len = max_context_len,
        .block_table_stride = stride,
        .block_tables = static_cast<int32_t*>(table.data()),
        .context_lens = static_cast<int32_t*>(out_lens.data()),
        .cuts = static_cast<uint32_t*>(cuts.data())};
    Backend& backend = *SharedBackend(kind_).value();
    const absl::Status status =
        from_lists
            ? FillFromLists({static_cast<const int32_t* const*>(lists.data()),
                             static_cast<const int32_t*>(lens.data())},
                            batch, backend, nullptr)
            : FillFromCsr(
                  {static_cast<const int32_t*>(indptr.data()),
                   static_cast<const int32_t*>(indices.data()), num_indices(),
                   static_cast<const int32_t*>(last.data())},
                  batch, backend, nullptr);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(backend.Synchronize(nullptr).ok());
    for (const GuardedBuffer* out : {&table, &out_lens, &cuts}) {
      EXPECT_TRUE(out->AreCanariesIntact());
    }
    return {ValuesOf<int32_t>(table), ValuesOf<int32_t>(out_lens),
            ValuesOf<uint32_t>(cuts)};
  }

 private:
  BackendKind kind_;
  int block_size_;
  std::vector<std::vector<int32_t>> blocks_;
  std::vector<int32_t> lens_, indptr_, indices_, last_block_lens_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_TABLE_FILLER_H_
