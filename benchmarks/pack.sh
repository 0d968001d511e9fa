#!/usr/bin/env bash
# Collects what record.sh runs, for a machine without compilers or libraries:
#
#   benchmarks/pack.sh BUILD_DIR OUT_DIR
#
# OUT_DIR gets tests/, apps/paged and the benchmarks of decode, dispatch and blocks,
# stripped, and in lib/ the shared libraries that a bare machine lacks, and in
# hashes what this checkout is, so pack right after building. On that machine,
# `benchmarks/record.sh --binaries=OUT_DIR` runs them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "${root}/benchmarks/record_lib.sh"

if [[ $# -ne 2 || ! -x "$1/benchmarks/decode_benchmark" ]]; then
  echo "usage: $0 BUILD_DIR OUT_DIR; BUILD_DIR has benchmarks/decode_benchmark" >&2
  exit 2
fi
build=$1
out=$2
mkdir -p "${out}/lib"
write_hashes "${out}"

pack() {  # <program> <folder>
  mkdir -p "${out}/$2"
  strip -o "${out}/$2/$(basename "$1")" "$1"
  # What every Linux has stays out: glibc and the runtime of g++.
  ldd "$1" | awk '/=> \// { print $1, $3 }' | while read -r name path; do
    case "${name}" in
      libabsl* | libbenchmark* | libgtest* | libgmock* | libhwy* | libre2*)
        cp -Lu "${path}" "${out}/lib/${name}" ;;
    esac
  done
}

pack "${build}/benchmarks/decode_benchmark" benchmarks
for program in block_device_benchmark block_manager_benchmark dispatch_regret; do
  if [[ -x "${build}/benchmarks/${program}" ]]; then
    pack "${build}/benchmarks/${program}" benchmarks
  fi
done
if [[ -x "${build}/apps/paged" ]]; then
  pack "${build}/apps/paged" apps
fi
if [[ -d "${build}/tests" ]]; then
  while IFS= read -r -d '' program; do
    pack "${program}" tests
    # nvtx_test needs a library of its build folder.
  done < <(find "${build}/tests" -maxdepth 1 -type f -executable \
    ! -name nvtx_test -print0)
fi
du -sh "${out}"
