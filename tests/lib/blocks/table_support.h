// What tests of DeviceTable share: a changing crowd of sequences, and a batch's
// views beside those that the manager makes on the host.
#ifndef PAGED_TESTS_LIB_BLOCKS_TABLE_SUPPORT_H_
#define PAGED_TESTS_LIB_BLOCKS_TABLE_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "paged/device_table.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/test_backend.h"

namespace paged::testing {

inline constexpr int kTableBlockSize = 4;
inline constexpr int kTableBatch = 6;
inline constexpr int kTableWidth = 12;

inline BlockManager MakeManager() {
  return BlockManager::Create({.num_blocks = 200,
                               .block_size = kTableBlockSize,
                               .max_seqs = 16,
                               .max_blocks_per_seq = kTableWidth + 3,
                               .max_steps_in_flight = 100})
      .value();
}

template <typename T>
std::vector<T> Download(BackendKind kind, const T* from, std::size_t count) {
  std::vector<T> values(count);
  if (kind == BackendKind::kCuda) {
    CudaCopy(values.data(), from, count * sizeof(T));
  } else if (count > 0) {
    std::memcpy(values.data(), from, count * sizeof(T));
  }
  return values;
}

// A batch's views as host memory.
struct Views {
  Views(BackendKind kind, const DeviceTable& table, std::size_t new_tokens)
      : block_tables(
            Download(kind, table.block_tables(), kTableBatch * kTableWidth)),
        context_lens(Download(kind, table.context_lens(), kTableBatch)),
        slots(Download(kind, table.slot_mapping(), kTableBatch * new_tokens)),
        indptr(Download(kind, table.indptr(), kTableBatch + 1)),
        indices(Download(kind, table.indices(),
                         static_cast<std::size_t>(indptr.back()))),
        last_lens(Download(kind, table.last_block_lens(), kTableBatch)) {}

  std::vector<int32_t> block_tables, context_lens;
  std::vector<int64_t> slots;
  std::vector<int32_t> indptr, indices, last_lens;
};

// The same from the manager's views on the host. A dense row is what CsrTable
// lists, which for a stream is not its row.
inline void ExpectViews(const BlockManager& manager,
                        const std::vector<SequenceHandle>& batch,
                        const std::vector<int32_t>& new_tokens,
                        const Views& views) {
  const std::size_t columns = views.slots.size() / kTableBatch;
  std::vector<int32_t> indptr(batch.size() + 1),
      indices(kTableBatch * kTableWidth), last_lens(batch.size()),
      lens(batch.size());
  const auto total = static_cast<std::size_t>(
      manager
          .CsrTable(batch, absl::MakeSpan(indptr), absl::MakeSpan(indices),
                    absl::MakeSpan(last_lens))
          .value());
  ASSERT_TRUE(manager.ContextLens(batch, absl::MakeSpan(lens)).ok());
  indices.resize(total);
  EXPECT_EQ(views.indices, indices);
  for (std::size_t i = 0; i < kTableBatch; ++i) {
    const bool is_live = i < batch.size();
    EXPECT_EQ(views.indptr[i], is_live ? indptr[i] : indptr.back());
    EXPECT_EQ(views.context_lens[i], is_live ? lens[i] : 0);
    EXPECT_EQ(views.last_lens[i], is_live ? last_lens[i] : 0);
    std::vector<int32_t> row(kTableWidth, 0);
    if (is_live) {
      std::copy(indices.begin() + indptr[i], indices.begin() + indptr[i + 1],
                row.begin());
    }
    const auto first = views.block_tables.begin() +
                       static_cast<std::ptrdiff_t>(i * kTableWidth);
    EXPECT_EQ(std::vector<int32_t>(first, first + kTableWidth), row);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto from_end = static_cast<int64_t>(columns - j);
      int64_t slot = -1;
      if (is_live && from_end <= new_tokens[i]) {
        const int64_t length = manager.Length(batch[i]).value();
        if (from_end <= length) {
          slot = manager.SlotOf(batch[i], length - from_end).value_or(-1);
        }
      }
      EXPECT_EQ(views.slots[i * columns + j], slot) << i << " " << j;
    }
  }
  EXPECT_EQ(views.indptr[kTableBatch], static_cast<int32_t>(total));
}

// Sequences, forks and streams that come, grow, shrink, slide and go.
class Crowd {
 public:
  explicit Crowd(uint32_t seed) : random_(seed), manager_(MakeManager()) {}

  BlockManager& manager() { return manager_; }

  void Change() {
    const int64_t choice = Below(10);
    if (handles_.empty() || choice == 0) return Open();
    const auto at =
        static_cast<std::size_t>(Below(static_cast<int64_t>(handles_.size())));
    const SequenceHandle handle = handles_[at];
    const int64_t length = manager_.Length(handle).value();
    if (choice == 1) {
      (void)manager_.RollbackTo(handle, std::max<int64_t>(length - 5, 0));
    } else if (choice == 2) {
      (void)manager_.Slide(handle, 6, 4);
    } else if (choice == 3) {
      const auto child = manager_.Fork(handle);
      if (child.ok()) handles_.push_back(*child);
    } else if (choice == 4 && handles_.size() > 4) {
      EXPECT_TRUE(manager_.Release(handle).ok());
      std::swap(handles_[at], handles_.back());
      handles_.pop_back();
    } else if (length < kTableWidth * kTableBlockSize - 3) {
      (void)manager_.Append(handle, 1 + Below(3));
    }
  }

  // A batch in shuffled order, none to kTableBatch of them.
  std::vector<SequenceHandle> Batch() {
    std::shuffle(handles_.begin(), handles_.end(), random_);
    const std::size_t size = std::min(
        static_cast<std::size_t>(Below(kTableBatch + 1)), handles_.size());
    return {handles_.begin(),
            handles_.begin() + static_cast<std::ptrdiff_t>(size)};
  }
  std::vector<int32_t> NewTokens(std::size_t size, int64_t most) {
    std::vector<int32_t> counts(size);
    for (int32_t& count : counts) {
      count = static_cast<int32_t>(Below(most + 1));
    }
    return counts;
  }

 private:
  int64_t Below(int64_t end) { return static_cast<int64_t>(random_()) % end; }
  void Open() {
    if (Below(3) == 0) {
      const auto stream =
          manager_.OpenStream({.window = 9, .sink = 2, .max_chunk = 3});
      if (stream.ok()) handles_.push_back(*stream);
      return;
    }
    const auto opened = manager_.Open({.num_tokens = 1 + Below(20)});
    if (opened.ok()) handles_.push_back(opened->handle);
  }

  std::mt19937 random_;
  BlockManager manager_;
  std::vector<SequenceHandle> handles_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_TABLE_SUPPORT_H_
