#include "paged/device_profile.h"

#include <gtest/gtest.h>

#include "paged/plan.h"

namespace paged {
namespace {

TEST(DeviceProfileTest, NamesFindTheirProfiles) {
  EXPECT_EQ(FindProfile("h200").value(), H200Profile());
  EXPECT_EQ(FindProfile("h100").value(), H100Profile());
  EXPECT_EQ(FindProfile("rtx3090").value(), Rtx3090Profile());
  EXPECT_EQ(FindProfile("cpu")->kind, DeviceKind::kCpu);
}

TEST(DeviceProfileTest, UnknownNamesAreToldWhatExists) {
  const absl::Status status = FindProfile("b200").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "device must be h200, h100, rtx3090 or cpu; got b200");
}

TEST(DeviceProfileTest, OnlyTheMeasuredGpuClaimsToBeMeasured) {
  EXPECT_FALSE(H200Profile().is_estimated);
  EXPECT_TRUE(H100Profile().is_estimated);
  EXPECT_TRUE(Rtx3090Profile().is_estimated);
}

// A knee beyond the device would say that it never reaches its bandwidth.
TEST(DeviceProfileTest, HalfOfTheSmsSaturateEveryGpu) {
  for (const DeviceProfile* profile :
       {&H200Profile(), &H100Profile(), &Rtx3090Profile()}) {
    EXPECT_LE(profile->knee_units, 0.5 * profile->num_units) << profile->name;
    EXPECT_LE(profile->knee_bytes,
              static_cast<double>(profile->shared_bytes_per_unit))
        << profile->name;
    EXPECT_GT(profile->knee_exponent, 0) << profile->name;
    EXPECT_LE(profile->knee_exponent, 1) << profile->name;
  }
}

TEST(DeviceProfileTest, TheCpuHasTheThreadsThatWereAskedFor) {
  EXPECT_EQ(CpuProfile(3).num_units, 3);
  EXPECT_EQ(CpuProfile(3), CpuProfile(3));
  EXPECT_GE(CpuProfile().num_units, 1);
  EXPECT_EQ(CpuProfile(-1).num_units, CpuProfile().num_units);
}

TEST(FingerprintTest, FollowsWhatPlansDependOnAndNotTheName) {
  DeviceProfile profile = H200Profile();
  profile.name = "another";
  profile.is_estimated = true;
  EXPECT_EQ(FingerprintOf(profile), FingerprintOf(H200Profile()));
  profile.num_units = 131;
  EXPECT_NE(FingerprintOf(profile), FingerprintOf(H200Profile()));
  profile = H200Profile();
  profile.second_pass.us_per_split *= 2;
  EXPECT_NE(FingerprintOf(profile), FingerprintOf(H200Profile()));
  EXPECT_NE(FingerprintOf(H100Profile()), FingerprintOf(H200Profile()));
}

}  // namespace
}  // namespace paged
