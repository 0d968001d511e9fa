#include "apps/paged_layer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/timing.h"
#include "paged/block_table.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr unsigned char kNanByte = 0xff;
constexpr int32_t kAbsurdBlock = 2147480000;
constexpr int kSpareBlocks = 7;
constexpr int kSpareColumns = 2;

int64_t BlocksFor(int64_t tokens, int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

absl::StatusOr<BlockTable> MakeTable(const Layer& layer,
                                     const DecodeShape& shape) {
  return BuildBlockTable(layer.context_lens,
                         {.block_size = shape.block_size,
                          .num_blocks = shape.num_blocks,
                          .max_blocks_per_seq = shape.max_blocks_per_seq,
                          .seed = 20231,
                          .tail_entry = kAbsurdBlock});
}

// The pool of one of the two tensors.
absl::StatusOr<DeviceBuffer> FillPool(const TensorView& tensor,
                                      std::size_t bytes_per_token,
                                      const BlockTable& table,
                                      DeviceKind kind) {
  std::size_t block_bytes = 0, pool_bytes = 0;
  if (__builtin_mul_overflow(bytes_per_token,
                             static_cast<std::size_t>(table.block_size),
                             &block_bytes) ||
      __builtin_mul_overflow(block_bytes,
                             static_cast<std::size_t>(table.num_blocks),
                             &pool_bytes)) {
    return absl::ResourceExhaustedError("the pool exceeds the address space");
  }
  PAGED_ASSIGN_OR_RETURN(DeviceBuffer pool,
                         DeviceBuffer::Allocate(DeviceKind::kCpu, pool_bytes));
  PAGED_RETURN_IF_ERROR(pool.Fill(kNanByte));
  PAGED_RETURN_IF_ERROR(CopyToBlocks(table, tensor.data, bytes_per_token,
                                     {.data = pool.data(),
                                      .block_stride_bytes = block_bytes,
                                      .slot_stride_bytes = bytes_per_token}));
  if (kind == DeviceKind::kCpu) return pool;
  return DeviceBuffer::CopyOf(kind, pool.data(), pool_bytes);
}

std::size_t ElementsOf(const std::vector<int64_t>& extents) {
  std::size_t product = 1;
  for (int64_t extent : extents) product *= static_cast<std::size_t>(extent);
  return product;
}

}  // namespace

absl::StatusOr<DecodeShape> ShapeOfPaged(const Layer& layer,
                                         const PagingOptions& options) {
  // A capacity of at least one token, also for empty sequences.
  int32_t longest = 1;
  int64_t num_blocks = kSpareBlocks;
  for (int32_t len : layer.context_lens) {
    num_blocks += BlocksFor(len, options.block_size);
    longest = std::max(longest, len);
  }
  if (num_blocks > std::numeric_limits<int32_t>::max()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "blocks must be fewer than 2^31; --block_size=", options.block_size,
        " needs ", num_blocks));
  }
  const int64_t columns =
      BlocksFor(longest, options.block_size) + kSpareColumns;
  DecodeShape shape;
  shape.num_seqs = layer.num_seqs;
  shape.num_q_heads = layer.num_q_heads;
  shape.num_kv_heads = layer.num_kv_heads;
  shape.head_dim = layer.head_dim;
  shape.value_dim = layer.value_dim;
  shape.block_size = options.block_size;
  shape.num_blocks = num_blocks;
  shape.max_blocks_per_seq = static_cast<int>(columns);
  shape.max_context_len = longest;
  shape.query_dtype = layer.dtype;
  shape.kv_dtype = layer.dtype;
  shape.scale = options.scale.value_or(0.0f);
  return shape;
}

