// What is measured of decode on the CPU.
#ifndef PAGED_BENCHMARKS_CPU_DECODE_CASES_H_
#define PAGED_BENCHMARKS_CPU_DECODE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/cpu/problem.h"
#include "benchmarks/shapes.h"

namespace paged::benchmarks {

struct CpuDecodeCase {
  BenchShape shape;
  BlockLayout layout = BlockLayout::kTokenMajor;
  Cache cache = Cache::kCold;
  int num_threads = 1;
};

// decode/auto/fp16/b:1/.../bs:16/l2:cold/layout:head_major/threads:2
std::string NameOf(const CpuDecodeCase& c);

std::vector<CpuDecodeCase> CpuDecodeCases(int num_threads);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_DECODE_CASES_H_
