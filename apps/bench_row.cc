#include "apps/bench_row.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "apps/flags.h"
#include "apps/version.h"
#include "benchmarks/sampling.h"
#include "nlohmann/json.hpp"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

struct Column {
  const char* name;
  std::variant<std::string BenchRow::*, int64_t BenchRow::*, double BenchRow::*>
      field;
};

// The order of the struct.
const Column kColumns[] = {
    {"backend", &BenchRow::backend},
    {"device", &BenchRow::device},
    {"num_units", &BenchRow::num_units},
    {"tier", &BenchRow::tier},
    {"requested_splits", &BenchRow::requested_splits},
    {"dtype", &BenchRow::dtype},
    {"num_seqs", &BenchRow::num_seqs},
    {"context_len", &BenchRow::context_len},
    {"num_q_heads", &BenchRow::num_q_heads},
    {"num_kv_heads", &BenchRow::num_kv_heads},
    {"head_dim", &BenchRow::head_dim},
    {"block_size", &BenchRow::block_size},
    {"variant", &BenchRow::variant},
    {"splits", &BenchRow::splits},
    {"reduction", &BenchRow::reduction},
    {"instance", &BenchRow::instance},
    {"ctas", &BenchRow::ctas},
    {"resident_ctas", &BenchRow::resident_ctas},
    {"waves", &BenchRow::waves},
    {"predicted_us", &BenchRow::predicted_us},
    {"decided_by", &BenchRow::decided_by},
    {"runs", &BenchRow::runs},
    {"calls_per_run", &BenchRow::calls_per_run},
    {"mean_us", &BenchRow::mean_us},
    {"median_us", &BenchRow::median_us},
    {"p99_us", &BenchRow::p99_us},
    {"kv_bytes", &BenchRow::kv_bytes},
    {"gb_per_s", &BenchRow::gb_per_s},
    {"ceiling_us", &BenchRow::ceiling_us},
    {"ratio_to_ceiling", &BenchRow::ratio_to_ceiling},
    {"workspace_bytes", &BenchRow::workspace_bytes},
    {"allocated_bytes", &BenchRow::allocated_bytes},
    {"peak_bytes", &BenchRow::peak_bytes},
    {"max_abs_error", &BenchRow::max_abs_error},
    {"commit", &BenchRow::commit},
};
// The columns before this one are the row's key.
constexpr std::size_t kNumKeyColumns = 12;

// A word that needs no quotes in CSV.
std::string Plain(absl::string_view text) {
  std::string plain(text);
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; },
      ' ');
  return plain;
}

std::string TextOf(const BenchRow& row, const Column& column) {
  return std::visit(
      [&](auto field) -> std::string {
        const auto& value = row.*field;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return Plain(value);
        } else if constexpr (std::is_same_v<Value, double>) {
          return std::isfinite(value) ? absl::StrFormat("%.7g", value) : "";
        } else {
          return absl::StrCat(value);
        }
      },
      column.field);
}

// Whether the whole text is a value of the column's type.
bool Assign(const std::string& text, const Column& column, BenchRow& row) {
  return std::visit(
      [&](auto field) -> bool {
        auto& value = row.*field;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          value = text;
          return true;
        } else {
          if constexpr (std::is_same_v<Value, double>) {
            value = kNotMeasured;
            if (text.empty()) return true;
          }
          const char* end = text.data() + text.size();
          const auto [stop, error] = std::from_chars(text.data(), end, value);
          return error == std::errc() && stop == end;
        }
      },
      column.field);
}

std::string Joined(const BenchRow& row, std::size_t num_columns) {
  std::string text;
  for (std::size_t i = 0; i < num_columns; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", TextOf(row, kColumns[i]));
  }
  return text;
}

void TakePlan(const benchmarks::TierResult& result, BenchRow& row) {
  const DecodePlan& plan = result.plan;
  row.variant = std::string(NameOf(plan.variant));
  row.splits = plan.num_splits;
  row.reduction = std::string(NameOf(plan.reduction));
  row.instance = NameOf(plan.instance);
  row.ctas = plan.num_ctas;
  row.resident_ctas = plan.resident_ctas;
  row.waves = plan.waves;
  if (plan.predicted_us > 0) row.predicted_us = plan.predicted_us;
  row.decided_by = std::string(NameOf(plan.decided_by));
  row.workspace_bytes = static_cast<int64_t>(plan.workspace_bytes);
  if (result.allocated_bytes >= 0) {
    row.allocated_bytes = static_cast<double>(result.allocated_bytes);
    row.peak_bytes =
        row.allocated_bytes + static_cast<double>(row.workspace_bytes);
  }
  row.max_abs_error = result.max_abs_error;
}

std::string Cell(double value, int digits, double unit = 1) {
  return std::isfinite(value) ? absl::StrFormat("%.*f", digits, value / unit)
                              : "-";
}

}  // namespace

