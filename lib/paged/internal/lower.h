// The last step before a launch: a plan and pointers become kernel parameters.
#ifndef PAGED_LIB_PAGED_INTERNAL_LOWER_H_
#define PAGED_LIB_PAGED_INTERNAL_LOWER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/core/append_params.h"
#include "kernels/core/instance.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/merge_params.h"
#include "kernels/core/schedule.h"
#include "paged/append_kv.h"
#include "paged/args.h"
#include "paged/backend.h"
#include "paged/plan.h"

namespace paged::internal {

ElementKind KindOf(DType dtype);

// The counters of reductions, the same bytes of every workspace: plans of any
// kind may take turns in one, and none overwrites what another relies on.
inline constexpr std::size_t kControlBytes = 64 * 1024;
// (item, kv head) pairs that the reduction last_cta can count.
inline constexpr int64_t kMaxArrivalCounters = kControlBytes / 4;

// Where a plan keeps what in its workspace, in bytes from its start. The
// control area comes first; each part is aligned to kWorkspaceAlignment, and
// total_bytes ends with the last byte that is touched.
struct WorkspaceLayout {
  std::size_t control_bytes = 0;
  std::size_t states_offset = 0;
  std::size_t values_offset = 0;
  std::size_t schedule_offset = 0;  // of a run that is given none
  std::size_t total_bytes = 0;
};
inline constexpr std::size_t kWorkspaceAlignment = 256;

// From the plan's variant, partition, chunking, row tiles and shape; its bytes
// are not read.
WorkspaceLayout WorkspaceLayoutOf(const DecodePlan& plan);

// All of the kernel parameters but the pointers.
DecodeParams ParamsOf(const DecodePlan& plan);
// Adds the pointers of a run.
void BindPointers(const DecodeArgs& args, DecodeParams& params);

// The same with the pointers of `args`, for what runs without a plan: one item
// per sequence.
DecodeParams ParamsOf(const DecodeProblem& problem, const DecodeArgs& args);

// What a kernel layer is asked to launch. Pure data; no device is touched.
struct Launch {
  Variant variant;
  Partition partition;
  Reduction reduction;
  ElementKind query_element;  // the output's as well
  ElementKind kv_element;
  InstanceShape instance;  // CUDA only
  bool starts_early;       // CUDA only
  DecodeParams params;
  Workspace workspace;  // of the thrust variant
  // A schedule to make before anything else; without a place, none.
  ScheduleParams own_schedule;
};

// InvalidArgument for a pointer that is not aligned as the device wants it.
absl::Status CheckPointers(const DecodeArgs& args, DeviceKind kind);

// Binds the pointers of `args` and the workspace to a plan. InvalidArgument as
// Validate, and on CUDA for pointers that are not aligned to 16 bytes;
// FailedPrecondition when the plan is of another shape or device;
// ResourceExhausted when the workspace is too small; for a schedule as
// Backend::Run.
absl::StatusOr<Launch> Lower(const DecodePlan& plan, const DecodeArgs& args,
                             const DeviceProfile& profile,
                             const RunContext& context);

// The parameters of a merge that ValidateMerge accepted.
MergeParams LowerMerge(const MergeArgs& validated);

// The parameters of an append whose arguments ValidateAppend returned.
AppendParams LowerAppend(const AppendKvArgs& validated);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_LOWER_H_
