#include "paged/device_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/lib/blocks/block_support.h"
#include "tests/lib/blocks/lagging_backend.h"
#include "tests/lib/blocks/table_support.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {
namespace {

class DeviceTableTest : public BackendTest {};
INSTANTIATE_TEST_SUITE_P(Cpu, DeviceTableTest,
                         ::testing::Values(BackendCase{BackendKind::kCpu,
                                                       DType::kF32}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceTableTest,
                         ::testing::Values(BackendCase{BackendKind::kCuda,
                                                       DType::kF16}),
                         CaseName);

// BR-042, 051.
TEST_P(DeviceTableTest, EqualsTheManagersViewsAfterEveryUpdate) {
  constexpr int kNewTokens = 3;
  Crowd crowd(5);
  DeviceTable table = DeviceTable::Create(crowd.manager(), backend(),
                                          {.max_batch = kTableBatch,
                                           .width = kTableWidth,
                                           .max_new_tokens = kNewTokens,
                                           .max_entries = 3})
                          .value();
  std::size_t num_rows = 0;
  for (int step = 0; step < 300 && !HasFailure(); ++step) {
    SCOPED_TRACE(step);
    for (int i = 0; i < 1 + step % 7; ++i) crowd.Change();
    const std::vector<SequenceHandle> batch = crowd.Batch();
    const std::vector<int32_t> counts =
        crowd.NewTokens(batch.size(), kNewTokens);
    const absl::Status status =
        table.Update(crowd.manager(), batch, counts, nullptr);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(backend().Synchronize(nullptr).ok());
    ExpectViews(crowd.manager(), batch, counts,
                Views(kind(), table, kNewTokens));
    if (step % 3 == 0) FinishStep(crowd.manager());
    num_rows += batch.size();
  }
  EXPECT_GT(num_rows, 600u);
  EXPECT_GT(table.Statistics().num_entries, 700);
}

// BR-095: more updates than staging buffers while the device is busy.
TEST_P(DeviceTableTest, UpdatesDoNotOvertakeABusyDevice) {
  Crowd crowd(6);
  DeviceTable table =
      DeviceTable::Create(crowd.manager(), backend(),
                          {.max_batch = kTableBatch, .width = kTableWidth})
          .value();
  if (!is_cpu()) CudaOccupyDefaultStream();
  std::vector<SequenceHandle> batch;
  for (int step = 0; step < 20; ++step) {
    for (int i = 0; i < 10; ++i) crowd.Change();
    batch = crowd.Batch();
    ASSERT_TRUE(table.Update(crowd.manager(), batch, {}, nullptr).ok());
  }
  ASSERT_TRUE(backend().Synchronize(nullptr).ok());
  ExpectViews(crowd.manager(), batch, std::vector<int32_t>(batch.size(), 1),
              Views(kind(), table, 1));
}

// BR-099: what was captured once reads what the last update enqueued, since the
// views' addresses do not change.
TEST_P(DeviceTableTest, AStepCapturedOnceFollowsEveryUpdate) {
  BlockManager manager = MakeManager();
  DeviceTable table =
      DeviceTable::Create(manager, backend(), {.max_batch = kTableBatch})
          .value();
  const auto pool_bytes =
      static_cast<std::size_t>(manager.options().num_blocks) * kTableBlockSize *
      sizeof(float);
  GuardedBuffer rows(kind(), kTableBatch * sizeof(float)),
      keys(kind(), pool_bytes), values(kind(), pool_bytes);
  keys.Fill(std::byte{0});
  const AppendKvArgs args{.num_tokens = kTableBatch,
                          .num_kv_heads = 1,
                          .head_dim = 1,
                          .block_size = kTableBlockSize,
                          .num_blocks = manager.options().num_blocks,
                          .dtype = DType::kF32,
                          .key = rows.data(),
                          .value = rows.data(),
                          .key_cache = keys.data(),
                          .value_cache = values.data(),
                          .slot_mapping = table.slot_mapping()};
  std::unique_ptr<CudaStream> stream;
  std::unique_ptr<CudaGraph> graph;
  if (!is_cpu()) {
    // Kernels are loaded outside the capture.
    ASSERT_TRUE(table.Update(manager, {}, {}, nullptr).ok());
    ASSERT_TRUE(backend().AppendKv(args, nullptr).ok());
    ASSERT_TRUE(backend().Synchronize(nullptr).ok());
    stream = std::make_unique<CudaStream>();
    graph = std::make_unique<CudaGraph>(stream->get(), [&] {
      ASSERT_TRUE(backend().AppendKv(args, stream->get()).ok());
    });
    ASSERT_TRUE(graph->is_valid());
  }
  std::vector<SequenceHandle> batch;
  for (int i = 0; i < kTableBatch - 1; ++i) {
    batch.push_back(manager.Open({.num_tokens = 1 + i}).value().handle);
  }
  for (int step = 1; step < 30; ++step) {
    std::rotate(batch.begin(), batch.begin() + 1, batch.end());
    std::vector<float> tokens(kTableBatch);
    for (int i = 0; i < kTableBatch; ++i) {
      tokens[static_cast<std::size_t>(i)] = static_cast<float>(10 * step + i);
    }
    rows.UploadValues(tokens);
    const Stream on = is_cpu() ? nullptr : stream->get();
    ASSERT_TRUE(table.Update(manager, batch, {}, on).ok());
    if (!is_cpu()) graph->Launch(on);
    EXPECT_TRUE(!is_cpu() || backend().AppendKv(args, on).ok());
    const std::vector<float> pool =
        Download(kind(), static_cast<const float*>(keys.data()),
                 pool_bytes / sizeof(float));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const int64_t last = manager.Length(batch[i]).value() - 1;
      const auto slot =
          static_cast<std::size_t>(manager.SlotOf(batch[i], last).value());
      EXPECT_EQ(pool[slot], tokens[i]) << step << " " << i;
      ASSERT_TRUE(manager.Append(batch[i], 1).ok());
    }
    // Padding writes nothing.
    EXPECT_EQ(std::count(pool.begin(), pool.end(), tokens.back()), 0);
  }
}

// BR-095, step by step: a kernel that runs late sees the step it was made for.
TEST(LaggingTableTest, AStagingBufferIsKeptUntilItWasRead) {
  for (const int num_buffers : {1, 2, 3}) {
    SCOPED_TRACE(num_buffers);
    LaggingBackend backend;
    Crowd crowd(7);
    DeviceTable table = DeviceTable::Create(crowd.manager(), backend,
                                            {.max_batch = kTableBatch,
                                             .width = kTableWidth,
                                             .num_staging_buffers = num_buffers,
                                             .max_entries = 200})
                            .value();
    for (int step = 0; step < 100; ++step) {
      for (int i = 0; i < 3; ++i) crowd.Change();
      const std::vector<SequenceHandle> batch = crowd.Batch();
      const std::vector<int32_t> ones(batch.size(), 1);
      ASSERT_TRUE(table.Update(crowd.manager(), batch, ones, nullptr).ok());
      // Two more updates are enqueued behind this one before its kernels run.
      const std::size_t end = backend.num_pending();
      ASSERT_TRUE(table.Update(crowd.manager(), {}, {}, nullptr).ok());
      ASSERT_TRUE(table.Update(crowd.manager(), {}, {}, nullptr).ok());
      if (num_buffers < 3) continue;
      ASSERT_EQ(backend.num_pending(), end + 6);
      while (backend.num_pending() > 6) backend.RunOldest();
      ExpectViews(crowd.manager(), batch, ones,
                  Views(BackendKind::kCpu, table, 1));
      ASSERT_TRUE(backend.Synchronize(nullptr).ok());
    }
    EXPECT_EQ(backend.num_waits() > 0, num_buffers < 3);
  }
}

TEST(LaggingTableTest, SendsOnlyWhatChanged) {
  LaggingBackend backend;
  BlockManager manager = MakeManager();
  std::vector<SequenceHandle> batch;
  for (int i = 0; i < 3; ++i) {
    batch.push_back(manager.Open({.num_tokens = 8}).value().handle);
  }
  DeviceTable table =
      DeviceTable::Create(manager, backend, {.max_batch = kTableBatch}).value();
  ASSERT_TRUE(table.Update(manager, batch, {}, nullptr).ok());
  EXPECT_EQ(table.Statistics().num_entries, 6);
  EXPECT_EQ(table.Statistics().bytes, 6 * 8 + 3 * 12);
  // The ninth token begins a block, the next three do not.
  for (int step = 0; step < 4; ++step) {
    for (const SequenceHandle handle : batch) {
      ASSERT_TRUE(manager.Append(handle, 1).ok());
    }
    ASSERT_TRUE(table.Update(manager, batch, {}, nullptr).ok());
    EXPECT_EQ(table.Statistics().num_entries, 9);
    EXPECT_EQ(table.Statistics().bytes, 9 * 8 + (2 + step) * 3 * 12);
  }
  // Another table has seen nothing of it.
  DeviceTable other =
      DeviceTable::Create(manager, backend, {.max_batch = kTableBatch}).value();
  ASSERT_TRUE(other.Update(manager, {}, {}, nullptr).ok());
  EXPECT_EQ(other.Statistics().num_entries, 9);
  EXPECT_EQ(other.Statistics().num_updates, 1);
}

TEST(LaggingTableTest, RefusesWithoutSendingAnything) {
  LaggingBackend backend;
  BlockManager manager = MakeManager();
  const SequenceHandle handle = manager.Open({.num_tokens = 8}).value().handle;
  const SequenceHandle closed = manager.Open({.num_tokens = 8}).value().handle;
  ASSERT_TRUE(manager.Release(closed).ok());
  DeviceTable table =
      DeviceTable::Create(manager, backend, {.max_batch = 2, .width = 1})
          .value();
  const std::vector<SequenceHandle> one = {handle}, three(3, handle),
                                    stale = {closed};
  const std::vector<uint64_t> before = SnapshotOf(manager);
  const auto message = [&](const std::vector<SequenceHandle>& batch,
                           const std::vector<int32_t>& counts) {
    return std::string(table.Update(manager, batch, counts, nullptr).message());
  };
  EXPECT_EQ(message(three, {}), "handles must be 0 to 2; got 3");
  EXPECT_EQ(message(one, {}), "width must hold the longest row, 2; got 1");
  EXPECT_EQ(message(one, {2}), "num_new_tokens must be 0 to 1; got 2");
  EXPECT_EQ(message(one, {1, 1}), "num_new_tokens must be 1 to 1; got 2");
  EXPECT_TRUE(absl::IsNotFound(table.Update(manager, stale, {}, nullptr)));
  std::vector<BlockManagerOptions> sizes(3, manager.options());
  sizes[0].max_seqs = sizes[1].max_blocks_per_seq = sizes[2].block_size = 9;
  for (const BlockManagerOptions& options : sizes) {
    BlockManager other = BlockManager::Create(options).value();
    EXPECT_TRUE(
        absl::IsFailedPrecondition(table.Update(other, {}, {}, nullptr)));
  }
  EXPECT_EQ(backend.num_pending(), 0u);
  EXPECT_EQ(SnapshotOf(manager), before);
  EXPECT_EQ(table.Statistics().num_updates, 0);
  for (const DeviceTableOptions& options :
       {DeviceTableOptions{}, DeviceTableOptions{.max_batch = 1, .width = 99},
        DeviceTableOptions{.max_batch = 1, .max_new_tokens = 0},
        DeviceTableOptions{.max_batch = 1, .num_staging_buffers = 0},
        DeviceTableOptions{.max_batch = 1, .max_entries = 0}}) {
    EXPECT_EQ(DeviceTable::Create(manager, backend, options).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace paged::testing
