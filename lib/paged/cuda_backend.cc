#include "paged/cuda_backend.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/baseline/thrust_decode.h"
#include "kernels/cuda/launch.h"
#include "paged/internal/block_moves.h"
#include "paged/internal/cuda_decode.h"
#include "paged/internal/cuda_memory.h"
#include "paged/internal/cuda_profile.h"
#include "paged/internal/cuda_status.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/lower.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/run_checks.h"
#include "paged/internal/schedule.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using internal::CudaStatus;
using internal::DeviceGuard;

// Narrower copies serve any address that an element may have, and no other.
absl::Status CheckAppendPointers(const AppendKvArgs& args) {
  const auto row = static_cast<std::size_t>(SizeOf(*args.row_dtype));
  const auto code = static_cast<std::size_t>(SizeOf(args.dtype));
  const struct {
    const char* field;
    const void* pointer;
    std::size_t alignment;
  } pointers[] = {{"key", args.key, row},
                  {"value", args.value, row},
                  {"key_cache", args.key_cache, code},
                  {"value_cache", args.value_cache, code},
                  {"key_scales", args.key_scales, sizeof(float)},
                  {"value_scales", args.value_scales, sizeof(float)},
                  {"slot_mapping", args.slot_mapping, sizeof(int64_t)}};
  for (const auto& [field, pointer, alignment] : pointers) {
    PAGED_RETURN_IF_ERROR(internal::CheckAligned(field, pointer, alignment));
  }
  return absl::OkStatus();
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(int device, DeviceProfile profile)
      : device_(device), profile_(std::move(profile)) {}

  const DeviceProfile& profile() const override { return profile_; }
  absl::Status Prepare(const DecodePlan& plan) override;
  absl::StatusOr<Workspace> Reserve(std::size_t bytes) override;
  absl::Status InitWorkspace(const DecodePlan& plan,
                             const RunContext& context) override;
  absl::Status MakeSchedule(const DecodePlan& plan, const int32_t* context_lens,
                            Schedule& schedule, Stream stream) override;
  absl::Status Run(const DecodePlan& plan, const DecodeArgs& args,
                   const RunContext& context) override;
  absl::Status AppendKv(const AppendKvArgs& args, Stream stream) override;
  absl::Status CopyBlocks(const CopyBlocksArgs& args, Stream stream) override;
  absl::Status CheckTables(const DecodeArgs& args, Stream stream) override;
  absl::Status MergeResults(const MergeArgs& args, Stream stream) override;
  absl::Status Synchronize(Stream stream) override;

  absl::StatusOr<Buffer> Allocate(std::size_t bytes, MemoryKind kind) override {
    return OnDevice([&] { return internal::CudaAllocate(bytes, kind); });
  }
  absl::StatusOr<Fence> MakeFence() override {
    return OnDevice([] { return internal::CudaMakeFence(); });
  }
  absl::Status Record(Fence& fence, Stream stream) override {
    return OnDevice([&] { return internal::CudaRecord(fence, stream); });
  }
  absl::Status Wait(const Fence& fence) override {
    return internal::CudaWait(fence);
  }
  absl::Status UpdateTable(const TableUpdateParams& params,
                           Stream stream) override {
    return OnDevice([&] {
      return CudaStatus(LaunchTableUpdate(params, stream), "table update");
    });
  }
  absl::Status BuildBatchTable(const BatchTableParams& params,
                               Stream stream) override {
    return OnDevice([&] {
      return CudaStatus(LaunchBatchTable(params, stream), "batch table");
    });
  }
  absl::Status FillTable(const TableFillParams& params,
                         Stream stream) override {
    return OnDevice([&] {
      return CudaStatus(LaunchFillTable(params, stream), "table adapter");
    });
  }

 private:
  // What `call` returns with this backend's device current.
  template <typename Call>
  auto OnDevice(const Call& call) -> decltype(call()) {
    const DeviceGuard guard(device_);
    PAGED_RETURN_IF_ERROR(guard.status());
    return call();
  }

  int device_;
  DeviceProfile profile_;
  Buffer reserved_;
};

absl::Status CudaBackend::Prepare(const DecodePlan& plan) {
  PAGED_RETURN_IF_ERROR(internal::CheckPlanDevice(plan, profile_));
  if (plan.variant == Variant::kThrust) return absl::OkStatus();
  return OnDevice([&] { return internal::CudaPrepareDecode(plan); });
}

absl::StatusOr<Workspace> CudaBackend::Reserve(std::size_t bytes) {
  if (bytes > reserved_.bytes()) {
    PAGED_ASSIGN_OR_RETURN(Buffer grown, Allocate(bytes, MemoryKind::kDevice));
    reserved_ = std::move(grown);
  }
  return Workspace{.data = reserved_.data(), .bytes = reserved_.bytes()};
}

