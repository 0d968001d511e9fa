// The committed measurements of dispatch_regret, replayed against the planner
// of today: a change of the cost model that makes one of them worse than its
// bound fails here, without a GPU.
#include "benchmarks/regret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace paged::benchmarks {
namespace {

std::string Committed() {
  std::ifstream file(PAGED_RESULTS "/h200/dispatch_regret.json");
  EXPECT_TRUE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RegretShapesTest, AreMoreThanTwoHundredWithNamesOfTheirOwn) {
  std::set<std::string> names;
  int ragged = 0;
  for (const RegretShape& shape : RegretShapes()) {
    names.insert(shape.name);
    ragged += shape.shape.is_ragged();
    EXPECT_GE(shape.shape.group, 1) << shape.name;
    EXPECT_LE(shape.shape.group, 16) << shape.name;
  }
  EXPECT_EQ(names.size(), RegretShapes().size());
  EXPECT_GE(names.size(), 200u);
  EXPECT_GE(ragged, 20);
}

TEST(RegretRecordTest, HasEveryShapeOfTheList) {
  const auto json = nlohmann::json::parse(Committed());
  std::set<std::string> recorded;
  for (const auto& row : json.at("shapes")) {
    recorded.insert(row.at("name").get<std::string>());
  }
  for (const RegretShape& shape : RegretShapes()) {
    EXPECT_EQ(recorded.count(shape.name), 1u) << shape.name;
  }
}

TEST(RegretRecordTest, TodaysPlansStayWithinTheirBounds) {
  const std::vector<ReplayedRegret> rows =
      ReplayRegret(Committed(), H200Profile()).value();
  std::vector<double> regrets;
  for (const ReplayedRegret& row : rows) {
    EXPECT_EQ(row.problem, "") << row.name;
    EXPECT_LE(row.regret, kWorstRegret) << row.name;
    regrets.push_back(row.regret);
  }
  std::sort(regrets.begin(), regrets.end());
  EXPECT_LE(regrets[regrets.size() / 2], kMedianRegret);
}

// The replay sees a plan that costs more.
TEST(RegretRecordTest, APlanThatWasSlowerIsFound) {
  nlohmann::json json = nlohmann::json::parse(Committed());
  nlohmann::json& row = json["shapes"][0];
  row["best_us"] = row["best_us"].get<double>() / 2;
  const auto replayed = ReplayRegret(json.dump(), H200Profile()).value();
  EXPECT_GE(replayed.front().regret, 1.9);
}

TEST(RegretRecordTest, APlanThatWasNotMeasuredIsNamed) {
  nlohmann::json json = nlohmann::json::parse(Committed());
  nlohmann::json& row = json["shapes"][0];
  row["auto"]["splits"] = 999;
  row["forced"] = nlohmann::json::array();
  const auto replayed = ReplayRegret(json.dump(), H200Profile()).value();
  EXPECT_NE(replayed.front().problem, "");
}

TEST(RegretRecordTest, OtherTextIsRefused) {
  EXPECT_FALSE(ReplayRegret("{}", H200Profile()).ok());
  EXPECT_FALSE(ReplayRegret("no", H200Profile()).ok());
}

}  // namespace
}  // namespace paged::benchmarks
