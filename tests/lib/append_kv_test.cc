#include "paged/append_kv.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {
namespace {

using AppendKvTest = BackendTest;
// Rows of the cache's own dtype are moved as bytes, codes of 8 bits as well;
// all CPU kinds share one kernel.
INSTANTIATE_TEST_SUITE_P(
    Cpu, AppendKvTest,
    ::testing::Values(BackendCase{BackendKind::kCpu, DType::kF16},
                      BackendCase{BackendKind::kCpu, DType::kBF16},
                      BackendCase{BackendKind::kCpu, DType::kF32},
                      BackendCase{BackendKind::kCpu, DType::kFp8E4M3},
                      BackendCase{BackendKind::kCpu, DType::kInt8}),
    CaseName);
INSTANTIATE_TEST_SUITE_P(
    Cuda, AppendKvTest,
    ::testing::Values(BackendCase{BackendKind::kCuda, DType::kF16},
                      BackendCase{BackendKind::kCuda, DType::kBF16},
                      BackendCase{BackendKind::kCuda, DType::kF32},
                      BackendCase{BackendKind::kCuda, DType::kFp8E4M3},
                      BackendCase{BackendKind::kCuda, DType::kInt8}),
    CaseName);

struct AppendSpec {
  int head_dim = 64;
  int block_size = 16;
  std::vector<int64_t> slots = {};
  int num_kv_heads = 3;
  int64_t num_blocks = 7;
  int64_t gap = 0;  // elements between rows, on both sides
};

// Bytes that name token, head, dim and tensor; never 0xFF.
std::byte TokenByte(int tensor, int64_t token, int head, int64_t byte) {
  return static_cast<std::byte>((tensor * 101 + token * 37 + head * 17 + byte) %
                                251);
}

// Appends, and compares every byte of both pools with a model: named slots
// hold their token, all others what they held.
class Appender {
 public:
  Appender(BackendKind kind, DType dtype, const AppendSpec& spec)
      : kind_(kind), size_(SizeOf(dtype)), spec_(spec) {
    row_ = spec.head_dim + spec.gap;
    args_ = {.num_tokens = static_cast<int>(spec.slots.size()),
             .num_kv_heads = spec.num_kv_heads,
             .head_dim = spec.head_dim,
             .block_size = spec.block_size,
             .num_blocks = spec.num_blocks,
             .dtype = dtype};
    args_.key_strides = {spec.num_kv_heads * row_, row_};
    args_.value_strides = args_.key_strides;
    const int64_t slot = spec.num_kv_heads * row_ + spec.gap;
    args_.key_cache_strides = {spec.block_size * slot + spec.gap, slot, row_};
    args_.value_cache_strides = args_.key_cache_strides;
  }

  void Expect() {
    const std::vector<std::byte> keys = Rows(0), values = Rows(1);
    const std::vector<std::byte> pool(
        static_cast<std::size_t>(spec_.num_blocks *
                                 args_.key_cache_strides.block_stride * size_),
        std::byte{0xff});
    GuardedBuffer key(kind_, keys.size()), value(kind_, values.size());
    GuardedBuffer key_pool(kind_, pool.size()), value_pool(kind_, pool.size());
    GuardedBuffer slots(kind_, spec_.slots.size() * sizeof(int64_t));
    key.Upload(keys);
    value.Upload(values);
    key_pool.Upload(pool);
    value_pool.Upload(pool);
    slots.UploadValues(spec_.slots);
    args_.key = key.data();
    args_.value = value.data();
    args_.key_cache = key_pool.data();
    args_.value_cache = value_pool.data();
    args_.slot_mapping = static_cast<const int64_t*>(slots.data());

    Backend& backend = *SharedBackend(kind_).value();
    const absl::Status status = backend.AppendKv(args_, nullptr);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(backend.Synchronize(nullptr).ok());
    EXPECT_EQ(key_pool.Download(), Model(pool, 0));
    EXPECT_EQ(value_pool.Download(), Model(pool, 1));
    EXPECT_TRUE(key_pool.AreCanariesIntact());
    EXPECT_TRUE(value_pool.AreCanariesIntact());
  }