BenchRow RowOfShape(const ShapeRequest& shape, const std::string& tier,
                    int requested_splits, const DeviceProfile& profile) {
  BenchRow row;
  row.backend = profile.kind == DeviceKind::kCpu ? "cpu" : "cuda";
  row.device = profile.name;
  row.num_units = profile.num_units;
  row.tier = tier;
  row.requested_splits = requested_splits;
  row.dtype = std::string(NameOf(shape.dtype));
  row.num_seqs = shape.num_seqs;
  row.context_len = shape.context_len;
  row.num_q_heads = shape.num_q_heads;
  row.num_kv_heads = shape.num_kv_heads;
  row.head_dim = shape.head_dim;
  row.block_size = shape.block_size;
  return row;
}

std::vector<BenchRow> RowsOf(const ShapeRequest& shape,
                             const std::vector<int>& requested_splits,
                             const std::vector<benchmarks::TierResult>& results,
                             const DeviceProfile& profile) {
  std::vector<BenchRow> rows;
  double ceiling_us = kNotMeasured;
  std::size_t tier_idx = 0;
  for (const benchmarks::TierResult& result : results) {
    const int splits = result.is_ceiling || requested_splits.empty()
                           ? 0
                           : requested_splits[tier_idx];
    if (!result.is_ceiling) ++tier_idx;
    const benchmarks::TimeSummary time = benchmarks::Summarise(result.times_us);
    if (time.num_samples == 0) continue;
    if (result.is_ceiling) ceiling_us = time.median;
    BenchRow row = RowOfShape(shape, result.name, splits, profile);
    if (!result.is_ceiling) TakePlan(result, row);
    row.commit = CommitOfBuild();
    row.calls_per_run = result.calls_per_sample;
    row.runs = time.num_samples;
    row.mean_us = time.mean;
    row.median_us = time.median;
    row.p99_us = time.p99;
    row.kv_bytes = KvBytesOf(shape);
    row.gb_per_s = static_cast<double>(row.kv_bytes) * 1e-3 / time.median;
    row.ceiling_us = ceiling_us;
    row.ratio_to_ceiling = ceiling_us / time.median;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string KeyOf(const BenchRow& row) { return Joined(row, kNumKeyColumns); }

std::string CsvHeader() {
  return absl::StrCat(absl::StrJoin(kColumns, ",",
                                    [](std::string* out, const Column& column) {
                                      absl::StrAppend(out, column.name);
                                    }),
                      "\n");
}

std::string CsvLine(const BenchRow& row) {
  return absl::StrCat(Joined(row, std::size(kColumns)), "\n");
}

std::string JsonOf(const BenchRow& row) {
  nlohmann::ordered_json json;
  for (const Column& column : kColumns) {
    std::visit(
        [&](auto field) {
          using Value = std::decay_t<decltype(row.*field)>;
          if constexpr (std::is_same_v<Value, double>) {
            if (!std::isfinite(row.*field)) {
              json[column.name] = nullptr;
              return;
            }
          }
          json[column.name] = row.*field;
        },
        column.field);
  }
  return json.dump();
}

absl::StatusOr<std::vector<BenchRow>> ParseCsv(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  // What follows the last end of line: nothing, or half a line.
  lines.pop_back();
  if (lines.empty() || lines.front() + "\n" != CsvHeader()) {
    return absl::InvalidArgumentError(
        "line 1 is not the header of this program's rows");
  }
  std::vector<BenchRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    const auto bad = [&](const std::string& why) {
      return absl::InvalidArgumentError(absl::StrCat("line ", i + 1, " ", why));
    };
    if (fields.size() != std::size(kColumns)) {
      return bad(absl::StrCat("must have ", std::size(kColumns),
                              " fields; got ", fields.size()));
    }
    BenchRow row;
    for (std::size_t c = 0; c < fields.size(); ++c) {
      if (!Assign(fields[c], kColumns[c], row)) {
        return bad(absl::StrCat("has a bad ", kColumns[c].name, ": ",
                                Printable(fields[c])));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string BenchTable(const std::vector<BenchRow>& rows) {
  std::string text =
      absl::StrFormat("%-10s %-8s %6s %10s %10s %10s %8s %10s %11s %10s\n",
                      "tier", "ran", "splits", "mean us", "median us", "p99 us",
                      "GB/s", "of ceiling", "peak MB", "max error");
  for (const BenchRow& row : rows) {
    absl::StrAppendFormat(
        &text, "%-10s %-8s %6s %10s %10s %10s %8s %10s %11s %10s\n", row.tier,
        row.is_ceiling() ? "-" : row.variant,
        row.is_ceiling() ? "-" : absl::StrCat(row.splits), Cell(row.mean_us, 1),
        Cell(row.median_us, 1), Cell(row.p99_us, 1), Cell(row.gb_per_s, 2),
        Cell(row.ratio_to_ceiling, 3), Cell(row.peak_bytes, 3, 1e6),
        std::isfinite(row.max_abs_error)
            ? absl::StrFormat("%.1e", row.max_abs_error)
            : "-");
  }
  return text;
}

}  // namespace paged
