# The parts of record.sh, which sources this behind record_lib.sh and whose
# variables it uses. A part adds sections to "${scratch}/sections", or leaves a
# record of rows, and fails when one of them failed.

# Whether there is a GPU; where there is none, a section says so.
needs_gpu() {  # <section>
  [[ ${has_gpu} == 1 ]] && return
  echo "not measured: no GPU" | section "$1"
  no_gpu=1
  return 1
}

record_tests() {
  local failed=0 program name log
  # The others are the same on every machine, and continuous integration's.
  local cases='*'
  [[ ${has_gpu} == 1 ]] && cases='Cuda*:*/Cuda*'
  while IFS= read -r program; do
    name=$(basename "${program}")
    # That is the part walk.
    [[ ${name} == random_walk_test ]] && continue
    matches "${name}" || continue
    log="${scratch}/${name}.log"
    run_limited 240 "${log}" "${program}" "--gtest_filter=${cases}" || failed=1
    {
      if [[ ${timed_out} == 1 ]]; then
        echo "not measured: over 240 s, or over the part's 8 minutes"
      else
        count_cases gpu "${log}"
        count_cases cpu "${log}"
      fi
      [[ ${exit_code} == 0 ]] && echo "exit code 0" || tail -n 60 "${log}"
      awk '/: Skipped$/ { getline; print "cases skipped: " $0 }' "${log}" |
        sort | uniq -c | sort -rn | head -n 5
    } | section "${name}"
  done < <(test_programs)

  if matches "paged run" && [[ -x "${binaries}/apps/paged" ]]; then
    local file
    for file in smollm2_decode smollm2_long; do
      log="${scratch}/run.log"
      run_limited 120 "${log}" "${binaries}/apps/paged" run \
        "${PAGED_TEST_DATA}/${file}.safetensors" --variant=all || failed=1
      { echo "exit code ${exit_code}"; cat "${log}"; } |
        section "paged run ${file}.safetensors --variant=all"
    done
  fi
  return "${failed}"
}

# The parts of the random walk side by side.
record_walk() {
  local count=100000 prefix=Cpu failed=0 part program log
  program="${binaries}/tests/random_walk_test"
  [[ ${has_gpu} == 1 ]] && prefix=Cuda
  if [[ ! -x ${program} ]]; then
    echo "not measured: no random_walk_test" | section "random walk"
    return 0
  fi
  for part in $("${program}" --gtest_list_tests \
    "--gtest_filter=${prefix}/*" | sed -n 's|^  EveryProblem[^/]*/\([0-9]*\).*|\1|p'); do
    PAGED_WALK_COUNT="${count}" timeout -k 5 440 "${program}" \
      "--gtest_filter=${prefix}/*/${part}" > "${scratch}/walk.${part}" 2>&1 &
  done
  wait
  for log in "${scratch}"/walk.*; do
    grep -q '^\[  PASSED  \] 1 test' "${log}" || failed=1
  done
  {
    [[ ${failed} == 0 ]] && echo "all parts passed" ||
      grep -hA 12 Failure "${scratch}"/walk.* | head -n 60
    cat "${scratch}"/walk.* | awk '
      / problems right/ {
        for (i = 1; i <= NF; ++i) {
          if ($i ~ /^[0-9]+$/) value = $i
          else if ($i == "right,") right += value
          else if ($i ~ /^empty/) empty += value
          else if ($i == "refused") refused += value
        }
      }
      END {
        print right " problems right, " empty " without a sequence, " \
          refused + 0 " refused by name"
      }'
  } | section "random_walk_test, ${prefix}, seeds 1 to ${count}"
  return "${failed}"
}

# One tool over one command; prints nothing, adds a section.
sanitize() {  # <tool> <title> <command...>
  local tool=$1 title=$2 log="${scratch}/sanitizer.log" summary
  shift 2
  matches "${tool}: ${title}" || return 0
  run_limited 100 "${log}" compute-sanitizer --tool "${tool}" \
    --report-api-errors no --error-exitcode 9 "$@" || true
  summary=$(grep -E '(ERROR|RACECHECK) SUMMARY' "${log}" | tail -n 1 || true)
  {
    if [[ ${timed_out} == 1 ]]; then
      echo "not measured: over 100 s, or over the part's 8 minutes"
    elif [[ -z ${summary} ]]; then
      echo "not measured: $(grep -E '^=========' "${log}" | tail -n 1 |
        sed 's/^=* *//' | grep . || tail -n 1 "${log}")"
    else
      echo "exit code ${exit_code}; ${summary#========= }"
      [[ ${exit_code} == 0 ]] || tail -n 80 "${log}"
    fi
  } | section "${tool}: ${title}"
  [[ -z ${summary} || ${timed_out} == 1 || ${exit_code} == 0 ]]
}

