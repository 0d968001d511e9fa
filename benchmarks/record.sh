#!/usr/bin/env bash
# Measures this machine and keeps what it says:
#
#   benchmarks/record.sh [--part=tests|walk|sanitizer|calibrate|mutants|bench|
#                                cliffs|regret|all]
#       [--filter=REGEX]
#       [--binaries=DIR] [--out=DIR]
#       [--commit=HASH] [--kernels_core=HASH] [--kernels_cuda=HASH]
#
#   tests      every test program, the cases of the GPU where there is one, and
#              `paged run`                                    -> tests.txt
#   walk       100,000 random problems against the oracle     -> walk.txt
#   sanitizer  compute-sanitizer's tools over every variant   -> sanitizer.txt
#   calibrate  `paged calibrate`, and how long it takes       -> calibrate.txt
#   mutants    tests/mutants_cuda.sh: broken kernels, each of which must fail the
#              walk; not part of all                          -> mutants_cuda.txt
#   bench      decode_benchmark                               -> decode.json
#   cliffs     decode_benchmark --mode=cliffs                 -> cliffs.json
#   regret     dispatch_regret, whole            -> dispatch_regret.json
#
# Each part takes less than 8 minutes. --filter restricts it to matching test
# programs, tools or rows; what it measures replaces the same pieces of the
# files, and the others stay as long as they are of the same kernels.
# --binaries takes programs built elsewhere (pack.sh), in tests/, apps/ and
# benchmarks/; without it build/release is used, and built when absent. For the
# part mutants DIR is what `tests/mutants_cuda.sh build DIR` left; without it they
# are compiled first, in as long as that takes. The hashes, of `git rev-parse HEAD`
# and `git rev-parse HEAD:kernels/core`, come from the flags, else from what DIR
# was given where it was built, else from this checkout.
# --out is benchmarks/results/<machine> otherwise.
#
# Exit code: 0 good, 1 something failed, 2 bad usage, 3 no GPU where one is
# needed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "${root}/benchmarks/record_lib.sh"
source "${root}/benchmarks/record_parts.sh"

part=all filter= binaries= out= commit= kernels_core= kernels_cuda=
command_line=benchmarks/record.sh
for argument in "$@"; do
  case "${argument}" in
    # Paths of one machine say nothing on another.
    --binaries=* | --out=*) command_line+=" ${argument%%=*}=DIR" ;;
    *) command_line+=" ${argument}" ;;
  esac
  case "${argument}" in
    --part=tests | --part=walk | --part=sanitizer | --part=calibrate | \
      --part=mutants | --part=bench | --part=cliffs | --part=regret | --part=all)
      part=${argument#*=} ;;
    --filter=* | --binaries=* | --out=* | --commit=* | --kernels_core=* | \
      --kernels_cuda=*)
      name=${argument%%=*}
      printf -v "${name#--}" '%s' "${argument#*=}" ;;
    --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "record.sh: unknown argument ${argument}; see --help" >&2; exit 2 ;;
  esac
done

# Settings of the user's would change what is measured.
for name in "${!PAGED_@}"; do unset "${name}"; done
export PAGED_TEST_DATA="${root}/tests/data"

find_machine
out=${out:-${root}/benchmarks/results/${machine}}
mkdir -p "${out}"
out=$(cd "${out}" && pwd)
find_binaries
find_hashes
scratch=$(mktemp -d)
trap 'rm -rf "${scratch}"' EXIT

result=0
no_gpu=0
for each in tests walk sanitizer calibrate mutants; do
  [[ ${part} == "${each}" || (${part} == all && ${each} != mutants) ]] || continue
  say "${each}"
  : > "${scratch}/sections"
  deadline=$((SECONDS + 470))
  "record_${each}" || result=1
  # Mutants of the CPU's kernels have a record of their own.
  merge_sections "${out}/${each/%mutants/mutants_cuda}.txt"
done
if [[ ${part} == all || ${part} == bench ]]; then
  say bench
  record_rows rows decode.json || result=$?
fi
# Of a GPU alone.
if [[ ${part} == cliffs || (${part} == all && ${has_gpu} == 1) ]]; then
  say cliffs
  record_rows cliffs cliffs.json || result=$?
fi
if [[ ${part} == all || ${part} == regret ]]; then
  say regret
  record_regret || result=$?
fi
[[ ${part} != all && ${no_gpu} == 1 ]] && result=3
say "wrote ${out#"${root}"/}; exit code ${result}"
exit "${result}"
