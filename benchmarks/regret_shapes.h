// The shapes that the dispatcher is judged by.
#ifndef PAGED_BENCHMARKS_REGRET_SHAPES_H_
#define PAGED_BENCHMARKS_REGRET_SHAPES_H_

#include <string>
#include <vector>

#include "benchmarks/shapes.h"

namespace paged::benchmarks {

struct RegretShape {
  std::string name;  // "Llama-3-70B/t:8/b:64/ctx:4096", "random/17", ...
  BenchShape shape;
};

// More than 200: the models whose head_dim is built, at tensor parallelism 1 to
// 8 under loads that are dealt out in turn; ragged ones; and shapes drawn from
// a fixed seed. No choice depends on any measurement.
std::vector<RegretShape> RegretShapes();

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_REGRET_SHAPES_H_