absl::Status CudaBackend::InitWorkspace(const DecodePlan& plan,
                                        const RunContext& context) {
  PAGED_RETURN_IF_ERROR(internal::CheckPlanDevice(plan, profile_));
  PAGED_RETURN_IF_ERROR(
      internal::CheckWorkspace(plan, context.workspace, profile_.kind));
  if (plan.control_bytes == 0) return absl::OkStatus();
  return OnDevice([&] {
    return CudaStatus(cudaMemsetAsync(context.workspace.data, 0,
                                      plan.control_bytes, context.stream),
                      "control area");
  });
}

absl::Status CudaBackend::MakeSchedule(const DecodePlan& plan,
                                       const int32_t* context_lens,
                                       Schedule& schedule, Stream stream) {
  PAGED_ASSIGN_OR_RETURN(
      const ScheduleParams params,
      internal::LowerSchedule(plan, context_lens, profile_, schedule));
  if (params.num_seqs == 0) return absl::OkStatus();
  return OnDevice([&] {
    return CudaStatus(LaunchMakeSchedule(params, stream), "schedule kernel");
  });
}

absl::Status CudaBackend::Run(const DecodePlan& plan, const DecodeArgs& args,
                              const RunContext& context) {
  const internal::ProfileRange range("paged/run");
  PAGED_ASSIGN_OR_RETURN(const internal::Launch launch,
                         internal::Lower(plan, args, profile_, context));
  if (launch.params.num_seqs == 0) return absl::OkStatus();
  const DeviceGuard guard(device_);
  PAGED_RETURN_IF_ERROR(guard.status());
  if (launch.variant == Variant::kThrust) {
    return internal::ToStatus(
        RunThrustOnCuda(launch.kv_element, launch.params, launch.workspace.data,
                        launch.workspace.bytes, context.stream));
  }
  return internal::CudaLaunchDecode(plan, launch, context.stream);
}

absl::Status CudaBackend::AppendKv(const AppendKvArgs& args, Stream stream) {
  const internal::ProfileRange range("paged/append");
  PAGED_ASSIGN_OR_RETURN(const AppendKvArgs valid, ValidateAppend(args));
  PAGED_RETURN_IF_ERROR(CheckAppendPointers(valid));
  return OnDevice([&] {
    return CudaStatus(LaunchAppendKv(internal::LowerAppend(valid), stream),
                      "append kernel");
  });
}

absl::Status CudaBackend::CopyBlocks(const CopyBlocksArgs& args,
                                     Stream stream) {
  for (void* cache : args.caches) {
    PAGED_RETURN_IF_ERROR(internal::CheckAligned(
        "caches", cache, static_cast<std::size_t>(SizeOf(args.dtype))));
  }
  return OnDevice([&] {
    return internal::WithCopyList(args, [stream](const CopyList& list) {
      return CudaStatus(LaunchCopyBlocks(list, stream), "copy kernel");
    });
  });
}

absl::Status CudaBackend::CheckTables(const DecodeArgs& args, Stream stream) {
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, Validate(args));
  const DecodeParams params = internal::ParamsOf(problem, args);
  PAGED_ASSIGN_OR_RETURN(const Buffer buffer, Allocate(sizeof(TableCheckResult),
                                                       MemoryKind::kDevice));
  auto* result = static_cast<TableCheckResult*>(buffer.data());
  TableFault fault;
  PAGED_RETURN_IF_ERROR(OnDevice([&] {
    return CudaStatus(
        LaunchCheckTables(params, args.shape.num_blocks, result, stream),
        "table check");
  }));
  PAGED_RETURN_IF_ERROR(OnDevice([&] {
    return CudaStatus(cudaMemcpyAsync(&fault, &result->fault, sizeof(fault),
                                      cudaMemcpyDeviceToHost, stream),
                      "reading the table check");
  }));
  PAGED_RETURN_IF_ERROR(Synchronize(stream));
  return internal::ToStatus(fault, problem.shape());
}

absl::Status CudaBackend::MergeResults(const MergeArgs& args, Stream stream) {
  PAGED_RETURN_IF_ERROR(ValidateMerge(args));
  return OnDevice([&] {
    return CudaStatus(LaunchMerge(internal::KindOf(args.dtype),
                                  internal::LowerMerge(args), stream),
                      "merge kernel");
  });
}

absl::Status CudaBackend::Synchronize(Stream stream) {
  return OnDevice(
      [&] { return CudaStatus(cudaStreamSynchronize(stream), "stream"); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(
    const CudaOptions& options) {
  int count = 0;
  PAGED_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&count), "CUDA devices"));
  if (options.device < 0 || options.device >= count) {
    return absl::UnavailableError(
        absl::StrCat("device must be one of the machine's ", count, "; got ",
                     options.device));
  }
  PAGED_ASSIGN_OR_RETURN(DeviceProfile profile,
                         internal::QueryCudaProfile(options.device));
  PAGED_ASSIGN_OR_RETURN(profile, internal::ProfileOfEnvironment(profile));
  return std::make_unique<CudaBackend>(options.device, std::move(profile));
}

}  // namespace paged
