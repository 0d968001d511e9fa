// What a user may force, in code or through the environment.
//
// Example:
//
//     paged::DecodeOptions options{.variant = paged::Variant::kSplitK,
//                                  .splits = 4};
//     CHECK_OK(paged::ResolveOptions(options));
//     options.variant = paged::Variant::kV1;  // v1 has no splits
//     CHECK(!paged::ResolveOptions(options).ok());
//
// The environment speaks where the code does not:
//
//     PAGED_VARIANT   auto | v1 | split_k | thrust | reference
//     PAGED_SPLITS    0 (automatic) to 1024
//     PAGED_PARTITION auto | whole | splits | chunks
//     PAGED_REDUCTION auto | second_pass | cluster | last_cta
//     PAGED_VERBOSE   dispatch: one line on stderr per distinct decision
#ifndef PAGED_LIB_PAGED_OPTIONS_H_
#define PAGED_LIB_PAGED_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paged {

// What computes the attention.
enum class Variant : uint8_t {
  kAuto,       // v1 or split_k, whichever is predicted to be faster
  kV1,         // one program per (sequence, kv head)
  kSplitK,     // one per (sequence, kv head, split), then a reduction
  kThrust,     // materialises the scores; for comparison
  kReference,  // three plain loops on the CPU; for correctness
};

// How the partial results of splits are merged.
enum class Reduction : uint8_t {
  kAuto,
  kNone,        // nothing to merge
  kSecondPass,  // a second kernel
  kCluster,     // by a thread block cluster: sm_90 and up, up to 8 splits
  kLastCta,     // by the last CTA to arrive, on any GPU
};

// How a sequence's tiles are shared out.
enum class Partition : uint8_t {
  kAuto,
  kWhole,   // not at all: v1
  kSplits,  // into a fixed number
  kChunks,  // as a schedule says, which is made from the lengths
};

// Whether the q heads that share a kv head share one read of it.
enum class HeadPacking : uint8_t { kOn, kOff };

// Whether the bits of a sequence's result may depend on how many other
// sequences there are, on the capacities of the plan and on the device's number
// of SMs or threads. On costs a plan its freedom: every plan splits contexts
// alike, in kInvariantSplits, with one instance per (dtype, head_dim).
enum class BatchInvariance : uint8_t { kOff, kOn };

// Who said so.
enum class OptionSource : uint8_t { kCode, kEnvironment };

inline constexpr int kMaxSplits = 1024;
// Of every batch-invariant plan: long contexts of small batches fill a chip,
// and partials of short ones are few.
inline constexpr int kInvariantSplits = 8;
// Of the reduction cluster: what every GPU with clusters can run.
inline constexpr int kMaxSplitsOfCluster = 8;

// Forces a compiled kernel of a GPU: its warps and stages, 0 for any; and one
// that takes more than the problem needs.
struct InstanceChoice {
  int warps = 0;
  int stages = 0;
  int max_rows = 0;  // that read a tile together; 0 for any
  bool is_general = false;
  bool on_cuda_cores = false;
  friend bool operator==(const InstanceChoice&,
                         const InstanceChoice&) = default;
};

// What is empty is left to the environment, and then to the cost model.
struct DecodeOptions {
  std::optional<Variant> variant = {};
  std::optional<int> splits = {};  // 0 is automatic
  std::optional<Reduction> reduction = {};
  std::optional<Partition> partition = {};
  HeadPacking head_packing = HeadPacking::kOn;
  // Whether small grids may be launched early (DecodePlan::starts_early).
  bool early_start = true;
  std::optional<InstanceChoice> instance = {};
  BatchInvariance batch_invariance = BatchInvariance::kOff;
  // Whether Decode calls Backend::CheckTables first; runs of a plan never do.
  bool validate_tables = false;

  // Filled in by ResolveOptions.
  OptionSource variant_source = OptionSource::kCode;
  OptionSource splits_source = OptionSource::kCode;
  OptionSource reduction_source = OptionSource::kCode;
  OptionSource partition_source = OptionSource::kCode;
  bool print_dispatch = false;
};

absl::string_view NameOf(Variant variant);
absl::string_view NameOf(Reduction reduction);
absl::string_view NameOf(Partition partition);
absl::string_view NameOf(HeadPacking packing);
absl::string_view NameOf(BatchInvariance invariance);

// The inverse of NameOf. InvalidArgument lists what is allowed.
absl::StatusOr<Variant> ParseVariant(absl::string_view name);
absl::StatusOr<Reduction> ParseReduction(absl::string_view name);
absl::StatusOr<Partition> ParsePartition(absl::string_view name);
absl::StatusOr<HeadPacking> ParseHeadPacking(absl::string_view name);
absl::StatusOr<BatchInvariance> ParseBatchInvariance(absl::string_view name);

// Looks a variable up; empty optional when it is not set.
using EnvLookup =
    std::function<std::optional<std::string>(const char* variable)>;

// Fills what the code left open from the environment, and checks the whole.
// InvalidArgument names the variable or field, its value and what is allowed:
// unknown words, counts out of range, v1 with more than one split, a partition
// that the variant, the splits or the reduction rule out, batch invariance with
// a variant, splits, a partition or an instance.
absl::StatusOr<DecodeOptions> ResolveOptions(DecodeOptions options,
                                             const EnvLookup& env);

// The same, with the environment of this process.
absl::StatusOr<DecodeOptions> ResolveOptions(const DecodeOptions& options);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_OPTIONS_H_
