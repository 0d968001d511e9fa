#include "paged/internal/lower.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "kernels/core/partition.h"
#include "tests/lib/shapes.h"

namespace paged::internal {
namespace {

using paged::testing::ShapeOf;

// Addresses that nothing here follows.
template <typename T>
T* At(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

DecodeArgs LegalArgs() {
  return {.shape = ShapeOf({8, 4, 2, 1024}),
          .query = At<void>(0x10000),
          .key_cache = At<void>(0x20000),
          .value_cache = At<void>(0x30000),
          .block_tables = At<int32_t>(0x40004),
          .context_lens = At<int32_t>(0x50004),
          .output = At<void>(0x60000),
          .lse = At<float>(0x70004)};
}

DecodePlan PlanOf(const DecodeArgs& args, const DeviceProfile& profile,
                  const DecodeOptions& options) {
  return MakePlan(ValidateShape(args.shape).value(), profile, options).value();
}

struct Fixture {
  DeviceProfile profile = H200Profile();
  DecodeArgs args = LegalArgs();
  DecodePlan plan =
      PlanOf(args, profile, {.splits = 5, .reduction = Reduction::kSecondPass});
  RunContext context{
      .stream = nullptr,
      .workspace = {.data = At<void>(0x100000), .bytes = plan.workspace_bytes},
      .schedule = nullptr};

  absl::StatusOr<Launch> operator()() const {
    return Lower(plan, args, profile, context);
  }
};

TEST(LowerTest, BindsShapePointersAndPlan) {
  Fixture lower;
  const Launch launch = lower().value();
  EXPECT_EQ(launch.variant, Variant::kSplitK);
  EXPECT_EQ(launch.reduction, Reduction::kSecondPass);
  EXPECT_EQ(launch.kv_element, ElementKind::kF16);
  EXPECT_EQ(launch.instance, (InstanceShape{lower.plan.instance.warps,
                                            lower.plan.instance.stages}));
  const DecodeParams& p = launch.params;
  EXPECT_EQ(p.query.data, lower.args.query);
  EXPECT_EQ(p.key.data, lower.args.key_cache);
  EXPECT_EQ(p.value.data, lower.args.value_cache);
  EXPECT_EQ(p.output.data, lower.args.output);
  EXPECT_EQ(p.lse, lower.args.lse);
  EXPECT_EQ(p.block_tables, lower.args.block_tables);
  EXPECT_EQ(p.context_lens, lower.args.context_lens);
  EXPECT_EQ(p.key.block_stride, 16 * 4 * 128);
  EXPECT_EQ(p.value.slot_stride, 4 * 128);
  EXPECT_EQ(p.output.seq_stride, 8 * 128);
  EXPECT_EQ(p.block_table_stride, 64);
  EXPECT_EQ(p.num_seqs, 8);
  EXPECT_EQ(p.num_kv_heads, 4);
  EXPECT_EQ(p.group, 2);
  EXPECT_EQ(p.key_dim, 128);
  EXPECT_EQ(p.value_dim, 128);
  EXPECT_EQ(p.block_size, 16);
  EXPECT_EQ(p.max_context_len, 1024);
  EXPECT_EQ(p.num_splits, 5);
  EXPECT_EQ(p.rows_per_item, 2);
  EXPECT_FLOAT_EQ(p.scale_log2,
                  static_cast<float>(1 / std::sqrt(128.0) / std::log(2.0)));
}

TEST(LowerTest, PartialsLieInsideTheWorkspaceAndApart) {
  Fixture lower;
  const Launch launch = lower().value();
  const DecodeParams& p = launch.params;
  const auto base = reinterpret_cast<std::uintptr_t>(launch.workspace.data);
  const auto states = reinterpret_cast<std::uintptr_t>(p.partials.states);
  const auto values = reinterpret_cast<std::uintptr_t>(p.partials.values);
  const int64_t num_rows = PartialRow(p, SplitPartials(p, NumItems(p)).first, 0,
                                      0);  // one past the last
  EXPECT_GE(states, base + lower.plan.control_bytes);
  EXPECT_GE(values,
            states + static_cast<std::size_t>(num_rows) * sizeof(SoftmaxState));
  EXPECT_EQ(
      values + static_cast<std::size_t>(num_rows * p.value_dim) * sizeof(float),
      base + lower.plan.workspace_bytes);
  EXPECT_EQ(states % 256, 0u);
  EXPECT_EQ(values % 256, 0u);
}

TEST(LowerTest, AnUnsplitPlanNeedsNoWorkspace) {
  Fixture lower;
  lower.plan = PlanOf(lower.args, lower.profile, {.splits = 1});
  lower.context.workspace = {};
  EXPECT_EQ(lower()->params.partials.values, nullptr);
}

TEST(LowerTest, AnotherShapeIsRefusedByField) {
  const struct {
    const char* field;
    std::function<void(DecodeShape&)> edit;
  } edits[] = {
      {"num_seqs", [](auto& s) { s.num_seqs = 7; }},
      {"num_q_heads", [](auto& s) { s.num_q_heads = 16; }},
      {"max_context_len", [](auto& s) { s.max_context_len = 1000; }},
      {"num_blocks", [](auto& s) { s.num_blocks += 1; }},
      {"scale", [](auto& s) { s.scale = 1; }},
      {"a stride", [](auto& s) { s.block_table_stride = 80; }},
  };
  for (const auto& [field, edit] : edits) {
    Fixture lower;
    edit(lower.args.shape);
    const absl::Status status = lower().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(),
              std::string("args.shape must be the shape that the plan was made "
                          "for; ") +
                  field + " differs");
  }
}

TEST(LowerTest, DefaultsMayBeSpelledOut) {
  Fixture lower;
  EXPECT_EQ(lower.args.shape.key, KvStrides{});
  lower.args.shape = ValidateShape(lower.args.shape)->shape();
  EXPECT_TRUE(lower().ok());
}

// Equal shapes are not validated again; others are, before they are compared.
TEST(LowerTest, AnIllegalShapeIsRefusedByItsRule) {
  const struct {
    const char* message;
    std::function<void(DecodeShape&)> edit;
  } edits[] = {
      {"block_size must be 1 to 1024; got 0",
       [](auto& s) { s.block_size = 0; }},
      {"head_dim must be 1 to 4096; got 2147483647",
       [](auto& s) { s.head_dim = 2147483647; }},
      {"max_context_len must be at least 0; got -1",
       [](auto& s) { s.max_context_len = -1; }},
  };
  for (const auto& [message, edit] : edits) {
    Fixture lower;
    edit(lower.args.shape);
    const absl::Status status = lower().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
}

TEST(LowerTest, TheExpectedLengthMayDiffer) {
  Fixture lower;
  lower.args.shape.expected_context_len = 3;
  EXPECT_TRUE(lower().ok());
}

TEST(LowerTest, APlanOfAnotherDeviceIsRefused) {
  Fixture lower;
  lower.profile = H100Profile();
  EXPECT_EQ(lower().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LowerTest, OnlyTheLastCtaIsGivenCounters) {
  Fixture lower;
  EXPECT_EQ(lower()->params.arrivals, nullptr);
  lower.plan = PlanOf(lower.args, lower.profile,
                      {.splits = 5, .reduction = Reduction::kLastCta});
  lower.context.workspace.bytes = lower.plan.workspace_bytes;
  const DecodeParams params = lower()->params;
  EXPECT_EQ(static_cast<void*>(params.arrivals), lower.context.workspace.data);
  EXPECT_EQ(reinterpret_cast<char*>(params.partials.states),
            reinterpret_cast<char*>(params.arrivals) + kControlBytes);
  lower.plan = PlanOf(lower.args, lower.profile,
                      {.splits = 5, .reduction = Reduction::kCluster});
  EXPECT_EQ(lower()->params.partials.states, nullptr);
}

TEST(LowerTest, ASmallWorkspaceIsRefusedWithWhatIsNeeded) {
  Fixture lower;
  lower.context.workspace.bytes -= 1;
  const absl::Status status = lower().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "workspace must hold 231936 bytes; got 231935");
  lower.context.workspace = {};
  EXPECT_EQ(lower().status().code(), absl::StatusCode::kResourceExhausted);
}

// BR-046, 047.
TEST(LowerTest, CudaWantsAlignedPointersAndTheCpuDoesNot) {
  const struct {
    const char* field;
    std::function<void(DecodeArgs&)> edit;
    int alignment;
  } edits[] = {
      {"query", [](auto& a) { a.query = At<void>(0x10008); }, 16},
      {"key_cache", [](auto& a) { a.key_cache = At<void>(0x20002); }, 16},
      {"value_cache", [](auto& a) { a.value_cache = At<void>(0x3000f); }, 16},
      {"output", [](auto& a) { a.output = At<void>(0x60004); }, 16},
      {"block_tables", [](auto& a) { a.block_tables = At<int32_t>(0x40002); },
       4},
      {"context_lens", [](auto& a) { a.context_lens = At<int32_t>(0x50001); },
       4},
      {"lse", [](auto& a) { a.lse = At<float>(0x70002); }, 4},
  };
  for (const auto& [field, edit, alignment] : edits) {
    Fixture lower;
    edit(lower.args);
    const absl::Status status = lower().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(
        status.message().find(std::string(field) + " must be aligned to " +
                              std::to_string(alignment) + " bytes; got"),
        0u)
        << status;
    lower.profile = CpuProfile(2);
    lower.plan = PlanOf(lower.args, lower.profile, {.splits = 5});
    EXPECT_TRUE(lower().ok());
  }
}

TEST(LowerTest, TheWorkspaceIsAlignedAsTheBackendPromises) {
  Fixture lower;
  lower.context.workspace.data = At<void>(0x100040);
  EXPECT_EQ(lower().status().code(), absl::StatusCode::kInvalidArgument);
  lower.profile = CpuProfile(2);
  lower.plan = PlanOf(lower.args, lower.profile, {.splits = 5});
  EXPECT_TRUE(lower().ok());
  lower.context.workspace.data = At<void>(0x100020);
  EXPECT_EQ(lower().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LowerTest, NullPointersAreRefusedAsInValidate) {
  Fixture lower;
  lower.args.query = nullptr;
  EXPECT_EQ(lower().status().message(), "query must not be null");
}

}  // namespace
}  // namespace paged::internal
