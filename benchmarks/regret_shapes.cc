#include "benchmarks/regret_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "benchmarks/models.h"

namespace paged::benchmarks {
namespace {

// Two sets of inputs of this size leave room on a GPU of 24 GB, and one
// measurement stays below some milliseconds.
constexpr int64_t kMaxKvBytes = 1'500'000'000;

// One of models.h, by the record's name for it. Another is no constant, and
// does not compile.
struct NamedModel {
  consteval NamedModel(const char* record_name, std::string_view key)
      : name(record_name),
        model(*std::find_if(
            std::begin(kModels), std::end(kModels),
            [key](const Model& candidate) { return candidate.name == key; })) {}
  const char* name;
  const Model& model;
};

// In the order in which they are dealt loads.
constexpr NamedModel kNamedModels[] = {
    {"GPT-2", "gpt2"},
    {"Llama-2-7B", "llama2_7b"},
    {"Llama-2-13B", "llama2_13b"},
    {"Llama-3-8B", "llama3_8b"},
    {"Llama-3-70B", "llama3_70b"},
    {"Llama-3.1-405B", "llama31_405b"},
    {"Llama-3.2-1B", "llama32_1b"},
    {"Llama-3.2-3B", "llama32_3b"},
    {"Llama-4-Scout", "llama4_scout"},
    {"TinyLlama", "tinyllama"},
    {"SmolLM2-135M", "smollm2_135m"},
    {"SmolLM2-360M", "smollm2_360m"},
    {"Qwen2-0.5B", "qwen2_0.5b"},
    {"Qwen2.5-7B", "qwen25_7b"},
    {"Qwen3-0.6B", "qwen3_0.6b"},
    {"Qwen3-30B-A3B", "qwen3_30b_a3b"},
    {"Qwen3-235B-A22B", "qwen3_235b_a22b"},
    {"gpt-oss-20b", "gpt_oss_20b"},
    {"Phi-3-medium", "phi3_medium"},
    {"GLM-4-9B", "glm4_9b"},
    {"Command-R+", "command_r_plus"},
    {"Grok-1", "grok1"},
    {"Whisper-large", "whisper_large"},
    {"Falcon-40B", "falcon_40b"},
};

struct Load {
  int num_seqs;
  int context_len;
};

// Chat, agents, batch scoring, speech streams.
constexpr Load kLoads[] = {{1, 1000},  {8, 2000},   {32, 4000},  {1, 16384},
                           {64, 2000}, {256, 1000}, {4, 32768},  {200, 400},
                           {2, 500},   {16, 8000},  {1, 131072}, {512, 100}};

BenchShape ShapeOf(std::vector<int32_t> lens, int num_kv_heads, int group,
                   int head_dim) {
  BenchShape shape;
  shape.context_lens = std::move(lens);
  shape.num_kv_heads = num_kv_heads;
  shape.group = group;
  shape.head_dim = head_dim;
  return shape;
}

std::vector<int32_t> Uniform(int num_seqs, int context_len) {
  return std::vector<int32_t>(static_cast<size_t>(num_seqs), context_len);
}

// Each model at each parallelism gets the next two loads that fit.
void AddModels(std::vector<RegretShape>& shapes) {
  size_t next_load = 0;
  for (const auto& [name, model] : kNamedModels) {
    for (int t : {1, 2, 4, 8}) {
      const int num_kv_heads = std::max(model.num_kv_heads / t, 1);
      const int num_q_heads = model.num_q_heads / t;
      if (model.num_q_heads % t != 0 || num_q_heads % num_kv_heads != 0 ||
          (model.num_kv_heads % t != 0 && model.num_kv_heads > t)) {
        continue;
      }
      int added = 0;
      while (added < 2) {
        const Load& load = kLoads[next_load++ % std::size(kLoads)];
        BenchShape shape =
            ShapeOf(Uniform(load.num_seqs, load.context_len), num_kv_heads,
                    num_q_heads / num_kv_heads, model.head_dim);
        if (shape.kv_bytes() > kMaxKvBytes) continue;
        shapes.push_back({absl::StrCat(name, "/t:", t, "/b:", load.num_seqs,
                                       "/ctx:", load.context_len),
                          std::move(shape)});
        ++added;
      }
    }
  }
}

// Uniform in the logarithm, both ends included.
class LogUniform {
 public:
  explicit LogUniform(uint32_t seed) : random_(seed) {}
  int operator()(int least, int most) {
    const double u = static_cast<double>(random_()) / 4294967296.0;
    return static_cast<int>(least * std::pow((most + 1.0) / least, u));
  }

 private:
  std::mt19937 random_;
};

void AddRagged(std::vector<RegretShape>& shapes) {
  for (BenchShape& shape : RaggedShapes()) {
    const std::string name = absl::StrCat("ragged/", shape.lens_name);
    shapes.push_back({name, std::move(shape)});
  }
  LogUniform draw(2);
  for (int i = 0; i < 24;) {
    const int num_seqs = draw(2, 512);
    const int longest = draw(200, 65536);
    std::vector<int32_t> lens;
    for (int s = 0; s < num_seqs; ++s) lens.push_back(draw(16, longest));
    lens.front() = longest;
    BenchShape shape = ShapeOf(std::move(lens), draw(1, 8), draw(1, 16),
                               i % 4 == 0 ? 64 : 128);
    shape.lens_name = absl::StrCat("log_uniform_", i);
    if (shape.kv_bytes() > kMaxKvBytes) continue;
    shapes.push_back(
        {absl::StrCat("ragged/log_uniform/", i), std::move(shape)});
    ++i;
  }
}

void AddRandom(std::vector<RegretShape>& shapes) {
  LogUniform draw(1);
  for (int i = 0; i < 64;) {
    BenchShape shape = ShapeOf(Uniform(draw(1, 512), draw(16, 131072)),
                               draw(1, 32), draw(1, 16), i % 4 == 0 ? 64 : 128);
    if (shape.kv_bytes() > kMaxKvBytes) continue;
    shapes.push_back({absl::StrCat("random/", i), std::move(shape)});
    ++i;
  }
}

}  // namespace

std::vector<RegretShape> RegretShapes() {
  std::vector<RegretShape> shapes;
  AddModels(shapes);
  AddRagged(shapes);
  AddRandom(shapes);
  return shapes;
}

}  // namespace paged::benchmarks
