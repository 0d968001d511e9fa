#include "benchmarks/cpu/decode_row.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "benchmarks/cpu/host_memory.h"
#include "benchmarks/cpu/read_ceiling.h"
#include "benchmarks/measurer.h"
#include "benchmarks/sample_oracle.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"
#include "paged/cpu_backend.h"
#include "paged/decode.h"

namespace paged::benchmarks {
namespace {

// What cold rows rotate through at least.
constexpr int64_t kRotateBytes = 128'000'000;
// Tokens whose K and V stay in the second cache of every core (1 MB).
constexpr int64_t kCachedBytesPerThread = 512 << 10;
// Rounds that take about half a second, within these limits.
constexpr double kMaxSeconds = 0.5;
constexpr double kAssumedBytesPerSecond = 1e10;
constexpr int kMinRounds = 9;
constexpr int kMaxRounds = 301;

uint16_t Element(DType dtype, uint32_t seed, int64_t index) {
  const float x = HashUniform(seed, index);
  return dtype == DType::kF16 ? FromFloat<Half>(x).bits
                              : FromFloat<BFloat16>(x).bits;
}

// Tensors of 16-bit types. Element (block, slot, head, dim) of a pool is that
// of the dense token-major pool, wherever it lies.
class Problem {
 public:
  explicit Problem(const CpuDecodeCase& c)
      : shape_(c.shape),
        tables_(
            MakeTables(c.shape, c.cache == Cache::kCold ? kRotateBytes : 0)),
        decode_shape_(MakeDecodeShape(c.shape, tables_)) {
    const int64_t dim = shape_.head_dim;
    if (c.layout == BlockLayout::kHeadMajor) {
      decode_shape_.key = {block_elements(), dim, shape_.block_size * dim};
      decode_shape_.value = decode_shape_.key;
    } else {
      decode_shape_.key = {block_elements(), shape_.num_kv_heads * dim, dim};
      decode_shape_.value = decode_shape_.key;
    }
    keys_ = MakePool(kKeySeed);
    values_ = MakePool(kValueSeed);
    const int64_t rows = int64_t{shape_.num_seqs()} * shape_.num_q_heads();
    for (int64_t i = 0; i < rows * dim; ++i) {
      query_.push_back(Element(shape_.dtype, kQuerySeed, i));
    }
    output_.resize(query_.size());
    lse_.resize(static_cast<size_t>(rows));
  }

  DecodeArgs Args(int set) {
    return {.shape = decode_shape_,
            .query = query_.data(),
            .key_cache = keys_->data(),
            .value_cache = values_->data(),
            .block_tables =
                tables_.table.entries.data() + tables_.offset_of(set, shape_),
            .context_lens = shape_.context_lens.data(),
            .output = output_.data(),
            .lse = lse_.data()};
  }

  // Reads the blocks of a set, those of every sequence in turn.
  void Read(ThreadPool& threads, int set) const {
    const auto first =
        tables_.table.entries.data() + tables_.offset_of(set, shape_);
    const auto count = static_cast<size_t>(shape_.num_seqs()) *
                       static_cast<size_t>(tables_.table.max_blocks_per_seq);
    ReadPieces(threads, {keys_->data(), values_->data()}, {first, count},
               block_elements() * 2);
  }

  double LargestErrorOfSet0() const {
    return LargestError(ComputeSamples(shape_, tables_), shape_, output_.data(),
                        lse_.data());
  }

  const DecodeShape& decode_shape() const { return decode_shape_; }
  int num_sets() const { return tables_.num_sets; }

 private:
  int64_t block_elements() const {
    return int64_t{shape_.block_size} * shape_.num_kv_heads * shape_.head_dim;
  }

  std::unique_ptr<HostMemory> MakePool(uint32_t seed) const {
    const int64_t num_blocks = tables_.table.num_blocks;
    auto pool = std::make_unique<HostMemory>(
        static_cast<size_t>(num_blocks * block_elements()) * 2, Pages::kHuge);
    auto* elements = reinterpret_cast<uint16_t*>(pool->data());
    int64_t i = 0;
    for (int64_t block = 0; block < num_blocks; ++block) {
      for (int slot = 0; slot < shape_.block_size; ++slot) {
        for (int head = 0; head < shape_.num_kv_heads; ++head) {
          uint16_t* to = elements + block * decode_shape_.key.block_stride +
                         slot * decode_shape_.key.slot_stride +
                         head * decode_shape_.key.head_stride;
          for (int d = 0; d < shape_.head_dim; ++d) {
            to[d] = Element(shape_.dtype, seed, i++);
          }
        }
      }
    }
    return pool;
  }

