#include "benchmarks/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/temporary_folder.h"

namespace paged::benchmarks {
namespace {

using Json = nlohmann::json;

class MergeRecordsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const {
    return folder_.PathOf(name);
  }

  // A record with one row per name, all of the same time.
  std::string Write(const std::string& name, const std::string& kernels,
                    const std::vector<std::string>& rows, double time_us) {
    Json record = {{"context",
                    {{"kernels_core", kernels},
                     {"kernels_cuda", kernels},
                     {"host_name", "secret"},
                     {"library_build_type", "debug"}}},
                   {"benchmarks", Json::array()}};
    for (const std::string& row : rows) {
      record["benchmarks"].push_back({{"name", row}, {"time_us", time_us}});
    }
    std::ofstream(Path(name)) << record;
    return Path(name);
  }

  static Json Read(const std::string& path) {
    return Json::parse(std::ifstream(path));
  }

 private:
  const testing::TemporaryFolder folder_;
};

TEST_F(MergeRecordsTest, ReplacesRowsOfTheSameNameAndKeepsTheOthers) {
  const std::string into = Write("old", "k", {"a", "b"}, 1);
  const std::string from = Write("new", "k", {"b", "c"}, 2);
  ASSERT_TRUE(MergeRecords(into, from).ok());
  const Json rows = Read(into)["benchmarks"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], Json({{"name", "a"}, {"time_us", 1.0}}));
  EXPECT_EQ(rows[1], Json({{"name", "b"}, {"time_us", 2.0}}));
  EXPECT_EQ(rows[2], Json({{"name", "c"}, {"time_us", 2.0}}));
}

TEST_F(MergeRecordsTest, DropsRowsOfOtherKernels) {
  const std::string into = Write("old", "k", {"a"}, 1);
  const std::string from = Write("new", "other", {"b"}, 2);
  ASSERT_TRUE(MergeRecords(into, from).ok());
  const Json record = Read(into);
  ASSERT_EQ(record["benchmarks"].size(), 1u);
  EXPECT_EQ(record["benchmarks"][0]["name"], "b");
  EXPECT_EQ(record["context"]["kernels_cuda"], "other");
}

TEST_F(MergeRecordsTest, CreatesTheFileAndLeavesOutWhatMisleads) {
  const std::string from = Write("new", "k", {"a"}, 1);
  ASSERT_TRUE(MergeRecords(Path("fresh"), from).ok());
  const Json record = Read(Path("fresh"));
  EXPECT_EQ(record["benchmarks"].size(), 1u);
  EXPECT_FALSE(record["context"].contains("host_name"));
  EXPECT_FALSE(record["context"].contains("library_build_type"));
}

TEST_F(MergeRecordsTest, LeavesTheFileAloneWhenTheNewOneIsCutOff) {
  const std::string into = Write("old", "k", {"a"}, 1);
  const Json before = Read(into);
  std::ofstream(Path("cut")) << R"({"context": {}, "benchmarks": [)";
  EXPECT_FALSE(MergeRecords(into, Path("cut")).ok());
  EXPECT_FALSE(MergeRecords(into, Path("absent")).ok());
  EXPECT_EQ(Read(into), before);
}

TEST(RecordContextTest, TheCommitIsAFullHashOrUnknown) {
  EXPECT_THAT(CommitHash(), ::testing::MatchesRegex(
                                "[0-9a-f]{40}|[0-9a-f]{40}-dirty|unknown"));
}

TEST(RecordContextTest, TheProcessorIsNamedInOneLine) {
  EXPECT_THAT(ProcessorModel(), ::testing::MatchesRegex("[^\n:]+"));
}

}  // namespace
}  // namespace paged::benchmarks
