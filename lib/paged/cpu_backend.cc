#include "paged/cpu_backend.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/baseline/thrust_decode.h"
#include "kernels/core/schedule.h"
#include "kernels/core/table_check.h"
#include "kernels/cpu/append_kernels.h"
#include "kernels/cpu/copy_kernels.h"
#include "kernels/cpu/decode_kernels.h"
#include "kernels/cpu/merge_kernels.h"
#include "kernels/cpu/simd_decode.h"
#include "kernels/cpu/simd_kernels.h"
#include "kernels/cpu/table_kernels.h"
#include "kernels/cpu/thread_pool.h"
#include "paged/internal/block_moves.h"
#include "paged/internal/cpu_kernels.h"
#include "paged/internal/huge_pages.h"
#include "paged/internal/lower.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/run_checks.h"
#include "paged/internal/schedule.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// What Buffer promises; a multiple of a cache line, so that two workspaces
// never share one.
constexpr std::size_t kAlignment = 256;

absl::Status NoMemory(std::size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for a buffer of ", bytes, " bytes"));
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuOptions& options, absl::StatusOr<const SimdKernels*> simd)
      : simd_(std::move(simd)),
        pool_(CpuProfile(options.num_threads).num_units, options.executor),
        // Of the threads that the system gave.
        profile_(CpuProfile(pool_.num_threads())) {}

  const DeviceProfile& profile() const override { return profile_; }

  absl::Status Prepare(const DecodePlan& plan) override {
    PAGED_RETURN_IF_ERROR(simd_.status());
    PAGED_RETURN_IF_ERROR(internal::CheckPlanDevice(plan, profile_));
    if (plan.variant == Variant::kThrust && !HasThrustOnHost()) {
      return internal::ToStatus(ThrustStatus::kNotBuilt);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Workspace> Reserve(std::size_t bytes) override;

  absl::Status InitWorkspace(const DecodePlan& plan,
                             const RunContext& context) override {
    PAGED_RETURN_IF_ERROR(internal::CheckPlanDevice(plan, profile_));
    PAGED_RETURN_IF_ERROR(
        internal::CheckWorkspace(plan, context.workspace, profile_.kind));
    if (plan.control_bytes > 0) {
      std::memset(context.workspace.data, 0, plan.control_bytes);
    }
    return absl::OkStatus();
  }

  absl::Status MakeSchedule(const DecodePlan& plan, const int32_t* context_lens,
                            Schedule& schedule, Stream stream) override;

  absl::Status Run(const DecodePlan& plan, const DecodeArgs& args,
                   const RunContext& context) override;

  absl::Status AppendKv(const AppendKvArgs& args, Stream stream) override;
  absl::Status CopyBlocks(const CopyBlocksArgs& args, Stream stream) override;

  absl::Status MergeResults(const MergeArgs& args, Stream stream) override;

  absl::Status CheckTables(const DecodeArgs& args, Stream stream) override;

  absl::Status Synchronize(Stream) override { return absl::OkStatus(); }

  // Everything is done when its call returns, so that fences mark nothing.
  absl::StatusOr<Buffer> Allocate(std::size_t bytes, MemoryKind kind) override;
  absl::StatusOr<Fence> MakeFence() override { return Fence(); }
  absl::Status Record(Fence&, Stream) override { return absl::OkStatus(); }
  absl::Status Wait(const Fence&) override { return absl::OkStatus(); }
  absl::Status UpdateTable(const TableUpdateParams& params, Stream) override {
    RunTableUpdate(params);
    return absl::OkStatus();
  }
  absl::Status BuildBatchTable(const BatchTableParams& params,
                               Stream) override {
    RunBatchTable(params);
    return absl::OkStatus();
  }
  absl::Status FillTable(const TableFillParams& params, Stream) override {
    RunFillTable(params);
    return absl::OkStatus();
  }

 private:
  void RunV1Kernels(const DecodeElements& elements, const DecodeParams& params);
  void RunSplitKKernels(const DecodeElements& elements,
                        const DecodeParams& params);
  void RunChunkKernels(const DecodeElements& elements,
                       const DecodeParams& params);

  absl::StatusOr<const SimdKernels*> simd_;  // null: the scalar ones
  ThreadPool pool_;
  DeviceProfile profile_;
  Buffer reserved_;
};

absl::StatusOr<Buffer> CpuBackend::Allocate(std::size_t bytes, MemoryKind) {
  if (bytes == 0) return Buffer();
  // No object may be larger, and the rounding below may not wrap.
  if (bytes > PTRDIFF_MAX - kAlignment) return NoMemory(bytes);
  const std::size_t rounded =
      (bytes + kAlignment - 1) / kAlignment * kAlignment;
  Buffer buffer(std::aligned_alloc(kAlignment, rounded), bytes, &std::free);
  if (buffer.data() == nullptr) return NoMemory(bytes);
  internal::AdviseHugePages(buffer.data(), bytes);
  return buffer;
}

absl::StatusOr<Workspace> CpuBackend::Reserve(std::size_t bytes) {
  if (bytes > reserved_.bytes()) {
    PAGED_ASSIGN_OR_RETURN(Buffer grown, Allocate(bytes, MemoryKind::kDevice));
    // Zero is what a fresh control area holds.
    std::memset(grown.data(), 0, grown.bytes());
    reserved_ = std::move(grown);
  }
  return Workspace{.data = reserved_.data(), .bytes = reserved_.bytes()};
}

void CpuBackend::RunV1Kernels(const DecodeElements& elements,
                              const DecodeParams& params) {
  if (const SimdKernels* simd = *simd_) {
    RunSimdV1(*simd, elements, params, pool_);
  } else {
    RunV1(elements, params, pool_);
  }
}

void CpuBackend::RunSplitKKernels(const DecodeElements& elements,
                                  const DecodeParams& params) {
  if (const SimdKernels* simd = *simd_) {
    RunSimdSplitK(*simd, elements, params, pool_);
    RunSimdReduceSplits(*simd, elements, params, pool_);
  } else {
    RunSplitK(elements, params, pool_);
    RunReduceSplits(elements, params, pool_);
  }
}

void CpuBackend::RunChunkKernels(const DecodeElements& elements,
                                 const DecodeParams& params) {
  if (const SimdKernels* simd = *simd_) {
    RunSimdChunks(*simd, elements, params, pool_);
  } else {
    RunChunks(elements, params, pool_);
  }
}

absl::Status CpuBackend::MakeSchedule(const DecodePlan& plan,
                                      const int32_t* context_lens,
                                      Schedule& schedule, Stream) {
  PAGED_ASSIGN_OR_RETURN(
      const ScheduleParams params,
      internal::LowerSchedule(plan, context_lens, profile_, schedule));
  paged::MakeSchedule(params);
  return absl::OkStatus();
}

absl::Status CpuBackend::Run(const DecodePlan& plan, const DecodeArgs& args,
                             const RunContext& context) {
  const internal::ProfileRange range("paged/run");
  PAGED_RETURN_IF_ERROR(simd_.status());
  PAGED_ASSIGN_OR_RETURN(const internal::Launch launch,
                         internal::Lower(plan, args, profile_, context));
  const DecodeElements elements{.query = launch.query_element,
                                .kv = launch.kv_element};
  switch (launch.variant) {
    case Variant::kV1:
      RunV1Kernels(elements, launch.params);
      return absl::OkStatus();
    case Variant::kSplitK:
      if (launch.partition == Partition::kSplits) {
        RunSplitKKernels(elements, launch.params);
        return absl::OkStatus();
      }
      if (launch.own_schedule.schedule.header != nullptr) {
        paged::MakeSchedule(launch.own_schedule);
      }
      RunChunkKernels(elements, launch.params);
      return absl::OkStatus();
    case Variant::kReference:
      RunReference(elements, launch.params);
      return absl::OkStatus();
    case Variant::kThrust:
      if (launch.params.num_seqs == 0) return absl::OkStatus();
      return internal::ToStatus(
          RunThrustOnHost(launch.kv_element, launch.params,
                          launch.workspace.data, launch.workspace.bytes));
    case Variant::kAuto:
      break;
  }
  return absl::InternalError("plan.variant must not be auto");
}

absl::Status CpuBackend::AppendKv(const AppendKvArgs& args, Stream) {
  const internal::ProfileRange range("paged/append");
  PAGED_ASSIGN_OR_RETURN(const AppendKvArgs a, ValidateAppend(args));
  RunAppendKv(internal::LowerAppend(a));
  return absl::OkStatus();
}

absl::Status CpuBackend::CheckTables(const DecodeArgs& args, Stream) {
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, Validate(args));
  const DecodeParams params = internal::ParamsOf(problem, args);
  for (int seq = 0; seq < params.num_seqs; ++seq) {
    PAGED_RETURN_IF_ERROR(internal::ToStatus(
        FirstTableFault(params, args.shape.num_blocks, seq), problem.shape()));
  }
  return absl::OkStatus();
}

