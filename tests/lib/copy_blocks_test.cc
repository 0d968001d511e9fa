#include "paged/copy_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/test_backend.h"

namespace paged::testing {
namespace {

using Bytes = std::vector<std::byte>;
using CopyBlocksTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(
    Cpu, CopyBlocksTest,
    ::testing::Values(BackendCase{BackendKind::kCpu, DType::kF16},
                      BackendCase{BackendKind::kCpu, DType::kBF16},
                      BackendCase{BackendKind::kCpu, DType::kF32},
                      BackendCase{BackendKind::kCpu, DType::kFp8E4M3},
                      BackendCase{BackendKind::kCpu, DType::kInt8}),
    CaseName);
// Copying moves bytes, so CUDA serves fp32 as well.
INSTANTIATE_TEST_SUITE_P(
    Cuda, CopyBlocksTest,
    ::testing::Values(BackendCase{BackendKind::kCuda, DType::kF16},
                      BackendCase{BackendKind::kCuda, DType::kBF16},
                      BackendCase{BackendKind::kCuda, DType::kF32},
                      BackendCase{BackendKind::kCuda, DType::kFp8E4M3},
                      BackendCase{BackendKind::kCuda, DType::kInt8}),
    CaseName);

struct CopySpec {
  int num_kv_heads = 2;
  int head_dim = 40;
  int block_size = 3;
  int64_t num_blocks = 9;
  KvStrides strides = {};
  int num_caches = 2;
};

class Copier {
 public:
  Copier(BackendKind kind, DType dtype, const CopySpec& spec)
      : kind_(kind),
        args_(ValidateCopy({.num_kv_heads = spec.num_kv_heads,
                            .head_dim = spec.head_dim,
                            .block_size = spec.block_size,
                            .num_blocks = spec.num_blocks,
                            .dtype = dtype,
                            .strides = spec.strides})
                  .value()) {
    const KvStrides& s = args_.strides;
    const int64_t elements = (spec.num_blocks - 1) * s.block_stride +
                             (spec.block_size - 1) * s.slot_stride +
                             (spec.num_kv_heads - 1) * s.head_stride +
                             spec.head_dim;
    std::mt19937 random(1);
    for (int i = 0; i < spec.num_caches; ++i) {
      Bytes& image = images_.emplace_back(
          static_cast<std::size_t>(elements * SizeOf(dtype)));
      for (std::byte& b : image) b = static_cast<std::byte>(random() >> 24);
      pools_.push_back(std::make_unique<GuardedBuffer>(kind, image.size()));
      pools_.back()->Upload(image);
      caches_.push_back(pools_.back()->data());
    }
    args_.caches = caches_;
  }

  // Every byte equals that of a plain loop: blocks are read from the pool as it
  // was, gaps stay.
  void Expect(const std::vector<BlockCopy>& copies) {
    args_.copies = copies;
    Backend& backend = *SharedBackend(kind_).value();
    const absl::Status status = backend.CopyBlocks(args_, nullptr);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(backend.Synchronize(nullptr).ok());
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      Bytes expected = images_[i];
      for (const BlockCopy& copy : copies) Model(copy, images_[i], expected);
      EXPECT_EQ(pools_[i]->Download(), expected);
      EXPECT_TRUE(pools_[i]->AreCanariesIntact());
      images_[i] = expected;
    }
  }

 private:
  void Model(const BlockCopy& copy, const Bytes& before, Bytes& after) const {
    const KvStrides& s = args_.strides;
    const int64_t bytes = SizeOf(args_.dtype);
    for (int slot = 0; slot < args_.block_size; ++slot) {
      for (int head = 0; head < args_.num_kv_heads; ++head) {
        const int64_t row = slot * s.slot_stride + head * s.head_stride;
        const auto at = [&](int64_t block) {
          return (block * s.block_stride + row) * bytes;
        };
        std::copy_n(before.begin() + at(copy.source), args_.head_dim * bytes,
                    after.begin() + at(copy.destination));
      }
    }
  }

