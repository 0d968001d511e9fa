// Neighbouring shapes whose times per byte should be alike.
#ifndef PAGED_BENCHMARKS_CLIFFS_H_
#define PAGED_BENCHMARKS_CLIFFS_H_

#include <string>
#include <vector>

#include "benchmarks/shapes.h"

namespace paged::benchmarks {

struct TimedShape {
  BenchShape shape;
  double time_us = 0;
};

// How many times as long a byte takes in `shape` as in `neighbour`.
struct Cliff {
  BenchShape shape;
  BenchShape neighbour;
  double per_byte = 0;
};

// The worst of one more sequence; of blocks of another size against 16; of
// shuffled blocks against ordered ones. Zero where no two such were measured.
struct Cliffs {
  Cliff batch;
  Cliff block_size;
  Cliff order;
};
Cliffs FindCliffs(const std::vector<TimedShape>& timed);

// A line for each.
std::string DescribeCliffs(const Cliffs& cliffs);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CLIFFS_H_
