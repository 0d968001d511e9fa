#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "apps/svg.h"

namespace paged {
namespace {

// Of the drawing, in its own units.
constexpr double kWidth = 480;
constexpr double kHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 12;
constexpr double kTop = 30;
constexpr double kBottom = 48;

// Values to places along an axis.
struct Axis {
  double low = 0;
  double high = 1;
  bool is_log = false;
  double begin = 0;
  double end = 1;

  double At(double value) const {
    const double share = is_log ? std::log(value / low) / std::log(high / low)
                                : (value - low) / (high - low);
    return begin + share * (end - begin);
  }
};

// 1, 2 and 5 times powers of ten within the axis, evenly thinned.
std::vector<double> TicksOf(const Axis& axis) {
  std::vector<double> ticks;
  if (!axis.is_log) {
    const double step = TickStep(axis.high);
    for (double at = 0; at <= axis.high * 1.0001; at += step) {
      ticks.push_back(at);
    }
    return ticks;
  }
  const bool is_wide = axis.high / axis.low > 300;
  for (double power = std::pow(10, std::floor(std::log10(axis.low)));
       power <= axis.high; power *= 10) {
    for (double factor : {1.0, 2.0, 5.0}) {
      if (is_wide && factor != 1.0) continue;
      const double tick = power * factor;
      if (tick >= axis.low * 0.999 && tick <= axis.high * 1.001) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

std::string TickText(double value) {
  if (value >= 1024 && std::fmod(value, 1024) == 0) {
    return absl::StrFormat("%gk", value / 1024);
  }
  return absl::StrFormat("%g", value);
}

Axis YAxisOf(const Chart& chart) {
  Axis axis = {.low = INFINITY,
               .high = 0,
               .is_log = chart.is_log_y,
               .begin = kHeight - kBottom,
               .end = kTop};
  for (const ChartLine& line : chart.lines) {
    for (double value : line.values) {
      if (!std::isfinite(value)) continue;
      axis.low = std::min(axis.low, value);
      axis.high = std::max(axis.high, value);
    }
  }
  if (!(axis.high > 0)) axis.low = axis.high = 1;
  if (axis.is_log) {
    axis.low /= 1.25;
    axis.high *= 1.25;
  } else {
    axis.low = 0;
    axis.high *= 1.08;
  }
  return axis;
}

std::string AxesSvg(const Chart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (double tick : TicksOf(y)) {
    absl::StrAppendFormat(
        &svg,
        "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" "
        "y2=\"%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
        "text-anchor=\"end\">%s</text>\n",
        kLeft, kWidth - kRight, y.At(tick), y.At(tick), kLeft - 6,
        y.At(tick) + 4, absl::StrFormat("%g", tick));
  }
  const std::size_t step = (chart.xs.size() + 8) / 9;
  for (std::size_t i = 0; i < chart.xs.size(); i += step) {
    absl::StrAppendFormat(&svg,
                          "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" "
                          "text-anchor=\"middle\">%s</text>\n",
                          x.At(chart.xs[i]), kHeight - kBottom + 16,
                          TickText(chart.xs[i]));
  }
  absl::StrAppendFormat(
      &svg,
      "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
      "</text>\n<text class=\"label\" x=\"14\" y=\"%.1f\" "
      "transform=\"rotate(-90 14 %.1f)\" text-anchor=\"middle\">%s</text>\n",
      (kLeft + kWidth - kRight) / 2, kHeight - 10, Escaped(chart.x_label),
      (kTop + kHeight - kBottom) / 2, (kTop + kHeight - kBottom) / 2,
      Escaped(chart.y_label));
  return svg;
}

std::string LineSvg(const Chart& chart, const ChartLine& line, const Axis& x,
                    const Axis& y) {
  std::string path;
  std::string markers;
  bool is_joined = false;
  for (std::size_t i = 0; i < chart.xs.size() && i < line.values.size(); ++i) {
    if (!std::isfinite(line.values[i])) {
      is_joined = false;
      continue;
    }
    const double at_x = x.At(chart.xs[i]);
    const double at_y = y.At(line.values[i]);
    absl::StrAppendFormat(&path, "%s%.1f %.1f", is_joined ? "L" : "M", at_x,
                          at_y);
    absl::StrAppendFormat(&markers,
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s, "
                          "%g: %.4g</title></circle>",
                          at_x, at_y, line.is_rings ? 6 : 3,
                          Escaped(line.label), chart.xs[i], line.values[i]);
    is_joined = true;
  }
  return absl::StrCat(
      "<g class=\"line tier-", line.tier, "\">",
      line.is_rings ? "" : absl::StrCat("<path d=\"", path, "\"/>"), markers,
      "</g>\n");
}

std::string LegendSvg(const Chart& chart) {
  std::string svg;
  double at = kLeft;
  for (const ChartLine& line : chart.lines) {
    absl::StrAppendFormat(
        &svg,
        "<g class=\"line tier-%s\">%s</g><text class=\"tick\" x=\"%.1f\" "
        "y=\"18\">%s</text>\n",
        line.tier,
        line.is_rings
            ? absl::StrFormat("<circle cx=\"%.1f\" cy=\"14\" r=\"6\"/>", at + 9)
            : absl::StrFormat("<path d=\"M%.1f 14h18\"/>", at),
        at + 22, Escaped(line.label));
    at += 34 + 7 * static_cast<double>(line.label.size());
  }
  return svg;
}

}  // namespace

double TickStep(double length) {
  const double rough = length / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  return power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : 5);
}

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string ChartSvg(const Chart& chart) {
  if (chart.xs.empty()) return "";
  const Axis x = {.low = chart.xs.front() / 1.1,
                  .high = chart.xs.back() * 1.1,
                  .is_log = true,
                  .begin = kLeft,
                  .end = kWidth - kRight};
  const Axis y = YAxisOf(chart);
  std::string svg = absl::StrFormat(
      "<svg viewBox=\"0 0 %g %g\" role=\"img\">\n<title>%s</title>\n", kWidth,
      kHeight, Escaped(chart.title));
  svg += AxesSvg(chart, x, y);
  for (const ChartLine& line : chart.lines) svg += LineSvg(chart, line, x, y);
  return absl::StrCat(svg, LegendSvg(chart), "</svg>\n");
}

}  // namespace paged
