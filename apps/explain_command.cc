#include "apps/explain_command.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/cli.h"
#include "apps/decode_flags.h"
#include "apps/explanation_text.h"
#include "apps/flags.h"
#include "paged/args.h"
#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"
#include "paged/internal/status_macros.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged explain: which kernel would run a shape, and why

  paged explain --num_seqs=8 --context_len=4096 --num_q_heads=32 \
      --num_kv_heads=8 --head_dim=128 --device=h200

Flags, with their defaults in brackets:
)";

FlagTable ExplainFlagTable() {
  FlagTable table = {
      {"num_seqs", "N", "sequences of the batch (8)"},
      {"context_len", "N", "tokens of each sequence (4096)"},
      {"num_q_heads", "N", "query heads (32)"},
      {"num_kv_heads", "N", "key/value heads; divides num_q_heads (8)"},
      {"head_dim", "N", "elements of a head (128)"},
      {"block_size", "N", "tokens of a block, 1 to 1024 (16)"},
      {"dtype", "fp16|bf16|fp32", "of query, keys and values (fp16)"},
      {"device", "this|h200|h100|rtx3090|cpu",
       "this is the GPU when there is one, else the CPU (this)"},
      {"variant", "auto|v1|split_k|thrust|reference",
       "what to explain; else $PAGED_VARIANT, else auto"},
  };
  const FlagTable shared = DecodeFlagTable();
  table.insert(table.end(), shared.begin(), shared.end());
  table.push_back(
      {"json", "", "one JSON object: chosen, decided_by, all candidates"});
  table.push_back({"help", "", "this text"});
  return table;
}

absl::StatusOr<DecodeShape> ShapeFrom(const Flags& flags) {
  const IntRange from_zero = {.min = 0, .max = std::numeric_limits<int>::max()};
  const IntRange from_one = {.min = 1, .max = std::numeric_limits<int>::max()};
  DecodeShape shape;
  const auto read = [&](const char* name, IntRange range, int otherwise,
                        int& field) -> absl::Status {
    PAGED_ASSIGN_OR_RETURN(const std::optional<int> given,
                           flags.Int(name, range));
    field = given.value_or(otherwise);
    return absl::OkStatus();
  };
  PAGED_RETURN_IF_ERROR(read("num_seqs", from_zero, 8, shape.num_seqs));
  PAGED_RETURN_IF_ERROR(
      read("context_len", from_zero, 4096, shape.max_context_len));
  PAGED_RETURN_IF_ERROR(read("num_q_heads", from_one, 32, shape.num_q_heads));
  PAGED_RETURN_IF_ERROR(read("num_kv_heads", from_one, 8, shape.num_kv_heads));
  PAGED_RETURN_IF_ERROR(read("head_dim", from_one, 128, shape.head_dim));
  PAGED_RETURN_IF_ERROR(
      read("block_size", kBlockSizeRange, 16, shape.block_size));

  const int64_t columns =
      (int64_t{shape.max_context_len} + shape.block_size - 1) /
      shape.block_size;
  shape.max_blocks_per_seq = static_cast<int>(std::max<int64_t>(columns, 1));
  // Every product is below 2^62; the library has the limit of a pool.
  shape.num_blocks =
      std::max<int64_t>(shape.num_seqs, 1) * shape.max_blocks_per_seq;
  PAGED_ASSIGN_OR_RETURN(const std::optional<std::string> dtype,
                         flags.OneOf("dtype", {"fp16", "bf16", "fp32"}));
  PAGED_ASSIGN_OR_RETURN(shape.kv_dtype, ParseDType(dtype.value_or("fp16")));
  shape.query_dtype = shape.kv_dtype;
  return shape;
}

absl::StatusOr<DeviceProfile> ProfileFrom(const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(
      const std::optional<std::string> device,
      flags.OneOf("device", {"this", "h200", "h100", "rtx3090", "cpu"}));
  if (device.value_or("this") != "this") return FindProfile(*device);
  const absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend();
  if (cuda.ok()) return (*cuda)->profile();
  return CpuProfile();
}

}  // namespace

absl::StatusOr<int> ExplainCommand(const std::vector<std::string>& args,
                                   std::ostream& out, std::ostream& err) {
  const FlagTable table = ExplainFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  if (!flags.positional().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("explain takes flags alone; got ",
                     Printable(flags.positional().front())));
  }
  PAGED_ASSIGN_OR_RETURN(const DecodeShape shape, ShapeFrom(flags));
  PAGED_ASSIGN_OR_RETURN(DecodeOptions options, DecodeOptionsFrom(flags));
  if (flags.Text("variant") == "all") {
    return absl::InvalidArgumentError(
        "--variant must be auto, v1, split_k, thrust or reference; got all");
  }
  PAGED_ASSIGN_OR_RETURN(options, ResolveFlags(options));
  PAGED_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, ValidateShape(shape));
  PAGED_ASSIGN_OR_RETURN(const Explanation explanation,
                         Explain(problem, profile, options));
  // As PlanDecode does, for the one decision of this command.
  if (options.print_dispatch) {
    err << "paged: " << ToString(explanation.chosen) << "\n";
  }
  if (flags.IsOn("json")) {
    out << JsonOf(explanation) << "\n";
  } else {
    out << TableOf(explanation, profile);
  }
  return kExitPassed;
}

}  // namespace paged
