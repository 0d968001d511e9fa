find_package(Threads REQUIRED)
find_package(absl REQUIRED)
if(PAGED_BUILD_APPS OR PAGED_BUILD_TESTS)
  find_package(nlohmann_json REQUIRED)
endif()
if(PAGED_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(PAGED_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

add_library(paged_warnings INTERFACE)
target_compile_options(paged_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Werror>
  $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>)
