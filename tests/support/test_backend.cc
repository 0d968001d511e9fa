#include "tests/support/test_backend.h"

#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/cpu/simd_kernels.h"
#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"
#include "paged/internal/cpu_kernels.h"

namespace paged::testing {
namespace {

using BackendOr = absl::StatusOr<std::unique_ptr<Backend>>;

absl::StatusOr<Backend*> Borrow(const BackendOr& backend) {
  if (!backend.ok()) return backend.status();
  return backend->get();
}

// Two threads, so that programs run side by side on every machine.
constexpr int kNumCpuThreads = 2;

BackendOr MakeSimdBackend(absl::string_view target) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    if (kernels.target == target) {
      return internal::MakeCpuBackendWith({.num_threads = kNumCpuThreads},
                                          &kernels);
    }
  }
  return absl::UnavailableError(
      absl::StrCat("this build or processor has no ", target));
}

BackendOr MakeBackend(BackendKind kind) {
  switch (kind) {
    case BackendKind::kCpu:
      return MakeCpuBackend({.num_threads = kNumCpuThreads});
    case BackendKind::kCpuScalar:
      return internal::MakeCpuBackendWith({.num_threads = kNumCpuThreads},
                                          nullptr);
    case BackendKind::kCpuSse4:
      return MakeSimdBackend("SSE4");
    case BackendKind::kCpuAvx2:
      return MakeSimdBackend("AVX2");
    case BackendKind::kCuda:
      break;
  }
  return MakeCudaBackend();
}

// What follows the dtype in the name of a case.
absl::string_view SuffixOf(BackendKind kind) {
  switch (kind) {
    case BackendKind::kCpuScalar:
      return "_scalar";
    case BackendKind::kCpuSse4:
      return "_sse4";
    case BackendKind::kCpuAvx2:
      return "_avx2";
    case BackendKind::kCpu:
    case BackendKind::kCuda:
      break;
  }
  return "";
}

}  // namespace

absl::StatusOr<Backend*> SharedBackend(BackendKind kind) {
  static std::mutex mutex;
  static auto* const backends = new std::map<BackendKind, BackendOr>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = backends->find(kind);
  if (found == backends->end()) {
    found = backends->emplace(kind, MakeBackend(kind)).first;
  }
  return Borrow(found->second);
}

std::vector<BackendCase> CpuCases() {
  return {{BackendKind::kCpu, DType::kF16},
          {BackendKind::kCpu, DType::kBF16},
          {BackendKind::kCpu, DType::kF32},
          {BackendKind::kCpuScalar, DType::kF16},
          {BackendKind::kCpuScalar, DType::kBF16},
          {BackendKind::kCpuScalar, DType::kF32},
          {BackendKind::kCpuSse4, DType::kF16},
          {BackendKind::kCpuAvx2, DType::kF16}};
}

std::vector<BackendCase> CudaCases() {
  return {{BackendKind::kCuda, DType::kF16},
          {BackendKind::kCuda, DType::kBF16},
          {BackendKind::kCuda, DType::kF32}};
}

std::ostream& operator<<(std::ostream& out, const BackendCase& backend_case) {
  return out << NameOf(backend_case.dtype) << SuffixOf(backend_case.kind);
}

std::string CaseName(const ::testing::TestParamInfo<BackendCase>& info) {
  return absl::StrCat(NameOf(info.param.dtype), SuffixOf(info.param.kind));
}

void BackendTest::SetUp() {
  absl::StatusOr<Backend*> backend = SharedBackend(kind());
  if (!backend.ok()) GTEST_SKIP() << backend.status();
  backend_ = *backend;
}

DecodeOptions ForceChunks() { return {.partition = Partition::kChunks}; }

DecodeOptions ForceV1() { return ForceVariant(Variant::kV1); }

DecodeOptions ForceSplits(int splits) {
  DecodeOptions options = ForceVariant(Variant::kSplitK);
  options.splits = splits;
  options.reduction = Reduction::kSecondPass;
  return options;
}

DecodeOptions ForceVariant(Variant variant) {
  DecodeOptions options;
  options.variant = variant;
  return options;
}

}  // namespace paged::testing
