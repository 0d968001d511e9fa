# The libraries that paged uses: each named once, with the version that is
# fetched where the system has none, and the reason it is here. README.md beside
# this file adds licences and what was tried.
option(PAGED_FETCH_DEPENDENCIES
       "Download the libraries that find_package does not find" ON)

# paged_dependency(<package> TARGET <target> MINIMUM <version>
#                  VERSION <version> URL <url> SHA256 <hash> [SETTINGS <name=value>...])
#
# The system's package when it offers TARGET, else the pinned release.
function(paged_dependency package)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "TARGET;MINIMUM;VERSION;URL;SHA256" "SETTINGS")
  if(TARGET ${arg_TARGET})
    return()
  endif()
  find_package(${package} ${arg_MINIMUM} CONFIG QUIET)
  if(TARGET ${arg_TARGET})
    message(STATUS "${package}: ${${package}_VERSION} in ${${package}_DIR}")
    return()
  endif()
  if(NOT PAGED_FETCH_DEPENDENCIES)
    message(FATAL_ERROR
      "${package} was not found. Install it (third_party/bootstrap.sh does, on "
      "Debian and Ubuntu), or allow PAGED_FETCH_DEPENDENCIES.")
  endif()
  message(STATUS "${package}: fetching ${arg_VERSION} from ${arg_URL}")
  foreach(setting IN LISTS arg_SETTINGS)
    string(REPLACE "=" ";" setting "${setting}")
    list(GET setting 0 name)
    list(GET setting 1 value)
    set(${name} ${value} CACHE BOOL "Set for the fetched ${package}" FORCE)
  endforeach()
  include(FetchContent)
  # As system headers, so that our warnings do not judge them.
  FetchContent_Declare(${package} SYSTEM
    URL ${arg_URL} URL_HASH SHA256=${arg_SHA256})
  FetchContent_MakeAvailable(${package})
endfunction()

find_package(Threads REQUIRED)

# Status, StatusOr, Span and formatting in the public headers; flags in apps.
paged_dependency(absl TARGET absl::statusor VERSION 20230802.1
  URL https://github.com/abseil/abseil-cpp/archive/refs/tags/20230802.1.tar.gz
  SHA256 987ce98f02eefbaf930d6e38ab16aa05737234d7afbab2d5c4ea7adbe50c28ed
  SETTINGS ABSL_ENABLE_INSTALL=ON ABSL_PROPAGATE_CXX_STD=ON)

# The vector kernels of the CPU. Sets PAGED_HAS_HIGHWAY.
#
# PAGED_HIGHWAY: ON needs the library, OFF never uses it, AUTO takes it where it
# is, or may be downloaded.
set(PAGED_HIGHWAY "AUTO" CACHE STRING
    "Vector kernels of the CPU: ON, OFF, or AUTO (where Highway is found)")
set_property(CACHE PAGED_HIGHWAY PROPERTY STRINGS AUTO ON OFF)
set(PAGED_HAS_HIGHWAY OFF)
if(PAGED_HIGHWAY STREQUAL "AUTO" AND NOT PAGED_FETCH_DEPENDENCIES)
  find_package(hwy 1.0.3 CONFIG QUIET)
endif()
if(PAGED_HIGHWAY AND (TARGET hwy::hwy OR PAGED_FETCH_DEPENDENCIES OR
                      NOT PAGED_HIGHWAY STREQUAL "AUTO"))
  paged_dependency(hwy TARGET hwy::hwy MINIMUM 1.0.3 VERSION 1.0.7
    URL https://github.com/google/highway/archive/refs/tags/1.0.7.tar.gz
    SHA256 5434488108186c170a5e2fca5e3c9b6ef59a1caa4d520b008a9b8be6b8abe6c5
    SETTINGS HWY_ENABLE_CONTRIB=OFF HWY_ENABLE_EXAMPLES=OFF HWY_ENABLE_TESTS=OFF
             HWY_ENABLE_INSTALL=ON HWY_FORCE_STATIC_LIBS=ON)
  # The release has the target without its namespace.
  if(NOT TARGET hwy::hwy)
    add_library(hwy::hwy ALIAS hwy)
  endif()
  set(PAGED_HAS_HIGHWAY ON)
else()
  message(STATUS "hwy: not used; the CPU has its scalar kernels alone")
endif()

# Headers of safetensors files, and what the program prints with --json.
if(PAGED_BUILD_APPS OR PAGED_BUILD_TESTS OR PAGED_BUILD_BENCHMARKS)
  paged_dependency(nlohmann_json TARGET nlohmann_json::nlohmann_json
    MINIMUM 3.9 VERSION 3.11.3
    URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    SHA256 d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
    SETTINGS JSON_BuildTests=OFF)
endif()

# Every test; gmock for matchers.
if(PAGED_BUILD_TESTS)
  paged_dependency(GTest TARGET GTest::gmock MINIMUM 1.11 VERSION 1.14.0
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    SHA256 8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7
    SETTINGS INSTALL_GTEST=OFF)
endif()

# Timing loops, counters and JSON records of the benchmarks.
if(PAGED_BUILD_BENCHMARKS)
  paged_dependency(benchmark TARGET benchmark::benchmark MINIMUM 1.6 VERSION 1.8.3
    URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
    SHA256 6bc180a57d23d4d9515519f92b0c83d61b05b5bab188961f36ac7b06b0d9e9ce
    SETTINGS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_INSTALL=OFF
             BENCHMARK_ENABLE_WERROR=OFF)
endif()
