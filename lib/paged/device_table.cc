#include "paged/device_table.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "paged/internal/device_table_impl.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerAccess;
using internal::BlockManagerState;
using internal::CheckRange;
using internal::Sequence;
using internal::SequenceKind;
using internal::StagingBuffer;

// The manager writes its changes where the kernel reads them.
static_assert(sizeof(TableChange) == sizeof(TableEntry) &&
              offsetof(TableChange, block) == offsetof(TableEntry, block));

namespace {

RingRow RingOf(const BlockManagerState& state, const Sequence& sequence) {
  if (sequence.kind != SequenceKind::kStream) return {};
  const int32_t sinks = sequence.num_sink_columns;
  const int32_t ring = sequence.num_columns - sinks;
  return {.num_sinks = sinks,
          .ring = ring,
          .first = static_cast<int32_t>(
              (state.StreamFirstLiveBlock(sequence) - sinks) % ring)};
}

}  // namespace

absl::Status DeviceTable::Impl::CheckBatch(
    const BlockManagerState& state, BlockManager::Handles handles,
    absl::Span<const int32_t> num_new_tokens) const {
  if (state.sequences.max_seqs() != max_seqs ||
      state.sequences.width() != views.width ||
      state.options.block_size != views.block_size) {
    return absl::FailedPreconditionError(
        "manager must be of the size that the table was made for");
  }
  const auto count = static_cast<int64_t>(handles.size());
  PAGED_RETURN_IF_ERROR(CheckRange("handles", count, 0, options.max_batch));
  if (!num_new_tokens.empty()) {
    PAGED_RETURN_IF_ERROR(
        CheckRange("num_new_tokens",
                   static_cast<int64_t>(num_new_tokens.size()), count, count));
  }
  for (const int32_t tokens : num_new_tokens) {
    PAGED_RETURN_IF_ERROR(
        CheckRange("num_new_tokens", tokens, 0, options.max_new_tokens));
  }
  for (const SequenceHandle handle : handles) {
    const Sequence* sequence = state.sequences.Find(handle);
    if (sequence == nullptr) return internal::StaleHandle(handle);
    if (state.NumListedColumns(*sequence) > options.width) {
      return absl::InvalidArgumentError(absl::StrCat(
          "width must hold the longest row, ",
          state.NumListedColumns(*sequence), "; got ", options.width));
    }
  }
  return absl::OkStatus();
}

void DeviceTable::Impl::StageBatch(const BlockManager& manager,
                                   BlockManager::Handles handles,
                                   absl::Span<const int32_t> num_new_tokens,
                                   StagingBuffer& buffer,
                                   TableUpdateParams& params) {
  const BlockManagerState& state = BlockManagerAccess::State(manager);
  bool has_streams = false;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const Sequence& sequence = state.sequences.at(handles[i].slot);
    buffer.rows[i] = {
        .row = static_cast<int32_t>(handles[i].slot),
        .context_len = state.ListedLength(sequence),
        .num_new_tokens = num_new_tokens.empty() ? 1 : num_new_tokens[i]};
    buffer.rings[i] = RingOf(state, sequence);
    has_streams |= buffer.rings[i].ring > 0;
  }
  params.staged_rows = buffer.rows;
  params.staged_rings = has_streams ? buffer.rings : nullptr;
  params.num_rows = static_cast<int>(handles.size());
  statistics.bytes += static_cast<int64_t>(
      handles.size() *
      (sizeof(BatchRow) + (has_streams ? sizeof(RingRow) : 0)));
}

absl::StatusOr<DeviceTable> DeviceTable::Create(
    BlockManager& manager, Backend& backend,
    const DeviceTableOptions& options) {
  BlockManagerState& state = BlockManagerAccess::State(manager);
  PAGED_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl,
                         Impl::Create(state, backend, options));
  // What another table was sent, this one has not seen.
  state.sequences.MarkAllChanged();
  return DeviceTable(std::move(impl));
}

DeviceTable::DeviceTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceTable::DeviceTable(DeviceTable&&) noexcept = default;
DeviceTable& DeviceTable::operator=(DeviceTable&&) noexcept = default;
DeviceTable::~DeviceTable() = default;

absl::Status DeviceTable::Update(BlockManager& manager,
                                 BlockManager::Handles handles,
                                 absl::Span<const int32_t> num_new_tokens,
                                 Stream stream) {
  Impl& impl = *impl_;
  PAGED_RETURN_IF_ERROR(impl.CheckBatch(BlockManagerAccess::State(manager),
                                        handles, num_new_tokens));
  const auto capacity = static_cast<std::size_t>(impl.options.max_entries);
  std::size_t num_entries = capacity;
  while (num_entries == capacity) {
    StagingBuffer& buffer = impl.staging[impl.next_staging];
    PAGED_RETURN_IF_ERROR(impl.backend->Wait(buffer.read));
    num_entries = manager.TakeTableChanges({buffer.entries, capacity});
    TableUpdateParams params{
        .staged_entries = reinterpret_cast<TableEntry*>(buffer.entries),
        .table = impl.table,
        .rows = impl.rows,
        .rings = impl.rings,
        .num_entries = static_cast<int>(num_entries),
        .batch = impl.options.max_batch};
    if (num_entries < capacity) {
      impl.StageBatch(manager, handles, num_new_tokens, buffer, params);
    }
    PAGED_RETURN_IF_ERROR(impl.backend->UpdateTable(params, stream));
    PAGED_RETURN_IF_ERROR(impl.backend->Record(buffer.read, stream));
    impl.next_staging = (impl.next_staging + 1) % impl.staging.size();
    impl.statistics.num_entries += static_cast<int64_t>(num_entries);
    impl.statistics.bytes +=
        static_cast<int64_t>(num_entries * sizeof(TableEntry));
  }
  ++impl.statistics.num_updates;
  return impl.backend->BuildBatchTable(impl.views, stream);
}

const int32_t* DeviceTable::block_tables() const {
  return impl_->views.batch_table;
}
const int32_t* DeviceTable::context_lens() const {
  return impl_->views.context_lens;
}
const int64_t* DeviceTable::slot_mapping() const {
  return impl_->views.slot_mapping;
}
const int32_t* DeviceTable::indptr() const { return impl_->views.indptr; }
const int32_t* DeviceTable::indices() const { return impl_->views.indices; }
const int32_t* DeviceTable::last_block_lens() const {
  return impl_->views.last_block_lens;
}
DeviceTableStatistics DeviceTable::Statistics() const {
  return impl_->statistics;
}

}  // namespace paged
