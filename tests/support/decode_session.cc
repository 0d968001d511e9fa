#include "tests/support/decode_session.h"

#include <cstring>

#include "paged/decode.h"
#include "paged/internal/status_macros.h"

namespace paged::testing {
namespace {

std::size_t BytesOf(const Problem& problem, int elements) {
  return static_cast<std::size_t>(elements * SizeOf(problem.query_dtype()));
}

// Rows of queries and outputs.
std::size_t NumRows(const Problem& problem) {
  return static_cast<std::size_t>(problem.FirstToken(problem.num_seqs()) *
                                  problem.spec.num_q_heads);
}

// The queries with NaN after each row.
std::vector<std::byte> PaddedQuery(const Problem& problem) {
  const std::vector<std::byte>& dense = problem.query;
  const std::size_t row = BytesOf(problem, problem.spec.head_dim);
  const std::size_t gap = BytesOf(problem, problem.spec.row_padding);
  std::vector<std::byte> padded(dense.size() / row * (row + gap),
                                std::byte{0xff});
  for (std::size_t i = 0; i < dense.size() / row; ++i) {
    std::memcpy(padded.data() + i * (row + gap), dense.data() + i * row, row);
  }
  return padded;
}

std::unique_ptr<GuardedBuffer> MakeBuffer(BackendKind kind,
                                          const std::vector<std::byte>& from) {
  auto buffer = std::make_unique<GuardedBuffer>(kind, from.size());
  buffer->Upload(from);
  return buffer;
}

template <typename T>
std::unique_ptr<GuardedBuffer> MakeBufferOf(BackendKind kind,
                                            const std::vector<T>& from) {
  auto buffer = std::make_unique<GuardedBuffer>(kind, from.size() * sizeof(T));
  buffer->UploadValues(from);
  return buffer;
}

void* Shift(const GuardedBuffer& buffer, int64_t elements, DType dtype) {
  if (buffer.data() == nullptr) return nullptr;
  return static_cast<std::byte*>(buffer.data()) + elements * SizeOf(dtype);
}

}  // namespace

DecodeSession::DecodeSession(BackendKind kind, const Problem& problem)
    : kind_(kind), backend_(SharedBackend(kind).value()), problem_(problem) {
  const PoolImage image = MakePoolImage(problem);
  key_offset_ = image.key_offset;
  value_offset_ = image.value_offset;
  query_ = MakeBuffer(kind, PaddedQuery(problem));
  keys_ = MakeBuffer(kind, image.keys);
  values_ = MakeBuffer(kind, image.values);
  tables_ = MakeBufferOf(kind, problem.block_tables);
  lens_ = MakeBufferOf(kind, problem.spec.context_lens);
  key_scales_ = MakeBufferOf(kind, problem.key_scales);
  value_scales_ = MakeBufferOf(kind, problem.value_scales);
  offsets_ = MakeBufferOf(kind, problem.query_offsets);
  trees_ = MakeBufferOf(kind, problem.tree_masks);
  slopes_ = MakeBufferOf(kind, problem.alibi_slopes);
  sinks_ = MakeBufferOf(kind, problem.sink_logits);
  bias_ = MakeBufferOf(kind, problem.bias);
  const std::size_t num_rows = NumRows(problem);
  output_ = std::make_unique<GuardedBuffer>(
      kind, num_rows * BytesOf(problem,
                               problem.value_dim() + problem.spec.row_padding));
  lse_ = std::make_unique<GuardedBuffer>(kind, num_rows * sizeof(float));
}

absl::StatusOr<DecodePlan> DecodeSession::Plan(
    const DecodeOptions& options) const {
  return PlanDecode(problem_.shape, *backend_, options);
}

DecodeArgs DecodeSession::args() const {
  const DType dtype = problem_.spec.dtype;
  const bool is_interleaved = problem_.spec.layout == Layout::kInterleaved;
  return {.shape = problem_.shape,
          .query = query_->data(),
          .key_cache = Shift(*keys_, key_offset_, dtype),
          .value_cache =
              Shift(is_interleaved ? *keys_ : *values_, value_offset_, dtype),
          .block_tables = static_cast<const int32_t*>(tables_->data()),
          .context_lens = static_cast<const int32_t*>(lens_->data()),
          .query_offsets = static_cast<const int32_t*>(offsets_->data()),
          .tree_masks = static_cast<const uint32_t*>(trees_->data()),
          .key_scales = static_cast<const float*>(key_scales_->data()),
          .value_scales = static_cast<const float*>(value_scales_->data()),
          .alibi_slopes = static_cast<const float*>(slopes_->data()),
          .bias = static_cast<const float*>(bias_->data()),
          .sink_logits = static_cast<const float*>(sinks_->data()),
          .output = output_->data(),
          .lse = static_cast<float*>(lse_->data())};
}

void DecodeSession::PoisonOutputs() {
  output_->Fill(std::byte{0xff});
  lse_->Fill(std::byte{0xff});
}

void DecodeSession::SetContextLens(const std::vector<int32_t>& context_lens) {
  lens_->UploadValues(context_lens);
}

void DecodeSession::SetBlockTables(const std::vector<int32_t>& block_tables) {
  tables_->UploadValues(block_tables);
}

absl::StatusOr<DecodeResult> DecodeSession::RunIn(const DecodePlan& plan,
                                                  const RunContext& context) {
  PAGED_RETURN_IF_ERROR(backend_->Prepare(plan));
  PoisonOutputs();
  PAGED_RETURN_IF_ERROR(backend_->Run(plan, args(), context));
  PAGED_RETURN_IF_ERROR(backend_->Synchronize(context.stream));
  return Collect(plan);
}

absl::StatusOr<DecodeResult> DecodeSession::Run(const DecodeOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodePlan plan, Plan(options));
  const PoisonedWorkspace workspace(kind_, plan);
  absl::StatusOr<DecodeResult> result = RunIn(plan, workspace.context());
  EXPECT_TRUE(workspace.AreCanariesIntact()) << ToString(plan);
  return result;
}

