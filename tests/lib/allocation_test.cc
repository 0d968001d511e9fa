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
[[gnu::noinline]] void operator delete(void* memory) noexcept {
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

// The first run of a plan may: scratch grows, and stays.
void ExpectThatRunsDoNotAllocate(Backend& backend,
                                 std::span<const DecodeOptions> all_options) {
  const DecodeShape shape{.num_seqs = 2,
                          .num_q_heads = 6,
                          .num_kv_heads = 2,
                          .head_dim = 24,
                          .num_blocks = 8,
                          .max_blocks_per_seq = 4,
                          .max_context_len = 60};
  const std::vector<uint16_t> zeros(8 * 16 * 2 * 24);
  const int32_t tables[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int32_t lens[] = {60, 17};
  const Buffer inputs = Staged<uint16_t>(backend, zeros);
  const Buffer block_tables = Staged<int32_t>(backend, tables);
  const Buffer context_lens = Staged<int32_t>(backend, lens);
  const Buffer output =
      backend.Allocate(2 * 6 * 24 * sizeof(uint16_t), MemoryKind::kDevice)
          .value();
  const DecodeArgs args{.shape = shape,
                        .query = inputs.data(),
                        .key_cache = inputs.data(),
                        .value_cache = inputs.data(),
                        .block_tables = block_tables.As<int32_t>(),
                        .context_lens = context_lens.As<int32_t>(),
                        .output = output.data()};
  for (const DecodeOptions& options : all_options) {
    const DecodePlan plan = PlanDecode(shape, backend, options).value();
    const RunContext context{.workspace =
                                 backend.Reserve(plan.workspace_bytes).value()};
    bool all_ok = backend.Prepare(plan).ok() &&
                  backend.InitWorkspace(plan, context).ok() &&
                  backend.Run(plan, args, context).ok();
    const int before = num_allocations;
    for (int i = 0; i < 3; ++i) all_ok &= backend.Run(plan, args, context).ok();
    EXPECT_EQ(num_allocations, before) << ToString(plan);
    all_ok &= backend.Synchronize(nullptr).ok();
    EXPECT_TRUE(all_ok) << ToString(plan);
  }
}

constexpr DecodeOptions kCpuOptions[] = {{.variant = Variant::kV1},
                                         {.splits = 3}};

TEST(AllocationTest, RunningOnTheCpuDoesNotAllocateOnceItHasRun) {
  const auto backend = MakeCpuBackend({.num_threads = 1});
  ExpectThatRunsDoNotAllocate(*backend, kCpuOptions);
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
  ExpectThatRunsDoNotAllocate(*backend, kCpuOptions);
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
  ExpectThatRunsDoNotAllocate(**backend, kEndings);
}

}  // namespace
}  // namespace paged
