// Caches of a dtype of their own, and what their codes are multiplied by.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

// The case's dtype is the query's.
using KvDTypesTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, KvDTypesTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, KvDTypesTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

constexpr DType kKvDTypes[] = {DType::kF16,     DType::kBF16,    DType::kF32,
                               DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};
constexpr DType kQuantised[] = {DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};
constexpr ScaleGranularity kGranularities[] = {
    ScaleGranularity::kNone, ScaleGranularity::kTensor, ScaleGranularity::kHead,
    ScaleGranularity::kToken};

// Codes of int8 go up to 100 in the problems of tests.
float UnitOf(DType dtype) { return dtype == DType::kInt8 ? 0.01f : 1.0f; }

// BR-063, 126: every pair of query and cache, in rows that fill a chunk and
// that do not.
TEST_P(KvDTypesTest, EveryCacheServesEveryQuery) {
  for (DType kv : kKvDTypes) {
    for (int group : {1, 3, 8, 20}) {
      SCOPED_TRACE(::testing::Message() << NameOf(kv) << ", group " << group);
      const Problem problem = MakeProblem({.dtype = kv,
                                           .query_dtype = dtype(),
                                           .num_q_heads = 2 * group,
                                           .num_kv_heads = 2,
                                           .head_dim = head_dim(40),
                                           .context_lens = {1, 0, 48, 203, 90},
                                           .key_scale = UnitOf(kv),
                                           .value_scale = UnitOf(kv)});
      PAGED_SKIP_UNBUILT(problem);
      ExpectRight(kind(), problem, {1, 3});
    }
  }
}

// On CUDA too queries in fp32 leave no room for weights that are rounded.
TEST(KvDTypesBoundTest, QueriesInFp32AreHeldToFp32) {
  const auto bound = [](DType query) {
    return OracleFor(BackendKind::kCuda,
                     MakeProblem({.query_dtype = query, .context_lens = {40}}))
        .output_bound[0];
  };
  EXPECT_LT(10 * bound(DType::kF32), bound(DType::kF16));
}

// BR-124: keys and values apart, each granularity against each.
TEST_P(KvDTypesTest, ScalesOfEveryGranularityMatchTheOracle) {
  for (DType kv : kKvDTypes) {
    for (ScaleGranularity keys : kGranularities) {
      for (ScaleGranularity values : kGranularities) {
        SCOPED_TRACE(::testing::Message()
                     << NameOf(kv) << ", keys " << static_cast<int>(keys)
                     << ", values " << static_cast<int>(values));
        const Problem problem = MakeProblem({.dtype = kv,
                                             .query_dtype = dtype(),
                                             .num_q_heads = 9,
                                             .num_kv_heads = 3,
                                             .head_dim = head_dim(24),
                                             .block_size = 12,
                                             .context_lens = {1, 40, 150},
                                             .key_scale = 0.25f * UnitOf(kv),
                                             .value_scale = 3.7f * UnitOf(kv),
                                             .key_scales = keys,
                                             .value_scales = values});
        PAGED_SKIP_UNBUILT(problem);
        ExpectRight(kind(), problem, {3});
      }
    }
  }
}

// BR-105, 127: a scale that some path drops changes nothing there.
TEST_P(KvDTypesTest, EveryScaleChangesTheOutput) {
  const ProblemSpec spec{.dtype = DType::kFp8E4M3,
                         .query_dtype = dtype(),
                         .head_dim = 64,
                         .context_lens = {203}};
  std::vector<ProblemSpec> scaled(4, spec);
  scaled[0].key_scale = 4.0f;
  scaled[1].value_scale = 0.5f;
  scaled[2].key_scales = ScaleGranularity::kTensor;
  scaled[3].value_scales = ScaleGranularity::kToken;
  PAGED_SKIP_UNBUILT(MakeProblem(scaled[3]));
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
    const DecodeResult plain = RunOnce(kind(), MakeProblem(spec), options);
    for (const ProblemSpec& s : scaled) {
      const DecodeResult result = RunOnce(kind(), MakeProblem(s), options);
      EXPECT_NE(result.output, plain.output);
      // Scales of values leave the scores alone.
      const bool scales_keys =
          s.key_scale != 1.0f || s.key_scales != ScaleGranularity::kNone;
      // Those of single tokens pass through the sum, and may round it.
      float difference = 0.0f;
      for (std::size_t i = 0; i < plain.lse.size(); ++i) {
        difference =
            std::max(difference, std::fabs(result.lse[i] - plain.lse[i]));
      }
      EXPECT_EQ(difference > 1e-4f, scales_keys) << difference;
    }
  }
}

