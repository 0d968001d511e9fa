// Attention shapes of models that people run. Facts from public model
// configurations; what matters is that such shapes exist. Rows of tests
// and of records are named after them.
#ifndef PAGED_BENCHMARKS_MODELS_H_
#define PAGED_BENCHMARKS_MODELS_H_

namespace paged::benchmarks {

// Where layers differ, the one with the most rules. Models of one shape are one
// row, under the first one's name.
struct Model {
  const char* name;
  int num_q_heads;
  int num_kv_heads;
  int head_dim;
  int window = 0;
  int attention_chunk = 0;
  float soft_cap = 0.0f;
  float scale = 0.0f;  // 0: 1 / sqrt(head_dim)
  bool has_sink_logits = false;
  bool has_alibi = false;
};

inline constexpr Model kModels[] = {
    {"gpt2", 12, 12, 64},
    {"llama2_7b", 32, 32, 128},
    {"llama2_13b", 40, 40, 128},
    {"llama3_8b", 32, 8, 128},  // Mixtral 8x7B, Qwen3 8B
    {"mistral_7b", 32, 8, 128, 4096},
    {"llama3_70b", 64, 8, 128},  // Qwen2.5 72B, Qwen3 32B
    {"llama3_70b_t8", 8, 1, 128},
    {"llama31_405b", 128, 8, 128},
    {"llama32_1b", 32, 8, 64},
    {"llama32_3b", 24, 8, 128},
    {.name = "llama4_scout",
     .num_q_heads = 40,
     .num_kv_heads = 8,
     .head_dim = 128,
     .attention_chunk = 8192},
    {"tinyllama", 32, 4, 64},
    {"smollm2_135m", 9, 3, 64},
    {"smollm2_360m", 15, 5, 64},
    {"smollm2_1.7b", 32, 32, 64},
    {"qwen2_0.5b", 14, 2, 64},
    {"qwen25_7b", 28, 4, 128},
    {"qwen3_0.6b", 16, 8, 128},
    {"qwen3_30b_a3b", 32, 4, 128},
    {"qwen3_235b_a22b", 64, 4, 128},
    {"gemma_2b", 8, 1, 256},
    {"gemma_7b", 16, 16, 256},
    {.name = "gemma2_9b",
     .num_q_heads = 16,
     .num_kv_heads = 8,
     .head_dim = 256,
     .window = 4096,
     .soft_cap = 50.0f},
    {.name = "gemma2_27b",
     .num_q_heads = 32,
     .num_kv_heads = 16,
     .head_dim = 128,
     .window = 4096,
     .soft_cap = 50.0f,
     .scale = 1.0f / 12.0f},
    {"gemma3_1b", 4, 1, 256, 512},
    {"gemma3_27b", 32, 16, 128, 1024},
    {.name = "gpt_oss_20b",  // and 120b
     .num_q_heads = 64,
     .num_kv_heads = 8,
     .head_dim = 64,
     .window = 128,
     .has_sink_logits = true},
    {"phi2", 32, 32, 80},  // StableLM 3B, Pythia 2.8B, OPT 2.7B
    {"phi3_mini", 32, 32, 96},
    {"phi3_medium", 40, 10, 128},
    {"gpt_neox_20b", 64, 64, 96},
    {"stablelm2_12b", 32, 8, 160},
    {"gptj_6b", 16, 16, 256},
    {"nemotron4_340b", 96, 8, 192},
    {"falcon_7b", 71, 1, 64},
    {"falcon_40b", 128, 8, 64},
    {"starcoder", 48, 1, 128},
    {"glm4_9b", 32, 2, 128},
    {"command_r", 64, 64, 128},
    {"command_r_plus", 96, 8, 128},
    {.name = "grok1",
     .num_q_heads = 48,
     .num_kv_heads = 8,
     .head_dim = 128,
     .soft_cap = 30.0f},
    {.name = "bloom_7b",  // MPT 7B
     .num_q_heads = 32,
     .num_kv_heads = 32,
     .head_dim = 128,
     .has_alibi = true},
    {"whisper_tiny", 6, 6, 64},
    {"whisper_large", 20, 20, 64},
    {"stories15m", 6, 6, 48},
    {"stories260k", 8, 4, 8},
    {"multi_query_512", 64, 1, 512, 128},
};

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_MODELS_H_
