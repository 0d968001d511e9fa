# cmake -D SCRATCH_DIR=<dir> -P layering_test.cmake
#
# Plants one include at a time in an otherwise clean tree, and wants
# layering.cmake to report exactly the forbidden ones.
cmake_minimum_required(VERSION 3.25)

function(expect verdict file line)
  file(REMOVE_RECURSE ${SCRATCH_DIR})
  file(WRITE ${SCRATCH_DIR}/kernels/core/clean.h "#include <cstdint>\n")
  file(WRITE ${SCRATCH_DIR}/${file} "${line}\n")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${SCRATCH_DIR}
            -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/layering.cmake
    RESULT_VARIABLE result ERROR_VARIABLE error OUTPUT_QUIET)
  if(verdict STREQUAL "allowed" AND NOT result EQUAL 0)
    message(SEND_ERROR "${file} may hold ${line}, but:\n${error}")
  elseif(verdict STREQUAL "forbidden" AND result EQUAL 0)
    message(SEND_ERROR "${file} must not hold ${line}, and nothing was said")
  elseif(verdict STREQUAL "forbidden" AND NOT error MATCHES "${file}")
    message(SEND_ERROR "${file} with ${line}: the report does not name it:\n${error}")
  endif()
endfunction()

expect(forbidden kernels/cpu/x.cc [[#include "paged/plan.h"]])
expect(forbidden kernels/cuda/x.cu [[#include "absl/status/status.h"]])
expect(forbidden kernels/cpu/x.cc [[#include "kernels/cuda/launch.h"]])
expect(forbidden kernels/core/x.h [[#include "kernels/cpu/thread_pool.h"]])
expect(forbidden kernels/core/x.h [[  #  include <cuda_fp16.h>]])
expect(forbidden lib/paged/x.h [[#include "kernels/core/dtype.h"]])
expect(forbidden lib/paged/x.h [[#include "paged/internal/lower.h"]])
expect(forbidden lib/paged/x.h [[#include <cuda_runtime_api.h>]])
expect(forbidden lib/paged/x.cc [[#include "apps/run.h"]])
expect(forbidden lib/paged/x.cc [[#include <thrust/reduce.h>]])
expect(forbidden apps/x.cc [[#include "tests/support/matchers.h"]])
expect(forbidden apps/x.cc [[#include <benchmark/benchmark.h>]])
expect(forbidden benchmarks/x.cc [[#include "apps/cli.h"]])
expect(forbidden apps/x.cu [[#include <vector>]])

expect(allowed lib/paged/x.cc [[#include "kernels/core/dtype.h"]])
expect(allowed lib/paged/x.cc [[#include <cuda_runtime_api.h>]])
expect(allowed lib/paged/internal/x.h [[#include "kernels/core/dtype.h"]])
expect(allowed lib/paged/x.h [[#include "absl/status/status.h"]])
expect(allowed kernels/cuda/x.cu [[#include "kernels/core/partition.h"]])
expect(allowed kernels/core/x.h [[// #include "paged/plan.h"]])
expect(allowed apps/x.cc [[#include "paged/plan.h"]])
expect(allowed apps/x.cc [[#include "benchmarks/tiers.h"]])
expect(allowed tests/lib/x.cc [[#include "kernels/core/partition.h"]])
