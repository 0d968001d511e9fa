#include "paged/table_adapters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/lib/table_filler.h"
#include "tests/support/cuda_memory.h"

namespace paged::testing {
namespace {

using TableAdaptersTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, TableAdaptersTest,
                         ::testing::Values(BackendCase{BackendKind::kCpu,
                                                       DType::kF16}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, TableAdaptersTest,
                         ::testing::Values(BackendCase{BackendKind::kCuda,
                                                       DType::kF16}),
                         CaseName);

constexpr int32_t kPoison = -1;

// Ragged, shuffled, with empty sequences among the first and the last.
Filler RandomFiller(BackendKind kind, int block_size, int num_seqs,
                    int max_len) {
  std::mt19937 random(static_cast<uint32_t>(block_size));
  std::vector<int32_t> ids(100000);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), random);
  std::vector<std::vector<int32_t>> blocks;
  std::vector<int32_t> lens;
  for (int s = 0; s < num_seqs; ++s) {
    const auto bound = static_cast<uint32_t>(max_len + 1);
    lens.push_back(s % 7 == 0 ? 0 : static_cast<int32_t>(random() % bound));
    auto& list = blocks.emplace_back();
    for (int n = (lens.back() + block_size - 1) / block_size; n > 0; --n) {
      list.push_back(ids.back());
      ids.pop_back();
    }
  }
  return Filler(kind, block_size, blocks, lens);
}

// The plain loop.
void ExpectRows(const Filler::Result& result,
                const std::vector<std::vector<int32_t>>& rows,
                const std::vector<int32_t>& lens, int width, int64_t stride) {
  EXPECT_EQ(result.lens, lens);
  std::vector<int32_t> table;
  for (const std::vector<int32_t>& row : rows) {
    std::vector<int32_t> whole = row;
    whole.resize(static_cast<std::size_t>(width), 0);
    whole.resize(static_cast<std::size_t>(stride), kPoison);
    table.insert(table.end(), whole.begin(), whole.end());
  }
  EXPECT_EQ(result.table, table);
}

TEST_P(TableAdaptersTest, RaggedSequencesEqualThePlainLoop) {
  for (int block_size : {1, 12, 16}) {
    for (int num_seqs : {0, 1, 40}) {
      Filler filler = RandomFiller(kind(), block_size, num_seqs, 1500);
      const int width = 1500 / block_size + 2;
      for (bool from_lists : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << block_size << " " << num_seqs << " " << from_lists);
        const Filler::Result result = filler.Fill(from_lists, width, width + 5);
        ExpectRows(result, filler.blocks(), filler.lens(), width, width + 5);
        EXPECT_EQ(result.cuts, std::vector<uint32_t>(filler.lens().size(), 0));
      }
    }
  }
}

// The first tokens of a longer sequence stay; its neighbours are whole.
TEST_P(TableAdaptersTest, SequencesAreCutToTheCapacity) {
  Filler filler(kind(), 4, {{9, 8, 7}, {6, 5}, {}, {4}}, {11, 7, 0, 4});
  for (bool from_lists : {false, true}) {
    SCOPED_TRACE(from_lists);
    Filler::Result result = filler.Fill(from_lists, 2, 2);
    ExpectRows(result, {{9, 8}, {6, 5}, {}, {4}}, {8, 7, 0, 4}, 2, 2);
    EXPECT_EQ(DescribeCuts(result.cuts[0]), "context length");
    EXPECT_EQ(result.cuts[1], 0u);
    // A capacity in the middle of a block.
    result = filler.Fill(from_lists, 3, 3, 6);
    ExpectRows(result, {{9, 8}, {6, 5}, {}, {4}}, {6, 6, 0, 4}, 3, 3);
    // None at all.
    result = filler.Fill(from_lists, 0, 0);
    EXPECT_EQ(result.lens, std::vector<int32_t>(4, 0));
  }
}

