// The page of `paged report`: one file of HTML without scripts or links.
#ifndef PAGED_APPS_REPORT_PAGE_H_
#define PAGED_APPS_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "apps/bench_row.h"
#include "apps/shape_flags.h"
#include "apps/step_trace.h"
#include "apps/sweep_map.h"

namespace paged {

struct ReportData {
  DeviceProfile profile;
  ShapeRequest shape;  // batch and context aside
  std::vector<std::pair<std::string, std::string>> machine;
  std::vector<BenchRow> rows;
  // v1 and split_k of the small, and of the large batch.
  std::vector<StepTrace> steps;
  std::vector<std::string> decisions;  // sentences
  SweepMap map;
};

std::string ReportPage(const ReportData& data);

}  // namespace paged

#endif  // PAGED_APPS_REPORT_PAGE_H_
