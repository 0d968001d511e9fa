#include "apps/shape_flags.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/decode_flags.h"
#include "paged/internal/status_macros.h"
#include "paged/validate.h"

namespace paged {

FlagTable ShapeFlagTable(const ShapeRequest& defaults) {
  const auto with = [](const char* help, int value) {
    return absl::StrCat(help, " (", value, ")");
  };
  return {
      {"num_seqs", "N", with("sequences of the batch", defaults.num_seqs)},
      {"context_len", "N",
       with("tokens of each sequence", defaults.context_len)},
      {"num_q_heads", "N", with("query heads", defaults.num_q_heads)},
      {"num_kv_heads", "N",
       with("key/value heads; divides num_q_heads", defaults.num_kv_heads)},
      {"head_dim", "N", with("elements of a head", defaults.head_dim)},
      {"block_size", "N",
       with("tokens of a block, 1 to 1024", defaults.block_size)},
      {"dtype", "fp16|bf16|fp32", "of query, keys and values (fp16)"},
  };
}

absl::StatusOr<ShapeRequest> ShapeRequestFrom(const Flags& flags,
                                              ShapeRequest shape) {
  const IntRange from_zero = {.min = 0, .max = std::numeric_limits<int>::max()};
  const IntRange from_one = {.min = 1, .max = std::numeric_limits<int>::max()};
  const auto read = [&](const char* name, IntRange range,
                        int& field) -> absl::Status {
    PAGED_ASSIGN_OR_RETURN(const std::optional<int> given,
                           flags.Int(name, range));
    field = given.value_or(field);
    return absl::OkStatus();
  };
  PAGED_RETURN_IF_ERROR(read("num_seqs", from_zero, shape.num_seqs));
  PAGED_RETURN_IF_ERROR(read("context_len", from_zero, shape.context_len));
  PAGED_RETURN_IF_ERROR(read("num_q_heads", from_one, shape.num_q_heads));
  PAGED_RETURN_IF_ERROR(read("num_kv_heads", from_one, shape.num_kv_heads));
  PAGED_RETURN_IF_ERROR(read("head_dim", from_one, shape.head_dim));
  PAGED_RETURN_IF_ERROR(read("block_size", kBlockSizeRange, shape.block_size));
  PAGED_ASSIGN_OR_RETURN(const std::optional<std::string> dtype,
                         flags.OneOf("dtype", {"fp16", "bf16", "fp32"}));
  if (dtype.has_value()) {
    PAGED_ASSIGN_OR_RETURN(shape.dtype, ParseDType(*dtype));
  }
  return shape;
}

DecodeShape DecodeShapeOf(const ShapeRequest& request) {
  DecodeShape shape;
  shape.num_seqs = request.num_seqs;
  shape.max_context_len = request.context_len;
  shape.num_q_heads = request.num_q_heads;
  shape.num_kv_heads = request.num_kv_heads;
  shape.head_dim = request.head_dim;
  shape.block_size = request.block_size;
  const int64_t columns =
      (int64_t{shape.max_context_len} + shape.block_size - 1) /
      shape.block_size;
  shape.max_blocks_per_seq = static_cast<int>(std::max<int64_t>(columns, 1));
  // Every product is below 2^62; the library has the limit of a pool.
  shape.num_blocks =
      std::max<int64_t>(shape.num_seqs, 1) * shape.max_blocks_per_seq;
  shape.kv_dtype = request.dtype;
  shape.query_dtype = request.dtype;
  return shape;
}

int64_t KvBytesOf(const ShapeRequest& request) {
  return int64_t{2} * request.num_seqs * request.context_len *
         request.num_kv_heads * request.head_dim * SizeOf(request.dtype);
}

absl::StatusOr<benchmarks::BenchShape> BenchShapeOf(
    const ShapeRequest& request) {
  if (request.num_seqs == 0 || request.context_len == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--num_seqs and --context_len must be at least 1, or there is nothing "
        "to measure; got ",
        request.num_seqs, " and ", request.context_len));
  }
  if (request.dtype == DType::kF32) {
    return absl::InvalidArgumentError(
        "--dtype must be fp16 or bf16 to be measured; got fp32");
  }
  // Before anything of its size is made.
  const absl::Status valid = ValidateShape(DecodeShapeOf(request)).status();
  if (!valid.ok()) return valid;
  benchmarks::BenchShape shape = benchmarks::Uniform(
      request.num_seqs, request.context_len, request.num_kv_heads,
      request.num_q_heads / request.num_kv_heads);
  shape.head_dim = request.head_dim;
  shape.block_size = request.block_size;
  shape.dtype = request.dtype;
  return shape;
}

}  // namespace paged
