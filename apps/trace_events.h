// Traces as chrome://tracing and ui.perfetto.dev read them: the Trace Event
// Format's JSON object with complete ("X") and metadata ("M") events.
#ifndef PAGED_APPS_TRACE_EVENTS_H_
#define PAGED_APPS_TRACE_EVENTS_H_

#include <string>
#include <vector>

#include "apps/step_trace.h"

namespace paged {

// One process for the host, one for the device with a track for each unit, idle
// ones too, and one for the kernels. Times are microseconds.
std::string TraceJson(const std::vector<StepTrace>& steps);

}  // namespace paged

#endif  // PAGED_APPS_TRACE_EVENTS_H_