// BR-007: every code, NaN and infinities among them, in slots that are not
// live, and NaN scales there.
TEST_P(KvDTypesTest, UnusedCodesChangeNoBit) {
  for (DType kv : kQuantised) {
    ProblemSpec spec{.dtype = kv,
                     .query_dtype = dtype(),
                     .head_dim = 64,
                     .context_lens = {1, 15, 17, 100},
                     .poison = Poison::kZero,
                     .key_scales = ScaleGranularity::kToken,
                     .value_scales = ScaleGranularity::kToken,
                     .window = 30};
    const Problem clean_problem = MakeProblem(spec);
    PAGED_SKIP_UNBUILT(clean_problem);
    for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
      const DecodeResult clean = RunOnce(kind(), clean_problem, options);
      for (Poison poison :
           {Poison::kNaN, Poison::kBytesFF, Poison::kBytes7F, Poison::kWords}) {
        spec.poison = poison;
        EXPECT_TRUE(
            BitEqual(RunOnce(kind(), MakeProblem(spec), options), clean));
      }
    }
  }
}

// BR-132: outliers of a hundred times the rest, against what the codes say.
TEST_P(KvDTypesTest, HeavyTailedCodesStayWithinTheBound) {
  for (DType kv : kQuantised) {
    const Problem problem = MakeProblem({.dtype = kv,
                                         .query_dtype = dtype(),
                                         .head_dim = 128,
                                         .context_lens = {500, 77},
                                         .key_scale = UnitOf(kv),
                                         .value_scale = UnitOf(kv),
                                         .key_scales = ScaleGranularity::kHead,
                                         .values = Values::kHeavyTailed});
    PAGED_SKIP_UNBUILT(problem);
    ExpectRight(kind(), problem);
  }
}

// BR-072.
TEST_P(KvDTypesTest, ValuesMayHaveADimensionOfTheirOwn) {
  struct Dims {
    int key;
    int value;
  };
  for (const auto& [key, value] : std::vector<Dims>{
           {192, 128}, {576, 512}, {128, 64}, {64, 128}, {24, 8}, {7, 33}}) {
    for (Layout layout :
         {Layout::kDense, Layout::kHeadMajor, Layout::kInterleaved,
          Layout::kPaddedRows, Layout::kManyLayers}) {
      SCOPED_TRACE(::testing::Message()
                   << key << " and " << value << ", layout "
                   << static_cast<int>(layout));
      const Problem problem = MakeProblem({.dtype = dtype(),
                                           .head_dim = key,
                                           .value_dim = value,
                                           .block_size = 8,
                                           .context_lens = {1, 33, 60},
                                           .layout = layout,
                                           .row_padding = 8});
      PAGED_SKIP_UNBUILT(problem);
      ExpectRight(kind(), problem);
    }
  }
}

TEST_P(KvDTypesTest, BaselinesServeThemOrSayNo) {
  if (!is_cpu()) GTEST_SKIP() << "the reference runs on the CPU";
  for (DType kv : kKvDTypes) {
    for (ScaleGranularity scales : kGranularities) {
      const Problem problem = MakeProblem({.dtype = kv,
                                           .query_dtype = dtype(),
                                           .head_dim = 24,
                                           .value_dim = 40,
                                           .context_lens = {1, 0, 90},
                                           .key_scale = UnitOf(kv),
                                           .value_scale = 0.5f,
                                           .key_scales = scales,
                                           .value_scales = scales});
      EXPECT_TRUE(
          IsNear(RunOnce(kind(), problem, ForceVariant(Variant::kReference)),
                 OracleFor(kind(), problem)));
    }
  }
  const Problem plain = MakeProblem({.dtype = dtype(),
                                     .head_dim = 24,
                                     .value_dim = 40,
                                     .context_lens = {1, 0, 90}});
  const absl::StatusOr<DecodeResult> thrust =
      DecodeSession(kind(), plain).Run(ForceVariant(Variant::kThrust));
  if (absl::IsUnimplemented(thrust.status())) GTEST_SKIP() << thrust.status();
  ASSERT_TRUE(thrust.ok()) << thrust.status();
  EXPECT_TRUE(IsNear(*thrust, OracleFor(kind(), plain)));
}

// Every multiple of 8 up to 256, and 512.
TEST_P(KvDTypesTest, EveryHeadDimMatchesTheOracle) {
  std::vector<int> dims = {512};
  for (int dim = 8; dim <= 256; dim += 8) dims.push_back(dim);
  for (int dim : dims) {
    SCOPED_TRACE(dim);
    const Problem problem = MakeProblem({.dtype = dtype(),
                                         .num_q_heads = 6,
                                         .num_kv_heads = 2,
                                         .head_dim = dim,
                                         .block_size = dim * 4 % 1024 + 1,
                                         .context_lens = {1, 70}});
    ExpectRight(kind(), problem);
  }
}

TEST_P(KvDTypesTest, GroupsUpTo128AndBlocksUpTo1024MatchTheOracle) {
  for (int group : {31, 64, 71, 127, 128}) {
    ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                     .num_q_heads = group,
                                     .num_kv_heads = 1,
                                     .head_dim = 64,
                                     .block_size = 1024 - group,
                                     .context_lens = {1, 1100}}));
  }
  ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                   .head_dim = 64,
                                   .block_size = 1024,
                                   .context_lens = {1024, 1025, 1}}));
}

}  // namespace
}  // namespace paged::testing
