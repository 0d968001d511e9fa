// Measures shapes on one backend. All variants of a shape are measured side by
// side in one go, so that their ratios mean something.
#ifndef PAGED_BENCHMARKS_MEASURER_H_
#define PAGED_BENCHMARKS_MEASURER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "benchmarks/sampling.h"
#include "benchmarks/shapes.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::benchmarks {

// What a row of the record says. Counters are those of its plan.
struct Row {
  std::string name;
  std::string error;  // empty, or why there is no measurement
  double kv_bytes = 0;
  double gb_per_s = 0;         // of kv_bytes
  double ratio_to_gather = 0;  // gather time / this time; 0: not measured
  double splits = 0;
  double ctas = 0;
  double ctas_per_sm = 0;  // resident at once
  double waves = 0;
  double workspace_bytes = 0;
  double max_abs_error = 0;  // of sampled rows against float64
  double time_us = 0;
};

// Something that costs the host alone.
struct HostRow {
  std::string name;  // host/<what>/<shape>
  std::function<Row()> measure;
};

class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual std::vector<BenchShape> Shapes() const = 0;
  // Names that Measure(shape) returns rows for, with either cache.
  virtual std::vector<std::string> Variants(const BenchShape& shape) const = 0;
  virtual std::vector<Cache> Caches(const BenchShape& shape) const {
    return CachesOf(shape);
  }
  virtual std::vector<Row> Measure(const BenchShape& shape) = 0;
  // Their rows have a time and nothing else.
  virtual std::vector<HostRow> HostRows() = 0;
  // Keys and values for the record's context.
  virtual std::vector<std::pair<std::string, std::string>> Context() = 0;
};

// What is measured: GpuShapes in every variant beside the gather, or
// CliffShapes as the dispatch chooses, in fewer rounds, beside the gather where
// blocks vary.
enum class RowSet : uint8_t { kShapes, kCliffs };

std::unique_ptr<Measurer> MakeCpuMeasurer();

// Errors as MakeCudaBackend.
absl::StatusOr<std::unique_ptr<Measurer>> MakeCudaMeasurer(RowSet set);

// Times every instance with every split count and chunk count, cold, of the
// shapes whose name contains `filter`, and writes lines of CSV to `path`.
// Errors as MakeCudaBackend, and for a file that cannot be written.
absl::Status RunCudaSweep(const std::string& path, const std::string& filter);

// Everything left to the planner, nothing to the environment: what every
// measurement's options start from.
DecodeOptions AutomaticOptions();

// What the variants of the rows ask of the planner. "gather" is no variant.
DecodeOptions OptionsOf(absl::string_view variant);

// A row with everything that its plan knows.
Row MakeRow(absl::string_view variant, const BenchShape& shape, Cache cache,
            const DecodePlan& plan);
Row MakeFailedRow(absl::string_view variant, const BenchShape& shape,
                  Cache cache, absl::string_view error);
void SetTime(Row& row, double time_us, double gather_us);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_MEASURER_H_
