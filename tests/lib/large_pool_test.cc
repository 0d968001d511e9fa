// Pools whose offsets need 64 bits. Where an offset would lie that was cut to
// 32 bits, signed or unsigned, in elements or bytes, is memory as well, and it
// holds other numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "paged/decode.h"
#include "tests/support/decode_session.h"
#include "tests/support/element.h"
#include "tests/support/sparse_region.h"

namespace paged::testing {
namespace {

using LargePoolTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, LargePoolTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, LargePoolTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

constexpr int kHeads = 4;
constexpr int kDim = 64;
// Elements before and after the pool's first one.
constexpr int64_t kBefore = int64_t{1} << 31;
constexpr int64_t kAfter = 3 * (int64_t{1} << 31) + (int64_t{1} << 24);

struct PoolCase {
  const char* name;
  int block_size;
  KvStrides strides;         // of keys and values, kDim elements apart
  std::vector<int32_t> ids;  // of the only sequence's blocks
  int64_t shift = 0;         // of the pool's first element
};

// Two vectors of a head, dense: [slot, head, {key, value}, dim].
constexpr int64_t kHead = 2 * kDim;
constexpr int64_t kSlot = kHeads * kHead;

std::vector<PoolCase> Cases() {
  constexpr int64_t kTwo31 = int64_t{1} << 31;
  return {
      // 2^31 and 2^32 are blocks 2^18 and 2^19.
      {"dense",
       16,
       {16 * kSlot, kSlot, kHead},
       {262143, 262144, 262145, 524287, 524288, 524289}},
      {"tiles across blocks",
       12,
       {12 * kSlot, kSlot, kHead},
       {699051, 349525, 349526, 699050}},
      // BR-033, 037: block 2 is 0 modulo 2^32.
      {"block stride 2^31", 16, {kTwo31, kSlot, kHead}, {2, 0, 1}},
      // BR-034.
      {"61 layers",
       16,
       {61 * 16 * kSlot, kSlot, kHead},
       {8594, 4297, 4298, 8595}},
      {"slot-major", 16, {kSlot, kTwo31 / 8, kHead}, {3, 0, 1}},
      {"head-major", 16, {16 * kHead, kHead, kTwo31}, {5, 0, 2}},
      // BR-035: half of the pool is below a multiple of 4 GiB.
      {"across 4 GiB",
       16,
       {16 * kSlot, kSlot, kHead},
       {4, 2, 3, 0, 5},
       -3 * 16 * kSlot},
  };
}

Problem ProblemOf(const PoolCase& c, DType dtype, uint32_t seed) {
  const int blocks = static_cast<int>(c.ids.size());
  Problem problem = MakeProblem({.dtype = dtype,
                                 .num_q_heads = 2 * kHeads,
                                 .num_kv_heads = kHeads,
                                 .head_dim = kDim,
                                 .block_size = c.block_size,
                                 .context_lens = {blocks * c.block_size - 3},
                                 .seed = seed});
  problem.block_tables = c.ids;
  problem.shape.num_blocks = *std::max_element(c.ids.begin(), c.ids.end()) + 1;
  problem.shape.key = problem.shape.value = c.strides;
  return problem;
}

// A pool inside a region, seen from its first element.
class Pool {
 public:
  Pool(SparseRegion& region, DType dtype, int64_t shift)
      : region_(region), bytes_(SizeOf(dtype)), first_(kBefore + shift) {}

  void* data(int64_t offset) const { return region_.data() + Byte(offset); }
  void Write(int64_t offset, const std::byte* row) {
    region_.Write(Byte(offset), row, RowBytes());
  }
  std::vector<std::byte> Read(int64_t offset) const {
    std::vector<std::byte> row(RowBytes());
    region_.Read(Byte(offset), row.data(), row.size());
    return row;
  }
  std::size_t RowBytes() const {
    return static_cast<std::size_t>(kDim * bytes_);
  }

