// Small decodes whose instructions instruction_counts_test.py counts:
//
//   counted_decode --list    names of the cases, one a line
//   counted_decode --build   what compiled it, and how
//   counted_decode <case>    runs the case
//
// One thread and the AVX2 kernels on every machine, since valgrind knows no
// AVX-512. What is counted is paged_counted_run alone: one run of a plan, after
// another one that has grown the scratch. Exit code: 0 good, 2 bad usage, 77 no
// AVX2 kernels here.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/simd_kernels.h"
#include "paged/decode.h"
#include "paged/internal/cpu_kernels.h"
#include "tests/support/decode_session.h"

// callgrind looks for this name.
extern "C" [[gnu::noinline]] bool paged_counted_run(
    paged::Backend& backend, const paged::DecodePlan& plan,
    const paged::DecodeArgs& args, const paged::RunContext& context) {
  return backend.Run(plan, args, context).ok();
}

namespace paged::testing {
namespace {

constexpr int kSkipped = 77;

struct CountedCase {
  const char* name;
  ProblemSpec spec;
  DecodeOptions options;
};

// Every register tile (groups of 1, 2, 4 and 8), every width of element, whole
// contexts, splits and their reduction, a context that ends inside a tile.
std::vector<CountedCase> Cases() {
  const auto batch = [](DType dtype, int num_kv_heads, int group, int head_dim,
                        std::vector<int32_t> lens) {
    return ProblemSpec{.dtype = dtype,
                       .num_q_heads = num_kv_heads * group,
                       .num_kv_heads = num_kv_heads,
                       .head_dim = head_dim,
                       .context_lens = std::move(lens)};
  };
  ProblemSpec int8 = batch(DType::kInt8, 2, 2, 128, {256});
  int8.query_dtype = DType::kF16;
  int8.key_scale = int8.value_scale = 0.02f;
  return {
      {"fp16_8_seqs_of_128_group_4",
       batch(DType::kF16, 8, 4, 128, std::vector<int32_t>(8, 128)), ForceV1()},
      {"fp16_511_group_3_dim_64", batch(DType::kF16, 3, 3, 64, {511}),
       ForceV1()},
      {"bf16_512_group_8", batch(DType::kBF16, 2, 8, 128, {512}), ForceV1()},
      {"fp32_512_group_1_in_4_splits", batch(DType::kF32, 2, 1, 128, {512}),
       ForceSplits(4)},
      {"int8_256_group_2", int8, ForceV1()},
  };
}

const SimdKernels* Avx2Kernels() {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    if (std::strcmp(kernels.target, "AVX2") == 0) return &kernels;
  }
  return nullptr;
}

int RunCase(const CountedCase& c, const SimdKernels& kernels) {
  const Problem problem = MakeProblem(c.spec);
  DecodeSession session(BackendKind::kCpu, problem);
  const std::unique_ptr<Backend> backend =
      internal::MakeCpuBackendWith({.num_threads = 1}, &kernels);
  const absl::StatusOr<DecodePlan> plan =
      PlanDecode(session.args().shape, *backend, c.options);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s: %s\n", c.name, plan.status().ToString().c_str());
    return 1;
  }
  const RunContext context{.workspace =
                               backend->Reserve(plan->workspace_bytes).value()};
  bool ok = backend->Run(*plan, session.args(), context).ok();
  ok = paged_counted_run(*backend, *plan, session.args(), context) && ok;
  const bool is_right = static_cast<bool>(
      IsNear(session.Collect(*plan), OracleFor(BackendKind::kCpu, problem)));
  if (!ok || !is_right) std::fprintf(stderr, "%s: wrong result\n", c.name);
  return ok && is_right ? 0 : 1;
}

int Main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "--build") {
    std::puts(PAGED_BUILD);
    return 0;
  }
  const SimdKernels* kernels = Avx2Kernels();
  for (const CountedCase& c : Cases()) {
    if (what == "--list") std::puts(c.name);
    if (what != c.name) continue;
    return kernels == nullptr ? kSkipped : RunCase(c, *kernels);
  }
  if (what == "--list") return 0;
  std::fprintf(stderr, "usage: counted_decode --list | --build | CASE\n");
  return 2;
}

}  // namespace
}  // namespace paged::testing

int main(int argc, char** argv) { return paged::testing::Main(argc, argv); }
