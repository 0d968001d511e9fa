#include "paged/cpu_backend.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "paged/decode.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

TEST(CpuBackendTest, ProfileCountsTheThreadsThatWereAskedFor) {
  EXPECT_EQ(MakeCpuBackend({.num_threads = 3})->profile().num_units, 3);
  EXPECT_GE(MakeCpuBackend()->profile().num_units, 1);
}

TEST(CpuBackendTest, ReservedMemoryIsAlignedZeroedAndReused) {
  std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 1});
  const Workspace small = backend->Reserve(1).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data) % 64, 0u);
  const Workspace large = backend->Reserve(1000).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data) % 64, 0u);
  ASSERT_GE(large.bytes, 1000u);
  for (std::size_t i = 0; i < large.bytes; ++i) {
    ASSERT_EQ(static_cast<const std::byte*>(large.data)[i], std::byte{0});
  }
  EXPECT_EQ(backend->Reserve(1000).value().data, large.data);
  EXPECT_EQ(backend->Reserve(10).value().data, large.data);
}

// What /proc/self/smaps says of the mapping that holds `address`.
struct Mapping {
  std::string flags;
  std::size_t resident_kb = SIZE_MAX;
};

Mapping MappingOf(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream smaps("/proc/self/smaps");
  Mapping mapping;
  bool is_it = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char access = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx %c", &begin, &end, &access) == 3) {
      is_it = begin <= at && at < end;
    } else if (is_it && line.rfind("Rss:", 0) == 0) {
      mapping.resident_kb = std::strtoull(line.c_str() + 4, nullptr, 10);
    } else if (is_it && line.rfind("VmFlags:", 0) == 0) {
      mapping.flags = line + " ";
    }
  }
  return mapping;
}

// So that the thread that writes a page first decides where it lies.
TEST(CpuBackendTest, APoolAsksForHugePagesAndIsNotTouched) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system has no transparent huge pages";
  }
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 1});
  const Buffer pool = backend->Allocate(kBytes, MemoryKind::kDevice).value();
  const Mapping mapping =
      MappingOf(static_cast<const std::byte*>(pool.data()) + kBytes / 2);
  if (mapping.flags.empty()) GTEST_SKIP() << "smaps has no flags here";
  EXPECT_NE(mapping.flags.find(" hg "), std::string::npos) << mapping.flags;
  EXPECT_LT(mapping.resident_kb, kBytes / 2 / 1024);
}

TEST(CpuBackendTest, MemoryThatDoesNotExistIsResourceExhausted) {
  std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 1});
  EXPECT_EQ(backend->Reserve(SIZE_MAX).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(backend->Reserve(SIZE_MAX / 2).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(backend->Reserve(16).ok());
}

DecodeResult RunWithThreads(const Problem& problem, int num_threads,
                            const DecodeOptions& options) {
  DecodeSession session(BackendKind::kCpu, problem);
  session.PoisonOutputs();
  std::unique_ptr<Backend> backend =
      MakeCpuBackend({.num_threads = num_threads});
  EXPECT_TRUE(Decode(session.args(), *backend, options).ok());
  return session.Collect({});
}

TEST(CpuBackendTest, TheNumberOfThreadsChangesNoBit) {
  const Problem problem =
      MakeProblem({.num_q_heads = 8, .context_lens = {300, 1, 0, 77, 1700}});
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(6)}) {
    const DecodeResult one = RunWithThreads(problem, 1, options);
    for (int threads : {2, 3, 8}) {
      EXPECT_TRUE(BitEqual(RunWithThreads(problem, threads, options), one));
    }
  }
}

TEST(CpuBackendTest, TheEnvironmentChoosesTheKernels) {
  const Problem problem = MakeProblem(
      {.dtype = DType::kBF16, .num_q_heads = 8, .context_lens = {300, 1, 77}});
  const Oracle oracle = OracleFor(BackendKind::kCpu, problem);
  for (const char* choice : {"", "auto", "float", "scalar"}) {
    setenv("PAGED_CPU", choice, 1);
    EXPECT_TRUE(IsNear(RunWithThreads(problem, 2, ForceV1()), oracle))
        << choice;
  }
  setenv("PAGED_CPU", "floats", 1);
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 1});
  unsetenv("PAGED_CPU");
  const DecodePlan plan =
      PlanDecode(problem.shape, *backend, ForceV1()).value();
  EXPECT_EQ(backend->Prepare(plan),
            absl::InvalidArgumentError(
                "PAGED_CPU must be auto, float or scalar; got floats"));
}

TEST(CpuBackendTest, APlanForMoreThreadsIsRefused) {
  const Problem problem = MakeProblem({.context_lens = {30}});
  std::unique_ptr<Backend> two = MakeCpuBackend({.num_threads = 2});
  std::unique_ptr<Backend> three = MakeCpuBackend({.num_threads = 3});
  const DecodePlan plan = PlanDecode(problem.shape, *three, ForceV1()).value();
  EXPECT_TRUE(three->Prepare(plan).ok());
  EXPECT_EQ(two->Prepare(plan).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(CpuBackendTest, InitWorkspaceRefusesOneThatIsTooSmall) {
  const Problem problem = MakeProblem({.context_lens = {300}});
  std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 2});
  const DecodePlan plan =
      PlanDecode(problem.shape, *backend, ForceSplits(4)).value();
  EXPECT_EQ(backend->InitWorkspace(plan, RunContext{}).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(CpuBackendTest, ThreadsShareABackendWithWorkspacesOfTheirOwn) {
  const auto repeat = [](std::vector<int32_t> lens, int splits, int* failures) {
    const Problem problem = MakeProblem({.context_lens = lens});
    const Oracle oracle = OracleFor(BackendKind::kCpu, problem);
    DecodeSession session(BackendKind::kCpu, problem);
    for (int i = 0; i < 50; ++i) {
      const absl::StatusOr<DecodeResult> result =
          session.Run(ForceSplits(splits));
      if (!result.ok() || !IsNear(*result, oracle)) ++*failures;
    }
  };
  int failures[3] = {};
  std::thread first(repeat, std::vector<int32_t>{200, 17}, 8, &failures[0]);
  std::thread second(repeat, std::vector<int32_t>{3, 40}, 2, &failures[1]);
  repeat({90}, 3, &failures[2]);
  first.join();
  second.join();
  for (int count : failures) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace paged::testing
