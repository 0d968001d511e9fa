#include "benchmarks/cliffs.h"

#include "absl/strings/str_format.h"

namespace paged::benchmarks {
namespace {

constexpr int kUsualBlockSize = 16;

void Compare(const TimedShape& timed, const TimedShape& neighbour,
             Cliff& worst) {
  const auto us_per_byte = [](const TimedShape& t) {
    return t.time_us / static_cast<double>(t.shape.kv_bytes());
  };
  const double per_byte = us_per_byte(timed) / us_per_byte(neighbour);
  if (per_byte > worst.per_byte) {
    worst = {timed.shape, neighbour.shape, per_byte};
  }
}

std::string Line(const char* what, const Cliff& cliff) {
  if (cliff.per_byte == 0) return absl::StrFormat("%s: not measured\n", what);
  return absl::StrFormat("%s: at worst %.3f per byte: %s against %s\n", what,
                         cliff.per_byte, ShapeName(cliff.shape),
                         ShapeName(cliff.neighbour));
}

}  // namespace

Cliffs FindCliffs(const std::vector<TimedShape>& timed) {
  Cliffs cliffs;
  for (const TimedShape& a : timed) {
    for (const TimedShape& b : timed) {
      if (a.time_us <= 0 || b.time_us <= 0) continue;
      if (DifferInBlocksAlone(a.shape, b.shape)) {
        const bool same_order =
            a.shape.has_ordered_blocks == b.shape.has_ordered_blocks;
        const bool same_size = a.shape.block_size == b.shape.block_size;
        if (same_order && !same_size && b.shape.block_size == kUsualBlockSize) {
          Compare(a, b, cliffs.block_size);
        }
        if (same_size && !same_order && b.shape.has_ordered_blocks) {
          Compare(a, b, cliffs.order);
        }
        continue;
      }
      BenchShape next = b.shape;
      next.context_lens.push_back(next.context_lens.back());
      if (ShapeName(a.shape) == ShapeName(next)) Compare(a, b, cliffs.batch);
    }
  }
  return cliffs;
}

std::string DescribeCliffs(const Cliffs& cliffs) {
  return Line("one more sequence", cliffs.batch) +
         Line("another block size than 16", cliffs.block_size) +
         Line("shuffled against ordered blocks", cliffs.order);
}

}  // namespace paged::benchmarks
