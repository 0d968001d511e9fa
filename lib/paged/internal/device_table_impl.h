// What a DeviceTable is made of.
#ifndef PAGED_LIB_PAGED_INTERNAL_DEVICE_TABLE_IMPL_H_
#define PAGED_LIB_PAGED_INTERNAL_DEVICE_TABLE_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/table_params.h"
#include "paged/device_table.h"
#include "paged/internal/block_manager_state.h"

namespace paged {

namespace internal {

struct StagingBuffer {
  Buffer memory;
  Fence read;  // by the kernel that applies it
  TableChange* entries = nullptr;
  BatchRow* rows = nullptr;
  RingRow* rings = nullptr;
};

}  // namespace internal

struct DeviceTable::Impl {
  // Allocates; nothing is sent.
  static absl::StatusOr<std::unique_ptr<Impl>> Create(
      const internal::BlockManagerState& state, Backend& backend,
      const DeviceTableOptions& options);

  absl::Status CheckBatch(const internal::BlockManagerState& state,
                          BlockManager::Handles handles,
                          absl::Span<const int32_t> num_new_tokens) const;
  // Writes the batch to a staging buffer, and where to `params`.
  void StageBatch(const BlockManager& manager, BlockManager::Handles handles,
                  absl::Span<const int32_t> num_new_tokens,
                  internal::StagingBuffer& staging, TableUpdateParams& params);

  Backend* backend = nullptr;
  DeviceTableOptions options;
  int max_seqs = 0;
  Buffer memory;
  BatchTableParams views;  // and where they lie
  int32_t* table = nullptr;
  BatchRow* rows = nullptr;
  RingRow* rings = nullptr;
  std::vector<internal::StagingBuffer> staging;
  std::size_t next_staging = 0;
  DeviceTableStatistics statistics;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_INTERNAL_DEVICE_TABLE_IMPL_H_
