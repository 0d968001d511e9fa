# What record.sh is made of; sourced by it. Uses its variables.

say() { echo "[record] $*" >&2; }

# Sets has_gpu, machine (the results' folder), device, driver and cuda.
find_machine() {
  if device=$(timeout 20 nvidia-smi --query-gpu=name --format=csv,noheader \
    --id=0 2> /dev/null); then
    has_gpu=1
    machine=$(echo "${device}" | tr '[:upper:]' '[:lower:]' |
      sed -E 's/^(nvidia|tesla)? *(geforce)? *//; s/[^a-z0-9]+/-/g; s/-$//')
    driver=$(timeout 20 nvidia-smi --query-gpu=driver_version \
      --format=csv,noheader --id=0)
    cuda=$(timeout 20 nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')
  else
    has_gpu=0
    device=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    machine="cpu-$(uname -m)"
    driver=none
    cuda=none
  fi
}

# The tree of a folder, "-dirty" when it differs from the commit.
tree_hash() {
  local hash
  hash=$(git -C "${root}" rev-parse "HEAD:$1" 2> /dev/null) || {
    echo unknown
    return
  }
  if [[ -n $(git -C "${root}" status --porcelain -- "$1") ]]; then
    hash+="-dirty"
  fi
  echo "${hash}"
}

# The commit, "-dirty" when tracked files other than records differ from it.
commit_hash() {
  local hash
  hash=$(git -C "${root}" rev-parse HEAD 2> /dev/null) || {
    echo unknown
    return
  }
  if [[ -n $(git -C "${root}" status --porcelain --untracked-files=no -- \
    . ':(exclude)benchmarks/results') ]]; then
    hash+="-dirty"
  fi
  echo "${hash}"
}

# Says in a folder of programs what this checkout is, of which they were built.
write_hashes() {  # <folder>
  {
    echo "commit $(commit_hash)"
    echo "kernels_core $(tree_hash kernels/core)"
    echo "kernels_cuda $(tree_hash kernels/cuda)"
  } > "$1/hashes"
}

# Sets commit, kernels_core and kernels_cuda where no flag did: to what packed
# binaries say they were built from, else to what the checkout is.
find_hashes() {
  local name hash
  if [[ -f "${binaries}/hashes" ]]; then
    while read -r name hash; do
      case "${name}" in
        commit | kernels_core | kernels_cuda)
          [[ -n ${!name} ]] || printf -v "${name}" '%s' "${hash}" ;;
      esac
    done < "${binaries}/hashes"
  fi
  commit=${commit:-$(commit_hash)}
  kernels_core=${kernels_core:-$(tree_hash kernels/core)}
  kernels_cuda=${kernels_cuda:-$(tree_hash kernels/cuda)}
}

# Sets binaries to an absolute folder, building it when it is the default. The
# part mutants has programs of its own, or compiles them.
find_binaries() {
  if [[ ${part} == mutants ]]; then
    if [[ -n ${binaries} && ! -f "${binaries}/list" ]]; then
      echo "record.sh: --binaries of the part mutants must hold list;" \
        "got ${binaries}" >&2
      exit 2
    fi
    return
  fi
  if [[ -z ${binaries} ]]; then
    binaries="${root}/build/release"
    if [[ ! -x "${binaries}/benchmarks/decode_benchmark" ]]; then
      say "building build/release"
      (cd "${root}" && cmake --preset release && cmake --build --preset release)
    fi
  fi
  if [[ ! -x "${binaries}/benchmarks/decode_benchmark" ]]; then
    echo "record.sh: --binaries must hold benchmarks/decode_benchmark;" \
      "got ${binaries}" >&2
    exit 2
  fi
  binaries=$(cd "${binaries}" && pwd)
  if [[ -d "${binaries}/lib" ]]; then
    export LD_LIBRARY_PATH="${binaries}/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
  fi
}

test_programs() {
  [[ ! -d "${binaries}/tests" ]] ||
    find "${binaries}/tests" -maxdepth 1 -type f -executable | sort
}

# Whether --filter lets a piece through.
matches() { [[ -z ${filter} || $1 =~ ${filter} ]]; }

# Runs a command into a log, for at most so many seconds and not past the
# part's deadline. Sets exit_code and timed_out; fails when the command does.
run_limited() {  # <seconds> <log> <command...>
  local seconds=$1 log=$2 left=$((deadline - SECONDS))
  shift 2
  exit_code=0
  timed_out=0
  : > "${log}"
  if ((left < 5)); then
    timed_out=1
    exit_code=124
    return 1
  fi
  say "$(basename "$1") ${*:2}"
  timeout -k 5 "$((left < seconds ? left : seconds))" "$@" > "${log}" 2>&1 ||
    exit_code=$?
  [[ ${exit_code} == 124 || ${exit_code} == 137 ]] && timed_out=1
  return "$((exit_code != 0))"
}

# "gpu: 12 passed, 0 failed, 0 skipped" from GoogleTest's log. GPU cases are
# those whose suite, or whose instantiation, begins with Cuda.
count_cases() {  # <gpu|cpu> <log>
  awk -v kind="$1" '
    / ms\)$/ && match($0, /^\[ *(OK|FAILED|SKIPPED) *\]/) {
      name = substr($0, RLENGTH + 2)
      if ((name ~ /^([^ ]*\/)?Cuda/ ? "gpu" : "cpu") != kind) next
      if ($0 ~ /^\[ *OK/) ++passed
      else if ($0 ~ /^\[ *FAILED/) ++failed
      else ++skipped
    }
    END {
      printf "%s: %d passed, %d failed, %d skipped\n", kind, passed, failed, skipped
    }' "$2"
}

# A filter of so many GPU cases of a test program, spread over all of them.
sample_gpu_cases() {  # <program> <count>
  timeout 30 "$1" --gtest_list_tests --gtest_filter='Cuda*:*/Cuda*' 2> /dev/null |
    awk -v count="$2" '
      /^[^ ]/ { suite = $1; next }
      /^  / { cases[n++] = suite $1 }
      END {
        step = n > count ? n / count : 1
        for (i = 0; i < n; i += step) {
          printf "%s%s", (i ? ":" : ""), cases[int(i)]
        }
      }'
}

# Adds standard input as a section. The first line is its title.
section() {
  { echo "== $1"; cat; echo; } | sed "s|${root}/||g; s|${scratch}/||g" \
    >> "${scratch}/sections"
}

# Writes a header and the new sections to a file, with those of its sections
# that were not measured anew and are of the same kernels.
merge_sections() {  # <file>
  local file=$1 kernels="kernels_core ${kernels_core}, kernels_cuda ${kernels_cuda}"
  {
    echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "machine: ${device}"
    echo "driver: ${driver}; CUDA: ${cuda}"
    echo "command: ${command_line}"
    echo "commit: ${commit}"
    echo "kernels: ${kernels}"
    echo
    if [[ -f ${file} ]] && grep -qxF "kernels: ${kernels}" "${file}"; then
      awk 'NR == FNR { if (/^== /) is_new[$0] = 1; next }
           /^== / { in_section = 1; keep = !($0 in is_new) }
           in_section && keep' "${scratch}/sections" "${file}"
    fi
    cat "${scratch}/sections"
  } > "${scratch}/merged"
  mv "${scratch}/merged" "${file}"
}
