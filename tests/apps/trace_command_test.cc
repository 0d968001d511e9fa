#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/step_trace.h"
#include "apps/trace_events.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "paged/cuda_backend.h"
#include "tests/apps/cli_runner.h"
#include "tests/support/temporary_folder.h"

namespace paged::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Track = std::pair<int, int>;  // process and thread

// The rules of the Trace Event Format for complete and metadata events, and of
// viewers: slices of one track nest or lie apart. On a GPU several CTAs of an
// SM run at once, and `may_overlap` lets them.
void ExpectValidTrace(const Json& trace, bool may_overlap) {
  ASSERT_TRUE(trace.is_object());
  ASSERT_TRUE(trace.at("traceEvents").is_array());
  const std::string unit = trace.value("displayTimeUnit", "ms");
  EXPECT_TRUE(unit == "ms" || unit == "ns");
  std::set<Track> named;
  std::map<Track, std::vector<std::pair<double, double>>> slices;
  for (const Json& event : trace["traceEvents"]) {
    ASSERT_TRUE(event.at("name").is_string());
    ASSERT_TRUE(event.at("pid").is_number_integer());
    ASSERT_TRUE(event.at("tid").is_number_integer());
    const Track track = {event["pid"], event["tid"]};
    if (event.at("ph") == "M") {
      if (event["name"] == "thread_name") {
        EXPECT_TRUE(event.at("args").at("name").is_string());
        EXPECT_TRUE(named.insert(track).second) << "named twice";
      }
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    ASSERT_TRUE(event.at("ts").is_number() && event.at("dur").is_number());
    const double begin = event["ts"];
    const double length = event["dur"];
    EXPECT_GE(begin, 0);
    EXPECT_GE(length, 0);
    slices[track].emplace_back(begin, begin + length);
  }
  for (auto& [track, spans] : slices) {
    EXPECT_TRUE(named.contains(track)) << track.first << "/" << track.second;
    if (may_overlap) continue;
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-6);
    }
  }
}

std::vector<Json> EventsOf(const Json& trace, const std::string& category) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == category) events.push_back(event);
  }
  return events;
}

class TraceCommandTest : public ::testing::Test {
 protected:
  Json Trace(std::vector<std::string> args) {
    args.insert(args.begin(), {"trace", absl::StrCat("--out=", path_)});
    result_ = RunCli(args);
    EXPECT_EQ(result_.exit_code, 0) << result_.err;
    std::ifstream stream(path_);
    return Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.PathOf("trace.json");
  CliResult result_;
};

// (sequence, kv head, split) of every program, each as often as it ran.
std::multiset<std::tuple<int, int, int>> WorkOf(const std::vector<Json>& all) {
  std::multiset<std::tuple<int, int, int>> work;
  for (const Json& event : all) {
    const Json& args = event["args"];
    const int first = args["kv_head"];
    for (int head = first; head < first + int{args["kv_heads"]}; ++head) {
      work.emplace(args["sequence"], head, args["split"]);
    }
  }
  return work;
}

TEST_F(TraceCommandTest, ShowsStagesKernelsAndEveryProgramOnce) {
  const Json trace = Trace({"--backend=cpu", "--threads=2", "--num_seqs=3",
                            "--context_len=100", "--num_q_heads=4",
                            "--num_kv_heads=2", "--head_dim=64", "--splits=3"});
  ExpectValidTrace(trace, /*may_overlap=*/false);
  std::vector<std::string> stages;
  for (const Json& event : EventsOf(trace, "host")) {
    stages.push_back(event["name"]);
  }
  EXPECT_THAT(stages, ElementsAre("validate", "plan", "lower", "launch",
                                  "validate", "plan", "lower", "launch"));
  std::vector<std::string> kernels;
  for (const Json& event : EventsOf(trace, "kernel")) {
    kernels.push_back(event["name"]);
  }
  EXPECT_THAT(kernels, ElementsAre("v1", "split_k", "reduce splits"));

  std::multiset<std::tuple<int, int, int>> v1, split_k, reduce;
  for (int seq = 0; seq < 3; ++seq) {
    for (int head = 0; head < 2; ++head) {
      v1.emplace(seq, head, 0);
      reduce.emplace(seq, head, 0);
      for (int split = 0; split < 3; ++split) {
        split_k.emplace(seq, head, split);
      }
    }
  }
  EXPECT_EQ(WorkOf(EventsOf(trace, "v1")), v1);
  EXPECT_EQ(WorkOf(EventsOf(trace, "split_k")), split_k);
  EXPECT_EQ(WorkOf(EventsOf(trace, "reduce")), reduce);
}

TEST_F(TraceCommandTest, ProgramsLieWithinTheirLaunchAndAfterOneAnother) {
  const Json trace = Trace({"--backend=cpu", "--variant=split_k", "--splits=2",
                            "--num_seqs=2", "--context_len=64"});
  const Json launch = EventsOf(trace, "host").back();
  const double begin = launch["ts"];
  const double end = begin + double{launch["dur"]};
  double attend_end = 0;
  for (const Json& event : EventsOf(trace, "split_k")) {
    EXPECT_GE(event["ts"], begin);
    attend_end =
        std::max(attend_end, double{event["ts"]} + double{event["dur"]});
  }
  for (const Json& event : EventsOf(trace, "reduce")) {
    EXPECT_GE(event["ts"], attend_end);
    EXPECT_LE(double{event["ts"]} + double{event["dur"]}, end);
  }
}

TEST_F(TraceCommandTest, IdleThreadsHaveTracks) {
  const Json trace =
      Trace({"--backend=cpu", "--threads=3", "--variant=v1", "--num_seqs=1",
             "--context_len=16", "--num_q_heads=1", "--num_kv_heads=1"});
  int num_threads = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] != "thread_name") continue;
    const std::string name = event["args"]["name"];
    num_threads += name.rfind("thread ", 0) == 0;
  }
  EXPECT_EQ(num_threads, 3);
  EXPECT_THAT(result_.out, HasSubstr("1 programs in"));
  EXPECT_THAT(result_.out, HasSubstr("on 1 of 3 threads"));
}

