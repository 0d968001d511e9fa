// The block table on the device, kept up to date by sending what changed.
//
// Example:
//
//     // A pool of 64 blocks of 16 tokens, one kv head of 8 elements, and a
//     // decode loop of three sequences in a batch that has room for four.
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//     auto manager = paged::BlockManager::Create(
//         {.num_blocks = 64, .max_seqs = 8, .max_blocks_per_seq = 16});
//     auto table = paged::DeviceTable::Create(*manager, *backend,
//                                             {.max_batch = 4});
//     CHECK_OK(table);
//     std::vector<float> keys(64 * 16 * 8), values(64 * 16 * 8);
//     std::vector<void*> caches = {keys.data(), values.data()};
//     std::vector<float> query(4 * 8), key(4 * 8), value(4 * 8), output(4 * 8);
//
//     std::vector<paged::SequenceHandle> batch;
//     for (int i = 0; i < 3; ++i) {
//       batch.push_back(manager->Open({.num_tokens = 1})->handle);
//     }
//     for (int step = 0; step < 40; ++step) {
//       // Here the model computes query, key and value of the newest tokens.
//       CHECK_OK(table->Update(*manager, batch, {}, nullptr));
//       CHECK_OK(backend->CopyBlocks({.num_kv_heads = 1,
//                                     .head_dim = 8,
//                                     .num_blocks = 64,
//                                     .dtype = paged::DType::kF32,
//                                     .caches = caches,
//                                     .copies = manager->copies()},
//                                    nullptr));
//       CHECK_OK(backend->AppendKv({.num_tokens = 4,
//                                   .num_kv_heads = 1,
//                                   .head_dim = 8,
//                                   .num_blocks = 64,
//                                   .dtype = paged::DType::kF32,
//                                   .key = key.data(),
//                                   .value = value.data(),
//                                   .key_cache = keys.data(),
//                                   .value_cache = values.data(),
//                                   .slot_mapping = table->slot_mapping()},
//                                  nullptr));
//       CHECK_OK(paged::Decode({.shape = {.num_seqs = 4,
//                                         .num_q_heads = 1,
//                                         .num_kv_heads = 1,
//                                         .head_dim = 8,
//                                         .num_blocks = 64,
//                                         .max_blocks_per_seq = 16,
//                                         .max_context_len = 256,
//                                         .query_dtype = paged::DType::kF32,
//                                         .kv_dtype = paged::DType::kF32},
//                               .query = query.data(),
//                               .key_cache = keys.data(),
//                               .value_cache = values.data(),
//                               .block_tables = table->block_tables(),
//                               .context_lens = table->context_lens(),
//                               .output = output.data()},
//                              *backend));
//       CHECK_OK(manager->RetireStep(manager->SubmitStep()->id));
//       for (paged::SequenceHandle sequence : batch) {
//         CHECK_OK(manager->Append(sequence, 1));
//       }
//     }
//     CHECK_EQ(table->context_lens()[0], 40);
//     CHECK_EQ(table->context_lens()[3], 0);  // padding
//     CHECK_EQ(table->Statistics().num_entries, 3 * 3);  // 8 bytes each
#ifndef PAGED_LIB_PAGED_DEVICE_TABLE_H_
#define PAGED_LIB_PAGED_DEVICE_TABLE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "paged/backend.h"
#include "paged/block_manager.h"

namespace paged {

struct DeviceTableOptions {
  int max_batch = 0;       // rows of the padded batch
  int width = 0;           // its columns; 0 means the manager's
  int max_new_tokens = 1;  // columns of the slot mapping
  // Buffers that Update fills in turns, and changed entries that one takes. An
  // update waits for the device if all are still to be read.
  int num_staging_buffers = 3;
  int max_entries = 4096;
};

// What has been sent since the table was made.
struct DeviceTableStatistics {
  int64_t num_updates = 0;
  int64_t num_entries = 0;
  int64_t bytes = 0;  // 8 per entry, 12 per row of a batch, 24 with streams
};

// Holds [max_seqs, max_blocks_per_seq] on the device, and what one batch's
// decode reads: a table, lengths, a slot mapping and the same table as CSR, all
// in the order of the batch, padded up to max_batch. Their addresses never
// change, so that a captured graph reads what the last update enqueued.
//
// One owner thread; one table per manager; all updates on one stream, or on
// streams that wait for one another.
class DeviceTable {
 public:
  // Allocates. The first update sends all open rows. InvalidArgument for an
  // option out of range; ResourceExhausted.
  static absl::StatusOr<DeviceTable> Create(BlockManager& manager,
                                            Backend& backend,
                                            const DeviceTableOptions& options);
  DeviceTable(DeviceTable&&) noexcept;
  DeviceTable& operator=(DeviceTable&&) noexcept;
  ~DeviceTable();

  // Sends what changed in the manager, and makes the batch's views: two small
  // kernels, enqueued; not for capture. Row i is handles[i]. Of its tokens the
  // last num_new_tokens[i] are those of this step (1 each where that is empty).
  // Streams list their sinks, then what their last chunk sees, as CsrTable.
  //
  // Nothing is sent for InvalidArgument (more handles than max_batch, a row
  // longer than width, a count out of 0..max_new_tokens), NotFound, or
  // FailedPrecondition (a manager of another size than at Create). After an
  // error of the device, make another table.
  absl::Status Update(BlockManager& manager, BlockManager::Handles handles,
                      absl::Span<const int32_t> num_new_tokens, Stream stream);

  // Memory of the device. Padding is the null block, length 0, slot -1.
  const int32_t* block_tables() const;  // [max_batch, width]
  const int32_t* context_lens() const;  // [max_batch]
  // [max_batch, max_new_tokens], new tokens at the right end: what AppendKv
  // takes.
  const int64_t* slot_mapping() const;
  const int32_t* indptr() const;           // [max_batch + 1]
  const int32_t* indices() const;          // as far as indptr says
  const int32_t* last_block_lens() const;  // [max_batch]

  DeviceTableStatistics Statistics() const;

 private:
  struct Impl;
  explicit DeviceTable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_DEVICE_TABLE_H_