# Everything under one tool.
sanitize_all() {  # <tool>
  local failed=0 tool=$1 program sample cases=8
  # Ten times as slow as the others.
  [[ ${tool} == racecheck ]] && cases=3
  local paged="${binaries}/apps/paged"
  local file="${PAGED_TEST_DATA}/smollm2_decode.safetensors"
  if ! command -v compute-sanitizer > /dev/null; then
    echo "not measured: compute-sanitizer is not installed" |
      section "${tool}: all"
    return 0
  fi
  if [[ -x ${paged} ]]; then
    sanitize "${tool}" "paged run --variant=all" "${paged}" run "${file}" \
      --backend=cuda --variant=all || failed=1
    sanitize "${tool}" "paged run --variant=split_k --splits=5" "${paged}" run \
      "${file}" --backend=cuda --variant=split_k --splits=5 || failed=1
  fi
  while IFS= read -r program; do
    sample=$(sample_gpu_cases "${program}" "${cases}")
    [[ -n ${sample} ]] || continue
    sanitize "${tool}" "$(basename "${program}"), ${cases} GPU cases" \
      "${program}" "--gtest_filter=${sample}" || failed=1
  done < <(test_programs)
  return "${failed}"
}

# The tools side by side, each in a scratch folder of its own.
record_sanitizer() {
  needs_gpu "all tools" || return 0
  local failed=0 tool pid tools=(memcheck racecheck initcheck synccheck) pids=()
  PATH="${PATH}:/usr/local/cuda/bin"
  for tool in "${tools[@]}"; do
    mkdir "${scratch}/${tool}"
    : > "${scratch}/${tool}/sections"
    (
      trap - EXIT
      scratch+="/${tool}"
      export PAGED_WALK_COUNT=100
      sanitize_all "${tool}"
    ) &
    pids+=("$!")
  done
  for pid in "${pids[@]}"; do wait "${pid}" || failed=1; done
  for tool in "${tools[@]}"; do cat "${scratch}/${tool}/sections"; done \
    >> "${scratch}/sections"
  return "${failed}"
}

record_calibrate() {
  needs_gpu "paged calibrate" || return 0
  local log="${scratch}/calibrate.log" profile="${scratch}/gpu.profile" result=0
  local begin=${EPOCHREALTIME/./}
  run_limited 120 "${log}" "${binaries}/apps/paged" calibrate \
    "--out=${profile}" || result=1
  {
    echo "exit code ${exit_code} after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    cat "${log}"
    [[ ! -f ${profile} ]] || cat "${profile}"
  } | section "paged calibrate"
  return "${result}"
}

record_mutants() {
  needs_gpu "mutants of the CUDA kernels" || return 0
  local log="${scratch}/mutants.log" folder="${binaries}" result=0
  if [[ -z ${folder} ]]; then
    folder="${scratch}/mutants"
    "${root}/tests/mutants_cuda.sh" build "${folder}" "${filter}" >&2 || result=1
    deadline=$((SECONDS + 470))
  fi
  run_limited 470 "${log}" "${root}/tests/mutants_cuda.sh" run "${folder}" \
    "${filter}" || result=1
  { echo "exit code ${exit_code}"; cat "${log}"; } |
    section "mutants of the CUDA kernels"
  return "${result}"
}

# Rows of decode_benchmark, merged into a record.
record_rows() {  # <mode> <record>
  local program="${binaries}/benchmarks/decode_benchmark" result=0
  # From the top of the checkout, under the names that other readers have too.
  (cd "${root}" && timeout 470 "${program}" --mode="$1" \
    --benchmark_filter="${filter:-.}" --benchmark_out="${scratch}/rows.json" \
    --benchmark_out_format=json --commit="${commit}" \
    --kernels_core="${kernels_core}" \
    --kernels_cuda="${kernels_cuda}") || result=$?
  # Rows that failed say so in the record; anything else leaves no record.
  if [[ ${result} != 0 && ${result} != 1 ]]; then
    echo "record.sh: decode_benchmark ended with exit code ${result}" >&2
    return "$((result == 3 ? 3 : 1))"
  fi
  "${program}" --mode=merge --merge_from="${scratch}/rows.json" \
    --merge_into="${out}/$2" || return 1
  return "${result}"
}

record_regret() {
  if [[ ${has_gpu} == 0 ]]; then
    say "no GPU to measure regret on"
    return 3
  fi
  timeout 470 "${binaries}/benchmarks/dispatch_regret" \
    --out="${scratch}/regret.json" --commit="${commit}" \
    --kernels_core="${kernels_core}" --kernels_cuda="${kernels_cuda}" ||
    return "$(($? == 3 ? 3 : 1))"
  mv "${scratch}/regret.json" "${out}/dispatch_regret.json"
}
