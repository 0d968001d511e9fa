// A project of somebody else's: one sequence of two tokens, decoded on the CPU.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "paged/cpu_backend.h"
#include "paged/decode.h"

int main() {
  // Equal keys, so the output is the mean of the two values.
  std::vector<float> query(4, 1.0f), output(4, -1.0f);
  std::vector<float> keys(2 * 4, 0.5f);
  std::vector<float> values = {1, 2, 3, 4, 3, 4, 5, 6};
  std::vector<int32_t> block_tables = {0}, context_lens = {2};
  const paged::DecodeArgs args{.shape = {.num_seqs = 1,
                                         .num_q_heads = 1,
                                         .num_kv_heads = 1,
                                         .head_dim = 4,
                                         .block_size = 2,
                                         .num_blocks = 1,
                                         .max_blocks_per_seq = 1,
                                         .max_context_len = 2,
                                         .query_dtype = paged::DType::kF32,
                                         .kv_dtype = paged::DType::kF32},
                               .query = query.data(),
                               .key_cache = keys.data(),
                               .value_cache = values.data(),
                               .block_tables = block_tables.data(),
                               .context_lens = context_lens.data(),
                               .output = output.data()};
  const std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
  const absl::Status status = paged::Decode(args, *backend);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("%g %g %g %g\n", output[0], output[1], output[2], output[3]);
  return 0;
}
