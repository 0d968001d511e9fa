#include "apps/report_page.h"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/svg.h"

namespace paged {
namespace {

// Colours of Okabe and Ito, which most eyes tell apart, darkened or lightened
// to stand out from the page.
constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>paged: report</title>
<style>
:root { --page: #ffffff; --ink: #1c2126; --faint: #5a6570; --grid: #dde2e7;
  --idle: #eef1f4; --v1: #0067a8; --split_k: #b84e00; --auto: #00734f;
  --thrust: #a3407c; --ceiling: #7a848e; --odd: #4d94c4; }
@media (prefers-color-scheme: dark) { :root { --page: #101418; --ink: #e4e8ec;
  --faint: #a3adb7; --grid: #2c343c; --idle: #1b2127; --v1: #58b6f0;
  --split_k: #f09a4a; --auto: #3fcf9c; --thrust: #e08bbf; --ceiling: #8d98a3;
  --odd: #2f7fb3; } }
body { background: var(--page); color: var(--ink); max-width: 66rem;
  margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p, figcaption { max-width: 46rem; } figcaption, .faint { color: var(--faint); }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; }
.pair { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { color: var(--faint); font-weight: 600; } .text { text-align: left; }
td.text { white-space: normal; }
.chosen { font-weight: 700; } td.v1 { color: var(--v1); }
td.split_k { color: var(--split_k); }
.tick, .label { fill: var(--faint); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--grid); } .idle { fill: var(--idle); }
.line path { fill: none; stroke-width: 2; }
.tier-v1 { stroke: var(--v1); fill: var(--v1); }
.tier-split_k { stroke: var(--split_k); fill: var(--split_k);
  stroke-dasharray: 6 3; }
.tier-auto { stroke: var(--auto); fill: var(--auto); stroke-dasharray: 2 3; }
.tier-thrust { stroke: var(--thrust); fill: var(--thrust);
  stroke-dasharray: 8 3 2 3; }
.tier-ceiling { stroke: var(--ceiling); fill: var(--ceiling); }
circle { stroke-dasharray: none; } .even { fill: var(--v1); }
.odd { fill: var(--odd); } .reduction { fill: var(--split_k); }
</style>
</head>
<body>
)";

std::string Number(double value, int digits) {
  return std::isfinite(value) ? absl::StrFormat("%.*f", digits, value) : "–";
}

std::string Figure(const std::string& svg, const std::string& caption) {
  return absl::StrCat("<figure>\n", svg, "<figcaption>", Escaped(caption),
                      "</figcaption>\n</figure>\n");
}

// The row of a tier; null where it was not measured.
const BenchRow* Find(const std::vector<BenchRow>& rows, const std::string& tier,
                     int64_t num_seqs, int64_t context_len) {
  for (const BenchRow& row : rows) {
    const bool is_tier =
        tier == "ceiling" ? row.is_ceiling() : row.tier == tier;
    if (is_tier && row.num_seqs == num_seqs && row.context_len == context_len &&
        row.requested_splits == 0) {
      return &row;
    }
  }
  return nullptr;
}

std::string MachineTable(const ReportData& data) {
  std::string html = "<h2>Machine</h2>\n<div class=\"wide\"><table>\n";
  for (const auto& [key, value] : data.machine) {
    absl::StrAppend(&html, "<tr><th class=\"text\">", Escaped(key),
                    "</th><td class=\"text\">", Escaped(value), "</td></tr>\n");
  }
  return html + "</table></div>\n";
}

std::string TimesTable(const ReportData& data) {
  std::string html =
      "<h2>Times</h2>\n<p>Medians in microseconds with cold inputs. The "
      "ceiling reads the same blocks and computes nothing.</p>\n<div "
      "class=\"wide\"><table>\n<tr><th class=\"text\">sequences × context</th>"
      "<th>K and V (MB)</th><th>materialising</th><th>v1</th><th>split_k</th>"
      "<th>dispatch</th><th class=\"text\">chose</th><th>ceiling</th>"
      "<th>GB/s</th><th>of ceiling</th></tr>\n";
  std::set<std::pair<int64_t, int64_t>> shapes;
  for (const BenchRow& row : data.rows) {
    shapes.emplace(row.num_seqs, row.context_len);
  }
  for (const auto& [num_seqs, context_len] : shapes) {
    const auto time = [&](const char* tier) {
      const BenchRow* row = Find(data.rows, tier, num_seqs, context_len);
      return Number(row == nullptr ? kNotMeasured : row->median_us, 1);
    };
    const BenchRow* chosen = Find(data.rows, "auto", num_seqs, context_len);
    const BenchRow missing;
    const BenchRow& row = chosen == nullptr ? missing : *chosen;
    const std::string choice = row.variant == "split_k"
                                   ? absl::StrCat("split_k, ", row.splits)
                                   : row.variant;
    absl::StrAppendFormat(
        &html,
        "<tr><td class=\"text\">%d × %d</td><td>%s</td><td>%s</td><td>%s</td>"
        "<td>%s</td><td class=\"chosen\">%s</td><td class=\"text\">%s</td>"
        "<td>%s</td><td>%s</td><td>%s</td></tr>\n",
        num_seqs, context_len,
        Number(row.kv_bytes > 0 ? static_cast<double>(row.kv_bytes) * 1e-6
                                : kNotMeasured,
               1),
        time("thrust"), time("v1"), time("split_k"), time("auto"),
        Escaped(choice), time("ceiling"), Number(row.gb_per_s, 0),
        Number(row.ratio_to_ceiling, 2));
  }
  return html + "</table></div>\n";
}

Chart ChartOf(const ReportData& data, int64_t num_seqs,
              const std::vector<std::string>& tiers,
              const std::function<double(const BenchRow&)>& value) {
  static const auto* const labels = new std::map<std::string, std::string>{
      {"auto", "dispatch"}, {"thrust", "materialising"}};
  Chart chart;
  chart.x_label = "context length (tokens)";
  std::set<int64_t> contexts;
  for (const BenchRow& row : data.rows) {
    if (row.num_seqs == num_seqs) contexts.insert(row.context_len);
  }
  for (int64_t context_len : contexts) {
    chart.xs.push_back(static_cast<double>(context_len));
  }
  for (const std::string& tier : tiers) {
    ChartLine line = {.tier = tier, .label = tier, .values = {}};
    if (labels->contains(tier)) line.label = labels->at(tier);
    bool is_empty = true;
    for (int64_t context_len : contexts) {
      const BenchRow* row = Find(data.rows, tier, num_seqs, context_len);
      line.values.push_back(row == nullptr ? kNotMeasured : value(*row));
      is_empty &= row == nullptr;
    }
    if (!is_empty) chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::string Plots(const ReportData& data) {
  std::set<int64_t> batches;
  for (const BenchRow& row : data.rows) batches.insert(row.num_seqs);
  if (batches.empty()) return "";
  std::string html = "<h2>By context length</h2>\n<div class=\"pair\">\n";
  for (int64_t num_seqs : std::set{*batches.begin(), *batches.rbegin()}) {
    const std::string title = absl::StrCat(num_seqs, " sequences");
    Chart times = ChartOf(data, num_seqs, {"thrust", "v1", "split_k", "auto"},
                          [](const BenchRow& row) { return row.median_us; });
    times.title = absl::StrCat("Time by context, ", title);
    times.y_label = "time (µs)";
    html += Figure(ChartSvg(times),
                   absl::StrCat(title, ": how long does a step take?"));
    Chart rates = ChartOf(data, num_seqs, {"ceiling", "v1", "split_k", "auto"},
                          [](const BenchRow& row) { return row.gb_per_s; });
    rates.title = absl::StrCat("Bandwidth by context, ", title);
    rates.y_label = "K and V read (GB/s)";
    rates.is_log_y = false;
    html +=
        Figure(ChartSvg(rates),
               absl::StrCat(title, ": how close is that to reading alone?"));
  }
  return html + "</div>\n";
}

std::string Timelines(const ReportData& data) {
  const bool is_cpu = data.profile.kind == DeviceKind::kCpu;
  std::string html = absl::StrFormat(
      "<h2>Who works when</h2>\n<p>Which %s are idle under v1 and under "
      "split_k, at a small and at a large batch? A row is %s, a bar one "
      "program; neighbouring sequences differ in shade, reductions in "
      "colour.</p>\n<div class=\"pair\">\n",
      is_cpu ? "threads" : "SMs", is_cpu ? "a thread" : "an SM");
  for (const StepTrace& step : data.steps) {
    const DecodeShape& shape = step.plan.shape;
    html += Figure(step.programs.empty() ? "" : TimelineSvg(step),
                   absl::StrFormat("%d × %d: %s.%s", shape.num_seqs,
                                   shape.max_context_len, SummaryOf(step),
                                   step.note.empty() || step.programs.empty()
                                       ? ""
                                       : absl::StrCat(" ", step.note, ".")));
  }
  return html + "</div>\n";
}

std::string Decision(const ReportData& data) {
  std::string html = "<h2>The decision</h2>\n";
  for (const std::string& sentence : data.decisions) {
    absl::StrAppend(&html, "<p>", Escaped(sentence), "</p>\n");
  }
  const SweepMap& map = data.map;
  absl::StrAppend(&html,
                  "<p>Where does v1 end and split_k begin? v1, or the number "
                  "of splits.</p>\n<div class=\"wide\"><table>\n<tr><th "
                  "class=\"text\">sequences \\ context</th>");
  for (int context_len : map.context_lens) {
    absl::StrAppend(&html, "<th>", context_len, "</th>");
  }
  for (std::size_t row = 0; row < map.num_seqs.size(); ++row) {
    absl::StrAppend(&html, "</tr>\n<tr><th>", map.num_seqs[row], "</th>");
    for (std::size_t column = 0; column < map.context_lens.size(); ++column) {
      const DecodePlan& plan = map.at(row, column);
      const std::string name(NameOf(plan.variant));
      absl::StrAppend(&html, "<td class=\"", name, "\">",
                      plan.variant == Variant::kSplitK
                          ? absl::StrCat(plan.num_splits)
                          : name,
                      "</td>");
    }
  }
  return html + "</tr>\n</table></div>\n";
}

}  // namespace

std::string ReportPage(const ReportData& data) {
  const ShapeRequest& shape = data.shape;
  return absl::StrCat(kHead, "<h1>", Escaped(data.profile.name),
                      ": one step of paged attention</h1>\n<p class=\"faint\">",
                      shape.num_q_heads, " q heads over ", shape.num_kv_heads,
                      " kv heads, head_dim ", shape.head_dim, ", ",
                      std::string(NameOf(shape.dtype)), ", block_size ",
                      shape.block_size, "</p>\n", MachineTable(data),
                      TimesTable(data), Plots(data), Timelines(data),
                      Decision(data), "</body>\n</html>\n");
}

}  // namespace paged
