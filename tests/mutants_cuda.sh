#!/usr/bin/env bash
# Breaks the CUDA kernels on purpose, once per mutant, in a copy, and expects
# the random walk on the GPU to notice. The last line is "N of N mutants killed".
#
#   tests/mutants_cuda.sh [FOLDER [WORDS]]          both halves
#   tests/mutants_cuda.sh build FOLDER [WORDS]      the first
#   tests/mutants_cuda.sh run FOLDER [WORDS]        the second
#
# The first half compiles the kernels as they are, and each mutant: FOLDER, a
# temporary one if left out, gets their programs, `list`, which names them, and
# `hashes` of this checkout. It needs nvcc, Abseil and GoogleTest as static
# libraries, and no GPU; it takes five minutes of one core, and one more for each
# mutant. The second needs a GPU of sm_80 and up, and FOLDER from whatever machine
# of no newer glibc and g++. WORDS picks the mutants whose names hold them.
#
# Of the instances only some of head_dim 128 are compiled, of fp16, e4m3 and
# fp32: what the others are for is refused, and the walk goes on. NVCC and CXX
# name the compilers (and may be several words), CUDAARCHS the architecture if it
# is not this machine's GPU's, or 90.
#
# Exit code: 0 all killed, or compiled; 1 not; 2 bad usage; 3 no GPU.
set -euo pipefail

half=both
case ${1:-} in
  build | run)
    half=$1
    shift
    [[ -n ${1:-} ]] || { echo "mutants_cuda.sh: $half needs a FOLDER" >&2; exit 2; }
    ;;
  --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$(mktemp -d)}
only_mutant=${2:-}
if [[ $half == run && ! -f $folder/list ]]; then
  echo "mutants_cuda.sh: $folder must hold what build leaves, list among it" >&2
  exit 2
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
for name in "${!PAGED_@}"; do unset "$name"; done

# Of the GPU: 90 for sm_90.
capability() {
  timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id=0 \
    2> /dev/null | tr -d .
}
if [[ $half != build ]] && ! capability > /dev/null; then
  echo "mutants_cuda.sh: no GPU" >&2
  exit 3
fi

insist_on_mutants() {  # insist_on_mutants <how many there are>
  if (($1 == 0)); then
    echo "mutants_cuda.sh: no mutant's name holds \"$only_mutant\"" >&2
    exit 2
  fi
}

# --- The first half -----------------------------------------------------------

# What mutants_lib.sh wants to be set.
set_up_build() {
  work=$folder/scratch
  read -ra nvcc <<< "${NVCC:-$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)}"
  local source cuda arch=${CUDAARCHS:-$(capability || echo 90)}
  cuda=$(dirname "$(dirname "$(command -v "${nvcc[-1]}")")")
  # Neither what another GPU would need nor compressed: the programs are alike
  # but for a few kernels, and pack well together.
  nvcc_flags=(-gencode "arch=compute_$arch,code=sm_$arch" --no-compress
    -forward-unknown-to-host-compiler)
  mapfile -t libs < <(pkg-config --libs absl_status absl_statusor absl_strings \
    absl_str_format absl_span absl_flat_hash_map absl_flat_hash_set |
    tr ' ' '\n' | grep .)
  libs=(-s -Wl,-Bstatic "${libs[@]}" -lgmock -lgtest -lgtest_main
    "-L$cuda/lib64" -lcudart_static -Wl,-Bdynamic -ldl -lrt -lpthread)
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
}

# In the copy: few instances, in as many files as are compiled at once, since
# families that share a file take a quarter less.
mutants_prepare() {
  local family element kind rows file count=0
  sed -i -E \
    -e 's/(InstanceShape k(All|Few)\[\] = ).*/\1{{4, 2}};/' \
    -e 's/(InstanceShape k(Padded|Deep)\[\] = ).*/\1{{4, 3}};/' \
    -e '/InstanceShape kSmall\[\] = \{$/{N;s/\n.*/{4, 2}};/}' \
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
    file=kernels/cuda/instances_$((count++ % jobs)).cu
    [[ -e $work/whole/$file ]] || sources+=("$file")
    sed -e "s/@element@/$element/; s/@kind@/$kind/; s/@max_rows@/$rows/" \
      "$root/kernels/cuda/instances.cu.in" >> "$work/whole/$file"
  done
}

