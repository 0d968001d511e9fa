// The rows of features: at a size that a CPU runs in a blink each is right, and
// at their own size each would be refused without its feature.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cpu/problem.h"
#include "benchmarks/measurer.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/shapes.h"
#include "kernels/core/dtype.h"
#include "paged/cpu_backend.h"
#include "paged/decode.h"
#include "paged/device_profile.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::benchmarks {
namespace {

// Contexts, windows and chunks that still end within blocks and tiles.
BenchShape Small(BenchShape shape) {
  shape.lens_name = "small";
  shape.context_lens = {90, 41, 70, 133};
  shape.num_kv_heads = 2;
  if (shape.rules.window != 0) shape.rules.window = 37;
  if (shape.rules.attention_chunk != 0) shape.rules.attention_chunk = 50;
  return shape;
}

TEST(FeatureRowsTest, EachIsRightInEveryVariant) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 2});
  for (const BenchShape& feature : FeatureShapes()) {
    const BenchShape shape = Small(feature);
    SCOPED_TRACE(ShapeName(feature));
    CpuProblem problem(shape, BlockLayout::kTokenMajor, 0);
    for (const char* variant : {"v1", "split_k", "auto_invariant"}) {
      SCOPED_TRACE(variant);
      problem.PoisonOutput();
      const absl::Status status =
          Decode(problem.Args(0), *backend, OptionsOf(variant));
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(RefusalOf(shape, problem.LargestErrorOfSet0()), "");
    }
  }
}

// All but queries in fp32 on tensor cores, through whose rings the gather
// reads.
TEST(FeatureRowsTest, EachHasAPlanOfEveryVariantOnAGpu) {
  for (const BenchShape& shape : FeatureShapes()) {
    SCOPED_TRACE(ShapeName(shape));
    const absl::StatusOr<DecodeProblem> problem =
        ValidateShape(MakeDecodeShape(shape, MakeTables(shape, 0)));
    ASSERT_TRUE(problem.ok()) << problem.status();
    for (const char* variant : {"v1", "split_k", "auto"}) {
      const absl::StatusOr<DecodePlan> plan =
          MakePlan(*problem, H200Profile(), OptionsOf(variant));
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan->instance.on_cuda_cores,
                shape.query_dtype() == DType::kF32);
      if (shape.rules == BenchRules{}) {
        EXPECT_EQ(plan->kv_bytes, shape.kv_bytes());
      }
    }
  }
}

// What the rows of `right` are off by where `wrong` is computed.
double DistanceOf(const BenchShape& right, const BenchShape& wrong) {
  const BenchTables tables = MakeTables(right, 0);
  const std::vector<SampleRow> expected = ComputeSamples(right, tables);
  const std::vector<SampleRow> actual = ComputeSamples(wrong, tables);
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].row, actual[i].row);
    largest = std::max(largest, std::fabs(expected[i].lse - actual[i].lse));
    for (size_t d = 0; d < expected[i].output.size(); ++d) {
      largest = std::max(
          largest, std::fabs(expected[i].output[d] - actual[i].output[d]));
    }
  }
  return largest;
}

TEST(FeatureRowsTest, EachIsRefusedWithoutItsFeature) {
  const struct {
    std::string segment;  // of the names of rows
    std::function<void(BenchShape&)> lose;
  } kLosses[] = {
      {"/tree", [](BenchShape& s) { s.rules.has_tree_masks = false; }},
      {"/window:", [](BenchShape& s) { ++s.rules.window; }},
      {"/chunk:", [](BenchShape& s) { s.rules.attention_chunk = 0; }},
      {"/sink_tokens:", [](BenchShape& s) { s.rules.sink_tokens = 0; }},
      {"/cap:", [](BenchShape& s) { s.rules.soft_cap = 0; }},
      {"/alibi", [](BenchShape& s) { s.rules.has_alibi = false; }},
      {"/bias", [](BenchShape& s) { s.rules.has_bias = false; }},
      {"/sinks", [](BenchShape& s) { s.rules.has_sink_logits = false; }},
      {"/scales:head",
       [](BenchShape& s) { s.scales = ScaleGranularity::kTensor; }},
      {"/scales:token",
       [](BenchShape& s) { s.scales = ScaleGranularity::kHead; }}};
  for (const auto& [segment, lose] : kLosses) {
    int num_rows = 0;
    for (const BenchShape& shape : FeatureShapes()) {
      if (ShapeName(shape).find(segment) == std::string::npos) continue;
      SCOPED_TRACE(ShapeName(shape));
      BenchShape wrong = shape;
      lose(wrong);
      EXPECT_NE(RefusalOf(shape, DistanceOf(shape, wrong)), "");
      ++num_rows;
    }
    EXPECT_GT(num_rows, 0) << segment;
  }
}

// Over the rows' length: the longer, the less a wrong query shows.
TEST(FeatureRowsTest, QueriesInFp32MayNotLoseTheirBits) {
  BenchShape shape = Uniform(4, 2048, 2, 4);
  shape.own_query_dtype = DType::kF32;
  CpuProblem problem(shape, BlockLayout::kTokenMajor, 0);
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 2});
  DecodeArgs args = problem.Args(0);
  ASSERT_TRUE(Decode(args, *backend, {}).ok());
  EXPECT_EQ(RefusalOf(shape, problem.LargestErrorOfSet0()), "");

  std::vector<float> rounded(static_cast<size_t>(
      shape.num_query_tokens() * shape.num_q_heads() * shape.head_dim));
  std::memcpy(rounded.data(), args.query, rounded.size() * sizeof(float));
  for (float& x : rounded) x = ToFloat(FromFloat<Half>(x));
  args.query = rounded.data();
  ASSERT_TRUE(Decode(args, *backend, {}).ok());
  EXPECT_NE(RefusalOf(shape, problem.LargestErrorOfSet0()), "");
}

}  // namespace
}  // namespace paged::benchmarks
