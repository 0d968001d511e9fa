// The CPU backend, measured by the wall clock.
#include <chrono>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "benchmarks/measurer.h"
#include "benchmarks/record_file.h"
#include "benchmarks/sample_oracle.h"
#include "kernels/baseline/thrust_decode.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"
#include "paged/decode.h"

namespace paged::benchmarks {
namespace {

// More than the last-level cache of the processors at hand (32 MB).
constexpr int64_t kRotateBytes = 128'000'000;
// The three loops of the reference and the baseline take seconds above these.
constexpr int64_t kMaxReferenceBytes = 5'000'000;
constexpr int64_t kMaxThrustBytes = 20'000'000;
// Medians of this many runs, fewer when they take longer than this.
constexpr int kMaxRuns = 21;
constexpr int kMinRuns = 5;
constexpr double kMaxSeconds = 0.5;

std::vector<uint16_t> Fill(DType dtype, int64_t count, uint32_t seed) {
  std::vector<uint16_t> elements(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const float x = HashUniform(seed, i);
    elements[static_cast<size_t>(i)] = dtype == DType::kF16
                                           ? FromFloat<Half>(x).bits
                                           : FromFloat<BFloat16>(x).bits;
  }
  return elements;
}

// Tensors of a shape, 16-bit types alone.
struct CpuProblem {
  explicit CpuProblem(const BenchShape& shape)
      : shape(shape),
        tables(MakeTables(shape, kRotateBytes)),
        decode_shape(MakeDecodeShape(shape, tables)) {
    const int64_t rows = int64_t{shape.num_seqs()} * shape.num_q_heads();
    const int64_t pool = tables.table.num_blocks * shape.block_size *
                         shape.num_kv_heads * shape.head_dim;
    query = Fill(shape.dtype, rows * shape.head_dim, kQuerySeed);
    keys = Fill(shape.dtype, pool, kKeySeed);
    values = Fill(shape.dtype, pool, kValueSeed);
    output.resize(query.size());
    lse.resize(static_cast<size_t>(rows));
  }

  DecodeArgs Args(int set) {
    return {.shape = decode_shape,
            .query = query.data(),
            .key_cache = keys.data(),
            .value_cache = values.data(),
            .block_tables =
                tables.table.entries.data() + tables.offset_of(set, shape),
            .context_lens = shape.context_lens.data(),
            .output = output.data(),
            .lse = lse.data()};
  }

  const BenchShape& shape;
  BenchTables tables;
  DecodeShape decode_shape;
  std::vector<uint16_t> query, keys, values, output;
  std::vector<float> lse;
};

class CpuMeasurer : public Measurer {
 public:
  CpuMeasurer() : backend_(MakeCpuBackend()) {}

  std::vector<BenchShape> Shapes() const override { return CpuShapes(); }

  std::vector<std::string> Variants(const BenchShape& shape) const override {
    std::vector<std::string> variants = {"v1", "split_k", "auto"};
    if (shape.kv_bytes() <= kMaxReferenceBytes) variants.push_back("reference");
    if (HasThrustOnHost() && shape.kv_bytes() <= kMaxThrustBytes) {
      variants.push_back("thrust");
    }
    return variants;
  }

  std::vector<Row> Measure(const BenchShape& shape) override {
    CpuProblem problem(shape);
    const std::vector<SampleRow> samples =
        ComputeSamples(shape, problem.tables);
    std::vector<Row> rows;
    for (const std::string& variant : Variants(shape)) {
      for (Cache cache : {Cache::kCold, Cache::kWarm}) {
        rows.push_back(MeasureRow(variant, cache, problem, samples));
      }
    }
    return rows;
  }

  std::vector<std::pair<std::string, std::string>> Context() override {
    return {{"backend", "cpu"},
            {"device", ProcessorModel()},
            {"backend_threads", absl::StrCat(backend_->profile().num_units)}};
  }

 private:
  Row MeasureRow(const std::string& variant, Cache cache, CpuProblem& problem,
                 absl::Span<const SampleRow> samples) {
    const absl::StatusOr<DecodePlan> plan =
        PlanDecode(problem.decode_shape, *backend_, OptionsOf(variant));
    if (!plan.ok()) {
      return MakeFailedRow(variant, problem.shape, cache,
                           plan.status().ToString());
    }
    Row row = MakeRow(variant, problem.shape, cache, *plan);
    const absl::StatusOr<double> time_us = TimeRuns(*plan, cache, problem);
    if (!time_us.ok()) {
      row.error = time_us.status().ToString();
      return row;
    }
    SetTime(row, *time_us, 0);
    row.max_abs_error = LargestError(samples, problem.shape,
                                     problem.output.data(), problem.lse.data());
    row.error = RefusalOf(problem.shape, row.max_abs_error);
    return row;
  }

  // The last run is of set 0, and its output is left to be checked.
  absl::StatusOr<double> TimeRuns(const DecodePlan& plan, Cache cache,
                                  CpuProblem& problem) {
    absl::StatusOr<Workspace> workspace =
        backend_->Reserve(plan.workspace_bytes);
    if (!workspace.ok()) return workspace.status();
    const RunContext context = {.workspace = *workspace};
    absl::Status status = backend_->Prepare(plan);
    if (status.ok()) status = backend_->InitWorkspace(plan, context);

    const int num_sets = cache == Cache::kCold ? problem.tables.num_sets : 1;
    std::vector<double> runs_us;
    double total_s = 0;
    for (int run = 0; status.ok() && run <= kMaxRuns; ++run) {
      if (run > kMinRuns && total_s > kMaxSeconds) break;
      const DecodeArgs args = problem.Args(run % num_sets);
      const auto begin = std::chrono::steady_clock::now();
      status = backend_->Run(plan, args, context);
      const std::chrono::duration<double> elapsed =
          std::chrono::steady_clock::now() - begin;
      // The first run loads code and touches the workspace.
      if (run == 0) continue;
      runs_us.push_back(elapsed.count() * 1e6);
      total_s += elapsed.count();
    }
    problem.output.assign(problem.output.size(), 0xffff);
    problem.lse.assign(problem.lse.size(),
                       std::numeric_limits<float>::quiet_NaN());
    if (status.ok()) status = backend_->Run(plan, problem.Args(0), context);
    if (!status.ok()) return status;
    return MedianOf(runs_us);
  }

  std::unique_ptr<Backend> backend_;
};

}  // namespace

std::unique_ptr<Measurer> MakeCpuMeasurer() {
  return std::make_unique<CpuMeasurer>();
}

}  // namespace paged::benchmarks
