// The kernel gives the list of the specification, to the bit.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/cuda/launch.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/schedule_cases.h"
#include "tests/support/test_backend.h"

namespace paged::testing {
namespace {

ScheduleList MakeOnCuda(const ScheduleCase& c) {
  GuardedBuffer lens(BackendKind::kCuda,
                     c.context_lens.size() * sizeof(int32_t));
  lens.UploadValues(c.context_lens);
  GuardedBuffer header(BackendKind::kCuda, sizeof(ScheduleHeader));
  GuardedBuffer chunks(
      BackendKind::kCuda,
      static_cast<std::size_t>(c.max_chunks()) * sizeof(Chunk));
  header.Fill(std::byte{0xff});
  chunks.Fill(std::byte{0xff});
  const ScheduleParams params =
      c.ParamsFor(static_cast<const int32_t*>(lens.data()),
                  {static_cast<ScheduleHeader*>(header.data()),
                   static_cast<Chunk*>(chunks.data())});
  EXPECT_EQ(LaunchMakeSchedule(params, nullptr), cudaSuccess);
  CudaSynchronizeDevice();
  EXPECT_TRUE(header.AreCanariesIntact());
  EXPECT_TRUE(chunks.AreCanariesIntact());

  ScheduleList list;
  std::memcpy(&list.header, header.Download().data(), sizeof(list.header));
  const std::vector<std::byte> bytes = chunks.Download();
  list.chunks.resize(static_cast<std::size_t>(list.header.num_chunks));
  EXPECT_LE(list.chunks.size() * sizeof(Chunk), bytes.size());
  if (!list.chunks.empty()) {
    std::memcpy(list.chunks.data(), bytes.data(),
                list.chunks.size() * sizeof(Chunk));
  }
  return list;
}

class CudaMakeScheduleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto backend = SharedBackend(BackendKind::kCuda); !backend.ok()) {
      GTEST_SKIP() << backend.status();
    }
  }
};

TEST_F(CudaMakeScheduleTest, SmallBatchesMatchTheSpecification) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const ScheduleCase c = RandomScheduleCase(random);
    if (c.context_lens.empty()) continue;
    ASSERT_EQ(MakeOnCuda(c), MakeScheduleList(c)) << "case " << i;
  }
}

// Full and ragged warps, at the bounds of each kernel, and one turn of the
// warps and many.
TEST_F(CudaMakeScheduleTest, LargeBatchesMatchTheSpecification) {
  std::mt19937 random(4);
  for (int num_seqs : {31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 500,
                       1023, 1024, 1025, 2048, 2049, 5000, 65536}) {
    for (int max_extra_chunks : {0, 1, 100, 8192}) {
      for (int max_context_len : {1000, 131072}) {
        const ScheduleCase c{.context_lens = RandomContextLens(random, num_seqs,
                                                               max_context_len),
                             .max_context_len = max_context_len,
                             .first_rung = RungOf(8),
                             .max_extra_chunks = max_extra_chunks};
        ASSERT_EQ(MakeOnCuda(c), MakeScheduleList(c))
            << num_seqs << " sequences, " << max_extra_chunks << " extra";
      }
    }
  }
}

// Where counts of chunks could pass 32 bits: the longest sequences, the
// smallest chunks.
TEST_F(CudaMakeScheduleTest, TheLongestSequencesMatchTheSpecification) {
  for (int num_seqs : {64, 256, 1024, 4096}) {
    const ScheduleCase c{
        .context_lens = std::vector<int32_t>(num_seqs, INT32_MAX),
        .max_context_len = INT32_MAX,
        .first_rung = 0,
        .max_extra_chunks = 100};
    ASSERT_EQ(MakeOnCuda(c), MakeScheduleList(c)) << num_seqs << " sequences";
  }
}

TEST_F(CudaMakeScheduleTest, RefusesRoomThatItCannotCount) {
  ScheduleParams params;
  params.num_seqs = 1;
  params.max_chunks = 1 << 27;
  EXPECT_EQ(LaunchMakeSchedule(params, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace paged::testing
