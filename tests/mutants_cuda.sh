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

# walk <program>: 6,000 problems, or up to the first that comes out wrong. In
# this script's group of processes, so that what ends it ends them all.
walk() {
  PAGED_WALK_COUNT=6000 timeout --foreground -k 5 300 "$folder/$1" \
    --gtest_brief=1 --gtest_fail_fast --gtest_filter='Cuda/*'
}

# judge <program> <name>: a line of what the walk says of a mutant. Nothing but a
# problem that came out wrong, or an access that the GPU stopped at, kills: a
# program that did not start says nothing.
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
  elif grep -q '^CUDA: an illegal memory access' "$log"; then
    echo "killed: $2 (an illegal access, $((SECONDS - begin)) s)"
  else
    echo "exit code $exit_code, which says nothing: $2"
  fi
}

# Passes where the kernels as they are pass, and are run at all. The parts of the
# walk side by side: all of it has to be waited for.
judge_unbroken() {  # judge_unbroken <program>
  local shard shards=$(($(nproc) < 16 ? $(nproc) : 16)) pids=() failed=0
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard walk "$1" \
      > "$logs/$1.$shard" 2>&1 &
    pids+=($!)
  done
  for ((shard = 0; shard < shards; ++shard)); do
    if wait "${pids[shard]}" && grep -q ' problems right' "$logs/$1.$shard"; then
      continue
    fi
    failed=1
    cat "$logs/$1.$shard"
  done
  if ((failed)); then
    echo "the tests fail without a mutant, or do not run"
    exit 1
  fi
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
if [[ $half != run ]]; then
  source "$root/tests/mutants_cuda_build.sh"
  build_programs
fi
if [[ $half != build ]]; then run_programs; fi
exit "$result"
