// Results over parts of a context become the result over all of it.
#include "paged/merge_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int kDim = 64;

class MergeResultsTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    const absl::Status status =
        backend().MergeResults({.dim = 1, .dtype = dtype()}, nullptr);
    if (absl::IsUnimplemented(status)) GTEST_SKIP() << status;
    ASSERT_TRUE(status.ok()) << status;
  }

  // Merges into buffers of its own, or into those of the first.
  DecodeResult Merge(const DecodeResult& a, const DecodeResult& b,
                     bool in_place) {
    GuardedBuffer first(kind(), a.output.size());
    GuardedBuffer first_lse(kind(), a.lse.size() * sizeof(float));
    GuardedBuffer second(kind(), b.output.size());
    GuardedBuffer second_lse(kind(), b.lse.size() * sizeof(float));
    GuardedBuffer output(kind(), a.output.size());
    GuardedBuffer lse(kind(), a.lse.size() * sizeof(float));
    first.Upload(a.output);
    first_lse.UploadValues(a.lse);
    second.Upload(b.output);
    second_lse.UploadValues(b.lse);
    output.Fill(std::byte{0xff});
    lse.Fill(std::byte{0xff});
    GuardedBuffer& to = in_place ? first : output;
    GuardedBuffer& lse_to = in_place ? first_lse : lse;
    const MergeArgs args{
        .num_rows = static_cast<int64_t>(a.lse.size()),
        .dim = kDim,
        .dtype = dtype(),
        .first_output = first.data(),
        .first_lse = static_cast<const float*>(first_lse.data()),
        .second_output = second.data(),
        .second_lse = static_cast<const float*>(second_lse.data()),
        .output = to.data(),
        .lse = static_cast<float*>(lse_to.data())};
    EXPECT_TRUE(backend().MergeResults(args, nullptr).ok());
    EXPECT_TRUE(backend().Synchronize(nullptr).ok());
    EXPECT_TRUE(to.AreCanariesIntact());
    EXPECT_TRUE(lse_to.AreCanariesIntact());
    DecodeResult result{
        .dtype = dtype(), .plan = a.plan, .output = to.Download(), .lse = {}};
    result.lse.resize(a.lse.size());
    const std::vector<std::byte> bytes = lse_to.Download();
    std::memcpy(result.lse.data(), bytes.data(), bytes.size());
    return result;
  }

  // Rows of one value each.
  DecodeResult RowsOfValues(const std::vector<float>& values,
                            const std::vector<float>& lses) {
    DecodeResult rows{.dtype = dtype(), .plan = {}, .output = {}, .lse = lses};
    rows.output.resize(values.size() * kDim *
                       static_cast<std::size_t>(SizeOf(dtype())));
    for (std::size_t i = 0; i < values.size() * kDim; ++i) {
      WriteElement(dtype(), rows.output.data(), static_cast<int64_t>(i),
                   double{values[i / kDim]});
    }
    return rows;
  }
};

