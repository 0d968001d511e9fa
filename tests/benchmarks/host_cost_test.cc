#include "benchmarks/host_cost.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "paged/device_profile.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::benchmarks {
namespace {

TEST(HostCostTest, EveryShapeIsPlannedAndNamed) {
  const std::vector<HostRow> rows = PlanRows(H200Profile());
  ASSERT_EQ(rows.size(), HostShapes().size());
  EXPECT_EQ(rows.front().name,
            "host/make_plan/fp16/b:1/ctx:128/hkv:8/g:4/d:128/bs:16");
  for (const HostRow& host_row : rows) {
    const Row row = host_row.measure();
    EXPECT_EQ(row.name, host_row.name);
    EXPECT_EQ(row.error, "");
    EXPECT_GT(row.time_us, 0);
  }
}

TEST(HostCostTest, WaitingBetweenGroupsIsNotCounted) {
  int num_calls = 0;
  int num_waits = 0;
  const Row row = TimeOnHost(
      "host/nothing",
      [&] {
        ++num_calls;
        return absl::OkStatus();
      },
      [&] {
        ++num_waits;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
  EXPECT_GT(num_waits, 10);
  EXPECT_GT(num_calls, 10 * num_waits);
  EXPECT_LT(row.time_us, 100);
}

TEST(HostCostTest, AnErrorEndsTheRow) {
  int num_calls = 0;
  const Row row = TimeOnHost(
      "host/failing",
      [&] {
        return ++num_calls < 3 ? absl::OkStatus() : absl::InternalError("no");
      },
      [] {});
  EXPECT_EQ(num_calls, 3);
  EXPECT_EQ(row.error, "INTERNAL: no");
}

TEST(HostCostTest, InvariantRowsAskForBatchInvariance) {
  for (const BenchShape& shape : InvariantShapes()) {
    const absl::StatusOr<DecodePlan> plan = MakePlan(
        ValidateShape(MakeDecodeShape(shape, MakeTables(shape, 0))).value(),
        H200Profile(), OptionsOf("auto_invariant"));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->num_splits, kInvariantSplits) << ShapeName(shape);
  }
}

}  // namespace
}  // namespace paged::benchmarks