  BackendKind kind_;
  CopyBlocksArgs args_;
  std::vector<Bytes> images_;
  std::vector<std::unique_ptr<GuardedBuffer>> pools_;
  std::vector<void*> caches_;
};

// BR-054: canaries before and behind the pools.
TEST_P(CopyBlocksTest, CopiesWholeBlocksAndNothingElse) {
  Copier copier(kind(), dtype(), {});
  copier.Expect({});
  copier.Expect({{3, 5}});
  copier.Expect({{0, 8}, {7, 7}, {3, 1}, {3, 2}});
}

TEST_P(CopyBlocksTest, ChainsAndCyclesAreSimultaneous) {
  Copier copier(kind(), dtype(), {});
  copier.Expect({{1, 2}, {2, 3}, {3, 4}});
  copier.Expect({{4, 3}, {3, 2}, {2, 1}, {1, 0}});
  copier.Expect({{1, 2}, {2, 1}});
  copier.Expect({{1, 2}, {2, 3}, {3, 4}, {4, 1}});
  // Two cycles, branches that hang on them, and a copy apart.
  copier.Expect(
      {{1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 0}, {5, 6}, {6, 5}, {6, 7}, {8, 8}});
}

TEST_P(CopyBlocksTest, StridesAreHonoured) {
  // Head-major; gaps everywhere; blocks inside slots; layers apart.
  for (const KvStrides& strides :
       {KvStrides{240, 40, 120}, KvStrides{400, 131, 43},
        KvStrides{80, 80 * 9, 40}, KvStrides{61 * 240, 80, 40},
        KvStrides{960, 160, 80}}) {
    SCOPED_TRACE(strides.block_stride);
    Copier copier(kind(), dtype(), {.strides = strides});
    copier.Expect({{1, 2}, {7, 8}, {4, 5}, {5, 4}});
  }
}

TEST_P(CopyBlocksTest, RowsOfEverySizeAreCopiedWhole) {
  for (int dim : {1, 2, 3, 7, 46, 64, 72, 576, 4096}) {
    SCOPED_TRACE(dim);
    Copier(kind(), dtype(), {.num_kv_heads = 1, .head_dim = dim})
        .Expect({{1, 2}, {2, 4}, {5, 0}});
  }
}

// More copies, and more caches, than one launch takes.
TEST_P(CopyBlocksTest, AnyNumberOfCopiesEqualsThePlainLoop) {
  Copier copier(kind(), dtype(),
                {.num_kv_heads = 1,
                 .head_dim = 4,
                 .block_size = 1,
                 .num_blocks = 1500,
                 .num_caches = 70});
  std::mt19937 random(7);
  std::vector<int32_t> destinations(1500);
  for (int32_t i = 0; i < 1500; ++i) {
    destinations[static_cast<std::size_t>(i)] = i;
  }
  for (int round = 0; round < 8; ++round) {
    std::shuffle(destinations.begin(), destinations.end(), random);
    std::vector<BlockCopy> copies;
    for (std::size_t i = 0; i < 700; ++i) {
      // From one long cycle to copies that hardly meet.
      const auto source = round == 0 ? destinations[(i + 1) % 700]
                                     : static_cast<int32_t>(random() % 1500);
      copies.push_back({source, destinations[i]});
    }
    copier.Expect(copies);
  }
}

// What does not meet goes in launches of thousands.
TEST_P(CopyBlocksTest, TenThousandCopiesApartEqualThePlainLoop) {
  Copier copier(kind(), dtype(),
                {.num_kv_heads = 1,
                 .head_dim = 24,
                 .block_size = 1,
                 .num_blocks = 20000});
  std::vector<int32_t> blocks(20000);
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
  std::vector<BlockCopy> copies;
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    copies.push_back({blocks[i], blocks[i + 1]});
  }
  copier.Expect(copies);
}

// Copies that are few for their pool are looked up in another way.
TEST(CopyRulesTest, ADestinationIsNamedOnceInPoolsOfAnySize) {
  std::vector<float> pool(1);
  void* caches[] = {pool.data()};
  const BlockCopy copies[] = {{3, 5}, {5, 100'000'000}, {4, 5}};
  for (int64_t num_blocks : {int64_t{100'000'001}, int64_t{2'147'483'647}}) {
    EXPECT_EQ(ValidateCopy({.num_kv_heads = 1,
                            .head_dim = 8,
                            .num_blocks = num_blocks,
                            .caches = caches,
                            .copies = copies})
                  .status()
                  .message(),
              "copies must name a destination once; got block 5 twice");
  }
}

// BR-054: blocks outside the pool.
TEST(CopyRulesTest, BrokenRulesAreRefusedByName) {
  float pool[2 * 16 * 8];
  void* caches[] = {pool};
  void* no_cache[] = {nullptr};
  const BlockCopy copies[] = {{0, 1}};
  const BlockCopy twice[] = {{0, 1}, {0, 0}, {1, 1}};
  const BlockCopy far_source[] = {{2, 1}}, negative[] = {{0, -1}};
  const CopyBlocksArgs legal{.num_kv_heads = 1,
                             .head_dim = 8,
                             .num_blocks = 2,
                             .dtype = DType::kF32,
                             .caches = caches,
                             .copies = copies};
  ASSERT_TRUE(ValidateCopy(legal).ok());
  const struct {
    std::function<void(CopyBlocksArgs&)> edit;
    const char* message;
  } rules[] = {
      {[](auto& a) { a.num_kv_heads = 0; },
       "num_kv_heads must be at least 1; got 0"},
      {[](auto& a) { a.head_dim = 0; }, "head_dim must be 1 to 4096; got 0"},
      {[](auto& a) { a.block_size = 0; },
       "block_size must be 1 to 1024; got 0"},
      {[](auto& a) { a.num_blocks = -1; },
       "num_blocks must be 0 to 2147483647; got -1"},
      {[](auto& a) {
         a.strides = {64, 8, 8};
       },
       "strides.block_stride must be at least 128, so that no two vectors "
       "overlap; got 64"},
      {[&](auto& a) { a.caches = no_cache; }, "caches must not be null"},
      {[&](auto& a) { a.copies = far_source; },
       "copies.source must be 0 to 1; got 2"},
      {[&](auto& a) { a.copies = negative; },
       "copies.destination must be 0 to 1; got -1"},
      {[&](auto& a) { a.copies = twice; },
       "copies must name a destination once; got block 1 twice"},
  };
  for (const auto& rule : rules) {
    CopyBlocksArgs args = legal;
    rule.edit(args);
    const absl::Status status = ValidateCopy(args).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), rule.message);
  }
}

}  // namespace
}  // namespace paged::testing