TEST_F(TraceCommandTest, ScalarKernelsAreWatchedToo) {
  const std::vector<std::string> args = {"trace",
                                         absl::StrCat("--out=", path_),
                                         "--backend=cpu",
                                         "--num_seqs=2",
                                         "--context_len=32",
                                         "--num_q_heads=2",
                                         "--num_kv_heads=2",
                                         "--variant=v1"};
  setenv("PAGED_CPU", "scalar", 1);
  const CliResult result = RunCli(args);
  unsetenv("PAGED_CPU");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("v1, 1 split: 4 programs"));
}

TEST_F(TraceCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  for (const char* flag : {"--variant=thrust", "--num_seqs=0", "--splits=-1",
                           "--out=/no/such/folder/t.json", "word"}) {
    const CliResult result =
        RunCli({"trace", absl::StrCat("--out=", path_), "--backend=cpu",
                "--context_len=16", flag});
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
  }
  EXPECT_EQ(RunCli({"trace"}).exit_code, 2);
}

TEST(StepTraceTest, BusyShareCountsTheUnionOfAUnitsPrograms) {
  StepTrace step;
  step.profile.num_units = 4;
  step.programs = {{.unit = 0, .span = {0, 6}},
                   {.unit = 0, .span = {2, 8}},
                   {.unit = 1, .span = {6, 10}}};
  EXPECT_DOUBLE_EQ(step.device_span().length_us(), 10);
  EXPECT_EQ(step.num_busy_units(), 2);
  EXPECT_DOUBLE_EQ(step.busy_share(), (8.0 + 4.0) / 40);
  EXPECT_EQ(StepTrace().busy_share(), 0);
}

TEST_F(TraceCommandTest, CudaIsRefusedWhereThereIsNone) {
  if (MakeCudaBackend().ok()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(RunCli({"trace", absl::StrCat("--out=", path_), "--backend=cuda"})
                .exit_code,
            3);
}

class CudaTraceCommandTest : public TraceCommandTest {};

TEST_F(CudaTraceCommandTest, ShowsEveryCtaOnItsSm) {
  if (!MakeCudaBackend().ok()) GTEST_SKIP() << "no GPU";
  const Json trace =
      Trace({"--backend=cuda", "--num_seqs=3", "--context_len=500",
             "--num_q_heads=4", "--num_kv_heads=2", "--splits=3"});
  ExpectValidTrace(trace, /*may_overlap=*/true);
  std::multiset<std::tuple<int, int, int>> v1, split_k;
  for (int seq = 0; seq < 3; ++seq) {
    for (int head = 0; head < 2; ++head) {
      v1.emplace(seq, head, 0);
      for (int split = 0; split < 3; ++split) {
        split_k.emplace(seq, head, split);
      }
    }
  }
  EXPECT_EQ(WorkOf(EventsOf(trace, "v1")), v1);
  EXPECT_EQ(WorkOf(EventsOf(trace, "split_k")), split_k);
}

}  // namespace
}  // namespace paged::testing
