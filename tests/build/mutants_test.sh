#!/usr/bin/env bash
# Claims about tests/mutants*.sh that need neither a compiler nor a GPU:
#
#   tests/build/mutants_test.sh applies     every mutant changes its file
#   tests/build/mutants_test.sh verdicts    what the walk says becomes the right
#                                           verdict and exit code
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
failed=0

fail() {
  echo "$*" >&2
  failed=1
}

# --- applies ------------------------------------------------------------------

# The scripts' own lines "f=..." and "mutant ..." with this as what they call.
mutant() {  # mutant <what it breaks> <file> <sed script>
  count=$((count + 1))
  if sed "$3" "$root/$2" | cmp -s - "$root/$2"; then
    fail "$script: does not apply to $2: $1"
  fi
}

check_applies() {
  local script count f
  for script in tests/mutants{,_blocks,_cuda_build}.sh; do
    count=0
    eval "$(sed -nE '/^ *(f=|mutant ")/p' "$root/$script")"
    ((count > 10)) || fail "$script: only $count mutants were found"
  done
}

# --- verdicts -----------------------------------------------------------------

program() {  # program <name>: a script from standard input
  { echo '#!/bin/sh'; cat; } > "$scratch/$1"
  chmod +x "$scratch/$1"
}

# expect <exit code> <last line> <list>: of the second half.
expect() {
  local code=0
  printf '%s\n' "${@:3}" > "$scratch/list"
  PATH=$scratch:$PATH "$root/tests/mutants_cuda.sh" run "$scratch" \
    > "$scratch/log" 2>&1 || code=$?
  if [[ $code != "$1" || $(tail -n 1 "$scratch/log") != "$2" ]]; then
    fail "expected exit code $1 and \"$2\"; got $code and:" "$(cat "$scratch/log")"
  fi
}

expect_line() {
  grep -qx "$1" "$scratch/log" || fail "expected \"$1\"; got:" "$(cat "$scratch/log")"
}

check_verdicts() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  program nvidia-smi <<< 'echo 9.0'
  program whole <<< 'echo "5 problems right, 1 empty"'
  program dead <<< 'echo "PAGED_WALK_SEED=7: of a batch"; echo "[  FAILED  ] Cuda/0"; exit 1'
  program stray <<< 'echo "CUDA: an illegal memory access was encountered"; exit 134'
  program lame <<< 'echo "cannot open shared object"; exit 127'
  program mute <<< 'exit 1'
  program skipped <<< 'echo "[  SKIPPED ] Cuda/0"'

  expect 0 "3 of 3 mutants killed" "whole " "dead a" "dead b" "dead c"
  expect_line 'killed: b (PAGED_WALK_SEED=7, [0-9]* s)'
  expect 0 "1 of 1 mutants killed" "whole " "stray a"
  expect_line 'killed: a (an illegal access, [0-9]* s)'
  expect 1 "1 of 2 mutants killed" "whole " "whole one that lives" "dead b"
  expect_line "SURVIVED: one that lives"
  expect 1 "1 of 4 mutants killed" "whole " "lame a" "dead b" "- c" "mute d"
  expect_line "exit code 127, which says nothing: a"
  expect_line "not compiled: c"
  expect_line "exit code 1, which says nothing: d"
  # Were nothing run, every mutant would live, or every one would die.
  expect 1 "the tests fail without a mutant, or do not run" "skipped " "dead a"
  expect 1 "the tests fail without a mutant, or do not run" "dead " "dead a"
  program nvidia-smi <<< 'exit 9'
  expect 3 "mutants_cuda.sh: no GPU" "whole " "dead a"
}

case ${1:-} in
  applies) check_applies ;;
  verdicts) check_verdicts ;;
  *) fail "usage: $0 applies|verdicts" ;;
esac
exit "$failed"
