#include "tests/support/test_backend.h"

#include <memory>

#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"

namespace paged::testing {
namespace {

using BackendOr = absl::StatusOr<std::unique_ptr<Backend>>;

absl::StatusOr<Backend*> Borrow(const BackendOr& backend) {
  if (!backend.ok()) return backend.status();
  return backend->get();
}

}  // namespace

absl::StatusOr<Backend*> SharedBackend(BackendKind kind) {
  // Two threads, so that programs run side by side on every machine.
  static const auto* const cpu =
      new BackendOr(MakeCpuBackend({.num_threads = 2}));
  static const auto* const cuda = new BackendOr(MakeCudaBackend());
  return Borrow(kind == BackendKind::kCpu ? *cpu : *cuda);
}

std::vector<BackendCase> CpuCases() {
  return {{BackendKind::kCpu, DType::kF16},
          {BackendKind::kCpu, DType::kBF16},
          {BackendKind::kCpu, DType::kF32}};
}

std::vector<BackendCase> CudaCases() {
  return {{BackendKind::kCuda, DType::kF16},
          {BackendKind::kCuda, DType::kBF16}};
}

std::ostream& operator<<(std::ostream& out, const BackendCase& backend_case) {
  return out << NameOf(backend_case.dtype);
}

std::string CaseName(const ::testing::TestParamInfo<BackendCase>& info) {
  return std::string(NameOf(info.param.dtype));
}

void BackendTest::SetUp() {
  absl::StatusOr<Backend*> backend = SharedBackend(kind());
  if (!backend.ok()) GTEST_SKIP() << backend.status();
  backend_ = *backend;
}

DecodeOptions ForceV1() { return ForceVariant(Variant::kV1); }

DecodeOptions ForceSplits(int splits) {
  DecodeOptions options = ForceVariant(Variant::kSplitK);
  options.splits = splits;
  return options;
}

DecodeOptions ForceVariant(Variant variant) {
  DecodeOptions options;
  options.variant = variant;
  return options;
}

}  // namespace paged::testing
