// What a decode step costs the host: plans, and enqueueing.
#ifndef PAGED_BENCHMARKS_HOST_COST_H_
#define PAGED_BENCHMARKS_HOST_COST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "benchmarks/measurer.h"
#include "paged/device_profile.h"

namespace paged::benchmarks {

// host/<what>/fp16/b:1/ctx:128/...
std::string HostRowName(absl::string_view what, const BenchShape& shape);

// A row with the median time of one `call` of many. `settle` runs between
// groups of calls, untimed: that no queue fills up.
Row TimeOnHost(const std::string& name,
               const std::function<absl::Status()>& call,
               const std::function<void()>& settle);

// MakePlan of every HostShapes, for a device like this.
std::vector<HostRow> PlanRows(const DeviceProfile& profile);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_HOST_COST_H_