 private:
  std::size_t Byte(int64_t offset) const {
    return static_cast<std::size_t>((first_ + offset) * bytes_);
  }

  SparseRegion& region_;
  int64_t bytes_;
  int64_t first_;
};

// A vector of the pool: where it lies, and its content.
struct PoolRow {
  int64_t offset;
  const std::byte* content;
};

std::vector<PoolRow> RowsOfPool(const Problem& problem) {
  std::vector<PoolRow> rows;
  const KvStrides& strides = problem.shape.key;
  const int64_t bytes = SizeOf(problem.spec.dtype);
  for (int position = 0; position < problem.context_len(0); ++position) {
    const int64_t block = problem.block_tables[static_cast<std::size_t>(
        position / problem.spec.block_size)];
    for (int head = 0; head < kHeads; ++head) {
      const int64_t key =
          block * strides.block_stride +
          position % problem.spec.block_size * strides.slot_stride +
          head * strides.head_stride;
      const int64_t from = problem.ContentIndex(position, head, 0) * bytes;
      rows.push_back({key, problem.sequences[0].keys.data() + from});
      rows.push_back({key + kDim, problem.sequences[0].values.data() + from});
    }
  }
  return rows;
}

// Sevens wherever 32-bit arithmetic would look.
void WriteDecoys(const Problem& problem, const std::vector<PoolRow>& rows,
                 Pool& pool) {
  const DType dtype = problem.spec.dtype;
  const int64_t bytes = SizeOf(dtype);
  std::vector<std::byte> sevens(pool.RowBytes());
  for (int d = 0; d < kDim; ++d) WriteElement(dtype, sevens.data(), d, 7.0);
  for (const PoolRow& row : rows) {
    for (int64_t offset :
         {int64_t{static_cast<int32_t>(row.offset)},
          int64_t{static_cast<uint32_t>(row.offset)},
          int64_t{static_cast<int32_t>(row.offset * bytes)} / bytes,
          int64_t{static_cast<uint32_t>(row.offset * bytes)} / bytes}) {
      pool.Write(offset, sevens.data());
    }
  }
}

absl::Status Append(const Problem& problem, const Pool& pool,
                    BackendKind kind) {
  const auto& [keys, values] = problem.sequences[0];
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
  Backend& backend = *SharedBackend(kind).value();
  const absl::Status status = backend.AppendKv(
      {.num_tokens = problem.context_len(0),
       .num_kv_heads = kHeads,
       .head_dim = kDim,
       .block_size = block_size,
       .num_blocks = problem.shape.num_blocks,
       .dtype = problem.spec.dtype,
       .key = key.data(),
       .value = value.data(),
       .key_cache = pool.data(0),
       .value_cache = pool.data(kDim),
       .key_cache_strides = problem.shape.key,
       .value_cache_strides = problem.shape.value,
       .slot_mapping = static_cast<const int64_t*>(slot_mapping.data())},
      nullptr);
  return status.ok() ? backend.Synchronize(nullptr) : status;
}

// BR-030, 031, 036: every variant that there is.
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
  args.value_cache = pool.data(kDim);
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

TEST_P(LargePoolTest, EveryOffsetIsFollowedIn64Bits) {
  SparseRegion region(
      kind(), static_cast<std::size_t>((kBefore + kAfter) * SizeOf(dtype())));
  if (region.data() == nullptr) GTEST_SKIP() << "no memory for a large pool";
  uint32_t seed = 0;
  for (const PoolCase& c : Cases()) {
    for (bool is_appended : {false, true}) {
      SCOPED_TRACE(::testing::Message() << c.name << " " << is_appended);
      const Problem problem = ProblemOf(c, dtype(), ++seed);
      Pool pool(region, dtype(), c.shift);
      const std::vector<PoolRow> rows = RowsOfPool(problem);
      WriteDecoys(problem, rows, pool);
      if (is_appended) {
        const absl::Status status = Append(problem, pool, kind());
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

}  // namespace
}  // namespace paged::testing
