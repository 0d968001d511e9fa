#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/svg.h"

namespace paged {
namespace {

constexpr double kWidth = 480;
constexpr double kLeft = 62;
constexpr double kRight = 12;
constexpr double kTop = 6;
constexpr double kBottom = 36;
// Of the rows together: thin for SMs, no thicker than a bar for threads.
constexpr double kRowsHeight = 264;
constexpr double kThickestRow = 22;

}  // namespace

std::string TimelineSvg(const StepTrace& step) {
  const TimeSpan span = step.device_span();
  const double length_us = std::max(span.length_us(), 1e-3);
  const int num_units = std::max(step.profile.num_units, 1);
  const double row = std::min(kThickestRow, kRowsHeight / num_units);
  const double height = kTop + row * num_units + kBottom;
  const double scale = (kWidth - kLeft - kRight) / length_us;
  const bool is_cpu = step.profile.kind == DeviceKind::kCpu;

  std::string svg = absl::StrFormat(
      "<svg viewBox=\"0 0 %g %.0f\" role=\"img\">\n<title>%s</title>\n<rect "
      "class=\"idle\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%.1f\"/>\n",
      kWidth, height, Escaped(SummaryOf(step)), kLeft, kTop,
      kWidth - kLeft - kRight, row * num_units);
  for (const ProgramSpan& program : step.programs) {
    absl::StrAppendFormat(
        &svg,
        "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
        "height=\"%.2f\"/>",
        program.is_reduction   ? "reduction"
        : program.seq % 2 == 0 ? "program even"
                               : "program odd",
        kLeft + (program.span.begin_us - span.begin_us) * scale,
        kTop + row * program.unit,
        std::max(program.span.length_us() * scale, 0.3), row * 0.92);
  }
  const double axis = kTop + row * num_units;
  for (double at_us = 0; at_us <= length_us; at_us += TickStep(length_us)) {
    absl::StrAppendFormat(&svg,
                          "\n<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                          "text-anchor=\"middle\">%g</text>",
                          kLeft + at_us * scale, axis + 14, at_us);
  }
  for (int unit : {0, num_units - 1}) {
    absl::StrAppendFormat(
        &svg,
        "\n<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s "
        "%d</text>",
        kLeft - 6, kTop + row * unit + std::min(row, 12.0),
        is_cpu ? "thread" : "SM", unit);
    if (num_units == 1) break;
  }
  absl::StrAppendFormat(&svg,
                        "\n<text class=\"label\" x=\"%.1f\" y=\"%.1f\" "
                        "text-anchor=\"middle\">time (µs)</text>\n</svg>\n",
                        (kLeft + kWidth - kRight) / 2, axis + 30);
  return svg;
}

}  // namespace paged
