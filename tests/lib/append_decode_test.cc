// Tokens that an append quantises, read by decode.
#include <gtest/gtest.h>

#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/codes.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

// The case's dtype is the query's.
using AppendDecodeTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, AppendDecodeTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, AppendDecodeTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// One of keys and values of a sequence.
struct Side {
  std::vector<std::byte>& codes;
  std::vector<float>& scales;  // [context_len, num_kv_heads], of tokens alone
  int dim;
  float factor;
  ScaleGranularity granularity;
  double (Problem::*scale_of)(int seq, int position, int kv_head) const;
};

// What the side's codes stand for. Where each token has a scale of its own, its
// codes become what the plain loop makes of those values.
std::vector<float> RowsOf(Problem& problem, int seq, const Side& side) {
  const DType dtype = problem.spec.dtype;
  const int heads = problem.spec.num_kv_heads;
  std::vector<float> rows;
  for (int position = 0; position < problem.context_len(seq); ++position) {
    for (int head = 0; head < heads; ++head) {
      const int64_t at = int64_t{position} * heads + head;
      std::vector<float> row;
      for (int d = 0; d < side.dim; ++d) {
        row.push_back(static_cast<float>(
            ReadElement(dtype, side.codes.data(), at * side.dim + d) *
            (problem.*side.scale_of)(seq, position, head)));
      }
      rows.insert(rows.end(), row.begin(), row.end());
      if (side.granularity != ScaleGranularity::kToken) continue;
      const float scale = RowScaleOf(dtype, row, side.factor);
      side.scales[static_cast<std::size_t>(at)] = scale;
      WriteCodes(dtype, side.codes.data(), at * side.dim, row,
                 side.factor * scale);
    }
  }
  return rows;
}

struct Rows {
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<int64_t> slots;
};

Rows RowsOf(Problem& problem) {
  Rows rows;
  const ProblemSpec& spec = problem.spec;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    SequenceContent& content = problem.sequences[static_cast<std::size_t>(seq)];
    const std::vector<float> keys =
        RowsOf(problem, seq,
               {content.keys, content.key_scales, spec.head_dim, spec.key_scale,
                spec.key_scales, &Problem::KeyScale});
    const std::vector<float> values =
        RowsOf(problem, seq,
               {content.values, content.value_scales, problem.value_dim(),
                spec.value_scale, spec.value_scales, &Problem::ValueScale});
    rows.keys.insert(rows.keys.end(), keys.begin(), keys.end());
    rows.values.insert(rows.values.end(), values.begin(), values.end());
    for (int t = 0; t < problem.context_len(seq); ++t) {
      const auto entry = static_cast<std::size_t>(
          int64_t{seq} * problem.shape.max_blocks_per_seq +
          t / spec.block_size);
      rows.slots.push_back(int64_t{problem.block_tables[entry]} *
                               spec.block_size +
                           t % spec.block_size);
    }
  }
  return rows;
}

absl::Status Append(BackendKind kind, const DecodeArgs& decode,
                    const Rows& rows) {
  GuardedBuffer key(kind, rows.keys.size() * sizeof(float));
  GuardedBuffer value(kind, rows.values.size() * sizeof(float));
  GuardedBuffer slots(kind, rows.slots.size() * sizeof(int64_t));
  key.UploadValues(rows.keys);
  value.UploadValues(rows.values);
  slots.UploadValues(rows.slots);
  Backend& backend = *SharedBackend(kind).value();
  const DecodeShape& s = decode.shape;
  const absl::Status status = backend.AppendKv(
      {.num_tokens = static_cast<int>(rows.slots.size()),
       .num_kv_heads = s.num_kv_heads,
       .head_dim = s.head_dim,
       .value_dim = s.value_dim,
       .block_size = s.block_size,
       .num_blocks = s.num_blocks,
       .dtype = s.kv_dtype,
       .row_dtype = DType::kF32,
       .key_scale = s.key_scale,
       .value_scale = s.value_scale,
       .key_granularity = s.key_scales,
       .value_granularity = s.value_scales,
       .key = key.data(),
       .value = value.data(),
       .key_cache = const_cast<void*>(decode.key_cache),
       .value_cache = const_cast<void*>(decode.value_cache),
       .key_cache_strides = s.key,
       .value_cache_strides = s.value,
       .key_scales = const_cast<float*>(decode.key_scales),
       .value_scales = const_cast<float*>(decode.value_scales),
       .key_scale_strides = s.key_scale_strides,
       .value_scale_strides = s.value_scale_strides,
       .slot_mapping = static_cast<const int64_t*>(slots.data())},
      nullptr);
  return status.ok() ? backend.Synchronize(nullptr) : status;
}

// BR-124, 127: nothing but poison is in the pool, then rows of fp32 are
// appended, and decode equals that of the values that their codes stand for.
TEST_P(AppendDecodeTest, DecodeReadsWhatWasQuantised) {
  for (DType kv : {DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8, DType::kF16,
                   DType::kBF16}) {
    for (ScaleGranularity scales :
         {ScaleGranularity::kNone, ScaleGranularity::kTensor,
          ScaleGranularity::kHead, ScaleGranularity::kToken}) {
      SCOPED_TRACE(::testing::Message()
                   << NameOf(kv) << ", scales " << static_cast<int>(scales));
      const float unit = kv == DType::kInt8 ? 0.01f : 1.0f;
      const int dim = head_dim(40);
      Problem whole = MakeProblem({.dtype = kv,
                                   .query_dtype = dtype(),
                                   .num_q_heads = 6,
                                   .num_kv_heads = 2,
                                   .head_dim = dim,
                                   .value_dim = is_cpu() ? 24 : dim,
                                   .block_size = 12,
                                   .context_lens = {1, 40, 0, 150},
                                   .layout = Layout::kPaddedRows,
                                   .row_padding = 8,
                                   .key_scale = 0.5f * unit,
                                   .value_scale = 3.7f * unit,
                                   .key_scales = scales,
                                   .value_scales = scales});
      PAGED_SKIP_UNBUILT(whole);
      Problem empty = whole;
      empty.spec.context_lens = {0, 0, 0, 0};
      DecodeSession session(kind(), empty);
      const Rows rows = RowsOf(whole);
      const absl::Status status = Append(kind(), session.args(), rows);
      ASSERT_TRUE(status.ok()) << status;
      session.SetContextLens(whole.spec.context_lens);
      const Oracle oracle = OracleFor(kind(), whole);
      for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
        EXPECT_TRUE(IsNear(session.Run(options).value(), oracle));
      }
    }
  }
}

}  // namespace
}  // namespace paged::testing
