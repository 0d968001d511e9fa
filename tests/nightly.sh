#!/usr/bin/env bash
# What is too long for every change: the block manager's model walk of 10 million
# operations, its fuzz target, and mutants of it and of the kernels. An hour on a
# quiet machine.
#
#   tests/nightly.sh [--fuzz_seconds=N] [--part=walk|fuzz|mutants|all]
#       [--out=FILE]
#
#   walk     tests/block_model_test with PAGED_WALK_SCALE=10: ten million operations
#   fuzz     libFuzzer, for --fuzz_seconds (60): needs clang
#   mutants  tests/mutants_blocks.sh, and tests/mutants.sh for the kernels
#
# FILE gets one section per part, with the date, the machine and the commit.
# Exit code: 0 good, 1 something failed, 2 bad usage.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fuzz_seconds=60 part=all out=/dev/null
for argument in "$@"; do
  case "${argument}" in
    --fuzz_seconds=*) fuzz_seconds=${argument#*=} ;;
    --part=walk | --part=fuzz | --part=mutants | --part=all) part=${argument#*=} ;;
    --out=*) out=${argument#*=} ;;
    --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "nightly.sh: unknown argument ${argument}; see --help" >&2; exit 2 ;;
  esac
done
if [[ ! ${fuzz_seconds} =~ ^[1-9][0-9]*$ ]]; then
  echo "nightly.sh: --fuzz_seconds must be at least 1; got ${fuzz_seconds}" >&2
  exit 2
fi

for name in "${!PAGED_@}"; do unset "${name}"; done
scratch=$(mktemp -d)
trap 'rm -rf "${scratch}"' EXIT
cores=$(nproc)

configure_and_build() {  # <folder> <target> <options of cmake...>
  local folder=$1 target=$2
  shift 2
  cmake -S "${root}" -B "${folder}" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DPAGED_CUDA=OFF -DPAGED_BUILD_BENCHMARKS=OFF "$@" > "${scratch}/log" &&
    cmake --build "${folder}" --target "${target}" --parallel "${cores}" \
      > "${scratch}/log"
}

run_walk() {
  configure_and_build "${root}/build/nightly" block_model_test || return 1
  PAGED_WALK_SCALE=10 "${root}/build/nightly/tests/block_model_test" \
    > "${scratch}/log" 2>&1
}

run_fuzz() {
  command -v clang++ > /dev/null || { echo "clang++ is missing" > "${scratch}/log"; return 1; }
  configure_and_build "${root}/build/fuzz" block_fuzz -DPAGED_FUZZ=ON \
    -DCMAKE_CXX_COMPILER=clang++ || return 1
  mkdir -p "${scratch}/corpus"
  (cd "${scratch}" && "${root}/build/fuzz/tests/block_fuzz" \
    -max_total_time="${fuzz_seconds}" -max_len=4096 -print_final_stats=1 corpus) \
    > "${scratch}/log" 2>&1
}

run_mutants() {
  local killed=0
  "${root}/tests/mutants_blocks.sh" "${scratch}/mutants_blocks" > "${scratch}/log" 2>&1 || killed=1
  "${root}/tests/mutants.sh" "${scratch}/mutants" > "${scratch}/log.kernels" 2>&1 || killed=1
  # Their last lines, and what lived, end the log.
  grep -hv "^killed: " "${scratch}/log" "${scratch}/log.kernels" > "${scratch}/log.both" || true
  mv "${scratch}/log.both" "${scratch}/log"
  return "${killed}"
}

result=0
for each in walk fuzz mutants; do
  [[ ${part} == all || ${part} == "${each}" ]] || continue
  echo "[nightly] ${each}" >&2
  exit_code=0
  begin=${SECONDS}
  : > "${scratch}/log"
  "run_${each}" || exit_code=$?
  {
    echo "== ${each}"
    echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ); machine:$(sed -n 's/^model name[^:]*://p' /proc/cpuinfo | head -n 1); commit: $(git -C "${root}" rev-parse HEAD 2> /dev/null || echo unknown)"
    echo "exit code ${exit_code} after $((SECONDS - begin)) s"
    tail -n 8 "${scratch}/log" | sed "s|${root}/||g; s|${scratch}/||g"
    echo
  } | tee -a "${out}"
  [[ ${exit_code} == 0 ]] || result=1
done
exit "${result}"
