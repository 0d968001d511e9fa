#!/usr/bin/env bash
# Breaks the CUDA kernels on purpose, once per mutant, in a copy, and expects
# the random walk on the GPU to notice. The last line is "N of N mutants killed".
#
#   tests/mutants_cuda.sh [FOLDER [WORDS]]
#
# FOLDER and WORDS as of tests/mutants.sh. Needs what that needs, nvcc and a
# GPU of sm_80 and up. Of the instances only some of head_dim 128 are compiled,
# of fp16, e4m3 and fp32: what the others are for is refused, and the walk goes on.
# NVCC and CXX name the compilers.
#
# Exit code: 0 all killed, 1 not, 3 no GPU.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
only_mutant=${2:-}
nvcc=${NVCC:-$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)}
cuda=$(cd "$(dirname "$nvcc")/.." && pwd)
capability=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id=0 |
  tr -d .) || { echo "mutants_cuda.sh: no GPU" >&2; exit 3; }
nvcc_flags=("-arch=sm_$capability" -forward-unknown-to-host-compiler)
mapfile -t libs < <(pkg-config --libs absl_status absl_statusor absl_strings \
  absl_str_format absl_span absl_flat_hash_map absl_flat_hash_set | tr ' ' '\n' | grep .)
libs+=(-lgmock -lgtest -lgtest_main "-L$cuda/lib64" -lcudart_static -ldl -lrt -lpthread)
for name in "${!PAGED_@}"; do unset "$name"; done

