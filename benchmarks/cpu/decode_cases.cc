#include "benchmarks/cpu/decode_cases.h"

#include "absl/strings/str_cat.h"

namespace paged::benchmarks {

std::string NameOf(const CpuDecodeCase& c) {
  return absl::StrCat(
      RowName("auto", c.shape, c.cache), "/layout:",
      c.layout == BlockLayout::kHeadMajor ? "head_major" : "token_major",
      "/threads:", c.num_threads);
}

std::vector<CpuDecodeCase> CpuDecodeCases(int num_threads) {
  std::vector<CpuDecodeCase> cases;
  const auto add = [&](BenchShape shape, int block_size, BlockLayout layout,
                       Cache cache) {
    shape.block_size = block_size;
    cases.push_back({shape, layout, cache, num_threads});
  };
  constexpr auto kToken = BlockLayout::kTokenMajor;
  constexpr auto kHead = BlockLayout::kHeadMajor;
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (int group : {1, 4, 8}) {
      BenchShape shape = Uniform(1, 65536, 8, group);
      shape.dtype = dtype;
      add(shape, 16, kToken, Cache::kCold);
      add(shape, 64, kHead, Cache::kCold);
      add(shape, 128, kHead, Cache::kCold);
    }
  }
  for (DType dtype : {DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8}) {
    for (int group : {1, 4}) {
      BenchShape shape = Uniform(1, 65536, 8, group);
      shape.dtype = dtype;
      add(shape, 64, kHead, Cache::kCold);
    }
  }
  add(Uniform(16, 8192, 8, 4), 16, kToken, Cache::kCold);
  add(Uniform(1, 65536, 1, 8), 16, kToken, Cache::kCold);
  add(Uniform(1, 4096, 8, 4), 16, kToken, Cache::kWarm);
  add(Uniform(8, 128, 8, 4), 16, kToken, Cache::kWarm);
  BenchShape small = Uniform(1, 511, 3, 3);
  small.head_dim = 64;
  add(small, 16, kToken, Cache::kWarm);
  return cases;
}

}  // namespace paged::benchmarks
