// A backend whose table kernels run late, as a device's do.
#ifndef PAGED_TESTS_LIB_BLOCKS_LAGGING_BACKEND_H_
#define PAGED_TESTS_LIB_BLOCKS_LAGGING_BACKEND_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "kernels/core/table_params.h"
#include "paged/cpu_backend.h"

namespace paged::testing {

// Table kernels and fences wait in a queue until a fence, Synchronize, or
// RunOldest makes them run. Everything else is the CPU's, at once.
class LaggingBackend final : public Backend {
 public:
  std::size_t num_pending() const { return queue_.size(); }
  void RunOldest() {
    queue_.front()();
    queue_.pop_front();
  }
  int num_waits() const { return num_waits_; }

  const DeviceProfile& profile() const override { return cpu_->profile(); }
  absl::Status Prepare(const DecodePlan& plan) override {
    return cpu_->Prepare(plan);
  }
  absl::StatusOr<Workspace> Reserve(std::size_t bytes) override {
    return cpu_->Reserve(bytes);
  }
  absl::Status InitWorkspace(const DecodePlan& plan,
                             const RunContext& context) override {
    return cpu_->InitWorkspace(plan, context);
  }
  absl::Status MakeSchedule(const DecodePlan& plan, const int32_t* context_lens,
                            Schedule& schedule, Stream stream) override {
    return cpu_->MakeSchedule(plan, context_lens, schedule, stream);
  }
  absl::Status Run(const DecodePlan& plan, const DecodeArgs& args,
                   const RunContext& context) override {
    return cpu_->Run(plan, args, context);
  }
  absl::Status AppendKv(const AppendKvArgs& args, Stream stream) override {
    return cpu_->AppendKv(args, stream);
  }
  absl::Status CopyBlocks(const CopyBlocksArgs& args, Stream stream) override {
    return cpu_->CopyBlocks(args, stream);
  }
  absl::Status CheckTables(const DecodeArgs& args, Stream stream) override {
    return cpu_->CheckTables(args, stream);
  }
  absl::Status MergeResults(const MergeArgs& args, Stream stream) override {
    return cpu_->MergeResults(args, stream);
  }
  absl::Status Synchronize(Stream) override {
    while (!queue_.empty()) RunOldest();
    return absl::OkStatus();
  }

  absl::StatusOr<Buffer> Allocate(std::size_t bytes, MemoryKind kind) override {
    return cpu_->Allocate(bytes, kind);
  }
  absl::StatusOr<Fence> MakeFence() override {
    return Fence(new bool(true),
                 [](void* reached) { delete static_cast<bool*>(reached); });
  }
  absl::Status Record(Fence& fence, Stream) override {
    bool* reached = static_cast<bool*>(fence.handle());
    *reached = false;
    queue_.push_back([reached] { *reached = true; });
    return absl::OkStatus();
  }
  absl::Status Wait(const Fence& fence) override {
    const bool& reached = *static_cast<const bool*>(fence.handle());
    num_waits_ += reached ? 0 : 1;
    while (!reached) RunOldest();
    return absl::OkStatus();
  }
  absl::Status UpdateTable(const TableUpdateParams& params,
                           Stream stream) override {
    queue_.push_back(
        [this, params, stream] { (void)cpu_->UpdateTable(params, stream); });
    return absl::OkStatus();
  }
  absl::Status FillTable(const TableFillParams& params,
                         Stream stream) override {
    return cpu_->FillTable(params, stream);
  }
  absl::Status BuildBatchTable(const BatchTableParams& params,
                               Stream stream) override {
    queue_.push_back([this, params, stream] {
      (void)cpu_->BuildBatchTable(params, stream);
    });
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Backend> cpu_ = MakeCpuBackend({.num_threads = 1});
  std::deque<std::function<void()>> queue_;
  int num_waits_ = 0;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_LAGGING_BACKEND_H_