INSTANTIATE_TEST_SUITE_P(Cpu, MergeResultsTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, MergeResultsTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-011, 012, 022, 026, 027: a side that saw nothing leaves the other alone,
// whatever it holds.
TEST_P(MergeResultsTest, EmptyRowsAreTheIdentityToTheBit) {
  const DecodeResult rows =
      RowsOfValues({0.1f, -3.0f, 0.0f, 0.7f}, {1.5f, -200.0f, -kInf, 90.0f});
  const DecodeResult empty =
      RowsOfValues({kNaN, kInf, 0.0f, kNaN}, {-kInf, -kInf, -kInf, -kInf});
  for (bool in_place : {false, true}) {
    EXPECT_TRUE(BitEqual(Merge(rows, empty, in_place), rows));
    EXPECT_TRUE(BitEqual(Merge(empty, rows, in_place), rows));
  }
}

TEST_P(MergeResultsTest, WeighsBothSidesByTheirSums) {
  const DecodeResult a = RowsOfValues({4.0f, 1.0f, 2.0f}, {0.0f, 500.0f, 3.0f});
  const DecodeResult b =
      RowsOfValues({8.0f, 2.0f, 6.0f}, {std::log(3.0f), -500.0f, 3.0f});
  for (bool in_place : {false, true}) {
    const DecodeResult result = Merge(a, b, in_place);
    const double expected[] = {7.0, 1.0, 4.0};
    for (int64_t i = 0; i < 3 * kDim; ++i) {
      EXPECT_NEAR(ReadElement(dtype(), result.output.data(), i),
                  expected[i / kDim], 8 * UnitRoundoff(dtype()) + 1e-5);
    }
    EXPECT_NEAR(result.lse[0], std::log(4.0), 1e-6);
    EXPECT_NEAR(result.lse[1], 500.0, 1e-4);
    EXPECT_NEAR(result.lse[2], 3.0 + std::log(2.0), 1e-6);
  }
}

TEST_P(MergeResultsTest, ANaNSpoilsItsRowAlone) {
  const DecodeResult a = RowsOfValues({4.0f, 1.0f}, {kNaN, 1.0f});
  const DecodeResult b = RowsOfValues({8.0f, 2.0f}, {0.0f, 1.0f});
  const DecodeResult result = Merge(a, b, false);
  EXPECT_TRUE(std::isnan(result.lse[0]));
  EXPECT_TRUE(std::isnan(ReadElement(dtype(), result.output.data(), 0)));
  EXPECT_EQ(ReadElement(dtype(), result.output.data(), kDim), 1.5);
}

// BR-026: parts of a context, one of them empty, on devices of their own.
TEST_P(MergeResultsTest, ShardsOfAContextMakeTheWhole) {
  constexpr int kContext = 150;
  const Problem whole = MakeProblem({.dtype = dtype(),
                                     .num_q_heads = 8,
                                     .head_dim = kDim,
                                     .context_lens = {kContext}});
  const auto token_bytes =
      static_cast<std::size_t>(whole.KeyIndex(1, 0, 0) * SizeOf(dtype()));
  const int bounds[] = {0, 50, 50, 131, kContext};
  DecodeResult merged;
  for (int shard = 0; shard < 4; ++shard) {
    const int begin = bounds[shard];
    const int end = bounds[shard + 1];
    Problem part = MakeProblem({.dtype = dtype(),
                                .num_q_heads = 8,
                                .head_dim = kDim,
                                .context_lens = {end - begin}});
    part.query = whole.query;
    const auto slice = [&](const std::vector<std::byte>& from) {
      const auto first = static_cast<std::size_t>(begin) * token_bytes;
      const auto last = static_cast<std::size_t>(end) * token_bytes;
      return std::vector<std::byte>(
          from.begin() + static_cast<std::ptrdiff_t>(first),
          from.begin() + static_cast<std::ptrdiff_t>(last));
    };
    part.sequences[0].keys = slice(whole.sequences[0].keys);
    part.sequences[0].values = slice(whole.sequences[0].values);
    const DecodeResult result = RunOnce(kind(), part, ForceV1());
    merged = shard == 0 ? result : Merge(merged, result, shard % 2 == 0);
  }
  Oracle oracle = OracleFor(kind(), whole);
  // Each shard's result, and each merge, is rounded to storage.
  for (double& bound : oracle.output_bound) {
    bound = 4 * bound + 4 * UnitRoundoff(dtype());
  }
  for (double& bound : oracle.lse_bound) bound = 4 * bound + 1e-6;
  EXPECT_TRUE(IsNear(merged, oracle));
}

TEST(MergeRulesTest, BrokenIsRefusedByName) {
  const float floats[2] = {};
  float output[2] = {};
  const MergeArgs legal{.num_rows = 1,
                        .dim = 1,
                        .dtype = DType::kF32,
                        .first_output = floats,
                        .first_lse = floats,
                        .second_output = floats,
                        .second_lse = floats,
                        .output = output};
  EXPECT_TRUE(ValidateMerge(legal).ok());
  const auto message = [&](auto edit) {
    MergeArgs args = legal;
    edit(args);
    return std::string(ValidateMerge(args).message());
  };
  EXPECT_EQ(message([](auto& a) { a.dim = 0; }),
            "dim must be 1 to 4096; got 0");
  EXPECT_EQ(message([](auto& a) { a.num_rows = -1; }),
            "num_rows must be 0 to 1152921504606846976; got -1");
  EXPECT_EQ(message([](auto& a) { a.dtype = DType::kInt8; }),
            "dtype must be fp16, bf16 or fp32; got int8");
  EXPECT_EQ(message([](auto& a) { a.first_lse = nullptr; }),
            "first_lse must not be null");
  EXPECT_EQ(message([](auto& a) { a.second_lse = nullptr; }),
            "second_lse must not be null");
  EXPECT_EQ(message([](auto& a) { a.first_output = nullptr; }),
            "first_output must not be null");
  EXPECT_EQ(message([](auto& a) { a.second_output = nullptr; }),
            "second_output must not be null");
  EXPECT_EQ(message([](auto& a) { a.output = nullptr; }),
            "output must not be null");
}

}  // namespace
}  // namespace paged::testing
