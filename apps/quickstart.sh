#!/usr/bin/env bash
# From a fresh clone to real attention computed by every variant:
#
#   apps/quickstart.sh
#
# Exits with the program's status: 0 when all variants agree with the reference,
# 1 when one does not, 2 when something is missing, 3 on a device error.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../third_party/setup.sh"

setup_paged release 4

command=(build/release/apps/paged run tests/data/smollm2_decode.safetensors --variant=all)
say 4 "${command[*]}"
status=0
"${command[@]}" || status=$?
if (( status == 0 )); then
  echo
  echo "Next: build/release/apps/paged explain --num_seqs=8 --context_len=4096" \
       "--num_q_heads=32 --num_kv_heads=8 --head_dim=128 --device=h200"
fi
exit "${status}"