 private:
  // New tokens, with 0xFF in the gaps.
  std::vector<std::byte> Rows(int tensor) const {
    std::vector<std::byte> rows(
        static_cast<std::size_t>(args_.num_tokens * spec_.num_kv_heads * row_ *
                                 size_),
        std::byte{0xff});
    for (int64_t token = 0; token < args_.num_tokens; ++token) {
      WriteHeads(rows, token * spec_.num_kv_heads * row_ * size_, tensor,
                 token);
    }
    return rows;
  }

  void WriteHeads(std::vector<std::byte>& to, int64_t first_byte, int tensor,
                  int64_t token) const {
    for (int head = 0; head < spec_.num_kv_heads; ++head) {
      for (int64_t byte = 0; byte < spec_.head_dim * size_; ++byte) {
        to[static_cast<std::size_t>(first_byte + head * row_ * size_ + byte)] =
            TokenByte(tensor, token, head, byte);
      }
    }
  }

  std::vector<std::byte> Model(std::vector<std::byte> pool, int tensor) const {
    const KvStrides& strides = args_.key_cache_strides;
    for (std::size_t token = 0; token < spec_.slots.size(); ++token) {
      const int64_t slot = spec_.slots[token];
      if (slot < 0 || slot >= spec_.num_blocks * spec_.block_size) continue;
      const int64_t first = slot / spec_.block_size * strides.block_stride +
                            slot % spec_.block_size * strides.slot_stride;
      WriteHeads(pool, first * size_, tensor, static_cast<int64_t>(token));
    }
    return pool;
  }

  BackendKind kind_;
  int64_t size_;
  AppendSpec spec_;
  int64_t row_;
  AppendKvArgs args_;
};

// BR-050.
TEST_P(AppendKvTest, EveryBlockSizePutsTokensWhereTheTableSays) {
  for (int bs : {1, 2, 3, 8, 16, 17, 32, 64, 128, 256}) {
    SCOPED_TRACE(bs);
    Appender(
        kind(), dtype(),
        {.block_size = bs, .slots = {7 * bs - 1, 0, 3 * bs + bs / 2, 5 * bs}})
        .Expect();
  }
}

// BR-047: rows of every size, aligned to 16 bytes or not.
TEST_P(AppendKvTest, EveryHeadDimIsCopiedWhole) {
  for (int dim : {1, 2, 3, 46, 59, 72, 80, 96, 112, 120, 128, 192, 256, 576}) {
    SCOPED_TRACE(dim);
    Appender(kind(), dtype(), {.head_dim = dim, .slots = {17, 3, 111}})
        .Expect();
  }
}

TEST_P(AppendKvTest, StridesAreHonoured) {
  for (int64_t gap : {1, 3, 8}) {
    SCOPED_TRACE(gap);
    Appender(kind(), dtype(), {.slots = {17, 3, 111, 64}, .gap = gap}).Expect();
  }
}

// BR-103, 009, 029, 039.
TEST_P(AppendKvTest, NegativeSlotsAndSlotsPastThePoolWriteNothing) {
  Appender(kind(), dtype(), {.slots = {-1, 5, INT64_MIN, -16}}).Expect();
  Appender(kind(), dtype(), {.slots = {7 * 16, 7 * 16 - 1, INT64_MAX}})
      .Expect();
  Appender(kind(), dtype(), {.slots = {-1, -1}}).Expect();
  Appender(kind(), dtype(), {.slots = {}}).Expect();
}

TEST_P(AppendKvTest, ManyTokensGoInOneCall) {
  std::vector<int64_t> slots;
  for (int i = 0; i < 2000; ++i) slots.push_back((i * 7) % 2000);
  Appender(
      kind(), dtype(),
      {.head_dim = 8, .slots = slots, .num_kv_heads = 1, .num_blocks = 125})
      .Expect();
}

}  // namespace
}  // namespace paged::testing
