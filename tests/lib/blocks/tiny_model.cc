#include "tests/lib/blocks/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "paged/cpu_backend.h"
#include "paged/decode.h"

namespace paged::testing {
namespace {

std::vector<float> RandomMatrix(int rows, std::mt19937& random) {
  std::vector<float> matrix(static_cast<std::size_t>(rows * kModelDim));
  for (float& w : matrix) {
    w = static_cast<float>(static_cast<double>(random()) * 0x1p-32 - 0.5);
  }
  return matrix;
}

float RowTimes(const std::vector<float>& matrix, std::size_t row,
               const Hidden& x) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += matrix[row * kModelDim + i] * x[i];
  }
  return sum;
}

template <typename Vector>
Vector Times(const std::vector<float>& matrix, const Hidden& x) {
  Vector result{};
  for (std::size_t row = 0; row < result.size(); ++row) {
    result[row] = RowTimes(matrix, row, x);
  }
  return result;
}

std::size_t At(int index) { return static_cast<std::size_t>(index); }

Backend& ReferenceBackend() {
  static Backend* const backend = MakeCpuBackend({.num_threads = 1}).release();
  return *backend;
}

}  // namespace

TinyModel::TinyModel() {
  std::mt19937 random(11);
  for (Layer& layer : layers_) {
    layer = {.query = RandomMatrix(kModelDim, random),
             .key = RandomMatrix(kHeadDim, random),
             .value = RandomMatrix(kHeadDim, random),
             .output = RandomMatrix(kModelDim, random)};
  }
  embedding_ = RandomMatrix(kVocabulary, random);
}

Hidden TinyModel::Embed(int32_t token, int64_t position) const {
  Hidden x{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double angle = static_cast<double>(position) /
                         std::pow(30.0, static_cast<double>(i) / kModelDim);
    x[i] = 4.0f * embedding_[At(token) * kModelDim + i] +
           static_cast<float>(std::sin(angle));
  }
  return x;
}

Hidden TinyModel::Query(int layer, const Hidden& x) const {
  return Times<Hidden>(layers_[At(layer)].query, x);
}
HeadVector TinyModel::Key(int layer, const Hidden& x) const {
  return Times<HeadVector>(layers_[At(layer)].key, x);
}
HeadVector TinyModel::Value(int layer, const Hidden& x) const {
  return Times<HeadVector>(layers_[At(layer)].value, x);
}

Hidden TinyModel::Next(int layer, const Hidden& x,
                       const Hidden& attention) const {
  Hidden y = Times<Hidden>(layers_[At(layer)].output, attention);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = std::tanh(x[i] + 2.0f * y[i]);
  }
  return y;
}

int32_t TinyModel::Predict(const Hidden& x) const {
  int32_t best = 0;
  float best_score = -INFINITY;
  for (int32_t token = 0; token < kVocabulary; ++token) {
    const float score = RowTimes(embedding_, At(token), x);
    if (score > best_score) {
      best = token;
      best_score = score;
    }
  }
  return best;
}

DecodeShape ModelShape(int num_seqs, int block_size, int64_t num_blocks,
                       int max_blocks_per_seq) {
  return {.num_seqs = num_seqs,
          .num_q_heads = kQHeads,
          .num_kv_heads = 1,
          .head_dim = kHeadDim,
          .block_size = block_size,
          .num_blocks = num_blocks,
          .max_blocks_per_seq = max_blocks_per_seq,
          .max_context_len = max_blocks_per_seq * block_size,
          .query_dtype = DType::kF32,
          .kv_dtype = DType::kF32};
}

DecodeOptions ModelOptions() {
  DecodeOptions options;
  options.variant = Variant::kV1;
  return options;
}

ContiguousRun::ContiguousRun(const TinyModel& model) : model_(model) {
  for (int layer = 0; layer < kLayers; ++layer) {
    keys_[At(layer)].resize(kMaxTokens * kHeadDim);
    values_[At(layer)].resize(kMaxTokens * kHeadDim);
  }
}

Hidden ContiguousRun::Feed(int32_t token) {
  static const DecodePlan plan = PlanDecode(ModelShape(1, kMaxTokens, 1, 1),
                                            ReferenceBackend(), ModelOptions())
                                     .value();
  const int32_t table[] = {0};
  const int32_t lens[] = {static_cast<int32_t>(position_ + 1)};
  Hidden x = model_.Embed(token, position_);
  for (int layer = 0; layer < kLayers; ++layer) {
    std::vector<float>& keys = keys_[At(layer)];
    std::vector<float>& values = values_[At(layer)];
    const HeadVector key = model_.Key(layer, x), value = model_.Value(layer, x);
    std::copy(key.begin(), key.end(), keys.begin() + position_ * kHeadDim);
    std::copy(value.begin(), value.end(),
              values.begin() + position_ * kHeadDim);
    const Hidden query = model_.Query(layer, x);
    Hidden attention{};
    const absl::Status status =
        ReferenceBackend().Run(plan,
                               {.shape = ModelShape(1, kMaxTokens, 1, 1),
                                .query = query.data(),
                                .key_cache = keys.data(),
                                .value_cache = values.data(),
                                .block_tables = table,
                                .context_lens = lens,
                                .output = attention.data()},
                               {});
    if (!status.ok()) std::abort();
    x = model_.Next(layer, x, attention);
  }
  ++position_;
  return x;
}

}  // namespace paged::testing
