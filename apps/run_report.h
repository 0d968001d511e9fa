// The lines that `paged run` prints.
#ifndef PAGED_APPS_RUN_REPORT_H_
#define PAGED_APPS_RUN_REPORT_H_

#include <string>
#include <vector>

#include "apps/accuracy.h"
#include "apps/layer.h"
#include "apps/run_flags.h"
#include "paged/plan.h"

namespace paged {

struct RunRow {
  std::string layer;
  std::string backend;   // "cpu" or "cuda"
  bool is_auto = false;  // nobody named the variant
  DecodePlan plan;
  double time_us = 0;
  double gb_per_s = 0;  // useful bytes of keys and values
  double tolerance = 0;
  Accuracy accuracy;
};

// What is about to run: one line.
std::string DescribeInput(const RunRequest& request,
                          const std::vector<Layer>& layers);

// The columns' names, and a row below them.
std::string HeaderLine();
std::string TextLine(const RunRow& row);

// One JSON object, all of its numbers finite.
std::string JsonLine(const RunRow& row);

}  // namespace paged

#endif  // PAGED_APPS_RUN_REPORT_H_
