// The decision: which kernel runs, in how many programs, with what workspace.
//
// Example:
//
//     paged::DecodeShape shape{.num_seqs = 1,
//                              .num_q_heads = 32,
//                              .num_kv_heads = 8,
//                              .head_dim = 128,
//                              .num_blocks = 8192,
//                              .max_blocks_per_seq = 8192,
//                              .max_context_len = 131072};
//     paged::DecodeProblem problem = paged::ValidateShape(shape).value();
//     paged::DecodePlan plan =
//         paged::MakePlan(problem, paged::H200Profile(), {}).value();
//     CHECK(plan.variant == paged::Variant::kSplitK);
//     CHECK_GT(plan.workspace_bytes, 0u);
#ifndef PAGED_LIB_PAGED_PLAN_H_
#define PAGED_LIB_PAGED_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paged/args.h"
#include "paged/device_profile.h"
#include "paged/options.h"
#include "paged/validate.h"

namespace paged {

enum class DecidedBy : uint8_t {
  kCostModel,
  kVariantOption,
  kSplitsOption,
  kVariantEnv,
  kSplitsEnv,
  kPartitionOption,
  kPartitionEnv,
  kBatchInvariance,
};

// A compiled kernel. On a CPU warps and stages are 0, and the dimensions are
// the problem's; a general kernel of a GPU serves all up to its own.
struct Instance {
  DType kv_dtype = DType::kF16;
  int head_dim = 0;
  int value_dim = 0;
  int warps = 0;
  int stages = 0;
  int max_rows = 0;            // of an item; 0 on a CPU
  bool is_general = false;     // masks and modifies scores one by one
  bool on_cuda_cores = false;  // in float32, rather than on tensor cores
  friend bool operator==(const Instance&, const Instance&) = default;
};

// How the partition `chunks` may cut a batch.
struct Chunking {
  int first_rung = 0;        // of the ladder of chunk sizes; the smallest
  int max_extra_chunks = 0;  // beyond one per sequence
  friend bool operator==(const Chunking&, const Chunking&) = default;
};

// A plain value of fixed size: comparable, printable, made without a device.
struct DecodePlan {
  Variant variant = Variant::kV1;
  Partition partition = Partition::kWhole;
  int num_splits = 1;
  Chunking chunking = {};
  Reduction reduction = Reduction::kNone;
  Instance instance = {};

  // Rows of one (sequence, kv head) that share a program, and how many such
  // tiles of rows there are.
  int rows_per_item = 1;
  int num_row_tiles = 1;

  // On sm_90 and up: launched while the kernel before it in the stream still
  // runs, whose end it awaits before it touches memory.
  bool starts_early = false;

  int64_t num_ctas = 0;     // programs of the (first) kernel
  int resident_ctas = 0;    // that an SM, or a thread, holds at once
  double waves = 0;         // num_ctas / (resident_ctas * units)
  int64_t kv_bytes = 0;     // keys and values, counted once per kv head
  double predicted_us = 0;  // 0 for thrust and reference: not modelled
  DecidedBy decided_by = DecidedBy::kCostModel;

  // Of the control area, which InitWorkspace zeroes once, and of all of it.
  std::size_t control_bytes = 0;
  std::size_t workspace_bytes = 0;
  // Of a schedule; 0 but for the partition chunks.
  std::size_t schedule_bytes = 0;

  // What the plan was made for; running it on anything else is refused.
  DecodeShape shape = {};
  uint64_t device_fingerprint = 0;

  friend bool operator==(const DecodePlan&, const DecodePlan&) = default;
};

// "cost_model", "--variant", "--splits", "--partition", "PAGED_VARIANT", ...
absl::string_view NameOf(DecidedBy decided_by);
// "fp16_d128_w8s2", "fp16_d192v128_w4s2" where values differ; "fp16_d128_cpu"
// on a CPU; "_general", "_wide" and "_cores" for kernels that mask and modify
// scores.
std::string NameOf(const Instance& instance);

// One line: variant, partition, splits, reduction, instance, CTAs, resident
// CTAs, waves, predicted time, what decided.
std::string ToString(const DecodePlan& plan);

// Tells devices apart whose plans differ.
uint64_t FingerprintOf(const DeviceProfile& profile);

// Chooses the plan of least predicted time; ties go to fewer splits. A pure
// function: no device, no globals, no allocation on success. Unimplemented
// where no compiled kernel fits, listing those that exist; InvalidArgument for
// an option that the device cannot honour, and on CUDA for strides that are no
// multiple of 16 bytes (8 of a cache of bytes).
absl::StatusOr<DecodePlan> MakePlan(const DecodeProblem& problem,
                                    const DeviceProfile& profile,
                                    const DecodeOptions& options);

// A plan that was considered, and why it was not taken (empty for the chosen
// one).
struct Candidate {
  DecodePlan plan = {};
  std::string rejected_because;
};

struct Explanation {
  DecodePlan chosen = {};
  std::vector<Candidate> candidates;
};

// All that MakePlan considers, with its choice. Errors as MakePlan.
absl::StatusOr<Explanation> Explain(const DecodeProblem& problem,
                                    const DeviceProfile& profile,
                                    const DecodeOptions& options);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_PLAN_H_
