// Which rows a record of a GPU has.
#ifndef PAGED_BENCHMARKS_CUDA_GPU_ROWS_H_
#define PAGED_BENCHMARKS_CUDA_GPU_ROWS_H_

#include <string>
#include <vector>

#include "benchmarks/measurer.h"

namespace paged::benchmarks {

class GpuRows {
 public:
  explicit GpuRows(RowSet set) : is_of_cliffs_(set == RowSet::kCliffs) {}

  bool is_of_cliffs() const { return is_of_cliffs_; }
  std::vector<BenchShape> Shapes() const;
  std::vector<Cache> Caches(const BenchShape& shape) const;

  // Of a shape: all, and of which kinds they are.
  std::vector<std::string> Variants(const BenchShape& shape) const;
  std::vector<std::string> DecodeVariants(const BenchShape& shape) const;
  bool HasGather(const BenchShape& shape) const;
  bool HasThrust(const BenchShape& shape) const;

 private:
  bool is_of_cliffs_;
};

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_GPU_ROWS_H_