absl::Status CpuBackend::MergeResults(const MergeArgs& args, Stream) {
  PAGED_RETURN_IF_ERROR(ValidateMerge(args));
  RunMerge(internal::KindOf(args.dtype), internal::LowerMerge(args), pool_);
  return absl::OkStatus();
}

absl::Status CpuBackend::CopyBlocks(const CopyBlocksArgs& args, Stream) {
  return internal::WithCopyList(args, [](const CopyList& list) {
    RunCopyBlocks(list);
    return absl::OkStatus();
  });
}

// What PAGED_CPU asks for.
absl::StatusOr<const SimdKernels*> KernelsOfEnvironment() {
  constexpr char kVariable[] = "PAGED_CPU";
  const char* value = std::getenv(kVariable);
  const absl::string_view name = value == nullptr ? "" : value;
  if (name.empty() || name == "auto") return FindSimdKernels();
  if (name == "float") return FindSimdKernels(DotProducts::kNever);
  if (name == "scalar") return nullptr;
  return absl::InvalidArgumentError(
      absl::StrCat(kVariable, " must be auto, float or scalar; got ", name));
}

}  // namespace

namespace internal {

std::unique_ptr<Backend> MakeCpuBackendWith(const CpuOptions& options,
                                            const SimdKernels* simd) {
  return std::make_unique<CpuBackend>(options, simd);
}

}  // namespace internal

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options, KernelsOfEnvironment());
}

}  // namespace paged
