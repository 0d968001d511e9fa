// One measured row of decode on the CPU.
#ifndef PAGED_BENCHMARKS_CPU_DECODE_ROW_H_
#define PAGED_BENCHMARKS_CPU_DECODE_ROW_H_

#include <string>

#include "benchmarks/cpu/decode_cases.h"

namespace paged::benchmarks {

struct CpuDecodeRow {
  std::string error;  // empty, or why there is no measurement
  double kv_bytes = 0;
  double time_us = 0;              // median of the rounds
  double least_time_us = 0;        // the fastest of them
  double read_gb_per_s = 0;        // of the same blocks in the same order
  double arithmetic_gb_per_s = 0;  // the same kernel in cache, at best
  double ratio_to_read = 0;
  double ratio_to_bound = 0;
  double splits = 0;
  double max_abs_error = 0;  // of sampled rows against float64
  // Of the outputs of those rows in relative L2: as they were measured, and
  // once more with queries and outputs in fp32, which rounds nothing away.
  double relative_error = 0;
  double relative_error_fp32 = 0;
};

CpuDecodeRow MeasureDecode(const CpuDecodeCase& c);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_DECODE_ROW_H_
