// Block tables from what other libraries keep: CSR (indptr, indices, length of
// each last block), or a pointer to each sequence's blocks.
//
// Example:
//
//     // Two sequences of blocks of 16: 20 tokens in blocks 7 and 3, 5 in 4.
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//     std::vector<int32_t> indptr = {0, 2, 3}, indices = {7, 3, 4};
//     std::vector<int32_t> last_block_lens = {4, 5};
//     std::vector<int32_t> block_tables(2 * 3), context_lens(2);
//     paged::BatchTable batch{.num_seqs = 2,
//                             .block_size = 16,
//                             .max_blocks_per_seq = 3,
//                             .block_tables = block_tables.data(),
//                             .context_lens = context_lens.data()};
//     CHECK_OK(paged::FillFromCsr({.indptr = indptr.data(),
//                                  .indices = indices.data(),
//                                  .num_indices = 3,
//                                  .last_block_lens = last_block_lens.data()},
//                                 batch, *backend, nullptr));
//     CHECK_EQ(block_tables[0 * 3 + 1], 3);
//     CHECK_EQ(context_lens[0], 20);
//
//     // The same from a pointer to each sequence's blocks.
//     std::vector<const int32_t*> block_lists = {&indices[0], &indices[2]};
//     std::vector<int32_t> lens = {20, 5};
//     CHECK_OK(paged::FillFromLists({.block_lists = block_lists.data(),
//                                    .lens = lens.data()},
//                                   batch, *backend, nullptr));
//     CHECK_EQ(block_tables[1 * 3 + 0], 4);
//     CHECK_EQ(context_lens[1], 5);
#ifndef PAGED_LIB_PAGED_TABLE_ADAPTERS_H_
#define PAGED_LIB_PAGED_TABLE_ADAPTERS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "paged/backend.h"

namespace paged {

// What decode reads, and its capacities. Pointers here and below are of the
// backend's memory (device memory on CUDA, host memory on the CPU).
struct BatchTable {
  int num_seqs = 0;
  int block_size = 16;
  int max_blocks_per_seq = 0;
  int max_context_len = 0;          // 0 means max_blocks_per_seq * block_size
  int64_t block_table_stride = 0;   // of a row; 0 means max_blocks_per_seq
  int32_t* block_tables = nullptr;  // [num_seqs, max_blocks_per_seq]
  int32_t* context_lens = nullptr;  // [num_seqs]
  // [num_seqs], or null. What of a sequence had to be cut: 0, or a number for
  // DescribeCuts.
  uint32_t* cuts = nullptr;
};

// Sequence s has the blocks indices[indptr[s]] to indices[indptr[s + 1] - 1],
// all full but the last.
struct CsrBlocks {
  const int32_t* indptr = nullptr;           // [num_seqs + 1], ascending
  const int32_t* indices = nullptr;          // [num_indices]
  int64_t num_indices = 0;                   // that may be read
  const int32_t* last_block_lens = nullptr;  // [num_seqs], 1..block_size
};

// Sequence s has the first ceil(lens[s] / block_size) blocks of block_lists[s].
struct BlockLists {
  const int32_t* const* block_lists = nullptr;  // [num_seqs]
  const int32_t* lens = nullptr;                // [num_seqs], tokens
};

// Fill block_tables and context_lens: one small kernel, enqueued, which may be
// captured in a graph; neither allocates nor synchronises. Columns behind a
// sequence's blocks become 0. What lies on the device is not looked at by the
// host, so that what is out of range there is cut to what is legal: sequences
// longer than the capacity to the capacity (their first tokens stay), indptr to
// [0, num_indices] and ascending, the length of a last block to 1..block_size,
// a null list to no tokens. Entries are copied as they are:
// Backend::CheckTables looks at them.
//
// InvalidArgument names the field: a count out of range, a null pointer.
absl::Status FillFromCsr(const CsrBlocks& csr, const BatchTable& batch,
                         Backend& backend, Stream stream);
absl::Status FillFromLists(const BlockLists& lists, const BatchTable& batch,
                           Backend& backend, Stream stream);

// The fields that were cut, "indptr, context length" say; empty for 0.
std::string DescribeCuts(uint32_t cuts);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_TABLE_ADAPTERS_H_
