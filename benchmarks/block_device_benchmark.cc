// What the blocks of a pool cost on the device: new tokens written into their
// slots, blocks copied, and the block table kept up to date. On the GPU where
// there is one, else on the CPU.
//
//   block_device_benchmark --benchmark_repetitions=5
//       --benchmark_report_aggregates_only --benchmark_out=block_device.json
//
// A row that moves data times a plain copy of as many bytes beside it:
// ratio_to_copy is that copy's time over its own.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "benchmarks/block_rows.h"
#include "benchmarks/device_memory.h"
#include "benchmarks/plain_copy.h"
#include "paged/device_table.h"

namespace paged::benchmarks {
namespace {

constexpr int kHeads = 8;
constexpr int kHeadDim = 128;
constexpr int64_t kTokenBytes = int64_t{kHeads} * kHeadDim * 2;  // fp16
constexpr int64_t kBlockBytes = kTokenBytes * kBlockSize;

// Seconds of one call, of several that are enqueued one behind another: so many
// that what the first costs the host, before the device has work, is a small
// part.
template <typename Call>
double SecondsOf(int num_calls, const Call& call) {
  CheckOk(TheBackend().Synchronize(nullptr));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < num_calls; ++i) CheckOk(call());
  CheckOk(TheBackend().Synchronize(nullptr));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
             .count() /
         num_calls;
}

// `call` moves `bytes` bytes; so does a plain copy, in turns with it.
template <typename Call>
void MeasureMove(benchmark::State& state, int64_t bytes, const Call& call) {
  const Buffer from = AllocateRandom(bytes), to = Allocate(bytes);
  const auto copy = [&] {
    return PlainCopy(TheBackend(), to.data(), from.data(),
                     static_cast<std::size_t>(bytes), nullptr);
  };
  const int num_calls =
      static_cast<int>(std::clamp<int64_t>((1 << 29) / bytes, 40, 200));
  SecondsOf(1, call);
  SecondsOf(1, copy);
  double move_seconds = 0, copy_seconds = 0;
  for (auto _ : state) {
    copy_seconds += SecondsOf(num_calls, copy);
    const double seconds = SecondsOf(num_calls, call);
    move_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["us_each"] = 1e6 * move_seconds / iterations;
  state.counters["gb_per_s"] =
      1e-9 * static_cast<double>(bytes) * iterations / move_seconds;
  state.counters["ratio_to_copy"] = copy_seconds / move_seconds;
}

// What appends of so many tokens need: slots of shuffled blocks, as a prompt's
// are, and memory on both sides.
struct AppendMemory {
  explicit AppendMemory(int64_t tokens)
      : num_blocks((tokens + kBlockSize - 1) / kBlockSize + 1),
        slots(Upload(SlotsOf(tokens, num_blocks))),
        key(AllocateRandom(tokens * kTokenBytes)),
        value(AllocateRandom(tokens * kTokenBytes)),
        keys(Allocate(num_blocks * kBlockBytes)),
        values(Allocate(num_blocks * kBlockBytes)) {}

  static std::vector<int64_t> SlotsOf(int64_t tokens, int64_t num_blocks) {
    std::vector<int64_t> blocks(static_cast<std::size_t>(num_blocks));
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(1));
    std::vector<int64_t> slots;
    for (int64_t token = 0; token < tokens; ++token) {
      const auto column = static_cast<std::size_t>(token / kBlockSize);
      slots.push_back(blocks[column] * kBlockSize + token % kBlockSize);
    }
    return slots;
  }

  AppendKvArgs Args(int64_t tokens) const {
    return {.num_tokens = static_cast<int>(tokens),
            .num_kv_heads = kHeads,
            .head_dim = kHeadDim,
            .block_size = kBlockSize,
            .num_blocks = num_blocks,
            .key = key.data(),
            .value = value.data(),
            .key_cache = keys.data(),
            .value_cache = values.data(),
            .slot_mapping = slots.As<int64_t>()};
  }

  int64_t num_blocks;
  Buffer slots, key, value, keys, values;
};

void AppendTokens(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const AppendMemory memory(tokens);
  const AppendKvArgs args = memory.Args(tokens);
  MeasureMove(state, 2 * tokens * kTokenBytes,
              [&] { return TheBackend().AppendKv(args, nullptr); });
}

// fp16 rows into fp8, a scale for each row: the bytes are those read and
// written, halved, as a copy does both to each of its own.
void AppendCodes(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const AppendMemory memory(tokens);
  const int64_t scale_bytes = memory.num_blocks * kBlockSize * kHeads *
                              static_cast<int64_t>(sizeof(float));
  const Buffer key_scales = Allocate(scale_bytes),
               value_scales = Allocate(scale_bytes);
  AppendKvArgs args = memory.Args(tokens);
  args.dtype = DType::kFp8E4M3;
  args.row_dtype = DType::kF16;
  args.key_granularity = args.value_granularity = ScaleGranularity::kToken;
  args.key_scales = key_scales.As<float>();
  args.value_scales = value_scales.As<float>();
  MeasureMove(state, 2 * tokens * kTokenBytes * 3 / 4,
              [&] { return TheBackend().AppendKv(args, nullptr); });
}

// Blocks in shuffled order, keys and values.
void CopyWholeBlocks(benchmark::State& state) {
  const int64_t count = state.range(0);
  std::vector<int32_t> blocks(static_cast<std::size_t>(2 * count));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(1));
  std::vector<BlockCopy> copies;
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    copies.push_back({.source = blocks[i], .destination = blocks[i + 1]});
  }
  const Buffer keys = AllocateRandom(2 * count * kBlockBytes),
               values = AllocateRandom(2 * count * kBlockBytes);
  void* caches[] = {keys.data(), values.data()};
  MeasureMove(state, 2 * count * kBlockBytes, [&] {
    return TheBackend().CopyBlocks({.num_kv_heads = kHeads,
                                    .head_dim = kHeadDim,
                                    .block_size = kBlockSize,
                                    .num_blocks = 2 * count,
                                    .caches = caches,
                                    .copies = copies},
                                   nullptr);
  });
}

