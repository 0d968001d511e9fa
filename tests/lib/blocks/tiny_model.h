// A transformer of two layers with random weights, without a vocabulary worth
// the name: small enough that a test can run thousands of requests.
#ifndef PAGED_TESTS_LIB_BLOCKS_TINY_MODEL_H_
#define PAGED_TESTS_LIB_BLOCKS_TINY_MODEL_H_

#include <array>
#include <cstdint>
#include <vector>

#include "paged/args.h"
#include "paged/options.h"

namespace paged::testing {

inline constexpr int kLayers = 2;
inline constexpr int kVocabulary = 64;
inline constexpr int kQHeads = 2;
inline constexpr int kHeadDim = 8;
inline constexpr int kModelDim = kQHeads * kHeadDim;

using Hidden = std::array<float, kModelDim>;
using HeadVector = std::array<float, kHeadDim>;  // of the only kv head

class TinyModel {
 public:
  TinyModel();

  Hidden Embed(int32_t token, int64_t position) const;
  Hidden Query(int layer, const Hidden& x) const;
  HeadVector Key(int layer, const Hidden& x) const;
  HeadVector Value(int layer, const Hidden& x) const;
  // After the layer's attention.
  Hidden Next(int layer, const Hidden& x, const Hidden& attention) const;
  // The token that the model would go on with.
  int32_t Predict(const Hidden& x) const;

 private:
  using Matrix = std::vector<float>;  // [rows, kModelDim]

  struct Layer {
    Matrix query, key, value, output;
  };
  std::array<Layer, kLayers> layers_;
  Matrix embedding_;  // [kVocabulary, kModelDim], and its own inverse
};

// What a decode step of the model looks like, whatever its pool.
DecodeShape ModelShape(int num_seqs, int block_size, int64_t num_blocks,
                       int max_blocks_per_seq);
// One plan for every batch: a sequence alone then equals itself in a batch.
DecodeOptions ModelOptions();

// Runs one sequence through contiguous caches: one block that is as long as the
// longest context, written by plain assignment.
class ContiguousRun {
 public:
  explicit ContiguousRun(const TinyModel& model);
  // The hidden state after the last layer.
  Hidden Feed(int32_t token);

  static constexpr int kMaxTokens = 256;

 private:
  const TinyModel& model_;
  int64_t position_ = 0;
  std::array<std::vector<float>, kLayers> keys_, values_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_TINY_MODEL_H_