TEST_P(TableAdaptersTest, WhatIsOutOfRangeOnTheDeviceIsCutAndNamed) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  Filler filler(kind(), 4, {{9, 8}, {7}, {6}, {5}}, {8, 4, 4, 4});
  filler.indptr() = {-3, 2, 1, 4, kMost};
  filler.last_block_lens() = {0, 4, 9, kMost};
  const Filler::Result csr = filler.Fill(false, 3, 3);
  // The second goes backwards and is empty; the fourth ends past the indices.
  ExpectRows(csr, {{9, 8}, {}, {8, 7, 6}, {5}}, {5, 0, 12, 4}, 3, 3);
  EXPECT_EQ(DescribeCuts(csr.cuts[0]), "indptr, last_block_lens");
  EXPECT_EQ(DescribeCuts(csr.cuts[1]), "indptr");
  EXPECT_EQ(DescribeCuts(csr.cuts[2]), "last_block_lens");
  EXPECT_EQ(DescribeCuts(csr.cuts[3]), "indptr, last_block_lens");

  filler.lens() = {8, -7, 3, 4};
  const Filler::Result lists = filler.Fill(true, 3, 3, 0, 2);
  ExpectRows(lists, {{9, 8}, {}, {}, {5}}, {8, 0, 0, 4}, 3, 3);
  EXPECT_EQ(lists.cuts[0], 0u);
  EXPECT_EQ(DescribeCuts(lists.cuts[1]), "context length");
  EXPECT_EQ(DescribeCuts(lists.cuts[2]), "block_lists");
  EXPECT_EQ(DescribeCuts(0), "");
}

// Decode through an adapter's table gives the bits of the table itself.
TEST_P(TableAdaptersTest, DecodeReadsAnAdaptersTable) {
  const Problem problem = MakeProblem(
      {.dtype = dtype(), .head_dim = 64, .context_lens = {100, 0, 17, 333}});
  std::vector<std::vector<int32_t>> blocks;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const auto row = problem.block_tables.begin() +
                     int64_t{seq} * problem.shape.max_blocks_per_seq;
    blocks.emplace_back(row, row + (problem.context_len(seq) + 15) / 16);
  }
  Filler filler(kind(), 16, blocks, problem.spec.context_lens);
  const DecodeResult expected = RunOnce(kind(), problem, ForceV1());
  for (bool from_lists : {false, true}) {
    const Filler::Result filled =
        filler.Fill(from_lists, problem.shape.max_blocks_per_seq,
                    problem.shape.max_blocks_per_seq);
    DecodeSession session(kind(), problem);
    session.SetBlockTables(filled.table);
    session.SetContextLens(filled.lens);
    EXPECT_TRUE(BitEqual(session.Run(ForceV1()).value(), expected));
  }
}

using CudaTableGraphTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cuda, CudaTableGraphTest,
                         ::testing::Values(BackendCase{BackendKind::kCuda,
                                                       DType::kF16}),
                         CaseName);

