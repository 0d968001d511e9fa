// The backends that test bodies run on, and the fixture that chooses one.
#ifndef PAGED_TESTS_SUPPORT_TEST_BACKEND_H_
#define PAGED_TESTS_SUPPORT_TEST_BACKEND_H_

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "paged/backend.h"
#include "paged/options.h"

namespace paged::testing {

// kCpu has the kernels that users get, the others those that are named.
enum class BackendKind { kCpu, kCpuScalar, kCpuSse4, kCpuAvx2, kCuda };

// One per kind for the whole program; an error says why there is none.
absl::StatusOr<Backend*> SharedBackend(BackendKind kind);

struct BackendCase {
  BackendKind kind;
  DType dtype;
};
// "fp16", or "fp16_scalar", in the names that test programs list.
std::ostream& operator<<(std::ostream& out, const BackendCase& backend_case);

// Every dtype that the backend has; for INSTANTIATE_TEST_SUITE_P(Cpu, ...) and
// INSTANTIATE_TEST_SUITE_P(Cuda, ...).
std::vector<BackendCase> CpuCases();
std::vector<BackendCase> CudaCases();
std::string CaseName(const ::testing::TestParamInfo<BackendCase>& info);

// Skips, with the reason, where the backend does not exist.
class BackendTest : public ::testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override;

  Backend& backend() const { return *backend_; }
  BackendKind kind() const { return GetParam().kind; }
  DType dtype() const { return GetParam().dtype; }
  bool is_cpu() const { return kind() != BackendKind::kCuda; }
  // The first that the backend has a kernel for.
  int head_dim(int cpu_head_dim) const { return is_cpu() ? cpu_head_dim : 64; }

 private:
  Backend* backend_ = nullptr;
};

// Options that force v1, and split_k with `splits` and a second pass.
DecodeOptions ForceV1();
DecodeOptions ForceSplits(int splits);
DecodeOptions ForceChunks();
DecodeOptions ForceVariant(Variant variant);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_TEST_BACKEND_H_
