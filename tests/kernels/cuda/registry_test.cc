// The instance table against what was compiled: the planner's arithmetic rests
// on it.
#include "kernels/cuda/registry.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/core/instance.h"
#include "kernels/core/instance_registers.h"
#include "paged/internal/cost_model.h"
#include "paged/internal/cuda_profile.h"
#include "paged/internal/device_rules.h"
#include "paged/plan.h"

namespace paged {
namespace {

TEST(RegistryTest, CompilesExactlyTheInstancesOfTheTable) {
  EXPECT_EQ(DecodeKernels().size(), kInstances.size());
  for (const InstanceConfig& config : kInstances) {
    const auto kernels = DecodeKernels();
    EXPECT_EQ(std::count_if(
                  kernels.begin(), kernels.end(),
                  [&](const DecodeKernel& k) { return k.config == config; }),
              1);
  }
}

TEST(RegistryTest, FindsWhatItHasAndNothingElse) {
  for (const InstanceConfig& config : kInstances) {
    const DecodeKernel* kernel = FindDecodeKernel(config);
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->config, config);
    InstanceConfig other = config;
    other.shape.warps = 5;
    EXPECT_EQ(FindDecodeKernel(other), nullptr);
  }
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

int RegistersOf(const InstanceConfig& config) {
  const auto found = std::find(kInstances.begin(), kInstances.end(), config);
  return kInstanceRegisters[static_cast<std::size_t>(found -
                                                     kInstances.begin())];
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
    EXPECT_EQ(most, RegistersOf(kernel.config))
        << NameOf(internal::InstanceOf(kernel.config));
  }
}

TEST_F(CudaRegistryTest, ResidentCtasAreWhatCudaReports) {
  for (const DecodeKernel& kernel : DecodeKernels()) {
    if (kernel.config.shared_bytes() > profile_.shared_bytes_per_cta) continue;
    ASSERT_EQ(PrepareDecodeKernel(kernel), cudaSuccess);
    // Of the ending that needs the most registers; others may fit more often.
    int least = std::numeric_limits<int>::max();
    for (const void* function : kernel.functions) {
      int resident = 0;
      ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &resident, function, kernel.config.threads(),
                    static_cast<std::size_t>(kernel.config.shared_bytes())),
                cudaSuccess);
      least = std::min(least, resident);
    }
    EXPECT_EQ(least, internal::ResidentCtas(
                         kernel.config, RegistersOf(kernel.config), profile_))
        << NameOf(internal::InstanceOf(kernel.config));
  }
}

}  // namespace
}  // namespace paged
