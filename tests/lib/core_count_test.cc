#include "paged/internal/core_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "paged/cpu_backend.h"
#include "paged/device_profile.h"
#include "tests/support/temporary_folder.h"

namespace paged::internal {
namespace {

// A machine's /proc and /sys.
class GrantedCoresTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_.PathOf(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  // The one of version 1 that grants `quota` of each 100 ms.
  void WriteQuota(const std::string& group, const std::string& quota) {
    Write(group + "/cpu.cfs_quota_us", quota + "\n");
    Write(group + "/cpu.cfs_period_us", "100000\n");
  }
  int Granted() const { return NumGrantedCores(folder_.path()); }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(GrantedCoresTest, WithoutGroupsThereIsNoLimit) {
  EXPECT_EQ(Granted(), 0);
  Write("proc/self/cgroup", "not a group\n0::/\n1:cpu:/\n");
  EXPECT_EQ(Granted(), 0);
}

TEST_F(GrantedCoresTest, AQuotaOfVersion2IsRoundedUp) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(Granted(), 0);
  Write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(Granted(), 3);
  Write("sys/fs/cgroup/cpu.max", "210000 100000\n");
  EXPECT_EQ(Granted(), 3);
  Write("sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(Granted(), 1);
  Write("sys/fs/cgroup/cpu.max", "nonsense\n");
  EXPECT_EQ(Granted(), 0);
}

TEST_F(GrantedCoresTest, TheLeastOfAGroupAndThoseAboveItCounts) {
  Write("proc/self/cgroup", "0::/slice/service\n");
  Write("sys/fs/cgroup/slice/service/cpu.max", "max 100000\n");
  EXPECT_EQ(Granted(), 0);
  Write("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(Granted(), 4);
  Write("sys/fs/cgroup/slice/service/cpu.max", "200000 100000\n");
  EXPECT_EQ(Granted(), 2);
  // Another's.
  Write("sys/fs/cgroup/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(Granted(), 2);
}

TEST_F(GrantedCoresTest, AQuotaOfVersion1Counts) {
  Write("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/box\n0::/\n");
  WriteQuota("sys/fs/cgroup/cpu", "-1");
  EXPECT_EQ(Granted(), 0);
  WriteQuota("sys/fs/cgroup/cpuset", "100000");
  EXPECT_EQ(Granted(), 0);
  WriteQuota("sys/fs/cgroup/cpu/box", "250000");
  EXPECT_EQ(Granted(), 3);
}

// Of a container whose group is the top one that it sees.
TEST_F(GrantedCoresTest, APathThatIsNotThereLeavesTheTopGroup) {
  Write("proc/self/cgroup", "1:cpu:/docker/1234\n0::/docker/1234\n");
  WriteQuota("sys/fs/cgroup/cpu", "200000");
  EXPECT_EQ(Granted(), 2);
}

TEST(UsableCoresTest, AnAffinityMaskOfOneCoreLeavesOneThread) {
  EXPECT_GE(NumUsableCores(), 1);
  EXPECT_LE(NumUsableCores(), NumAllowedCores());
  // The mask is the thread's own.
  std::thread([] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
    EXPECT_EQ(NumAllowedCores(), 1);
    EXPECT_EQ(CpuProfile().num_units, 1);
    EXPECT_EQ(MakeCpuBackend()->profile().num_units, 1);
    EXPECT_EQ(MakeCpuBackend({.num_threads = 2})->profile().num_units, 2);
  }).join();
}

}  // namespace
}  // namespace paged::internal
