# Sets PAGED_HAS_CUDA, and enables the language when it is on.
#
# PAGED_CUDA: ON needs nvcc, OFF never uses it, AUTO takes it where it is.
set(PAGED_HAS_CUDA OFF)
if(NOT PAGED_CUDA)
  return()
endif()

# The toolkit's installer leaves PATH alone.
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(PAGED_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH
               PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(PAGED_NVCC)
  if(PAGED_NVCC)
    set(CMAKE_CUDA_COMPILER ${PAGED_NVCC} CACHE FILEPATH "CUDA compiler")
  endif()
endif()

# Without a value, enabling the language picks sm_75, which has no cp.async,
# and `native` fails where there is no GPU. 90 is the GPU that was measured.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  execute_process(
    COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE paged_compute_caps ERROR_QUIET RESULT_VARIABLE paged_smi_result)
  if(paged_smi_result EQUAL 0 AND paged_compute_caps MATCHES "([0-9]+)\\.([0-9]+)")
    set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2}
        CACHE STRING "Compute capabilities to build for")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "Compute capabilities to build for")
  endif()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(NOT PAGED_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PAGED_CUDA is ${PAGED_CUDA}, and no CUDA compiler was found")
  endif()
  message(STATUS "CUDA: no compiler found; building for the CPU alone")
  return()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake 3.25 does not know that nvcc 12 and up has C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(PAGED_HAS_CUDA ON)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION} for sm_${CMAKE_CUDA_ARCHITECTURES}")
