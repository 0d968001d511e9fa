// Where plans run: a CPU or a GPU behind one interface.
//
// Example:
//
//     std::unique_ptr<paged::Backend> backend =
//         paged::MakeCpuBackend({.num_threads = 2});
//     CHECK_EQ(backend->profile().num_units, 2);
//     paged::Workspace workspace = backend->Reserve(4096).value();
//     CHECK_GE(workspace.bytes, 4096u);
//
//     // A ragged batch: the schedule is made once per step, for all layers.
//     paged::DecodeShape shape{.num_seqs = 2,
//                              .num_q_heads = 1,
//                              .num_kv_heads = 1,
//                              .head_dim = 8,
//                              .num_blocks = 100,
//                              .max_blocks_per_seq = 64,
//                              .max_context_len = 1024,
//                              .expected_context_len = 300,
//                              .lengths = paged::LengthSpread::kRagged};
//     paged::DecodePlan plan = paged::MakePlan(
//         paged::ValidateShape(shape).value(), backend->profile(),
//         {.partition = paged::Partition::kChunks}).value();
//     std::vector<int32_t> context_lens = {1000, 3};
//     std::vector<char> memory(plan.schedule_bytes + 64);
//     paged::Schedule schedule{
//         .data = memory.data() + 64 -
//                 reinterpret_cast<std::uintptr_t>(memory.data()) % 64,
//         .bytes = plan.schedule_bytes};
//     CHECK_OK(backend->MakeSchedule(plan, context_lens.data(), schedule,
//                                    nullptr));
//     paged::RunContext context{.schedule = &schedule};  // of each layer
//     CHECK_NE(context.schedule->made_for, 0u);
#ifndef PAGED_LIB_PAGED_BACKEND_H_
#define PAGED_LIB_PAGED_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/append_kv.h"
#include "paged/args.h"
#include "paged/copy_blocks.h"
#include "paged/device_memory.h"
#include "paged/device_profile.h"
#include "paged/merge_results.h"
#include "paged/plan.h"

// A cudaStream_t, named without the CUDA headers.
struct CUstream_st;

namespace paged {

using Stream = CUstream_st*;

// Memory of the caller's, in the backend's memory space, aligned to 256 bytes
// on CUDA and 64 on the CPU. One run at a time may use it.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// Of the kernels of DeviceTable and table_adapters.h.
struct TableUpdateParams;
struct BatchTableParams;
struct TableFillParams;

// How a ragged batch is cut into chunks, in plan.schedule_bytes of the
// caller's, in the backend's memory space and aligned like a workspace.
// Backend::MakeSchedule fills it in once per decode step, and the runs of all
// layers read it.
struct Schedule {
  void* data = nullptr;
  std::size_t bytes = 0;
  uint64_t made_for = 0;  // set by MakeSchedule: the plans that may read it
};

// Where a run takes place. The CPU ignores the stream.
struct RunContext {
  Stream stream = nullptr;
  Workspace workspace = {};
  const Schedule* schedule = nullptr;
};

// Several threads may share one backend as long as they use streams and
// workspaces of their own; Reserve alone is for one thread at a time.
//
// Besides the codes below, what CUDA refuses is ResourceExhausted for want of
// memory, Unavailable for want of a device, and Internal otherwise.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceProfile& profile() const = 0;

  // Loads kernels and sets their attributes, so that a CUDA graph can be
  // captured afterwards. Unimplemented where this build lacks the variant;
  // FailedPrecondition for a plan of another device.
  virtual absl::Status Prepare(const DecodePlan& plan) = 0;

  // Grows a workspace that the backend owns, and returns it as it is: each plan
  // wants InitWorkspace first. The next call may invalidate it. May
  // synchronise. ResourceExhausted when there is no memory.
  virtual absl::StatusOr<Workspace> Reserve(std::size_t bytes) = 0;

  // Zeroes the plan's control area, once before the first run in this
  // workspace; runs leave it zero. Enqueued. FailedPrecondition for a plan of
  // another device, ResourceExhausted for a workspace smaller than the plan's,
  // InvalidArgument for one that is not aligned.
  virtual absl::Status InitWorkspace(const DecodePlan& plan,
                                     const RunContext& context) = 0;