// One decode step of 1,024 sequences: a token each, the changes sent, the
// padded batch's views made. host_us is what the caller waits for, us_each what
// a step takes from end to end.
void TableStep(benchmark::State& state) {
  constexpr int kSeqs = 1024;
  constexpr int kWidth = 512;
  BlockManager manager = Make(300000, kSeqs, kWidth);
  std::vector<SequenceHandle> handles(kSeqs);
  for (int i = 0; i < kSeqs; ++i) {
    handles[static_cast<std::size_t>(i)] =
        manager.Open({.num_tokens = 1000 + i}).value().handle;
  }
  absl::StatusOr<DeviceTable> made =
      DeviceTable::Create(manager, TheBackend(), {.max_batch = kSeqs});
  CheckOk(made.status());
  DeviceTable table = *std::move(made);
  CheckOk(table.Update(manager, handles, {}, nullptr));
  const DeviceTableStatistics before = table.Statistics();
  constexpr int kSteps = 64;
  double seconds = 0, host_seconds = 0;
  for (auto _ : state) {
    // Rows that a longer run would fill start again, outside the clock.
    for (const SequenceHandle handle : handles) {
      const int64_t length = manager.Length(handle).value();
      if (length > 4000) CheckOk(manager.TrimTo(handle, 1000));
    }
    double host = 0;
    const double each = SecondsOf(kSteps, [&] {
      const auto begin = std::chrono::steady_clock::now();
      for (const SequenceHandle handle : handles) {
        CheckOk(manager.Append(handle, 1));
      }
      const absl::Status status = table.Update(manager, handles, {}, nullptr);
      CheckOk(manager.RetireStep(manager.SubmitStep().value().id));
      host += std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                            begin)
                  .count();
      return status;
    });
    state.SetIterationTime(each);
    seconds += each;
    host_seconds += host / kSteps;
  }
  const DeviceTableStatistics after = table.Statistics();
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["us_each"] = 1e6 * seconds / iterations;
  state.counters["host_us"] = 1e6 * host_seconds / iterations;
  state.counters["bytes_per_step"] =
      static_cast<double>(after.bytes - before.bytes) /
      static_cast<double>(after.num_updates - before.num_updates);
}

BENCHMARK(AppendTokens)
    ->UseManualTime()
    ->Iterations(10)
    ->ArgName("tokens")
    ->Arg(64)
    ->Arg(4096)
    ->Arg(65536);
BENCHMARK(AppendCodes)
    ->UseManualTime()
    ->Iterations(10)
    ->ArgName("tokens")
    ->Arg(64)
    ->Arg(4096)
    ->Arg(65536);
BENCHMARK(CopyWholeBlocks)
    ->UseManualTime()
    ->Iterations(10)
    ->ArgName("blocks")
    ->Arg(16)
    ->Arg(256)
    ->Arg(4096);
BENCHMARK(TableStep)->UseManualTime()->Iterations(10);

}  // namespace
}  // namespace paged::benchmarks

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("device",
                              paged::benchmarks::TheBackend().profile().name);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
