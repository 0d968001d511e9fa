// Pools whose offsets need 64 bits. Where an offset would lie that was cut to
// 32 bits, signed or unsigned, in elements or bytes, is memory as well, and it
// holds other numbers.
#ifndef PAGED_TESTS_LIB_LARGE_POOL_H_
#define PAGED_TESTS_LIB_LARGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "paged/args.h"
#include "tests/support/problem.h"
#include "tests/support/sparse_region.h"

namespace paged::testing {

inline constexpr int kPoolHeads = 4;
inline constexpr int kPoolDim = 64;
// Elements before and after the pool's first one.
inline constexpr int64_t kBefore = int64_t{1} << 31;
inline constexpr int64_t kAfter = 3 * (int64_t{1} << 31) + (int64_t{1} << 24);

struct PoolCase {
  const char* name;
  int block_size;
  KvStrides strides;         // of keys and values, kPoolDim elements apart
  std::vector<int32_t> ids;  // of the only sequence's blocks
  int64_t shift = 0;         // of the pool's first element
};

// Two vectors of a head, dense: [slot, head, {key, value}, dim].
inline constexpr int64_t kHead = 2 * kPoolDim;
inline constexpr int64_t kSlot = kPoolHeads * kHead;

std::vector<PoolCase> PoolCases();
// `query_dtype` as in ProblemSpec.
Problem ProblemOf(const PoolCase& c, DType dtype, uint32_t seed,
                  std::optional<DType> query_dtype = {});

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
    return static_cast<std::size_t>(kPoolDim * bytes_);
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

std::vector<PoolRow> RowsOfPool(const Problem& problem);

// Sevens wherever 32-bit arithmetic would look.
void WriteDecoys(const Problem& problem, const std::vector<PoolRow>& rows,
                 Pool& pool);

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_LARGE_POOL_H_
