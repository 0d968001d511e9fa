#include "paged/table_adapters.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "kernels/core/table_fill.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using internal::CheckNotNull;
using internal::CheckRange;

constexpr int kIntMax = std::numeric_limits<int>::max();

// The half of the parameters that both sources share.
absl::StatusOr<TableFillParams> ParamsOf(const BatchTable& b) {
  PAGED_RETURN_IF_ERROR(CheckRange("num_seqs", b.num_seqs, 0, kIntMax - 1));
  PAGED_RETURN_IF_ERROR(
      CheckRange("block_size", b.block_size, 1, internal::kMaxBlockSize));
  PAGED_RETURN_IF_ERROR(
      CheckRange("max_blocks_per_seq", b.max_blocks_per_seq, 0, kIntMax));
  // Lengths are int32.
  const int64_t capacity =
      std::min<int64_t>(int64_t{b.max_blocks_per_seq} * b.block_size, kIntMax);
  PAGED_RETURN_IF_ERROR(
      CheckRange("max_context_len", b.max_context_len, 0, capacity));
  if (b.block_table_stride != 0) {
    PAGED_RETURN_IF_ERROR(CheckRange("block_table_stride", b.block_table_stride,
                                     b.max_blocks_per_seq,
                                     internal::kMaxExtent));
  }
  // Programs of one launch.
  PAGED_RETURN_IF_ERROR(CheckRange("num_seqs * max_blocks_per_seq",
                                   int64_t{b.num_seqs} * b.max_blocks_per_seq,
                                   0, kIntMax));
  if (b.num_seqs > 0) {
    PAGED_RETURN_IF_ERROR(CheckNotNull("context_lens", b.context_lens));
    if (b.max_blocks_per_seq > 0) {
      PAGED_RETURN_IF_ERROR(CheckNotNull("block_tables", b.block_tables));
    }
  }
  return TableFillParams{
      .num_seqs = b.num_seqs,
      .block_size = b.block_size,
      .width = b.max_blocks_per_seq,
      .max_context_len = b.max_context_len == 0 ? static_cast<int>(capacity)
                                                : b.max_context_len,
      .row_stride = b.block_table_stride == 0 ? b.max_blocks_per_seq
                                              : b.block_table_stride,
      .block_tables = b.block_tables,
      .context_lens = b.context_lens,
      .cuts = b.cuts};
}

}  // namespace

absl::Status FillFromCsr(const CsrBlocks& csr, const BatchTable& batch,
                         Backend& backend, Stream stream) {
  PAGED_ASSIGN_OR_RETURN(TableFillParams params, ParamsOf(batch));
  // indptr counts them.
  PAGED_RETURN_IF_ERROR(CheckRange("num_indices", csr.num_indices, 0, kIntMax));
  if (batch.num_seqs == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("indptr", csr.indptr));
  PAGED_RETURN_IF_ERROR(CheckNotNull("last_block_lens", csr.last_block_lens));
  if (csr.num_indices > 0) {
    PAGED_RETURN_IF_ERROR(CheckNotNull("indices", csr.indices));
  }
  params.indptr = csr.indptr;
  params.indices = csr.indices;
  params.last_block_lens = csr.last_block_lens;
  params.num_indices = csr.num_indices;
  return backend.FillTable(params, stream);
}

absl::Status FillFromLists(const BlockLists& lists, const BatchTable& batch,
                           Backend& backend, Stream stream) {
  PAGED_ASSIGN_OR_RETURN(TableFillParams params, ParamsOf(batch));
  if (batch.num_seqs == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("block_lists", lists.block_lists));
  PAGED_RETURN_IF_ERROR(CheckNotNull("lens", lists.lens));
  params.block_lists = lists.block_lists;
  params.lens = lists.lens;
  return backend.FillTable(params, stream);
}

std::string DescribeCuts(uint32_t cuts) {
  const struct {
    uint32_t bit;
    const char* name;
  } names[] = {{kCutIndices, "indptr"},
               {kCutLastBlock, "last_block_lens"},
               {kCutContextLen, "context length"},
               {kCutMissingList, "block_lists"}};
  std::vector<const char*> cut;
  for (const auto& [bit, name] : names) {
    if ((cuts & bit) != 0) cut.push_back(name);
  }
  return absl::StrJoin(cut, ", ");
}

}  // namespace paged
