// The library's ranges as a profiler sees them; compiled where NVTX's headers
// are, with a copy of the library that has PAGED_NVTX on.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "paged/decode.h"

namespace paged::testing {
namespace {

TEST(NvtxTest, EveryStageOfADecodeIsARange) {
  ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", PAGED_RECORDER, 1), 0);
  std::vector<float> query(4, 1.0f), output(4), keys(8, 0.5f), values(8, 3.0f);
  std::vector<int32_t> table = {0}, lens = {2};
  const DecodeArgs args = {.shape = {.num_seqs = 1,
                                     .num_q_heads = 1,
                                     .num_kv_heads = 1,
                                     .head_dim = 4,
                                     .block_size = 2,
                                     .num_blocks = 1,
                                     .max_blocks_per_seq = 1,
                                     .max_context_len = 2,
                                     .query_dtype = DType::kF32,
                                     .kv_dtype = DType::kF32},
                           .query = query.data(),
                           .key_cache = keys.data(),
                           .value_cache = values.data(),
                           .block_tables = table.data(),
                           .context_lens = lens.data(),
                           .output = output.data()};
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  ASSERT_TRUE(Decode(args, *backend).ok());

  void* recorder = dlopen(PAGED_RECORDER, RTLD_NOW);
  ASSERT_NE(recorder, nullptr) << dlerror();
  const auto recorded =
      reinterpret_cast<const char* (*)()>(dlsym(recorder, "RecordedRanges"));
  ASSERT_NE(recorded, nullptr);
  // "<" ends a range. A run lowers its plan, and does not validate its shape
  // once more.
  EXPECT_EQ(std::string(recorded()),
            "paged/decodepaged/validate<paged/plan<paged/runpaged/lower<<<");
}

}  // namespace
}  // namespace paged::testing
