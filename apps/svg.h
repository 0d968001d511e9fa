// Small pictures as SVG that takes its colours from the page around it: classes
// tier-v1, tier-split_k, tier-auto, tier-thrust, tier-ceiling, and axis, grid,
// program, reduction.
#ifndef PAGED_APPS_SVG_H_
#define PAGED_APPS_SVG_H_

#include <string>
#include <vector>

#include "apps/step_trace.h"

namespace paged {

// Text as it may stand in HTML and SVG.
std::string Escaped(const std::string& text);

struct ChartLine {
  std::string tier;  // its class
  std::string label;
  std::vector<double> values;  // at each x; NaN is a gap
  bool is_rings = false;       // around other lines' markers, not joined
};

struct Chart {
  std::string title;  // for those who do not see it
  std::string x_label;
  std::string y_label;
  std::vector<double> xs;  // ascending, above 0; drawn by their logarithm
  std::vector<ChartLine> lines;
  bool is_log_y = true;
};

// Lines with markers; neighbours are joined where both were measured.
std::string ChartSvg(const Chart& chart);

// 1, 2 or 5 times a power of ten: about a fifth of what an axis spans.
double TickStep(double length);

// A row for each unit, a bar for each program: which units work, and when.
std::string TimelineSvg(const StepTrace& step);

}  // namespace paged

#endif  // PAGED_APPS_SVG_H_
