// One measured row of decode on the CPU.
#ifndef PAGED_BENCHMARKS_CPU_DECODE_ROW_H_
#define PAGED_BENCHMARKS_CPU_DECODE_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/shapes.h"

namespace paged::benchmarks {

// Which of slots and heads is outermost in a block.
enum class BlockLayout : uint8_t {
  kTokenMajor,  // [block, slot, head, dim]
  kHeadMajor,   // [block, head, slot, dim]
};

struct CpuDecodeCase {
  BenchShape shape;
  BlockLayout layout = BlockLayout::kTokenMajor;
  Cache cache = Cache::kCold;
  int num_threads = 1;
};

// decode/auto/fp16/b:1/.../bs:16/l2:cold/layout:head_major/threads:2
std::string NameOf(const CpuDecodeCase& c);

std::vector<CpuDecodeCase> CpuDecodeCases(int num_threads);

struct CpuDecodeRow {
  std::string error;  // empty, or why there is no measurement
  double kv_bytes = 0;
  double time_us = 0;
  double read_gb_per_s = 0;        // of the same blocks in the same order
  double arithmetic_gb_per_s = 0;  // the same kernel in cache
  double ratio_to_read = 0;
  double ratio_to_bound = 0;
  double splits = 0;
  double max_abs_error = 0;  // of sampled rows against float64
};

CpuDecodeRow MeasureDecode(const CpuDecodeCase& c);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_DECODE_ROW_H_
