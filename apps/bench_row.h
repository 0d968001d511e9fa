// One measured row: a tier of a shape on a device, as a line of CSV, an object
// of JSON, or a line of a table.
#ifndef PAGED_APPS_BENCH_ROW_H_
#define PAGED_APPS_BENCH_ROW_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/shape_flags.h"
#include "benchmarks/tiers.h"
#include "paged/device_profile.h"

namespace paged {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// Columns in the order of the file. Times are microseconds of a call with cold
// inputs; a number that was not measured is NaN, and an empty field in a file.
struct BenchRow {
  std::string backend;  // "cpu" or "cuda"
  std::string device;
  int64_t num_units = 0;         // SMs, or threads
  std::string tier;              // "gather" and "read" are ceilings
  int64_t requested_splits = 0;  // 0: automatic
  std::string dtype;
  int64_t num_seqs = 0;
  int64_t context_len = 0;
  int64_t num_q_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t block_size = 0;

  std::string variant;  // that ran
  int64_t splits = 0;
  std::string reduction;
  std::string instance;
  int64_t ctas = 0;
  int64_t resident_ctas = 0;
  double waves = 0;
  double predicted_us = kNotMeasured;
  std::string decided_by;

  int64_t runs = 0;
  int64_t calls_per_run = 1;
  double mean_us = kNotMeasured;
  double median_us = kNotMeasured;
  double p99_us = kNotMeasured;
  int64_t kv_bytes = 0;
  double gb_per_s = kNotMeasured;    // of kv_bytes, by the median
  double ceiling_us = kNotMeasured;  // median of gather or read
  double ratio_to_ceiling = kNotMeasured;
  int64_t workspace_bytes = 0;
  double allocated_bytes = kNotMeasured;
  double peak_bytes = kNotMeasured;  // the two together
  double max_abs_error = kNotMeasured;
  std::string commit;

  bool is_ceiling() const { return tier == "gather" || tier == "read"; }
};

// What identifies a row before it was measured.
BenchRow RowOfShape(const ShapeRequest& shape, const std::string& tier,
                    int requested_splits, const DeviceProfile& profile);

// The rows of what was measured of one shape. A result without samples gives
// none.
std::vector<BenchRow> RowsOf(const ShapeRequest& shape,
                             const std::vector<int>& requested_splits,
                             const std::vector<benchmarks::TierResult>& results,
                             const DeviceProfile& profile);

// Tells rows apart that may stand in one file: all that was asked for.
std::string KeyOf(const BenchRow& row);

std::string CsvHeader();  // with its end of line, as is CsvLine
std::string CsvLine(const BenchRow& row);
std::string JsonOf(const BenchRow& row);

// Reads what CsvHeader and CsvLine wrote; a last line without its end, which a
// killed program may leave, is passed over. InvalidArgument names the line.
absl::StatusOr<std::vector<BenchRow>> ParseCsv(const std::string& text);

// Aligned columns for people.
std::string BenchTable(const std::vector<BenchRow>& rows);

}  // namespace paged

#endif  // PAGED_APPS_BENCH_ROW_H_
