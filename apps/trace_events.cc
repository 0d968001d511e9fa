#include "apps/trace_events.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/version.h"
#include "nlohmann/json.hpp"

namespace paged {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHost = 1;
constexpr int kDevice = 2;
constexpr int kMainThread = 1;
// Track 0 of the device; unit n has track n + 1.
constexpr int kKernelTrack = 0;

Json Slice(const std::string& name, const char* category, int process,
           int track, const TimeSpan& span, Json args) {
  return {{"name", name},        {"cat", category},         {"ph", "X"},
          {"ts", span.begin_us}, {"dur", span.length_us()}, {"pid", process},
          {"tid", track},        {"args", std::move(args)}};
}

Json Name(const char* what, int process, int track, const std::string& name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", process},
          {"tid", track},
          {"args", {{"name", name}}}};
}

// Viewers sort tracks by name otherwise: 1, 10, 100, 2.
Json SortIndex(int process, int track, int index) {
  return {{"name", "thread_sort_index"},
          {"ph", "M"},
          {"pid", process},
          {"tid", track},
          {"args", {{"sort_index", index}}}};
}

void AddTracks(const DeviceProfile& profile, Json& events) {
  const bool is_cpu = profile.kind == DeviceKind::kCpu;
  events.push_back(Name("process_name", kHost, 0, "host"));
  events.push_back(Name("thread_name", kHost, kMainThread, "main"));
  events.push_back(Name("process_name", kDevice, 0, profile.name));
  events.push_back(Name("thread_name", kDevice, kKernelTrack, "kernels"));
  events.push_back(SortIndex(kDevice, kKernelTrack, 0));
  for (int unit = 0; unit < profile.num_units; ++unit) {
    events.push_back(Name("thread_name", kDevice, unit + 1,
                          absl::StrCat(is_cpu ? "thread " : "SM ", unit)));
    events.push_back(SortIndex(kDevice, unit + 1, unit + 1));
  }
}

void AddStep(const StepTrace& step, Json& events) {
  const DecodePlan& plan = step.plan;
  const std::string variant(NameOf(plan.variant));
  for (const NamedSpan& stage : step.stages) {
    events.push_back(
        Slice(stage.name, "host", kHost, kMainThread, stage.span,
              {{"variant", variant}, {"splits", plan.num_splits}}));
  }
  for (const NamedSpan& kernel : step.kernels) {
    events.push_back(Slice(kernel.name, "kernel", kDevice, kKernelTrack,
                           kernel.span,
                           {{"ctas", plan.num_ctas},
                            {"splits", plan.num_splits},
                            {"kv_bytes", plan.kv_bytes}}));
  }
  for (const ProgramSpan& program : step.programs) {
    events.push_back(Slice(absl::StrCat(program.is_reduction ? "reduce " : "",
                                        "seq ", program.seq),
                           program.is_reduction ? "reduce" : variant.c_str(),
                           kDevice, program.unit + 1, program.span,
                           {{"sequence", program.seq},
                            {"kv_head", program.first_kv_head},
                            {"kv_heads", program.num_kv_heads},
                            {"split", program.split}}));
  }
}

}  // namespace

std::string TraceJson(const std::vector<StepTrace>& steps) {
  Json events = Json::array();
  if (!steps.empty()) AddTracks(steps.front().profile, events);
  for (const StepTrace& step : steps) AddStep(step, events);
  const Json trace = {{"traceEvents", std::move(events)},
                      {"displayTimeUnit", "ns"},
                      {"otherData", {{"commit", CommitOfBuild()}}}};
  return trace.dump() + "\n";
}

}  // namespace paged
