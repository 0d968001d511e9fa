// A shape's tensors in host memory.
#ifndef PAGED_BENCHMARKS_CPU_PROBLEM_H_
#define PAGED_BENCHMARKS_CPU_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "benchmarks/cpu/host_memory.h"
#include "benchmarks/host_tensors.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/shapes.h"
#include "kernels/cpu/thread_pool.h"

namespace paged::benchmarks {

// Which of slots and heads is outermost in a block.
enum class BlockLayout : uint8_t {
  kTokenMajor,  // [block, slot, head, dim]
  kHeadMajor,   // [block, head, slot, dim]
};

// What cold calls rotate through: several times the last-level cache of the
// processors at hand (32 MB).
inline constexpr int64_t kHostRotateBytes = 128'000'000;

// Tensors of any dtype. Element (block, slot, head, dim) of a pool is that of
// the dense token-major pool, wherever it lies.
class CpuProblem {
 public:
  CpuProblem(const BenchShape& shape, BlockLayout layout, int64_t rotate_bytes);

  DecodeArgs Args(int set);

  // Reads the blocks of a set, those of every sequence in turn.
  void Read(ThreadPool& threads, int set, int64_t fetch_ahead_bytes = 0) const;

  // Set 0 with the same queries in fp32, and outputs in fp32.
  DecodeArgs ArgsInFp32();

  // NaN in every output and lse, so that what a run leaves out is seen.
  void PoisonOutput();

  // How far the outputs of a run of set 0 are off.
  double LargestErrorOfSet0();
  // Its rows of outputs alone in relative L2: those of Args, or of ArgsInFp32.
  double RelativeErrorOfSet0();
  double RelativeErrorInFp32();

  const BenchShape& shape() const { return shape_; }
  const DecodeShape& decode_shape() const { return decode_shape_; }
  int num_sets() const { return tables_.num_sets; }

 private:
  // Of `dim` dimensions.
  int64_t block_elements(int dim) const {
    return int64_t{shape_.block_size} * shape_.num_kv_heads * dim;
  }
  KvStrides StridesOf(BlockLayout layout, int dim) const;
  std::unique_ptr<HostMemory> MakePool(uint32_t seed, int dim,
                                       const KvStrides& strides) const;
  const std::vector<SampleRow>& Samples();

  BenchShape shape_;
  BenchTables tables_;
  DecodeShape decode_shape_;
  SideTensors sides_;
  std::unique_ptr<HostMemory> keys_, values_;
  std::vector<std::byte> query_, output_;
  std::vector<float> lse_, query_fp32_, output_fp32_;
  std::vector<SampleRow> samples_;  // empty until they are asked for
};

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_PROBLEM_H_
