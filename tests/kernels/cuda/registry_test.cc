// The instance table against what was compiled: the planner's arithmetic rests
// on it.
#include "kernels/cuda/registry.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/core/instance.h"
#include "paged/internal/cost_model.h"
#include "paged/internal/cuda_profile.h"

namespace paged {
namespace {

TEST(RegistryTest, CompilesExactlyTheInstancesOfTheTable) {
  const auto kernels = DecodeKernels();
  ASSERT_EQ(kernels.size(), kInstances.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].config, kInstances[i]) << i;
  }
}

TEST(RegistryTest, HasAtLeastTwoShapesForEachElementAndHeadDim) {
  for (const InstanceConfig& config : kInstances) {
    const auto shapes = std::count_if(
        kInstances.begin(), kInstances.end(), [&](const InstanceConfig& other) {
          return other.element == config.element &&
                 other.head_dim == config.head_dim;
        });
    EXPECT_GE(shapes, 2);
  }
}

TEST(RegistryTest, FindsWhatItHasAndNothingElse) {
  for (const InstanceConfig& config : kInstances) {
    const DecodeKernel* kernel =
        FindDecodeKernel(config.element, config.head_dim, config.shape);
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->config, config);
  }
  EXPECT_EQ(FindDecodeKernel(ElementKind::kF16, 96, {4, 2}), nullptr);
  EXPECT_EQ(FindDecodeKernel(ElementKind::kF16, 128, {5, 2}), nullptr);
  EXPECT_EQ(FindDecodeKernel(ElementKind::kF32, 128, {4, 2}), nullptr);
}

class CudaRegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto profile = internal::QueryCudaProfile(0);
    if (!profile.ok()) GTEST_SKIP() << profile.status();
    profile_ = *profile;
  }

  DeviceProfile profile_;
};

TEST_F(CudaRegistryTest, NoInstanceSpills) {
  for (const DecodeKernel& kernel : DecodeKernels()) {
    for (const void* function : kernel.functions) {
      cudaFuncAttributes attributes;
      ASSERT_EQ(cudaFuncGetAttributes(&attributes, function), cudaSuccess);
      EXPECT_EQ(attributes.localSizeBytes, 0u);
    }
  }
}

TEST_F(CudaRegistryTest, TableHasTheRegistersThatCudaReports) {
  if (profile_.compute_capability != 90) {
    GTEST_SKIP() << "the table is for sm_90; this is sm_"
                 << profile_.compute_capability;
  }
  for (const DecodeKernel& kernel : DecodeKernels()) {
    int most = 0;
    for (const void* function : kernel.functions) {
      cudaFuncAttributes attributes;
      ASSERT_EQ(cudaFuncGetAttributes(&attributes, function), cudaSuccess);
      most = std::max(most, attributes.numRegs);
    }
    EXPECT_EQ(most, kernel.config.registers_per_thread)
        << "head_dim " << kernel.config.head_dim << " warps "
        << kernel.config.shape.warps << " stages "
        << kernel.config.shape.stages;
  }
}

TEST_F(CudaRegistryTest, ResidentCtasAreWhatCudaReports) {
  for (const DecodeKernel& kernel : DecodeKernels()) {
    if (kernel.config.shared_bytes() > profile_.shared_bytes_per_cta) continue;
    ASSERT_EQ(PrepareDecodeKernel(kernel), cudaSuccess);
    for (const void* function : kernel.functions) {
      int resident = 0;
      ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &resident, function, kernel.config.threads(),
                    static_cast<std::size_t>(kernel.config.shared_bytes())),
                cudaSuccess);
      EXPECT_EQ(resident, internal::ResidentCtas(kernel.config, profile_))
          << "head_dim " << kernel.config.head_dim << " warps "
          << kernel.config.shape.warps << " stages "
          << kernel.config.shape.stages;
    }
  }
}

}  // namespace
}  // namespace paged
