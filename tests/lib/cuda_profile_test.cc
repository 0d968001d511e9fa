// PAGED_PROFILE on a machine with a GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "paged/cuda_backend.h"
#include "paged/profile_file.h"
#include "tests/support/temporary_folder.h"

namespace paged {
namespace {

class CudaProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
    if (!backend.ok()) GTEST_SKIP() << backend.status();
    own_ = (*backend)->profile();
  }
  void TearDown() override { unsetenv("PAGED_PROFILE"); }

  // Makes the environment name a file of this profile.
  void Name(const DeviceProfile& profile) {
    const std::string path = folder_.PathOf("profile");
    std::ofstream(path) << ProfileText(profile);
    setenv("PAGED_PROFILE", path.c_str(), 1);
  }

  const testing::TemporaryFolder folder_;
  DeviceProfile own_;
};

TEST_F(CudaProfileTest, TheFileTakesThePlaceOfWhatTheDeviceHas) {
  DeviceProfile other = own_;
  other.bandwidth_gb_per_s = own_.bandwidth_gb_per_s / 2;
  Name(other);
  EXPECT_EQ((*MakeCudaBackend())->profile(), other);
}

TEST_F(CudaProfileTest, AnotherDevicesProfileIsRefused) {
  DeviceProfile other = own_;
  other.num_units += 1;
  Name(other);
  EXPECT_EQ(MakeCudaBackend().status().code(),
            absl::StatusCode::kFailedPrecondition);
  setenv("PAGED_PROFILE", "/nowhere/profile", 1);
  EXPECT_EQ(MakeCudaBackend().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace paged