  BenchShape shape_;
  BenchTables tables_;
  DecodeShape decode_shape_;
  std::unique_ptr<HostMemory> keys_, values_;
  std::vector<uint16_t> query_, output_;
  std::vector<float> lse_;
};

struct Times {
  double decode_s = 0;
  double read_s = 0;
};

// Times decode in turns with the reading of its blocks, and leaves in `row` how
// far off the result is.
absl::StatusOr<Times> TimeDecode(const CpuDecodeCase& c, CpuDecodeRow& row) {
  Problem problem(c);
  const std::unique_ptr<Backend> backend =
      MakeCpuBackend({.num_threads = c.num_threads});
  const absl::StatusOr<DecodePlan> plan =
      PlanDecode(problem.decode_shape(), *backend, OptionsOf("auto"));
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<Workspace> workspace =
      backend->Reserve(plan->workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  const RunContext context{.workspace = *workspace};
  absl::Status status = backend->Prepare(*plan);
  status.Update(backend->InitWorkspace(*plan, context));

  row.splits = plan->num_splits;
  ThreadPool readers(c.num_threads);
  const int num_sets = c.cache == Cache::kCold ? problem.num_sets() : 1;
  int decode_set = 0;
  int read_set = num_sets / 2;
  const std::vector<double> seconds = TimeInTurns(
      static_cast<int>(std::clamp<double>(
          kMaxSeconds * kAssumedBytesPerSecond / row.kv_bytes, kMinRounds,
          kMaxRounds)),
      {[&] {
         status.Update(backend->Run(
             *plan, problem.Args(decode_set++ % num_sets), context));
       },
       [&] { problem.Read(readers, read_set++ % num_sets); }});
  status.Update(backend->Run(*plan, problem.Args(0), context));
  if (!status.ok()) return status;
  row.max_abs_error = problem.LargestErrorOfSet0();
  row.error = RefusalOf(c.shape, row.max_abs_error);
  return Times{seconds[0], seconds[1]};
}

// GB/s of the same group, dtype and head_dim with K and V in the second cache:
// what arithmetic alone allows. One sequence per thread.
double ArithmeticGbPerS(const CpuDecodeCase& c) {
  CpuDecodeCase cached = c;
  const int64_t token_bytes =
      4 * int64_t{c.shape.num_kv_heads} * c.shape.head_dim;
  const int64_t tokens = kCachedBytesPerThread / token_bytes / 64 * 64;
  cached.shape.context_lens.assign(static_cast<size_t>(c.num_threads),
                                   static_cast<int32_t>(tokens));
  cached.cache = Cache::kWarm;
  static auto* const known = new std::map<std::string, double>;
  const std::string key = NameOf(cached);
  if (const auto found = known->find(key); found != known->end()) {
    return found->second;
  }
  CpuDecodeRow row;
  row.kv_bytes = static_cast<double>(cached.shape.kv_bytes());
  const absl::StatusOr<Times> times = TimeDecode(cached, row);
  const double rate = times.ok() ? row.kv_bytes / times->decode_s * 1e-9 : 0;
  known->emplace(key, rate);
  return rate;
}

}  // namespace

CpuDecodeRow MeasureDecode(const CpuDecodeCase& c) {
  CpuDecodeRow row;
  row.kv_bytes = static_cast<double>(c.shape.kv_bytes());
  const absl::StatusOr<Times> times = TimeDecode(c, row);
  if (!times.ok()) {
    row.error = times.status().ToString();
    return row;
  }
  row.time_us = times->decode_s * 1e6;
  row.read_gb_per_s = row.kv_bytes / times->read_s * 1e-9;
  row.arithmetic_gb_per_s = ArithmeticGbPerS(c);
  const double gb_per_s = row.kv_bytes / times->decode_s * 1e-9;
  row.ratio_to_read = gb_per_s / row.read_gb_per_s;
  row.ratio_to_bound =
      gb_per_s / std::min(row.read_gb_per_s, row.arithmetic_gb_per_s);
  return row;
}

}  // namespace paged::benchmarks
