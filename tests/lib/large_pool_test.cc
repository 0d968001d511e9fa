// Kernels on pools whose offsets need 64 bits.
#include "tests/lib/large_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "paged/decode.h"
#include "tests/support/codes.h"
#include "tests/support/decode_session.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using LargePoolTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, LargePoolTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, LargePoolTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

// All tokens of the problem; `args` says how they are stored.
absl::Status Append(const Problem& problem, const Pool& pool, BackendKind kind,
                    AppendKvArgs args) {
  const std::vector<std::byte>& keys = problem.sequences[0].keys;
  const std::vector<std::byte>& values = problem.sequences[0].values;
  const int block_size = problem.spec.block_size;
  std::vector<int64_t> slots;
  for (int t = 0; t < problem.context_len(0); ++t) {
    const auto column = static_cast<std::size_t>(t / block_size);
    slots.push_back(int64_t{problem.block_tables[column]} * block_size +
                    t % block_size);
  }
  GuardedBuffer key(kind, keys.size());
  GuardedBuffer value(kind, values.size());
  GuardedBuffer slot_mapping(kind, slots.size() * sizeof(int64_t));
  key.Upload(keys);
  value.Upload(values);
  slot_mapping.UploadValues(slots);
  args.num_tokens = problem.context_len(0);
  args.num_kv_heads = kPoolHeads;
  args.head_dim = kPoolDim;
  args.block_size = block_size;
  args.num_blocks = problem.shape.num_blocks;
  args.key = key.data();
  args.value = value.data();
  args.key_cache = pool.data(0);
  args.value_cache = pool.data(kPoolDim);
  args.key_cache_strides = problem.shape.key;
  args.value_cache_strides = problem.shape.value;
  args.slot_mapping = static_cast<const int64_t*>(slot_mapping.data());
  Backend& backend = *SharedBackend(kind).value();
  const absl::Status status = backend.AppendKv(args, nullptr);
  return status.ok() ? backend.Synchronize(nullptr) : status;
}

// Every variant that there is.
void ExpectEveryVariantRight(const Problem& problem, const Pool& pool,
                             BackendKind kind) {
  const Oracle oracle = OracleFor(kind, problem);
  // Its own pool stays unused; the rest of its buffers serves.
  Problem small = problem;
  small.shape.key = small.shape.value = {16 * kSlot, kSlot, kHead};
  small.shape.num_blocks = 0;
  DecodeSession session(kind, small);
  DecodeArgs args = session.args();
  args.shape = problem.shape;
  args.key_cache = pool.data(0);
  args.value_cache = pool.data(kPoolDim);
  for (const DecodeOptions& options :
       {ForceV1(), ForceSplits(3), ForceVariant(Variant::kReference),
        ForceVariant(Variant::kThrust)}) {
    if (options.variant == Variant::kReference && kind == BackendKind::kCuda) {
      continue;
    }
    session.PoisonOutputs();
    const absl::Status status = Decode(args, session.backend(), options);
    if (absl::IsUnimplemented(status)) continue;  // a build without Thrust
    ASSERT_TRUE(status.ok()) << status;
    const DecodePlan plan =
        PlanDecode(args.shape, session.backend(), options).value();
    EXPECT_TRUE(IsNear(session.Collect(plan), oracle));
  }
}

// BR-030, 031, 033, 034, 035, 036, 037: the pools are those of large_pool.cc.
TEST_P(LargePoolTest, EveryOffsetIsFollowedIn64Bits) {
  SparseRegion region(
      kind(), static_cast<std::size_t>((kBefore + kAfter) * SizeOf(dtype())));
  if (region.data() == nullptr) GTEST_SKIP() << "no memory for a large pool";
  uint32_t seed = 0;
  for (const PoolCase& c : PoolCases()) {
    for (bool is_appended : {false, true}) {
      SCOPED_TRACE(::testing::Message() << c.name << " " << is_appended);
      const Problem problem = ProblemOf(c, dtype(), ++seed);
      Pool pool(region, dtype(), c.shift);
      const std::vector<PoolRow> rows = RowsOfPool(problem);
      WriteDecoys(problem, rows, pool);
      if (is_appended) {
        const absl::Status status =
            Append(problem, pool, kind(), {.dtype = dtype()});
        ASSERT_TRUE(status.ok()) << status;
        for (const PoolRow& row : rows) {
          ASSERT_EQ(std::memcmp(pool.Read(row.offset).data(), row.content,
                                pool.RowBytes()),
                    0);
        }
      } else {
        for (const PoolRow& row : rows) pool.Write(row.offset, row.content);
      }
      ExpectEveryVariantRight(problem, pool, kind());
    }
  }
}

