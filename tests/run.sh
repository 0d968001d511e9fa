#!/usr/bin/env bash
# Builds paged and runs every test that this machine can run:
#
#   tests/run.sh [arguments of ctest, such as -L cpu or -R PlanTest]
#
# Tests of the GPU are skipped where there is none, and say so.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../third_party/setup.sh"

# Settings of the user's would change what the tests see.
for name in "${!PAGED_@}"; do
  unset "${name}"
done

setup_paged release 4

if nvidia-smi -L > /dev/null 2>&1; then
  say 4 "running the tests"
else
  say 4 "running the tests; there is no GPU here, so those labelled gpu are skipped"
fi
ctest --preset release --parallel "$(num_cores)" "$@"
