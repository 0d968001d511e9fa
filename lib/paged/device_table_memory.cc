#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "paged/internal/device_table_impl.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::CheckRange;
using internal::StagingBuffer;

namespace {

// Parts of one allocation, each aligned.
class MemoryParts {
 public:
  template <typename T>
  std::size_t Add(int64_t count) {
    const std::size_t offset = bytes_;
    const std::size_t part = sizeof(T) * static_cast<std::size_t>(count);
    bytes_ += (part + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::size_t bytes_ = 0;
};

template <typename T>
T* PartOf(const Buffer& buffer, std::size_t offset) {
  return reinterpret_cast<T*>(buffer.As<std::byte>() + offset);
}

absl::StatusOr<StagingBuffer> MakeStagingBuffer(
    Backend& backend, const DeviceTableOptions& options) {
  MemoryParts parts;
  const std::size_t entries = parts.Add<TableEntry>(options.max_entries);
  const std::size_t rows = parts.Add<BatchRow>(options.max_batch);
  const std::size_t rings = parts.Add<RingRow>(options.max_batch);
  StagingBuffer staging;
  PAGED_ASSIGN_OR_RETURN(staging.memory,
                         backend.Allocate(parts.bytes(), MemoryKind::kStaging));
  PAGED_ASSIGN_OR_RETURN(staging.read, backend.MakeFence());
  staging.entries = PartOf<TableChange>(staging.memory, entries);
  staging.rows = PartOf<BatchRow>(staging.memory, rows);
  staging.rings = PartOf<RingRow>(staging.memory, rings);
  return staging;
}

absl::Status CheckOptions(const BlockManagerState& state,
                          const DeviceTableOptions& options) {
  constexpr int kMost = 1 << 20;
  PAGED_RETURN_IF_ERROR(CheckRange("max_batch", options.max_batch, 1, kMost));
  PAGED_RETURN_IF_ERROR(
      CheckRange("width", options.width, 1, state.options.max_blocks_per_seq));
  // indptr counts the columns of all rows.
  PAGED_RETURN_IF_ERROR(CheckRange("max_batch * width",
                                   int64_t{options.max_batch} * options.width,
                                   1, std::numeric_limits<int32_t>::max()));
  PAGED_RETURN_IF_ERROR(
      CheckRange("max_new_tokens", options.max_new_tokens, 1, kMost));
  PAGED_RETURN_IF_ERROR(
      CheckRange("num_staging_buffers", options.num_staging_buffers, 1, 1024));
  return CheckRange("max_entries", options.max_entries, 1, kMost);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceTable::Impl>> DeviceTable::Impl::Create(
    const BlockManagerState& state, Backend& backend,
    const DeviceTableOptions& given_options) {
  DeviceTableOptions options = given_options;
  if (options.width == 0) options.width = state.options.max_blocks_per_seq;
  PAGED_RETURN_IF_ERROR(CheckOptions(state, options));

  auto impl = std::make_unique<Impl>();
  impl->backend = &backend;
  impl->options = options;
  impl->max_seqs = state.sequences.max_seqs();
  const int64_t batch = options.max_batch;
  MemoryParts parts;
  const std::size_t table =
      parts.Add<int32_t>(int64_t{impl->max_seqs} * state.sequences.width());
  const std::size_t rows = parts.Add<BatchRow>(batch);
  const std::size_t rings = parts.Add<RingRow>(batch);
  const std::size_t batch_table = parts.Add<int32_t>(batch * options.width);
  const std::size_t lens = parts.Add<int32_t>(batch);
  const std::size_t slots = parts.Add<int64_t>(batch * options.max_new_tokens);
  const std::size_t indptr = parts.Add<int32_t>(batch + 1);
  const std::size_t indices = parts.Add<int32_t>(batch * options.width);
  const std::size_t last_lens = parts.Add<int32_t>(batch);
  PAGED_ASSIGN_OR_RETURN(impl->memory,
                         backend.Allocate(parts.bytes(), MemoryKind::kDevice));
  impl->table = PartOf<int32_t>(impl->memory, table);
  impl->rows = PartOf<BatchRow>(impl->memory, rows);
  impl->rings = PartOf<RingRow>(impl->memory, rings);
  impl->views = {.table = impl->table,
                 .rows = impl->rows,
                 .rings = impl->rings,
                 .width = state.sequences.width(),
                 .batch = options.max_batch,
                 .block_size = state.options.block_size,
                 .max_new_tokens = options.max_new_tokens,
                 .batch_width = options.width,
                 .batch_table = PartOf<int32_t>(impl->memory, batch_table),
                 .context_lens = PartOf<int32_t>(impl->memory, lens),
                 .slot_mapping = PartOf<int64_t>(impl->memory, slots),
                 .indptr = PartOf<int32_t>(impl->memory, indptr),
                 .indices = PartOf<int32_t>(impl->memory, indices),
                 .last_block_lens = PartOf<int32_t>(impl->memory, last_lens)};
  for (int i = 0; i < options.num_staging_buffers; ++i) {
    PAGED_ASSIGN_OR_RETURN(StagingBuffer staging,
                           MakeStagingBuffer(backend, options));
    impl->staging.push_back(std::move(staging));
  }
  return impl;
}

}  // namespace paged
