#include "tests/lib/large_pool.h"

#include <algorithm>

#include "tests/support/element.h"

namespace paged::testing {

std::vector<PoolCase> PoolCases() {
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

Problem ProblemOf(const PoolCase& c, DType dtype, uint32_t seed,
                  std::optional<DType> query_dtype) {
  const int blocks = static_cast<int>(c.ids.size());
  Problem problem = MakeProblem({.dtype = dtype,
                                 .query_dtype = query_dtype,
                                 .num_q_heads = 2 * kPoolHeads,
                                 .num_kv_heads = kPoolHeads,
                                 .head_dim = kPoolDim,
                                 .block_size = c.block_size,
                                 .context_lens = {blocks * c.block_size - 3},
                                 .seed = seed});
  problem.block_tables = c.ids;
  problem.shape.num_blocks = *std::max_element(c.ids.begin(), c.ids.end()) + 1;
  problem.shape.key = problem.shape.value = c.strides;
  return problem;
}

std::vector<PoolRow> RowsOfPool(const Problem& problem) {
  std::vector<PoolRow> rows;
  const KvStrides& strides = problem.shape.key;
  const int64_t bytes = SizeOf(problem.spec.dtype);
  for (int position = 0; position < problem.context_len(0); ++position) {
    const int64_t block = problem.block_tables[static_cast<std::size_t>(
        position / problem.spec.block_size)];
    for (int head = 0; head < kPoolHeads; ++head) {
      const int64_t key =
          block * strides.block_stride +
          position % problem.spec.block_size * strides.slot_stride +
          head * strides.head_stride;
      const int64_t from = problem.KeyIndex(position, head, 0) * bytes;
      rows.push_back({key, problem.sequences[0].keys.data() + from});
      rows.push_back(
          {key + kPoolDim, problem.sequences[0].values.data() + from});
    }
  }
  return rows;
}

void WriteDecoys(const Problem& problem, const std::vector<PoolRow>& rows,
                 Pool& pool) {
  const DType dtype = problem.spec.dtype;
  const int64_t bytes = SizeOf(dtype);
  std::vector<std::byte> sevens(pool.RowBytes());
  for (int d = 0; d < kPoolDim; ++d) WriteElement(dtype, sevens.data(), d, 7.0);
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

}  // namespace paged::testing
