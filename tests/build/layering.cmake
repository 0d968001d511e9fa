# cmake -D SOURCE_DIR=<root> -P layering.cmake
#
# Includes point downwards only:
#
#     apps | tests | benchmarks  ->  lib (paged/)  ->  kernels/  ->  CUDA
#
# A rule is: files it is about, includes that they must not have, the reason.
# Both are regular expressions; the first against the path from the root.
cmake_minimum_required(VERSION 3.25)

set(rules
  "^kernels/"
  "^(paged|absl|gtest|gmock|benchmark|nlohmann|apps|tests|benchmarks)/"
  "kernels know nothing above them"

  "^kernels/core/"
  "[.]h>|^(thrust|cub|cuda)|^kernels/(cpu|cuda|baseline)/"
  "kernels/core needs nothing but the standard library and itself"

  "^kernels/cpu/"
  "^(thrust|cub|cuda)|^kernels/(cuda|baseline)/"
  "CPU kernels need no toolkit"

  "^lib/"
  "^(apps|tests|benchmarks|gtest|gmock|benchmark|nlohmann|thrust|cub)/"
  "the library knows nothing above it, and no device code"

  "^lib/paged/[^/]+[.]h$"
  "^(kernels|paged/internal|cuda)"
  "public headers stand on the standard library, Abseil and each other"

  "^apps/"
  "^(tests|gtest|gmock|benchmark|thrust|cub)/"
  "the program needs neither tests nor Google Benchmark"

  "^benchmarks/"
  "^apps/"
  "the program measures through benchmarks/, not the other way round"

  "^benchmarks/"
  "^(gtest|gmock|thrust|cub)/"
  "benchmarks call launchers and the library"

  "^tests/"
  "^(thrust|cub)/"
  "tests call launchers and the library"

  "^tests/(apps|baseline|build|kernels|lib|support)/"
  "^benchmarks/"
  "only the tests of the benchmarks need them"
)

set(violations "")
file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR}
  ${SOURCE_DIR}/apps/* ${SOURCE_DIR}/benchmarks/* ${SOURCE_DIR}/kernels/*
  ${SOURCE_DIR}/lib/* ${SOURCE_DIR}/tests/*)
list(FILTER files INCLUDE REGEX "[.](h|cc|cu|cuh)$")
if(NOT files)
  message(FATAL_ERROR "no sources under ${SOURCE_DIR}")
endif()

foreach(file IN LISTS files)
  if(file MATCHES "[.](cu|cuh)$" AND NOT file MATCHES "^kernels/")
    string(APPEND violations "  ${file}: .cu and .cuh belong into kernels/\n")
  endif()
  # A standard header keeps its closing bracket only where it ends in .h, which
  # tells <stdint.h> and <cuda_fp16.h> from <cstdint>.
  file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*)[>\"].*$" "\\1" include "${line}")
    if(line MATCHES "<[^>]*[.]h>")
      string(APPEND include ">")
    endif()
    set(rest ${rules})
    while(rest)
      list(POP_FRONT rest about forbidden reason)
      if(file MATCHES "${about}" AND include MATCHES "${forbidden}")
        string(APPEND violations "  ${file} includes ${include}: ${reason}\n")
      endif()
    endwhile()
  endforeach()
endforeach()

if(violations)
  message(FATAL_ERROR "includes that point upwards or aside:\n${violations}")
endif()
list(LENGTH files num_files)
message(STATUS "${num_files} files, all includes point downwards")