// Captured once; each replay reads what the device holds then.
TEST_P(CudaTableGraphTest, AReplayFillsTheTableAnew) {
  GuardedBuffer indptr(kind(), 3 * 4), indices(kind(), 4 * 4);
  GuardedBuffer last(kind(), 2 * 4), table(kind(), 2 * 3 * 4);
  GuardedBuffer lens(kind(), 2 * 4);
  CudaStream stream;
  absl::Status status;
  CudaGraph graph(stream.get(), [&] {
    status = FillFromCsr({static_cast<const int32_t*>(indptr.data()),
                          static_cast<const int32_t*>(indices.data()), 4,
                          static_cast<const int32_t*>(last.data())},
                         {.num_seqs = 2,
                          .max_blocks_per_seq = 3,
                          .block_tables = static_cast<int32_t*>(table.data()),
                          .context_lens = static_cast<int32_t*>(lens.data())},
                         backend(), stream.get());
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(graph.is_valid());
  const auto replay = [&](std::vector<int32_t> ends, std::vector<int32_t> ids) {
    indptr.UploadValues(ends);
    indices.UploadValues(ids);
    last.UploadValues(std::vector<int32_t>{5, 16});
    graph.Launch(stream.get());
    EXPECT_TRUE(backend().Synchronize(stream.get()).ok());
    return std::pair(Filler::ValuesOf<int32_t>(table),
                     Filler::ValuesOf<int32_t>(lens));
  };
  EXPECT_EQ(replay({0, 1, 4}, {9, 8, 7, 6}),
            std::pair(std::vector<int32_t>({9, 0, 0, 8, 7, 6}),
                      std::vector<int32_t>({5, 48})));
  EXPECT_EQ(replay({0, 2, 2}, {3, 4, 5, 6}),
            std::pair(std::vector<int32_t>({3, 4, 0, 0, 0, 0}),
                      std::vector<int32_t>({21, 0})));
}

TEST(TableAdapterRulesTest, BrokenRulesAreRefusedByName) {
  Backend& backend = *SharedBackend(BackendKind::kCpu).value();
  int32_t memory[8] = {};
  const int32_t* lists[2] = {memory, memory};
  const BatchTable legal_batch{.num_seqs = 2,
                               .max_blocks_per_seq = 2,
                               .block_tables = memory,
                               .context_lens = memory};
  const CsrBlocks legal_csr{memory, memory, 1, memory};
  const BlockLists legal_lists{lists, memory};
  const struct {
    std::function<void(BatchTable&, CsrBlocks&)> edit;
    const char* message;
  } rules[] = {
      {[](auto& b, auto&) { b.num_seqs = -1; },
       "num_seqs must be 0 to 2147483646; got -1"},
      {[](auto& b, auto&) { b.block_size = 1025; },
       "block_size must be 1 to 1024; got 1025"},
      {[](auto& b, auto&) { b.max_blocks_per_seq = -1; },
       "max_blocks_per_seq must be 0 to 2147483647; got -1"},
      {[](auto& b, auto&) { b.max_context_len = 33; },
       "max_context_len must be 0 to 32; got 33"},
      {[](auto& b, auto&) { b.block_table_stride = 1; },
       "block_table_stride must be 2 to 1152921504606846976; got 1"},
      {[](auto& b, auto&) { b.max_blocks_per_seq = 1 << 30; },
       "num_seqs * max_blocks_per_seq must be 0 to 2147483647; got "
       "2147483648"},
      {[](auto& b, auto&) { b.block_tables = nullptr; },
       "block_tables must not be null"},
      {[](auto& b, auto&) { b.context_lens = nullptr; },
       "context_lens must not be null"},
      {[](auto&, auto& c) { c.indptr = nullptr; }, "indptr must not be null"},
      {[](auto&, auto& c) { c.indices = nullptr; }, "indices must not be null"},
      {[](auto&, auto& c) { c.last_block_lens = nullptr; },
       "last_block_lens must not be null"},
      {[](auto&, auto& c) { c.num_indices = -1; },
       "num_indices must be 0 to 2147483647; got -1"},
  };
  for (const auto& [edit, message] : rules) {
    BatchTable batch = legal_batch;
    CsrBlocks csr = legal_csr;
    edit(batch, csr);
    const absl::Status status = FillFromCsr(csr, batch, backend, nullptr);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
  EXPECT_EQ(
      FillFromLists({nullptr, memory}, legal_batch, backend, nullptr).message(),
      "block_lists must not be null");
  EXPECT_EQ(
      FillFromLists({lists, nullptr}, legal_batch, backend, nullptr).message(),
      "lens must not be null");
  EXPECT_TRUE(FillFromLists(legal_lists, legal_batch, backend, nullptr).ok());
  EXPECT_TRUE(FillFromCsr({}, {}, backend, nullptr).ok());
}

}  // namespace
}  // namespace paged::testing
