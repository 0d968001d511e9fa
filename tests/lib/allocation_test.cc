// A program of its own, because it replaces operator new to count the calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"
#include "paged/decode.h"
#include "paged/internal/cpu_kernels.h"
#include "paged/internal/lower.h"
#include "paged/internal/schedule.h"
#include "paged/plan.h"
#include "tests/lib/shapes.h"

namespace {
std::atomic<int> num_allocations = 0;
}  // namespace

// Not inlined: g++ 12 would pair one side's malloc or free with the other's
// operator, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++num_allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
// Scratch of vector kernels.
[[gnu::noinline]] void* operator new(std::size_t bytes,
                                     std::align_val_t alignment) {
  ++num_allocations;
  const auto to = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(to, (bytes / to + 1) * to)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory,
                                       std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace paged {
namespace {

using testing::ShapeOf;

TEST(AllocationTest, TheCounterCounts) {
  const int before = num_allocations;
  // A call of the function, which unlike the expression may not be elided.
  ::operator delete(::operator new(8));
  EXPECT_EQ(num_allocations, before + 1);
  constexpr std::align_val_t kLine{64};
  ::operator delete[](::operator new[](8, kLine), kLine);
  EXPECT_EQ(num_allocations, before + 2);
}

TEST(AllocationTest, PlanningDoesNotAllocate) {
  DecodeShape ragged = ShapeOf({64, 8, 4, 131072});
  ragged.expected_context_len = 3000;
  ragged.lengths = LengthSpread::kRagged;
  DecodeShape ruled = ShapeOf({4, 8, 8, 32768, 72});
  ruled.q_len = 4;
  ruled.window = 512;
  const DecodeShape shapes[] = {ShapeOf({1, 8, 4, 131072}),
                                ShapeOf({64, 8, 4, 4096}),
                                ShapeOf({8, 4, 2, 1024}),
                                ShapeOf({32, 1, 40, 777}),
                                ragged,
                                ruled};
  const DeviceProfile profiles[] = {H200Profile(), Rtx3090Profile(),
                                    CpuProfile(4)};
  const DecodeOptions options[] = {{},
                                   {.splits = 7},
                                   {.variant = Variant::kV1},
                                   {.partition = Partition::kChunks}};
  bool all_ok = true;
  const int before = num_allocations;
  for (const DecodeShape& shape : shapes) {
    for (const DeviceProfile& profile : profiles) {
      for (const DecodeOptions& option : options) {
        all_ok &= MakePlan(ValidateShape(shape).value(), profile, option).ok();
      }
    }
  }
  EXPECT_EQ(num_allocations, before);
  EXPECT_TRUE(all_ok);
}

// Each ending of a run on a GPU, and chunks with a schedule of the run's own
// and with one that layers share.
TEST(AllocationTest, LoweringDoesNotAllocate) {
  alignas(256) static char memory[256];
  DecodeArgs args{.shape = ShapeOf({8, 4, 2, 1024})};
  args.query = args.key_cache = args.value_cache = memory;
  args.output = memory;
  args.block_tables = args.context_lens = reinterpret_cast<int32_t*>(memory);
  const DeviceProfile profile = H200Profile();
  for (const DecodeOptions& options :
       {DecodeOptions{.variant = Variant::kV1},
        DecodeOptions{.splits = 3, .reduction = Reduction::kSecondPass},
        DecodeOptions{.splits = 3, .reduction = Reduction::kCluster},
        DecodeOptions{.splits = 3, .reduction = Reduction::kLastCta},
        DecodeOptions{.partition = Partition::kChunks}}) {
    const DecodePlan plan =
        MakePlan(ValidateShape(args.shape).value(), profile, options).value();
    Schedule schedule{.data = memory, .bytes = plan.schedule_bytes};
    RunContext context{
        .stream = nullptr,
        .workspace = {.data = memory, .bytes = plan.workspace_bytes},
        .schedule = nullptr};
    const int before = num_allocations;
    bool all_ok = internal::Lower(plan, args, profile, context).ok();
    if (plan.partition == Partition::kChunks) {
      all_ok &=
          internal::LowerSchedule(plan, args.context_lens, profile, schedule)
              .ok();
      context.schedule = &schedule;
      all_ok &= internal::Lower(plan, args, profile, context).ok();
    }
    EXPECT_EQ(num_allocations, before) << ToString(plan);
    EXPECT_TRUE(all_ok) << ToString(plan);
  }
}

// Memory of the backend, where kernels read and the host can write.
template <typename T>
Buffer Staged(Backend& backend, std::span<const T> values) {
  Buffer buffer =
      backend.Allocate(values.size_bytes(), MemoryKind::kStaging).value();
  std::copy(values.begin(), values.end(), buffer.As<T>());
  return buffer;
}

// Inputs of two sequences, zeros, and a place for the output.
class RunInputs {
 public:
  explicit RunInputs(Backend& backend)
      : rows_(
            Staged<uint16_t>(backend, std::vector<uint16_t>(8 * 16 * 2 * 24))),
        tables_(Staged<int32_t>(backend, kTables)),
        lens_(Staged<int32_t>(backend, kLens)),
        output_(
            backend.Allocate(2 * 6 * 24 * sizeof(uint16_t), MemoryKind::kDevice)
                .value()) {}

  DecodeArgs args() const {
    return {.shape = {.num_seqs = 2,
                      .num_q_heads = 6,
                      .num_kv_heads = 2,
                      .head_dim = 24,
                      .num_blocks = 8,
                      .max_blocks_per_seq = 4,
                      .max_context_len = 60},
            .query = rows_.data(),
            .key_cache = rows_.data(),
            .value_cache = rows_.data(),
            .block_tables = tables_.As<int32_t>(),
            .context_lens = lens_.As<int32_t>(),
            .output = output_.data()};
  }

 private:
  static constexpr int32_t kTables[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static constexpr int32_t kLens[] = {60, 17};
  Buffer rows_, tables_, lens_, output_;
};

// Of `num_runs` runs after a first one, under each of the options. The first
// run of a plan may: scratch grows, and stays.
void ExpectAllocationsOfRuns(Backend& backend,
                             std::span<const DecodeOptions> all_options,
                             int num_runs, int most_allocations) {
  const RunInputs inputs(backend);
  const DecodeArgs args = inputs.args();
  for (const DecodeOptions& options : all_options) {
    const DecodePlan plan = PlanDecode(args.shape, backend, options).value();
    const RunContext context{.workspace =
                                 backend.Reserve(plan.workspace_bytes).value()};
    bool all_ok = backend.Prepare(plan).ok() &&
                  backend.InitWorkspace(plan, context).ok() &&
                  backend.Run(plan, args, context).ok();
    const int before = num_allocations;
    for (int i = 0; i < num_runs; ++i) {
      all_ok &= backend.Run(plan, args, context).ok();
    }
    EXPECT_LE(num_allocations, before + most_allocations) << ToString(plan);
    all_ok &= backend.Synchronize(nullptr).ok();
    EXPECT_TRUE(all_ok) << ToString(plan);
  }
}

constexpr DecodeOptions kCpuOptions[] = {{.variant = Variant::kV1},
                                         {.splits = 3},
                                         {.partition = Partition::kChunks}};

TEST(AllocationTest, RunningOnTheCpuDoesNotAllocateOnceItHasRun) {
  const auto backend = MakeCpuBackend({.num_threads = 1});
  ExpectAllocationsOfRuns(*backend, kCpuOptions, 3, 0);
}

TEST(AllocationTest, RunningTheScalarKernelsDoesNotAllocateOnceTheyHaveRun) {
  const auto backend =
      internal::MakeCpuBackendWith({.num_threads = 1}, nullptr);
  ExpectAllocationsOfRuns(*backend, kCpuOptions, 3, 0);
}

// A worker has its scratch from the first program that it gets, in whichever
// run: some buffers for each thread, however many runs.
TEST(AllocationTest, TheBackendsOwnThreadsAllocateOnce) {
  const auto backend = MakeCpuBackend({.num_threads = 3});
  ExpectAllocationsOfRuns(*backend, kCpuOptions, 2000, 12);
}

TEST(AllocationTest, RunningOnAnExecutorDoesNotAllocateOnceItHasRun) {
  int num_loops = 0;
  const auto backend = MakeCpuBackend(
      {.num_threads = 2,
       .executor = [&](int64_t count,
                       const std::function<void(int64_t)>& body) {
         ++num_loops;
         for (int64_t i = 0; i < count; ++i) body(i);
       }});
  ExpectAllocationsOfRuns(*backend, kCpuOptions, 3, 0);
  EXPECT_GT(num_loops, 0);
}

TEST(CudaAllocationTest, RunningDoesNotAllocateOnceItHasRun) {
  const auto backend = MakeCudaBackend();
  if (!backend.ok()) GTEST_SKIP() << backend.status();
  constexpr DecodeOptions kEndings[] = {
      {.variant = Variant::kV1},
      {.splits = 3, .reduction = Reduction::kSecondPass},
      {.splits = 3, .reduction = Reduction::kLastCta},
      {.partition = Partition::kChunks}};
  ExpectAllocationsOfRuns(**backend, kEndings, 3, 0);
}

}  // namespace
}  // namespace paged