DecodeResult DecodeSession::Collect(const DecodePlan& plan) const {
  EXPECT_TRUE(output_->AreCanariesIntact()) << ToString(plan);
  EXPECT_TRUE(lse_->AreCanariesIntact()) << ToString(plan);
  DecodeResult result{
      .dtype = problem_.query_dtype(), .plan = plan, .output = {}, .lse = {}};
  const std::vector<std::byte> padded = output_->Download();
  const std::size_t row = BytesOf(problem_, problem_.value_dim());
  const std::size_t gap = BytesOf(problem_, problem_.spec.row_padding);
  result.output.reserve(padded.size());
  for (std::size_t i = 0; i < padded.size(); ++i) {
    if (i % (row + gap) < row) {
      result.output.push_back(padded[i]);
    } else if (padded[i] != std::byte{0xff}) {
      ADD_FAILURE() << "the gap after an output row was written";
      break;
    }
  }
  const std::vector<std::byte> lse = lse_->Download();
  result.lse.resize(lse.size() / sizeof(float));
  if (!lse.empty()) std::memcpy(result.lse.data(), lse.data(), lse.size());
  return result;
}

PoisonedWorkspace::PoisonedWorkspace(BackendKind kind, const DecodePlan& plan,
                                     Stream stream)
    : buffer_(kind, plan.workspace_bytes), stream_(stream) {
  Backend& backend = *SharedBackend(kind).value();
  EXPECT_TRUE(backend.InitWorkspace(plan, context()).ok());
  EXPECT_TRUE(backend.Synchronize(stream).ok());
}

RunContext PoisonedWorkspace::context() const {
  return {.stream = stream_,
          .workspace = {.data = buffer_.data(), .bytes = buffer_.bytes()}};
}

DecodeResult RunOnce(BackendKind kind, const Problem& problem,
                     const DecodeOptions& options) {
  absl::StatusOr<DecodeResult> result =
      DecodeSession(kind, problem).Run(options);
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    return {};
  }
  return *std::move(result);
}

}  // namespace paged::testing
