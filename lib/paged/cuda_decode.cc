#include "paged/internal/cuda_decode.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/launch.h"
#include "paged/internal/cuda_status.h"
#include "paged/internal/instance_classes.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

absl::StatusOr<const DecodeKernel*> KernelOf(const DecodePlan& plan) {
  const InstanceConfig* config = ConfigOf(plan.instance);
  const DecodeKernel* kernel =
      config == nullptr ? nullptr : FindDecodeKernel(*config);
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("no kernel of this build is the plan's instance; got ",
                     NameOf(plan.instance)));
  }
  return kernel;
}

KernelEnding EndingOf(const DecodePlan& plan) {
  if (plan.partition == Partition::kChunks) return KernelEnding::kChunks;
  switch (plan.reduction) {
    case Reduction::kSecondPass:
      return KernelEnding::kPartial;
    case Reduction::kCluster:
      return KernelEnding::kCluster;
    case Reduction::kLastCta:
      return KernelEnding::kLastCta;
    case Reduction::kAuto:
    case Reduction::kNone:
      break;
  }
  return KernelEnding::kOutput;
}

}  // namespace

absl::Status CudaPrepareDecode(const DecodePlan& plan) {
  PAGED_ASSIGN_OR_RETURN(const DecodeKernel* kernel, KernelOf(plan));
  PAGED_RETURN_IF_ERROR(
      CudaStatus(PrepareDecodeKernel(*kernel), "decode kernel"));
  if (plan.partition == Partition::kChunks) {
    return CudaStatus(PrepareMakeSchedule(), "schedule kernel");
  }
  if (plan.reduction == Reduction::kSecondPass) {
    return CudaStatus(PrepareReduceSplits(ParamsOf(plan)), "reduction kernel");
  }
  return absl::OkStatus();
}

absl::Status CudaLaunchDecode(const DecodePlan& plan, const Launch& launch,
                              Stream stream) {
  PAGED_ASSIGN_OR_RETURN(const DecodeKernel* kernel, KernelOf(plan));
  const KernelEnding ending = EndingOf(plan);
  if (launch.own_schedule.schedule.header != nullptr) {
    PAGED_RETURN_IF_ERROR(CudaStatus(
        LaunchMakeSchedule(launch.own_schedule, stream), "schedule kernel"));
  }
  PAGED_RETURN_IF_ERROR(CudaStatus(
      kernel->Launch(ending, launch.params, launch.starts_early, stream),
      "decode kernel"));
  if (ending != KernelEnding::kPartial) return absl::OkStatus();
  return CudaStatus(LaunchReduceSplits(launch.params, stream),
                    "reduction kernel");
}

}  // namespace paged::internal
