#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "paged/cuda_backend.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char kDecodeFile[] = "smollm2_decode.safetensors";

std::vector<std::string> VariantsOf(const CliResult& result) {
  std::vector<std::string> variants;
  for (const nlohmann::json& line : result.JsonLines()) {
    variants.push_back(line["variant"]);
  }
  return variants;
}

bool AllPass(const CliResult& result) {
  const auto lines = result.JsonLines();
  return !lines.empty() &&
         std::all_of(lines.begin(), lines.end(),
                     [](const auto& line) { return line["pass"] == true; });
}

// The rows of a small file, as `paged run --json` on the CPU.
CliResult RunSmall(const SmallLayerOptions& options,
                   std::vector<std::string> flags) {
  const TemporaryFile file(SmallLayer(options).Build());
  std::vector<std::string> args = {"run", file.path(), "--backend=cpu",
                                   "--json"};
  args.insert(args.end(), flags.begin(), flags.end());
  return RunCli(args);
}

TEST(RunCommandTest, EveryVariantPassesOnRealData) {
  const CliResult result = RunCli({"run", DataPath(kDecodeFile), "--json",
                                   "--variant=all", "--backend=cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<nlohmann::json> lines = result.JsonLines();
  // Four layers; thrust may be left out, and is then named.
  const bool has_thrust =
      result.err.find("thrust is left out") == std::string::npos;
  ASSERT_EQ(lines.size(), has_thrust ? 20u : 16u) << result.err;
  for (const nlohmann::json& line : lines) {
    EXPECT_THAT(KeysOf(line),
                ElementsAre("backend", "decided_by", "gb_per_s", "layer",
                            "max_abs_error", "pass", "splits", "time_us",
                            "tolerance", "variant"));
    EXPECT_EQ(line["pass"], true) << line;
    EXPECT_EQ(line["backend"], "cpu");
    EXPECT_EQ(line["tolerance"], 5e-4);
    EXPECT_GT(line["time_us"], 0);
    // 980 tokens x 3 kv heads x 64 dims x 2 bytes, keys and values.
    EXPECT_NEAR(line["gb_per_s"].get<double>(),
                752640e-3 / line["time_us"].get<double>(), 1e-6);
    EXPECT_GT(line["max_abs_error"], 0);
    EXPECT_LT(line["max_abs_error"], 4e-3);
  }
  EXPECT_EQ(lines.front()["layer"], "layer0");
  EXPECT_EQ(lines.front()["variant"], "reference");
  EXPECT_EQ(lines.back()["layer"], "layer29");
  EXPECT_EQ(lines.back()["decided_by"], "cost_model");
}

TEST(RunCommandTest, PagesIntoBlocksOfAnySize) {
  for (const char* block_size : {"1", "3", "16", "1024"}) {
    const CliResult result =
        RunCli({"run", DataPath("smollm2_long.safetensors"), "--json",
                "--backend=cpu", "--splits", "5", "--block_size", block_size});
    EXPECT_EQ(result.exit_code, 0) << block_size << result.err;
    EXPECT_EQ(result.JsonLines().at(0)["splits"], 5);
    EXPECT_EQ(result.JsonLines().at(0)["decided_by"], "--splits");
  }
}

TEST(RunCommandTest, PrintsOneAlignedLinePerRow) {
  const CliResult result = RunCli(
      {"run", "--layer", "layer11", DataPath(kDecodeFile), "--backend=cpu"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("layer11   cpu     auto -> "));
  EXPECT_THAT(result.out, HasSubstr("PASS"));
  EXPECT_THAT(result.out, HasSubstr("1 of 1 rows pass"));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(RunCommandTest, FailsWhenTheFileExpectsSomethingElse) {
  for (const char* name : {"expected", "expected_lse"}) {
    std::vector<double> wrong(name == std::string("expected") ? 96 : 12, 0.25);
    TensorFileBuilder builder = SmallLayer({});
    builder.Add(absl::StrCat("layer0.", name), "F64",
                wrong.size() == 96 ? std::vector<int64_t>{3, 4, 8}
                                   : std::vector<int64_t>{3, 4},
                wrong);
    const TemporaryFile file(builder.Build());
    const CliResult result =
        RunCli({"run", file.path(), "--backend=cpu", "--json"});
    EXPECT_EQ(result.exit_code, 1) << name;
    EXPECT_EQ(result.JsonLines().at(0)["pass"], false);
    EXPECT_THAT(result.err, HasSubstr("the file's expected"));
    EXPECT_TRUE(result.ErrIsOneLine());
  }
}

TEST(RunCommandTest, ScalesAsToldAndNotOtherwise) {
  // The file's expected knows its own scale alone; the reference follows.
  const CliResult wrong_scale =
      RunCli({"run", DataPath(kDecodeFile), "--layer=layer29", "--scale=0.12",
              "--backend=cpu"});
  EXPECT_EQ(wrong_scale.exit_code, 1);
  EXPECT_THAT(wrong_scale.out, HasSubstr("FAIL"));
  EXPECT_EQ(RunSmall({}, {"--scale=0.12"}).exit_code, 0);
}

TEST(RunCommandTest, ReportsFiniteErrorsForNotANumber) {
  const CliResult result =
      RunSmall({.poison_value = std::numeric_limits<float>::quiet_NaN()},
               {"--variant=v1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.JsonLines().at(0)["max_abs_error"], 1e308);
}

TEST(RunCommandTest, AnswersSequencesWithoutTokens) {
  const std::vector<int32_t> batches[] = {{}, {0}, {0, 0}, {0, 17, 0, 3}};
  for (const std::vector<int32_t>& lens : batches) {
    const CliResult result =
        RunSmall({.context_lens = lens}, {"--variant=all", "--splits=3"});
    EXPECT_EQ(result.exit_code, 0) << lens.size() << result.err;
    EXPECT_TRUE(AllPass(result)) << result.out;
    if (lens.size() < 4) {
      EXPECT_EQ(result.JsonLines().at(0)["time_us"], 0);
      EXPECT_EQ(result.JsonLines().at(0)["gb_per_s"], 0);
    }
  }
}

TEST(RunCommandTest, JudgesEachTypeByItsOwnTolerance) {
  const std::pair<const char*, double> cases[] = {
      {"F16", 5e-4}, {"BF16", 5e-3}, {"F32", 1e-5}};
  for (const auto& [dtype, tolerance] : cases) {
    const CliResult result =
        RunSmall({.dtype = dtype}, {"--variant=all", "--head_packing=off"});
    EXPECT_EQ(result.exit_code, 0) << dtype << result.out << result.err;
    EXPECT_EQ(result.JsonLines().at(0)["tolerance"], tolerance);
  }
}

TEST(RunCommandTest, SplitsOfTheFlagAreForWhatSplits) {
  const CliResult result = RunSmall({}, {"--variant=all", "--splits=4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const nlohmann::json& line : result.JsonLines()) {
    const bool is_split = line["variant"] == "split_k";
    EXPECT_EQ(line["splits"], is_split ? 4 : 1) << line;
  }
  EXPECT_EQ(VariantsOf(result).back(), "split_k");
  EXPECT_EQ(result.JsonLines().back()["decided_by"], "--splits");
}

TEST(RunCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  const std::string file = DataPath(kDecodeFile);
  const std::vector<std::vector<std::string>> calls = {
      {},
      {"walk"},
      {"run"},
      {"run", file, file},
      {"run", "/nonexistent.safetensors"},
      {"run", "/"},
      {"run", file, "--layer=layer7"},
      {"run", file, "--layer="},
      {"run", file, "--variant=v2"},
      {"run", file, "--variant=v1", "--splits=4"},
      {"run", file, "--splits=1025"},
      {"run", file, "--block_size=0"},
      {"run", file, "--block_size=1025"},
      {"run", file, "--scale=0"},
      {"run", file, "--scale=nan"},
      {"run", file, "--backend=tpu"},
      {"run", file, "--reduction=tree"},
      {"run", file, "--head_packing=maybe"},
      {"run", file, "--frobnicate"},
      {"run", file, "--splits"}};
  for (const std::vector<std::string>& call : calls) {
    const CliResult result = RunCli(call);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
    EXPECT_THAT(result.out, IsEmpty()) << result.err;
  }
}

TEST(RunCommandTest, HelpShowsAnExampleAndEveryFlag) {
  const CliResult result = RunCli({"run", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("paged run tests/data/"));
  for (const char* flag :
       {"--layer", "--scale", "--variant", "--splits", "--block_size",
        "--backend", "--head_packing", "--reduction", "--json"}) {
    EXPECT_THAT(result.out, HasSubstr(flag));
  }
  EXPECT_EQ(RunCli({"--help"}).exit_code, 0);
  EXPECT_THAT(RunCli({"--version"}).out, HasSubstr("paged "));
}

TEST(RunCommandTest, WantsADeviceForCuda) {
  if (MakeCudaBackend().ok()) GTEST_SKIP() << "this machine has a GPU";
  const CliResult result =
      RunCli({"run", DataPath(kDecodeFile), "--backend=cuda"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
}

TEST(CudaRunCommandTest, EveryVariantPassesOnRealData) {
  const auto backend = MakeCudaBackend();
  if (!backend.ok()) GTEST_SKIP() << backend.status();
  for (const char* name : {kDecodeFile, "smollm2_long.safetensors"}) {
    const CliResult result = RunCli(
        {"run", DataPath(name), "--json", "--variant=all", "--backend=cuda"});
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    for (const nlohmann::json& line : result.JsonLines()) {
      const bool is_reference = line["variant"] == "reference";
      EXPECT_EQ(line["backend"], is_reference ? "cpu" : "cuda") << line;
    }
  }
}

TEST(CudaRunCommandTest, FallsBackToTheCpuWhereNoKernelFits) {
  const auto backend = MakeCudaBackend();
  if (!backend.ok()) GTEST_SKIP() << backend.status();
  const TemporaryFile file(SmallLayer({.head_dim = 8}).Build());
  const CliResult automatic = RunCli({"run", file.path(), "--json"});
  EXPECT_EQ(automatic.exit_code, 0) << automatic.err;
  EXPECT_EQ(automatic.JsonLines().at(0)["backend"], "cpu");
  EXPECT_THAT(automatic.err, HasSubstr("the CPU runs this"));
  EXPECT_EQ(RunCli({"run", file.path(), "--backend=cuda"}).exit_code, 2);
}

}  // namespace
}  // namespace paged::testing
