// What `paged run` refuses: with exit code 2 and one line, before it prints a
// table or allocates anything large.
#include <sys/resource.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Shape = std::vector<int64_t>;

// Tensors without an element, or the zeros that the query of one sequence has.
TensorFileBuilder HostileLayer(const std::vector<int32_t>& lens,
                               const Shape& query, const Shape& key,
                               const Shape& value) {
  std::size_t query_bytes = lens.empty() ? 0 : 2;
  if (!lens.empty()) {
    for (int64_t extent : query) {
      query_bytes *= static_cast<std::size_t>(extent);
    }
  }
  TensorFileBuilder builder;
  builder.Add("context_lens", "I32", {static_cast<int64_t>(lens.size())}, lens)
      .Add("layer0.query", "F16", query, std::string(query_bytes, '\0'))
      .Add("layer0.key", "F16", key, "")
      .Add("layer0.value", "F16", value, "");
  return builder;
}

// The largest that this process has ever been.
int64_t PeakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void ExpectQuickRefusal(const TensorFileBuilder& builder,
                        const std::string& rule) {
  const std::vector<char> bytes = builder.Build();
  ASSERT_LT(bytes.size(), 2048u);
  const TemporaryFile file(bytes);
  const int64_t before = PeakKilobytes();
  const CliResult result =
      RunCli({"run", file.path(), "--backend=cpu", "--variant=all"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr(file.path()), HasSubstr(rule)));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_LT(PeakKilobytes() - before, 64 << 10) << "of " << rule;
}

TEST(RunRefusalsTest, ValueDimsThatNoTokenBacksCostNothing) {
  ExpectQuickRefusal(
      HostileLayer({0}, {1, 4, 64}, {0, 2, 64}, {0, 2, 50000000}),
      "layer0.value must have query's 64 dims; got F16 [0, 2, 50000000]");
}

TEST(RunRefusalsTest, HeadsThatNoSequenceBacksCostNothing) {
  ExpectQuickRefusal(
      HostileLayer({}, {0, 8192, 4096}, {0, 8192, 4096}, {0, 8192, 64}),
      "layer0.value must have query's 4096 dims");
  ExpectQuickRefusal(
      HostileLayer({}, {0, 8192, 4096}, {0, 8192, 4096}, {0, 8192, 4096}),
      "layer0.query must have at most 131072 elements per token");
}

TEST(RunRefusalsTest, LargestExtentsCostNothing) {
  constexpr int64_t kMax = 2147483647;
  ExpectQuickRefusal(
      HostileLayer({}, {0, kMax, kMax}, {0, kMax, kMax}, {0, kMax, kMax}),
      "layer0.query must have at most 4096 dims");
  ExpectQuickRefusal(HostileLayer({}, {0, kMax, 1}, {0, kMax, 1}, {0, kMax, 1}),
                     "layer0.query must have at most 131072 elements");
}

TEST(RunRefusalsTest, TheLargestLayerThatIsAllowedRuns) {
  const TemporaryFile file(
      HostileLayer({}, {0, 32, 4096}, {0, 1, 4096}, {0, 1, 4096}).Build());
  const CliResult result = RunCli({"run", file.path(), "--backend=cpu"});
  // The library's own limit of head_dim may be lower, and is then named.
  if (result.exit_code != 0) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("head_dim"));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(RunRefusalsTest, WhatIsWrongWithALayerNamesItsFile) {
  const TemporaryFile file(SmallLayer({}).Build());
  for (const char* layer : {"layer7", "x"}) {
    const CliResult result = RunCli({"run", file.path(), "--layer", layer});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr(file.path()), HasSubstr(layer)));
  }
  const TemporaryFile empty(TensorFileBuilder().Build());
  const CliResult result = RunCli({"run", empty.path()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(empty.path()), HasSubstr("it has none")));
}

struct Conflict {
  std::vector<std::string> flags;
  Environment environment;
  std::string message;
};

TEST(RunRefusalsTest, ConflictsNameTheFlagsAndVariablesThatWereGiven) {
  const Conflict conflicts[] = {
      {{"--variant=v1", "--splits=4"},
       {},
       "--splits must be 0 or 1 with --variant=v1; got 4"},
      {{"--variant=reference"},
       {{"PAGED_SPLITS", "4"}},
       "PAGED_SPLITS must be 0 or 1 with --variant=reference; got 4"},
      {{"--splits=4"},
       {{"PAGED_VARIANT", "v1"}},
       "--splits must be 0 or 1 with PAGED_VARIANT=v1; got 4"},
      {{"--reduction=cluster", "--splits=9"},
       {},
       "--splits must be at most 8 with --reduction=cluster; got 9"},
      {{"--splits=9"},
       {{"PAGED_REDUCTION", "cluster"}},
       "--splits must be at most 8 with PAGED_REDUCTION=cluster; got 9"},
      {{},
       {{"PAGED_VARIANT", "v1"}, {"PAGED_SPLITS", "4"}},
       "PAGED_SPLITS must be 0 or 1 with PAGED_VARIANT=v1; got 4"}};
  const TemporaryFile file(SmallLayer({}).Build());
  for (const Conflict& conflict : conflicts) {
    for (const char* command : {"run", "explain"}) {
      std::vector<std::string> args = {command};
      if (command == std::string("run")) args.push_back(file.path());
      args.insert(args.end(), conflict.flags.begin(), conflict.flags.end());
      const CliResult result = RunCli(args, conflict.environment);
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_EQ(result.err,
                absl::StrCat("paged ", command, ": ", conflict.message, "\n"));
    }
  }
}

TEST(RunRefusalsTest, ListsOfWordsEndWithOr) {
  const TemporaryFile file(SmallLayer({}).Build());
  EXPECT_THAT(RunCli({"run", file.path(), "--backend=tpu"}).err,
              HasSubstr("--backend must be auto, cpu or cuda; got tpu"));
  EXPECT_THAT(RunCli({"explain", "--device=h300"}).err,
              HasSubstr("--device must be this, h200, h100, rtx3090 or cpu; "
                        "got h300"));
}

}  // namespace
}  // namespace paged::testing