cd "$root"
headers=(lib/paged/*.h lib/paged/internal/*.h kernels/core/*.h kernels/cpu/*.h
  kernels/baseline/*.h kernels/cuda/*.h kernels/cuda/*.cuh)
sources=(kernels/cpu/simd_absent.cc kernels/cpu/simd_decode.cc kernels/cpu/simd_scratch.cc
  kernels/cuda/decode_registry.cc
  kernels/baseline/{thrust_cuda_absent,thrust_host_absent,thrust_workspace}.cc)
for source in lib/paged/*.cc kernels/cpu/*.cc kernels/cuda/*.cu; do
  case $(basename "$source") in
    cuda_backend_absent.cc | simd_* | gather.cu | traced_decode.cu) ;;
    *) sources+=("$source") ;;
  esac
done
tests=(tests/support/*.cc tests/walk/{walk_spec,random_walk_test}.cc)
defines=(-DPAGED_HAS_CUDA=1 "-I$cuda/include")

# In the copy: few instances, each family of them in a file, as CMake has it.
mutants_prepare() {
  local element kind rows file
  sed -i -E \
    -e 's/(InstanceShape k(All|Few)\[\] = ).*/\1{{4, 2}};/' \
    -e 's/(InstanceShape k(Padded|Deep)\[\] = ).*/\1{{4, 3}};/' \
    -e '/VisitShapes\([a-z_]+, \{(64|80|96|112|192|256|512), /d' \
    -e 's/\{ElementKind::kF16, ElementKind::kBF16\}/{ElementKind::kF16}/' \
    -e 's/\{ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8\}/{ElementKind::kE4M3}/' \
    -e 's/\{ElementKind::kF16, ElementKind::kBF16, ElementKind::kF32,/{ElementKind::kF32}) {/' \
    -e '/^ +ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8\}\) \{/d' \
    -e 's/int dim : \{128, 512\}/int dim : {128}/' \
    "$work/whole/kernels/core/instance.h"
  # What the planner knows of their registers is of the whole list.
  sed -i -e '/= std::to_array({/,/^});/c\inline constexpr auto kInstanceRegisters = [] { std::array<int, kInstances.size()> all{}; all.fill(128); return all; }();' \
    "$work/whole/kernels/core/instance_registers.h"
  sed -i -e '/^  AppendSmall<InstanceKind::kCudaCores/d' \
    -e 's/^         ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8>/         ElementKind::kE4M3>/' \
    -e 's/^\(  Append<.*ElementKind::kF16,\) ElementKind::kBF16,/\1/' \
    -e '/^  Append<InstanceKind::kGeneral, kWideRows/{N;s/,\n.*/>(kernels);/}' \
    "$work/whole/kernels/cuda/decode_registry.cc"
  for family in F16,Plain,8 F16,Plain,16 F16,General,8 F16,General,16 F16,General,32 \
    E4M3,Plain,8 E4M3,Plain,16 E4M3,General,8 E4M3,General,16 F32,CudaCores,8; do
    IFS=, read -r element kind rows <<< "$family"
    file=kernels/cuda/${family//,/_}.cu
    sed -e "s/@element@/$element/; s/@kind@/$kind/; s/@max_rows@/$rows/" \
      "$root/kernels/cuda/instances.cu.in" > "$work/whole/$file"
    sources+=("$file")
  done
}

tests_pass() {
  local count=1600
  [[ $1 == quick ]] || count=6000
  PAGED_WALK_COUNT=$count timeout 300 "$work/tests" --gtest_brief=1 \
    --gtest_fail_fast --gtest_filter='Cuda/*' > "$work/log" 2>&1
}
source tests/mutants_lib.sh
mutants_begin

f=kernels/cuda/softmax_step.cuh
mutant "values keep their old maximum" $f 's/values\[i\]\[j\] \*= keep\[Layout::HalfOf(j)\];/values[i][j] *= 1.0f;/'
mutant "sums keep their old maximum" $f 's/rows.sum\[half\] \*= keep\[half\];//'
mutant "tokens have the first one's scale" $f 's/scores\[n\]\[j\] \*= factors\[Layout::TokenOf(n, j)\];/scores[n][j] *= factors[0];/'
f=kernels/cuda/lane_rules.cuh
mutant "slopes are a token off" $f 's/static_cast<float>(position - row.position)/static_cast<float>(position - row.position + 1)/'
mutant "masked scores count" $f 's/return Sees(row, position) ? score : -INFINITY;/return score;/'
mutant "the beginning of what is seen is not masked" $f 's/begin < seen_begin_ || begin + kTileTokens/begin + kTileTokens/'
mutant "a cap is not applied" $f 's/if (rules.soft_cap_log2 != 0.0f) {/if (false) {/'
f=kernels/cuda/reduce_row.cuh
mutant "partials are added without weights" $f 's/AddWeighted(weight, sums\[i\]/AddWeighted(1.0f, sums[i]/'
mutant "splits past the first eight are lost" $f 's/first < min(32, parts.count - batch)/first < min(kSplitsAtOnce, parts.count - batch)/'
f=kernels/cuda/warp_merge.cuh
mutant "warps are added without weights" $f 's/AddWeighted(weight, parts\[w\].sum/AddWeighted(1.0f, parts[w].sum/'
f=kernels/cuda/epilogue.cuh
mutant "a scale of values is lost" $f 's/end.factor \* HeadScale(p.value_scales, kv_head)/end.factor/'
f=kernels/cuda/attend_range.cuh
mutant "a scale of keys is lost" $f 's/p.scale_log2 \* HeadScale(p.key_scales, kv_head);/p.scale_log2;/'
f=kernels/cuda/tile_copies.cuh
mutant "hidden tokens are read" $f 's/return Sees(item_.visible, position);/return true;/'
mutant "tokens past the context are read" $f 's/return position < item_.context_len;/return true;/'
mutant "tiles begin at slot 0" $f 's/OffsetOf(view, block, first_slot + row, 0)/OffsetOf(view, block, row, 0)/'
mutant "the second half of a chunk is lost" $f 's/elements >= 16 ? 8 : 0/0/'
f=kernels/cuda/core_range.cuh
mutant "sums keep their old maximum (CUDA cores)" $f 's/states_\[r\].sum \* keeps\[r\] + weights\[r\]/states_[r].sum + weights[r]/'
mutant "both halves of a warp have the same rows (CUDA cores)" $f 's/first_row_(lane_ \/ kTileTokens \* kLaneRows)/first_row_(0)/'

mutants_end
