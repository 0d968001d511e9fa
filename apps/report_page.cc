#include "apps/report_page.h"

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/report_style.h"
#include "apps/svg.h"

namespace paged {
namespace {

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
                    "</th><td class=\"text words\">", Escaped(value),
                    "</td></tr>\n");
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
      {"auto", "what dispatch chose"}, {"thrust", "materialising"}};
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
    // A ring around the variant that was chosen, so that both are seen.
    ChartLine line = {
        .tier = tier, .label = tier, .values = {}, .is_rings = tier == "auto"};
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
    const std::string title =
        absl::StrCat(num_seqs, num_seqs == 1 ? " sequence" : " sequences");
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
  return absl::StrCat(kReportHead, "<h1>", Escaped(data.profile.name),
                      ": one step of paged attention</h1>\n<p class=\"faint\">",
                      shape.num_q_heads, " q heads over ", shape.num_kv_heads,
                      " kv heads, head_dim ", shape.head_dim, ", ",
                      std::string(NameOf(shape.dtype)), ", block_size ",
                      shape.block_size, "</p>\n", MachineTable(data),
                      Plots(data), Timelines(data), Decision(data),
                      TimesTable(data), "</body>\n</html>\n");
}

}  // namespace paged