absl::StatusOr<PagedLayer> PagedLayer::Create(const Layer& layer,
                                              DeviceKind kind,
                                              const PagingOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodeShape shape, ShapeOfPaged(layer, options));
  PAGED_ASSIGN_OR_RETURN(const BlockTable table, MakeTable(layer, shape));
  const auto element_bytes = static_cast<std::size_t>(SizeOf(layer.dtype));
  const std::size_t num_rows = ElementsOf({layer.num_seqs, layer.num_q_heads});
  const auto token_bytes = [&](int dim) {
    return ElementsOf({layer.num_kv_heads, dim}) * element_bytes;
  };

  PagedLayer paged;
  paged.shape_ = shape;
  paged.total_tokens_ = layer.total_tokens;
  PAGED_ASSIGN_OR_RETURN(
      paged.query_,
      DeviceBuffer::CopyOf(kind, layer.query.data, layer.query.num_bytes));
  PAGED_ASSIGN_OR_RETURN(
      paged.keys_,
      FillPool(layer.key, token_bytes(layer.head_dim), table, kind));
  PAGED_ASSIGN_OR_RETURN(
      paged.values_,
      FillPool(layer.value, token_bytes(layer.value_dim), table, kind));
  PAGED_ASSIGN_OR_RETURN(
      paged.block_tables_,
      DeviceBuffer::CopyOf(kind, table.entries.data(),
                           table.entries.size() * sizeof(int32_t)));
  PAGED_ASSIGN_OR_RETURN(
      paged.context_lens_,
      DeviceBuffer::CopyOf(kind, table.context_lens.data(),
                           table.context_lens.size() * sizeof(int32_t)));
  PAGED_ASSIGN_OR_RETURN(
      paged.output_,
      DeviceBuffer::Allocate(
          kind, num_rows * ElementsOf({layer.value_dim}) * element_bytes));
  PAGED_ASSIGN_OR_RETURN(
      paged.lse_, DeviceBuffer::Allocate(kind, num_rows * sizeof(float)));
  return paged;
}

DecodeArgs PagedLayer::Args() const {
  return {.shape = shape_,
          .query = query_.data(),
          .key_cache = keys_.data(),
          .value_cache = values_.data(),
          .block_tables = static_cast<const int32_t*>(block_tables_.data()),
          .context_lens = static_cast<const int32_t*>(context_lens_.data()),
          .output = output_.data(),
          .lse = static_cast<float*>(lse_.data())};
}

absl::StatusOr<Answer> PagedLayer::ReadAnswer() const {
  std::vector<char> output(output_.bytes());
  std::vector<char> lse(lse_.bytes());
  PAGED_RETURN_IF_ERROR(output_.CopyTo(output.data()));
  PAGED_RETURN_IF_ERROR(lse_.CopyTo(lse.data()));
  const DType dtype = shape_.query_dtype;
  const auto count = [](const std::vector<char>& bytes, int element_bytes) {
    return static_cast<int64_t>(bytes.size()) / element_bytes;
  };
  return Answer{
      .output = ToDoubles(dtype, output.data(), count(output, SizeOf(dtype))),
      .lse = ToDoubles(DType::kF32, lse.data(), count(lse, sizeof(float)))};
}

absl::StatusOr<PagedLayer::Run> PagedLayer::Execute(const DecodePlan& plan,
                                                    Backend& backend) {
  PAGED_RETURN_IF_ERROR(backend.Prepare(plan));
  RunContext context;
  PAGED_ASSIGN_OR_RETURN(context.workspace,
                         backend.Reserve(plan.workspace_bytes));
  PAGED_RETURN_IF_ERROR(backend.InitWorkspace(plan, context));
  PAGED_RETURN_IF_ERROR(output_.Fill(kNanByte));
  PAGED_RETURN_IF_ERROR(lse_.Fill(kNanByte));

  const DecodeArgs args = Args();
#if !defined(NDEBUG)
  PAGED_RETURN_IF_ERROR(backend.CheckTables(args, context.stream));
#endif
  PAGED_RETURN_IF_ERROR(backend.Run(plan, args, context));
  PAGED_RETURN_IF_ERROR(backend.Synchronize(context.stream));
  Run run;
  PAGED_ASSIGN_OR_RETURN(run.answer, ReadAnswer());
  if (total_tokens_ == 0) return run;
  PAGED_ASSIGN_OR_RETURN(run.time_us, MedianMicroseconds(backend, [&] {
                           return backend.Run(plan, args, context);
                         }));
  return run;
}

}  // namespace paged