// BR-030: codes are read in ways of their own.
TEST_P(LargePoolTest, CodesAreReadAtEveryOffsetOf64Bits) {
  constexpr DType kCode = DType::kFp8E4M3;
  SparseRegion region(kind(), static_cast<std::size_t>(kBefore + kAfter));
  if (region.data() == nullptr) GTEST_SKIP() << "no memory for a large pool";
  uint32_t seed = 0;
  for (const PoolCase& c : PoolCases()) {
    SCOPED_TRACE(c.name);
    const Problem problem = ProblemOf(c, kCode, ++seed, dtype());
    Pool pool(region, kCode, c.shift);
    const std::vector<PoolRow> rows = RowsOfPool(problem);
    WriteDecoys(problem, rows, pool);
    for (const PoolRow& row : rows) pool.Write(row.offset, row.content);
    ExpectEveryVariantRight(problem, pool, kind());
  }
}

// Rows of the case's dtype become codes, each with a scale of its own.
TEST_P(LargePoolTest, QuantisedAppendsFollowEveryOffsetIn64Bits) {
  constexpr DType kCode = DType::kFp8E4M3;
  constexpr auto kBytes = static_cast<std::size_t>(kBefore + kAfter);
  SparseRegion codes(kind(), kBytes), scales(kind(), kBytes * sizeof(float));
  if (codes.data() == nullptr || scales.data() == nullptr) {
    GTEST_SKIP() << "no memory for large pools";
  }
  uint32_t seed = 0;
  for (const PoolCase& c : PoolCases()) {
    SCOPED_TRACE(c.name);
    const Problem problem = ProblemOf(c, dtype(), ++seed);
    const Pool code_pool(codes, kCode, c.shift);
    // Strides as the codes', so that a scale lies at the offset of its row.
    const Pool scale_pool(scales, DType::kF32, c.shift);
    AppendKvArgs args{
        .dtype = kCode,
        .row_dtype = dtype(),
        .key_granularity = ScaleGranularity::kToken,
        .value_granularity = ScaleGranularity::kToken,
        .key_scales = static_cast<float*>(scale_pool.data(0)),
        .value_scales = static_cast<float*>(scale_pool.data(kPoolDim)),
        .key_scale_strides = c.strides,
        .value_scale_strides = c.strides};
    const absl::Status status = Append(problem, code_pool, kind(), args);
    ASSERT_TRUE(status.ok()) << status;
    for (const PoolRow& pool_row : RowsOfPool(problem)) {
      std::vector<float> row;
      for (int d = 0; d < kPoolDim; ++d) {
        row.push_back(
            static_cast<float>(ReadElement(dtype(), pool_row.content, d)));
      }
      const float scale = RowScaleOf(kCode, row, 1.0f);
      std::vector<std::byte> expected(code_pool.RowBytes());
      WriteCodes(kCode, expected.data(), 0, row, scale);
      ASSERT_EQ(code_pool.Read(pool_row.offset), expected);
      ASSERT_EQ(
          ReadElement(DType::kF32, scale_pool.Read(pool_row.offset).data(), 0),
          double{scale});
    }
  }
}

// Every block becomes the one after it, the last the first.
TEST_P(LargePoolTest, CopiesFollowEveryOffsetIn64Bits) {
  SparseRegion region(
      kind(), static_cast<std::size_t>((kBefore + kAfter) * SizeOf(dtype())));
  if (region.data() == nullptr) GTEST_SKIP() << "no memory for a large pool";
  uint32_t seed = 0;
  for (const PoolCase& c : PoolCases()) {
    SCOPED_TRACE(c.name);
    Problem problem = ProblemOf(c, dtype(), ++seed);
    Pool pool(region, dtype(), c.shift);
    WriteDecoys(problem, RowsOfPool(problem), pool);
    for (const PoolRow& row : RowsOfPool(problem)) {
      pool.Write(row.offset, row.content);
    }
    std::vector<BlockCopy> copies;
    for (std::size_t i = 0; i < c.ids.size(); ++i) {
      copies.push_back(
          {.source = c.ids[i], .destination = c.ids[(i + 1) % c.ids.size()]});
    }
    void* caches[] = {pool.data(0), pool.data(kPoolDim)};
    const absl::Status status =
        backend().CopyBlocks({.num_kv_heads = kPoolHeads,
                              .head_dim = kPoolDim,
                              .block_size = c.block_size,
                              .num_blocks = problem.shape.num_blocks,
                              .dtype = dtype(),
                              .strides = c.strides,
                              .caches = caches,
                              .copies = copies},
                             nullptr);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(backend().Synchronize(nullptr).ok());
    std::rotate(problem.block_tables.begin(), problem.block_tables.begin() + 1,
                problem.block_tables.end());
    for (const PoolRow& row : RowsOfPool(problem)) {
      ASSERT_EQ(std::memcmp(pool.Read(row.offset).data(), row.content,
                            pool.RowBytes()),
                0);
    }
  }
}

}  // namespace
}  // namespace paged::testing