  // Makes the schedule of these lengths ([num_seqs], the backend's memory), for
  // every run of a plan of the same batch capacities until the next call.
  // Enqueued; neither allocates nor synchronises. A captured graph makes it
  // anew from the lengths of each replay. FailedPrecondition for a plan of
  // another device, InvalidArgument for a plan whose partition is not chunks,
  // or pointers that are null or not aligned, ResourceExhausted for a schedule
  // smaller than the plan's.
  virtual absl::Status MakeSchedule(const DecodePlan& plan,
                                    const int32_t* context_lens,
                                    Schedule& schedule, Stream stream) = 0;

  // Enqueues the plan on the stream; does not allocate, synchronise or read
  // lengths on the host. FailedPrecondition for a plan of another shape or
  // device, InvalidArgument as Validate, ResourceExhausted for a workspace
  // smaller than the plan's, Unimplemented where this build lacks the variant.
  // A plan of the partition chunks without a schedule makes one of its own
  // first, in its workspace; the lengths that count are the schedule's. A
  // schedule of another plan is FailedPrecondition, one for another partition
  // InvalidArgument.
  // Variant thrust alone may synchronise with the stream, and so it is
  // FailedPrecondition while the stream is being captured.
  virtual absl::Status Run(const DecodePlan& plan, const DecodeArgs& args,
                           const RunContext& context) = 0;

  // Writes new keys and values into their slots, converted where the cache has
  // another dtype or scales. Enqueued. InvalidArgument as ValidateAppend, and
  // on CUDA for pointers that are not aligned to their elements.
  virtual absl::Status AppendKv(const AppendKvArgs& args, Stream stream) = 0;

  // Copies whole blocks as if all at once. Enqueued: on CUDA a launch for some
  // 4000 copies (300 of those that meet, as chains and cycles do) in 32 caches;
  // allocates host memory, some 8 bytes per copy and a bit per block.
  // InvalidArgument as ValidateCopy, and on CUDA for caches that are not
  // aligned to their elements.
  virtual absl::Status CopyBlocks(const CopyBlocksArgs& args,
                                  Stream stream) = 0;

  // Looks at the lengths, query offsets and table entries that a run of these
  // arguments would follow, and waits for what it finds. InvalidArgument as
  // Validate, and for the first offender: "block_tables[3][17] must be 0 to
  // 4095; got -1". Allocates and synchronises on CUDA.
  virtual absl::Status CheckTables(const DecodeArgs& args, Stream stream) = 0;

  // Merges two results of the same rows (merge_results.h). Enqueued.
  // InvalidArgument as ValidateMerge.
  virtual absl::Status MergeResults(const MergeArgs& args, Stream stream) = 0;

  // Waits for what was enqueued on the stream. Internal when some of it failed
  // on the device.
  virtual absl::Status Synchronize(Stream stream) = 0;

  // --- Memory and fences. Both may outlive the backend.

  // Uninitialised. ResourceExhausted when there is no memory. May synchronise.
  virtual absl::StatusOr<Buffer> Allocate(std::size_t bytes,
                                          MemoryKind kind) = 0;
  virtual absl::StatusOr<Fence> MakeFence() = 0;
  // Moves the fence to what is enqueued last.
  virtual absl::Status Record(Fence& fence, Stream stream) = 0;
  // Returns when what was enqueued before the fence is done.
  virtual absl::Status Wait(const Fence& fence) = 0;

  // --- What DeviceTable (device_table.h) enqueues; its parameters are checked
  // there.

  virtual absl::Status UpdateTable(const TableUpdateParams& params,
                                   Stream stream) = 0;
  virtual absl::Status BuildBatchTable(const BatchTableParams& params,
                                       Stream stream) = 0;

  // --- What table_adapters.h enqueues; its parameters are checked there.

  virtual absl::Status FillTable(const TableFillParams& params,
                                 Stream stream) = 0;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BACKEND_H_