# A line of the list: the program, - where there is none, and the name of the
# mutant, which is empty for the kernels as they are.
mutants_keep() {  # mutants_keep <name>
  local program=-
  if [[ -f $work/tests ]]; then
    program=$(printf 'program_%02d' "$num_mutants")
    [[ -n $1 ]] || program=program_unbroken
    mv "$work/tests" "$folder/$program"
  fi
  echo "$program $1" >> "$work/list"
}

break_kernels() {
  local f
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
  mutant "tiles begin at slot 0" $f 's/OffsetOf(view, block, first_slot + /OffsetOf(view, block, /'
  mutant "the second half of a chunk is lost" $f 's/elements >= 16 ? 8 : 0/0/'
  f=kernels/cuda/core_range.cuh
  mutant "sums keep their old maximum (CUDA cores)" $f 's/states_\[r\].sum \* keeps\[r\] + weights\[r\]/states_[r].sum + weights[r]/'
  mutant "both halves of a warp have the same rows (CUDA cores)" $f 's/first_row_(lane_ \/ kTileTokens \* kLaneRows)/first_row_(0)/'
}

build_programs() {
  cd "$root"
  rm -f "$folder"/{list,hashes,program_*}
  set_up_build
  source tests/mutants_lib.sh
  source benchmarks/record_lib.sh
  mutants_begin
  break_kernels
  insist_on_mutants "$num_mutants"
  write_hashes "$folder"
  mv "$work/list" "$folder/list"
  rm -r "$work"
  echo "$num_kept of $num_mutants mutants compiled"
  if ((num_kept < num_mutants)); then result=1; fi
}

# --- The second half ----------------------------------------------------------

# walk <program>: 6,000 problems, or up to the first that comes out wrong. In
# this script's group of processes, so that what ends it ends them all.
walk() {
  PAGED_WALK_COUNT=6000 timeout --foreground -k 5 300 "$folder/$1" \
    --gtest_brief=1 --gtest_fail_fast --gtest_filter='Cuda/*'
}

# judge <program> <name>: a line of what the walk says of a mutant. Nothing but a
# problem that came out wrong kills: a program that did not start says nothing.
judge() {
  local log=$logs/$1 exit_code=0 begin=$SECONDS
  if [[ $1 == - ]]; then
    echo "not compiled: $2"
    return
  fi
  walk "$1" > "$log" 2>&1 || exit_code=$?
  if [[ $exit_code == 0 ]]; then
    echo "SURVIVED: $2"
  elif [[ $exit_code == 1 ]] && grep -q '^\[  FAILED  \]' "$log"; then
    echo "killed: $2 ($(grep -om 1 'PAGED_WALK_SEED=[0-9]*' "$log"), $((SECONDS - begin)) s)"
  else
    echo "exit code $exit_code, which says nothing: $2"
  fi
}

# Passes where the kernels as they are pass, and are run at all.
judge_unbroken() {  # judge_unbroken <program>
  local log=$logs/$1
  if walk "$1" > "$log" 2>&1 && grep -q ' problems right' "$log"; then return; fi
  cat "$log"
  echo "the tests fail without a mutant, or do not run"
  exit 1
}

run_programs() {
  local program name num_mutants=0 num_killed
  # Of each walk the oracle takes most, on one core.
  local at_once=$((($(nproc) + 3) / 4))
  logs=$(mktemp -d)
  trap 'rm -rf "$logs"' EXIT
  while read -r program name; do
    if [[ -z $name ]]; then
      judge_unbroken "$program"
      continue
    fi
    [[ $name == *"$only_mutant"* ]] || continue
    num_mutants=$((num_mutants + 1))
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n || true; done
    judge "$program" "$name" | tee -a "$logs/verdicts" &
  done < "$folder/list"
  wait
  insist_on_mutants "$num_mutants"
  num_killed=$(grep -c '^killed: ' "$logs/verdicts" || true)
  echo "$num_killed of $num_mutants mutants killed"
  if ((num_killed < num_mutants)); then result=1; fi
}

result=0
if [[ $half != run ]]; then build_programs; fi
if [[ $half != build ]]; then run_programs; fi
exit "$result"
