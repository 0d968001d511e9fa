#!/usr/bin/env bash
# Breaks the block manager on purpose, once per mutant, in a copy, and expects
# its tests to notice. The last line is "N of N mutants killed".
#
#   tests/mutants_blocks.sh [FOLDER [WORDS]]
#
# FOLDER is for the copy and its objects; a temporary one if left out. WORDS
# picks the mutants whose names hold them. Needs a compiler, Abseil and
# GoogleTest; takes some minutes. CXX names the compiler.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
only_mutant=${2:-}
mapfile -t libs < <(pkg-config --libs absl_status absl_statusor absl_strings \
  absl_str_format absl_span | tr ' ' '\n' | grep .)
libs+=(-lgmock -lgtest -lgtest_main -lpthread)

cd "$root"
defines=()
sources=(lib/paged/{block_digest,block_events,block_manager*,huge_pages,pool_lists,prefix_index,sequence_table,sha256*}.cc)
headers=(lib/paged/*.h lib/paged/internal/*.h)
tests=()
for source in tests/lib/blocks/*.cc; do
  # Programs of their own, and what needs a backend.
  case $(basename "$source" .cc) in
    block_allocation_test | block_fuzz | device_table_test | scan_test | engine_test | tiny_*) ;;
    *) tests+=("$source") ;;
  esac
done

tests_pass() {
  if [[ $1 == quick ]]; then return 0; fi
  timeout 120 "$work/tests" --gtest_fail_fast --gtest_brief=1 > "$work/log" 2>&1
}
source tests/mutants_lib.sh
mutants_begin

f=lib/paged/internal/pool_lists.h
mutant "indexed blocks are writable" $f 's/(state(block) & ~kCopyTarget) == 1/(state(block) \& kReferences) == 1/'
mutant "shared blocks are writable" $f 's/(state(block) & ~kCopyTarget) == 1/(state(block) \& kIndexed) == 0/'
mutant "quarantined hits count as available" $f 's/(state(block) & (kReferences | kQuarantined)) == 0/(state(block) \& kReferences) == 0/'
mutant "free blocks skip the quarantine" $f 's/state == 1 && quarantine_ < 0/state == 1/'
mutant "a hit stays on its list" $f 's/if ((state & kReferences) == 0) Wake(block);//'
mutant "copies may target what is read" $f 's/state == 1 && quarantine_ < 0/(state \& ~kCopyTarget) == 1 \&\& quarantine_ < 0/'
f=lib/paged/pool_lists.cc
mutant "targets of copies skip the quarantine" $f 's/state & kCopyTarget ? copy_quarantine_ : quarantine_/quarantine_/'
mutant "cached blocks go to the free ones" $f 's/if (IsIndexed(block)) {/if (false) {/'
mutant "the most recent is evicted" $f 's/const int32_t block = OldestIdle();/const int32_t block = links_[At(IdleSentinel())].previous;/'
mutant "a woken block stays marked" lib/paged/internal/pool_lists.h 's/      state &= ~kQuarantined;//'
mutant "a drained block stays marked" $f 's/states_\[At(block)\] &= ~kQuarantined;//'
mutant "a reset leaves the marks" $f 's/for (uint32_t& state : states_) state &= ~kIndexed;//'
f=lib/paged/prefix_index.cc
mutant "a removal leaves a hole in a run" $f 's/from_home >= ((i - hole) & mask_)/false/'
mutant "a removal moves all up" $f 's/from_home >= ((i - hole) & mask_)/true/'
mutant "verification ignores parents" $f 's/contents_\[At(block)\].parent == key.parent &&//'
mutant "verification trusts digests" lib/paged/internal/prefix_index.h 's/(!verifies_ || HoldsContent(entries_\[i\].block, key))/true/'
mutant "contents share a number" $f 's/{++last_content_, key.parent}/{1, key.parent}/'
f=lib/paged/block_manager_state.cc
mutant "an evicted block is still found" $f 's/  index.Erase(block);//'
mutant "rows are dropped head first" $f 's/for (int32_t column = sequence.num_columns; column-- > num_columns;)/for (int32_t column = num_columns; column < sequence.num_columns; ++column)/'
mutant "the last token is cached too" $f 's/(request.num_tokens - 1) \/ options.block_size/request.num_tokens \/ options.block_size/'
mutant "a match goes on behind a miss" $f 's/if (block < 0) break;/if (block < 0) continue;/'
mutant "idle hits count as available" $f 's/match.num_idle += pool.IsIdle(block) ? 1 : 0;//'
mutant "new columns are not sent" $f 's/  sequences.MarkChanged(sequence, begin, end);//'
mutant "adopted columns are not sent" $f 's/  sequences.MarkChanged(sequence, 0, num_columns);//'
mutant "the null block can be promised" $f 's/options.num_blocks - 1) \*/options.num_blocks) */'
f=lib/paged/block_manager_append.cc
mutant "capacity forgets the copy" $f 's/needs.num_new_columns + (needs.copies_last_block ? 1 : 0);/needs.num_new_columns;/'
mutant "a copy is not reported" $f 's/  steps.AddCopy(copy);//'
mutant "a copy's target is not marked" $f 's/  pool.SetCopyTarget(copy.destination);//'
mutant "a copied column is not sent" $f 's/  sequences.MarkChanged(sequence, column, column + 1);//'
mutant "a block is copied while it is written" $f 's/sequence.last_write_step == steps.building()/false/'
mutant "an append forgets its step" $f '0,/    sequence->last_write_step = state.steps.building();/s///'
mutant "a fork leaves its parent's block writable" $f 's/  parent->owned_end = child.owned_end = 0;//'
mutant "a fork forgets when its block was written" $f 's/  child.last_write_step = parent->last_write_step;//'
mutant "a fork misses one reference" $f 's/column < parent->num_columns;/column + 1 < parent->num_columns;/'
mutant "a fork after a reset publishes" $f 's/child.cache_epoch = parent->cache_epoch;/child.cache_epoch = state.cache_epoch;/'
mutant "a fork is not sent" $f 's/  state.sequences.MarkChanged(child, 0, child.num_columns);//'
mutant "the row is a token short" $f 's/num_tokens > max_tokens_per_row() - sequence.length/num_tokens >= max_tokens_per_row() - sequence.length/'
f=lib/paged/block_manager_cut.cc
mutant "a cut leaves the new last block writable" $f 's/    sequence.owned_end = 0;//'
mutant "a cut stays committed" $f 's/  sequence.committed_blocks = full_blocks;//'
mutant "a cut stays computed" $f 's/  sequence.computed = std::min(sequence.computed, length);//'
mutant "a slide drops a token too many" $f 's/sequence->length - window + 1/sequence->length - window + 2/'
mutant "a slide leaves its columns" $f 's/    row\[column\] = kNullBlock;//'
mutant "a slide is not sent" $f 's/  state.sequences.MarkSlid(\*sequence, begin, end);//'
mutant "a stream rolls back into what is overwritten" $f 's/(first_block + ring) \* size < stream.high_water/false/'
f=lib/paged/block_manager_stream.cc
mutant "a ring without room for misalignment" $f 's/request.max_chunk + size - 1);/request.max_chunk);/'
mutant "a ring that begins in the sinks" $f 's/sinks + (block - sinks) % ring/sinks + block % ring/'
mutant "a reservation is kept" $f 's/  reserved -= StreamColumnsInUse(stream) - in_use;//'
mutant "a stream forgets its high water" $f 's/std::max(stream.high_water, stream.length)/stream.length/'
f=lib/paged/block_manager_cache.cc
mutant "content is published twice" $f 's/known = state.index.Find(key);/known = -1;/'
mutant "what was published stays writable" $f 's/if (end == sequence->num_columns) sequence->owned_end = 0;//'
mutant "a reset lets old content back" $f 's/  ++state.cache_epoch;//'
mutant "partial blocks are published" $f 's/num_computed \/ size/(num_computed + size - 1) \/ size/'
f=lib/paged/block_manager_steps.cc
mutant "sources of copies are kept" $f 's/      state.pool.Unreference(copy.source);//'
mutant "nothing is quarantined" $f 's/const bool waits =/const bool waits = false \&\&/'
mutant "targets of copies stay marked" $f 's/      state.pool.ClearCopyTarget(copy.destination);//'
mutant "quarantines are not drained" $f 's/    state.pool.DrainQuarantine(steps.SlotOf(step));//'
mutant "quarantines of the wrong step" $f 's/steps.SlotOf(steps.submitted())/steps.SlotOf(steps.retired() + 1)/'
mutant "numbers of steps have 32 bits" $f 's/static_cast<int64_t>(state.steps.building())/static_cast<int32_t>(state.steps.building())/'
f=lib/paged/sequence_table.cc
mutant "slid columns are not taken" $f 's/{&sequence.changed_slid, &sequence.changed}/{\&sequence.changed}/'
mutant "a reopened row is listed twice" $f 's/  sequence.in_changed_rows = in_changed_rows;//'
mutant "released handles stay good" $f 's/.generation = sequence.generation + 1/.generation = sequence.generation/'
mutant "managers share generations" $f 's/++num_managers << kGenerationBits/uint64_t{1} << kGenerationBits/'
f=lib/paged/block_digest.cc
mutant "digests ignore their parent" $f 's/    std::memcpy(bytes_.data(), parent.words.data(), 32);//'
mutant "digests ignore the salt" $f 's/  UpdateFramed(hash, domain.salt);//'
mutant "digests ignore the type of a key" $f 's/  UpdateInteger(hash, domain.extra_key_type);//'
f=lib/paged/block_manager_views.cc
mutant "a partial block is a common prefix" $f 's/common = std::min(common, sequence.length \/ state.options.block_size);/common = std::min<int64_t>(common, sequence.num_columns);/'

mutants_end
