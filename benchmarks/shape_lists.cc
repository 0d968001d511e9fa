#include <algorithm>
#include <random>
#include <utility>

#include "benchmarks/shapes.h"
#include "kernels/core/hash.h"

namespace paged::benchmarks {

BenchShape Uniform(int num_seqs, int context_len, int num_kv_heads, int group) {
  return {.context_lens =
              std::vector<int32_t>(static_cast<size_t>(num_seqs), context_len),
          .num_kv_heads = num_kv_heads,
          .group = group};
}

BenchShape WithDType(BenchShape shape, DType dtype) {
  shape.dtype = dtype;
  return shape;
}

BenchShape WithHeadDim(BenchShape shape, int head_dim) {
  shape.head_dim = head_dim;
  return shape;
}

namespace {

// 32 sequences of 100..1000 tokens, multi-head.
BenchShape Uniform100To1000() {
  BenchShape shape = {
      .lens_name = "uniform_100_1000", .num_kv_heads = 32, .group = 1};
  for (uint64_t i = 0; i < 32; ++i) {
    shape.context_lens.push_back(100 + static_cast<int32_t>(Mix(i) % 901));
  }
  return shape;
}

BenchShape Ragged(const char* name, std::vector<int32_t> context_lens) {
  return {.lens_name = name,
          .context_lens = std::move(context_lens),
          .num_kv_heads = 8,
          .group = 4};
}

// `count` of `others`, and one long sequence among them.
std::vector<int32_t> OneAmong(int count, int others, size_t place,
                              int longest) {
  std::vector<int32_t> lens(static_cast<size_t>(count), others);
  lens[place] = longest;
  return lens;
}

}  // namespace

std::vector<BenchShape> GpuShapes() {
  std::vector<BenchShape> shapes;
  // 8 q heads over 4 kv heads, batch by context.
  for (int num_seqs : {8, 64}) {
    for (int context_len : {128, 256, 512, 1024, 2048, 4096}) {
      shapes.push_back(Uniform(num_seqs, context_len, 4, 2));
    }
  }
  shapes.push_back(Uniform100To1000());
  for (int context_len : {128, 512, 1024, 4096, 16384, 131072}) {
    shapes.push_back(Uniform(1, context_len, 8, 4));
  }
  // A last tile that is not whole, as most lengths leave one.
  shapes.push_back(Uniform(1, 1000, 8, 4));
  shapes.push_back(Uniform(8, 1000, 4, 2));
  shapes.push_back(Uniform(8, 1024, 8, 4));
  shapes.push_back(Uniform(16, 512, 8, 4));
  shapes.push_back(Uniform(16, 2048, 8, 4));
  shapes.push_back(Uniform(64, 4096, 8, 4));
  shapes.push_back(Uniform(256, 1024, 8, 4));
  shapes.push_back(Uniform(32, 1000, 32, 1));
  shapes.push_back(Uniform(16, 8192, 8, 8));
  shapes.push_back(Uniform(32, 4096, 1, 16));
  shapes.push_back(Uniform(32, 4096, 4, 7));
  shapes.push_back(Uniform(32, 4096, 1, 32));
  // The other dtype and the other head_dim.
  shapes.push_back(WithDType(Uniform(16, 2048, 8, 4), DType::kBF16));
  shapes.push_back(WithDType(Uniform(64, 4096, 8, 4), DType::kBF16));
  shapes.push_back(WithHeadDim(Uniform(8, 1024, 8, 4), 64));
  shapes.push_back(WithHeadDim(Uniform(64, 2048, 8, 4), 64));
  for (BenchShape& shape : RaggedShapes()) shapes.push_back(std::move(shape));
  for (BenchShape& shape : FeatureShapes()) shapes.push_back(std::move(shape));
  for (BenchShape& shape : ModelShapes()) shapes.push_back(std::move(shape));
  return shapes;
}

std::vector<BenchShape> RaggedShapes() {
  std::vector<int32_t> zipf(64);
  for (int i = 0; i < 64; ++i) {
    zipf[static_cast<size_t>(i)] = std::max(16, 32768 / (i + 1));
  }
  std::vector<int32_t> shuffled = zipf;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  std::vector<int32_t> half_empty(256);
  std::vector<int32_t> any(512);
  for (int i = 0; i < 256; i += 2) {
    half_empty[static_cast<size_t>(i)] = 2048 + i * 37 % 97;
  }
  for (int i = 0; i < 512; ++i) {
    any[static_cast<size_t>(i)] = 1 + i * 7919 % 4000;
  }
  std::vector<int32_t> many(1024);
  for (int i = 0; i < 1024; ++i) {
    many[static_cast<size_t>(i)] = 1 + i * 7919 % 1500;
  }
  return {Ragged("one_131072_among_1024", OneAmong(64, 1024, 0, 131072)),
          Ragged("one_131072_in_the_middle", OneAmong(64, 1024, 37, 131072)),
          Ragged("zipf_32768", std::move(zipf)),
          Ragged("zipf_32768_shuffled", std::move(shuffled)),
          Ragged("half_empty_2048", std::move(half_empty)),
          Ragged("one_65536_among_130", OneAmong(256, 130, 9, 65536)),
          Ragged("any_1_4000", std::move(any)),
          Ragged("any_1_1500", std::move(many))};
}

std::vector<BenchShape> CpuShapes() {
  return {Uniform(8, 128, 4, 2),
          Uniform(8, 1024, 4, 2),
          Uniform(1, 1024, 8, 4),
          Uniform(1, 4096, 8, 4),
          WithDType(Uniform(1, 1024, 8, 4), DType::kBF16),
          WithHeadDim(Uniform(8, 512, 8, 4), 64)};
}

std::vector<BenchShape> SweepShapes() {
  std::vector<BenchShape> shapes = {
      Uniform(8, 128, 4, 2),
      Uniform(8, 512, 4, 2),
      Uniform(8, 1024, 4, 2),
      Uniform(8, 4096, 4, 2),
      Uniform(64, 1024, 4, 2),
      Uniform(64, 4096, 4, 2),
      Uniform(1, 128, 8, 4),
      Uniform(1, 1024, 8, 4),
      Uniform(1, 4096, 8, 4),
      Uniform(1, 16384, 8, 4),
      Uniform(1, 131072, 8, 4),
      Uniform(8, 1024, 8, 4),
      Uniform(16, 512, 8, 4),
      Uniform(16, 2048, 8, 4),
      Uniform(64, 4096, 8, 4),
      Uniform(256, 1024, 8, 4),
      Uniform(32, 1000, 32, 1),
      Uniform100To1000(),
      Uniform(16, 8192, 8, 8),
      Uniform(32, 4096, 1, 16),
      WithHeadDim(Uniform(8, 1024, 8, 4), 64),
      WithHeadDim(Uniform(64, 2048, 8, 4), 64),
      WithDType(Uniform(64, 4096, 8, 4), DType::kFp8E4M3)};
  for (BenchShape& shape : RaggedShapes()) shapes.push_back(std::move(shape));
  return shapes;
}

std::vector<BenchShape> InvariantShapes() {
  return {Uniform(8, 128, 4, 2),    Uniform(1, 1024, 8, 4),
          Uniform(1, 32768, 8, 4),  Uniform(1, 131072, 8, 4),
          Uniform(8, 1024, 8, 4),   Uniform(16, 2048, 8, 4),
          Uniform(16, 8192, 8, 8),  Uniform(64, 4096, 8, 4),
          Uniform(256, 1024, 8, 4), RaggedShapes()[3]};
}

std::vector<BenchShape> HostShapes() {
  return {Uniform(1, 128, 8, 4), Uniform(8, 128, 4, 2), Uniform(1, 1024, 8, 4),
          Uniform(64, 4096, 8, 4), RaggedShapes()[2]};
}

namespace {

BenchShape OfUsualBlocks() { return Uniform(64, 4096, 8, 4); }

}  // namespace

bool VariesBlocks(const BenchShape& shape) {
  BenchShape without_rules = shape;
  without_rules.rules = {};
  return DifferInBlocksAlone(without_rules, OfUsualBlocks());
}

std::vector<BenchShape> CliffShapes() {
  std::vector<BenchShape> shapes;
  for (int num_seqs = 1; num_seqs <= 256; ++num_seqs) {
    shapes.push_back(Uniform(num_seqs, 2048, 8, 4));
  }
  // Rules have kernels of their own.
  for (float soft_cap : {0.0f, 50.0f}) {
    for (int block_size : {1, 8, 16, 32, 64, 128, 256}) {
      for (bool is_ordered : {false, true}) {
        BenchShape shape = OfUsualBlocks();
        shape.rules.soft_cap = soft_cap;
        shape.block_size = block_size;
        shape.has_ordered_blocks = is_ordered;
        shapes.push_back(std::move(shape));
      }
    }
  }
  return shapes;
}

}  // namespace paged::benchmarks
