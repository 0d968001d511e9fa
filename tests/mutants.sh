#!/usr/bin/env bash
# Breaks the shared arithmetic, the CPU kernels, and what leads to them on
# purpose, once per mutant, in a copy, and expects the tests of the CPU to
# notice. The last line is "N of N mutants killed".
#
#   tests/mutants.sh [FOLDER [WORDS]]
#
# FOLDER is for the copy and its objects; a temporary one if left out. WORDS
# picks the mutants whose names hold them. Needs a compiler, Abseil, GoogleTest
# and Highway; takes up to a minute a mutant, most of them a third of that. CXX
# names the compiler.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
only_mutant=${2:-}
mapfile -t libs < <(pkg-config --libs absl_status absl_statusor absl_strings \
  absl_str_format absl_span absl_flat_hash_map absl_flat_hash_set libhwy | tr ' ' '\n' | grep .)
libs+=(-lgmock -lgtest -lgtest_main -lpthread)
for name in "${!PAGED_@}"; do unset "$name"; done

cd "$root"
headers=(lib/paged/*.h lib/paged/internal/*.h kernels/core/*.h kernels/cpu/*.h kernels/baseline/*.h)
common=()
vectors=()
for source in lib/paged/*.cc kernels/cpu/*.cc kernels/baseline/{thrust_cuda_absent,thrust_host_absent,thrust_workspace}.cc; do
  case $(basename "$source" .cc) in
    cuda_backend | cuda_decode | cuda_memory | cuda_profile | cuda_status) ;;
    # The block manager has mutants_blocks.sh.
    block_digest | block_events | block_manager* | device_table* | pool_lists | prefix_index | sequence_table | sha256*) ;;
    simd_absent | simd_dot | simd_dot_absent) ;;
    simd_decode | simd_scratch) common+=("$source") ;;
    simd_*) vectors+=("$source") ;;
    *) common+=("$source") ;;
  esac
done
support=(tests/support/*.cc tests/walk/{walk_spec,random_walk_test}.cc)

# Some hundred problems of the walk; then what only a test of its own notices.
tests_pass() {
  if [[ $1 == quick ]]; then
    PAGED_WALK_COUNT=800 timeout 120 "$work/tests" --gtest_brief=1 --gtest_fail_fast \
      --gtest_filter='Cpu/*Walk*' > "$work/log" 2>&1
  else
    timeout 300 "$work/tests" --gtest_brief=1 --gtest_fail_fast \
      --gtest_filter='*-*Cuda*:*Walk*:*/bf16*:*sse4*:*avx2*:*EveryHeadDim*' > "$work/log" 2>&1
  fi
}
source tests/mutants_lib.sh

# --- Without vectors: the scalar kernels, and what all kernels share. ---------
defines=()
sources=("${common[@]}" kernels/cpu/simd_absent.cc)
tests=("${support[@]}"
  tests/kernels/core/{divisor,dtype,index_divisor,kernel_params,online_softmax,partition,quantise,schedule,visibility}_test.cc
  tests/kernels/cpu/{decode_kernels,spans}_test.cc
  tests/lib/{append_codes,append_decode,append_kv,block_moves,copy_blocks,kv_dtypes,large_pool,merge_results,query_tokens,score_meaning,score_rules,table_adapters}_test.cc
  tests/lib/{append_model,large_pool}.cc)
mutants_begin

f=kernels/core/partition.h
mutant "a partial tile is no tile" $f 's/context_len \/ kTileTokens + (context_len % kTileTokens != 0)/context_len \/ kTileTokens/'
mutant "lengths exceed the capacity" $f 's/return context_len < max_context_len ? context_len : max_context_len;/return context_len;/'
mutant "splits leave out the first tile" $f 's/work.first_tile = split;/work.first_tile = split + 1;/'
mutant "splits leave gaps" $f 's/work.tile_step = p.num_splits;/work.tile_step = p.num_splits + 1;/'
mutant "items share partials" $f 's/work.partial = SplitPartials(p, item).first + split;/work.partial = item + split;/'
mutant "row tiles overlap" $f 's/const int first_row = row_tile \* p.rows_per_item;/const int first_row = row_tile;/'
f=kernels/core/kernel_params.h
mutant "rows are head-major" $f 's/return {row \/ p.group, kv_head \* p.group + row % p.group};/return {row % p.q_len, kv_head * p.group + row \/ p.q_len};/'
mutant "groups overlap" $f 's/return {0, kv_head \* p.group + row};/return {0, kv_head + row};/'
mutant "ragged queries start at 0" $f 's/p.query_offsets\[seq\] + row.token/row.token/'
f=kernels/core/kv_layout.h
mutant "blocks are addressed in 32 bits" $f 's/return block \* view.block_stride + slot/return static_cast<int32_t>(block * view.block_stride) + slot/'
mutant "slots are heads" $f 's/slot \* view.slot_stride +/slot * view.head_stride +/'
mutant "block sizes are powers of two" $f 's/position % block_size}/position \& (block_size - 1)}/'
f=kernels/core/online_softmax.h
mutant "an empty maximum is subtracted" $f 's/(max_log2 == -INFINITY ? 0.0f : max_log2)/max_log2/'
mutant "lse is in base 2" $f 's/(s.max_log2 + log2f(s.sum)) \* kLn2/(s.max_log2 + log2f(s.sum))/'
mutant "a NaN row is empty" $f 's/return s.sum == 0.0f;/return !(s.sum > 0.0f);/'
f=kernels/core/score_rules.h
mutant "a window is a token too large" $f 's/begin = position - rules.window + 1;/begin = position - rules.window;/'
mutant "sinks are never seen" $f 's/return position < visible.sink_end ||/return false ||/'
mutant "a query token sees the next one" $f 's/return {begin, position + 1,/return {begin, position + 2,/'
mutant "a cap is not applied" $f 's/if (rules.soft_cap_log2 != 0.0f) {/if (false) {/'
mutant "a sink is in base 2" $f 's/rules.sink_logits\[q_head\] \* kLog2E/rules.sink_logits[q_head]/'
f=kernels/core/visibility.h
mutant "skipped tiles are read" $f 's/tile : tile + item.skipped_tiles;/tile : tile;/'
mutant "a tree's bits are off by one" $f 's/row.tree_mask >> (position - row.tree_begin) \& 1u/row.tree_mask >> (position - row.tree_begin + 1) \& 1u/'
f=kernels/core/kv_scales.h
mutant "every head has the first scale" $f 's/scales.data\[kv_head \* scales.head_stride\]/scales.data[0]/'
mutant "the factor is lost beside a tensor" $f 's/return scales.factor \* scales.data/return scales.data/'
f=kernels/core/dtype.h
mutant "ties of codes go up" $f 's/- 1u + is_odd;/;/'
f=kernels/core/quantise.h
mutant "infinities make a row's scale" $f 's/return magnitude <= kLargestFinite ? magnitude : 0.0f;/return magnitude;/'
mutant "a row's scale forgets the factor" $f 's/ClampToNormal(amax \/ largest_code) \/ factor)/amax \/ largest_code)/'
f=kernels/core/divisor.h
mutant "divisor: zeros lose their sign" $f 's/fmaf(quotient, scale_, -value)/-fmaf(-quotient, scale_, value)/'
mutant "divisor: quotients are not corrected" $f 's/return fmaf(-excess, inverse_, quotient);/return quotient;/'
mutant "divisor: any small scale is served" $f 's/scale_ >= 0x1p-60f \&\& //'
mutant "divisor: tiny values are exact" $f 's/smallest >= 0x1p-60f/smallest >= 0.0f/'
mutant "divisor: infinity is served by 1" $f 's/(scale_ == 1.0f \&\& largest <= 0x1.fffffep127f)/scale_ == 1.0f/'
mutant "divisor: codes of any magnitude" $f 's/ \&\& largest <= 0x1p80f//'
mutant "divisor: codes of any scale" $f 's/scale_ >= 0x1p-40f \&\& scale_ <= 0x1p60f \&\& largest/largest/'
f=kernels/core/index_divisor.h
mutant "divisor of indices: rounded down" $f 's/((uint64_t{1} << shift_) + divisor - 1) \/ divisor/(uint64_t{1} << shift_) \/ divisor/'
mutant "divisor of indices: a bit short" $f 's/shift_(31 +/shift_(30 +/'
f=kernels/core/append_params.h
mutant "slot -1 is written" $f 's/if (entry < 0 || entry >= p.num_slots) return {};/if (entry >= p.num_slots) return {};/'
mutant "slots past the pool are written" $f 's/if (entry < 0 || entry >= p.num_slots) return {};/if (entry < 0 || entry > p.num_slots) return {};/'
f=kernels/core/schedule.h
mutant "chunks leave gaps" $f 's/const int first = rank \* cut.share + (rank < cut.larger ? rank : cut.larger);/const int first = rank * cut.share + rank;/'
mutant "a schedule exceeds its room" $f 's/if (num_chunks <= p.max_chunks) return rung;/if (num_chunks <= p.max_chunks + 1) return rung;/'
f=kernels/core/table_fill.h
mutant "indptr may leave the indices" $f 's/ClampTo(p.indptr\[seq + 1\], begin, p.num_indices)/ClampTo(p.indptr[seq + 1], begin, 2147483647)/'
mutant "a longer sequence is not cut" $f 's/ClampTo(len, 0, p.max_context_len)/ClampTo(len, 0, 2147483647)/'
f=kernels/cpu/attend_range.h
mutant "values keep their old maximum" $f 's/sums\[d\] \*= keep;/sums[d] += 0.0f * keep;/'
mutant "hidden slots are read" $f 's/if (!Sees(item.visible, first + i)) continue;//'
mutant "a span is added twice" $f 's/scratch.states\[r\].sum = 0.0f;//'
f=kernels/cpu/spans.h
mutant "spans never end" $f 's/ % kSpanTiles == 0;/ < 0;/'
mutant "spans are added without weights" $f 's/: WeightOf(past.max_log2, span.max_log2);/: 1.0f;/'
f=kernels/cpu/decode_kernels.cc
mutant "partials are added without weights" $f 's/+= weight \* from\[d\]/+= from[d]/'
mutant "empty partials keep what the workspace held (scalar)" $f 's/p.partials.states\[row\] = IsEmpty(state) ? SoftmaxState{} : state;/if (!IsEmpty(state)) p.partials.states[row] = state;/'
f=kernels/cpu/append_kernels.cc
mutant "a row's scale is not written" $f 's/    tensor.row_scales\[RowScaleOffset(tensor, place, kv_head)\] = row_scale;//'
f=kernels/cpu/copy_kernels.cc
mutant "exchanges are copies" $f 's/  if (swaps) {/  if (false) {/'
f=lib/paged/block_moves.cc
mutant "copies that read what another writes are apart" $f 's/written.Contains(copy.source) ||//'
f=lib/paged/internal/block_set.h
mutant "blocks share a bit" $f 's/uint64_t{1} << (block % 64)/uint64_t{1} << (block % 32)/'
f=lib/paged/kernel_params.cc
mutant "the scale is in base e" $f 's/.scale_log2 = s.scale \* kLog2E,/.scale_log2 = s.scale,/'
mutant "rows with scales are moved as they are" $f 's/ || scales_keys || scales_values;/;/'
f=lib/paged/lower.cc
mutant "the workspace is a row short" $f 's/num_rows \* static_cast<std::size_t>(s.value_dim) \* sizeof(float);/(num_rows - 1) * static_cast<std::size_t>(s.value_dim) * sizeof(float);/'

# --- With vectors, of one instruction set: a third of what there is to compile.
defines=(-DHWY_COMPILE_ONLY_STATIC)
if [[ $(uname -m) == x86_64 ]]; then
  vector_flags=(-mavx2 -mfma -mf16c -mbmi -mbmi2 -maes -mpclmul)
  vectors+=(kernels/cpu/simd_dot.cc)
else
  vectors+=(kernels/cpu/simd_dot_absent.cc)
fi
sources=("${common[@]}" "${vectors[@]}")
tests=("${support[@]}" tests/kernels/cpu/{exactness,simd_codes,simd_decode,spans}_test.cc
  tests/lib/{kv_dtypes,query_tokens,score_meaning,score_rules}_test.cc)
mutants_begin

f=kernels/cpu/simd_turns-inl.h
mutant "hidden slots are read (vectors)" $f 's/if (!Sees(item.visible, position)) continue;//'
mutant "slots do not start again with a block" $f 's/place = {place.logical_block + 1, 0};/place.logical_block += 1;/'
f=kernels/cpu/simd_tile-inl.h
mutant "sums keep their old maximum" $f 's/sum\[r \* T + t\] \*= keep;//'
mutant "padding of a tile has a score" $f 's/scores\[ScoreIndex<R>(r, t)\] = -std::numeric_limits<float>::infinity();/scores[ScoreIndex<R>(r, t)] = 0.0f;/'
mutant "scores are rounded where they are weighed" $f 's/if (has_large) {/if (true) {/'
mutant "large scores are not rounded alike" $f 's/if (has_large) {/if (false) {/'
mutant "small weights are lost" $f 's/StoreFloats(hn::Add(LoadFloats(lost), rest), lost);//'
f=kernels/cpu/simd_rows-inl.h
mutant "rows are multiplied by a rounded inverse" $f 's/hn::Div(LoadFloats(from + d), sum)/hn::Mul(LoadFloats(from + d), hn::Div(hn::Set(FloatTag(), 1.0f), sum))/'
f=kernels/cpu/simd_spans-inl.h
mutant "values of past spans keep their old maximum" $f 's/hn::MulAdd(LoadFloats(past + i), keep, LoadFloats(values + i))/hn::Add(LoadFloats(past + i), LoadFloats(values + i))/'
mutant "values of a span are added twice" $f 's/StoreFloats(hn::Zero(d), values + i);//'
f=kernels/cpu/simd_values-inl.h
mutant "the last values are lost" $f 's/if (at < tokens.dim) {/if (false) {/g'
f=kernels/cpu/simd_attend-inl.h
mutant "a scale of a token's value is lost (vectors)" $f 's/weights\[ScoreIndex<R>(r, t)\] \*= scale;/weights[ScoreIndex<R>(r, t)] *= 1.0f;/'
mutant "past spans begin with what was there" $f 's/if (HasSpanEnd(item)) scratch.ZeroPastValues();//'
if grep -qs avx512_bf16 /proc/cpuinfo; then
  f=kernels/cpu/simd_dot-inl.h
  mutant "rows share a query (dot products)" $f 's/r % kRowsOf<R> \* kSegmentDims<R>;/0;/'
  mutant "tokens change places (dot products)" $f 's/hn::ConcatEven(d64, b, a)/hn::ConcatOdd(d64, b, a)/'
  mutant "the last dimensions are lost (dot products)" $f 's/for (; d < tokens.dim; d += kSegment, query/for (; d < 0; d += kSegment, query/'
  mutant "what lies behind a key is read (dot products)" $f 's/std::min(kSegment, tokens.dim - d)/kSegment/'
  f=kernels/cpu/simd_dot_elements-inl.h
  mutant "sums of long rows overflow (dot products)" $f 's/std::min(32767, (1 << 24) \/ dim)/32767/'
  mutant "a NaN query is a number (dot products)" $f 's/           nan_or_zero;/           0.0f;/'
  f=kernels/cpu/simd_dot_values-inl.h
  mutant "weights are scaled for one token (dot products)" $f 's/distance < T; distance/distance < 1; distance/'
  mutant "even and odd dimensions change places (dot products)" $f 's/half == 0 ? first : second/half == 1 ? first : second/'
  f=kernels/cpu/simd_kernels.h
  mutant "queries of floats are rounded to bf16" $f 's/query == ElementKind::kBF16 \&\& kv == query;/query != ElementKind::kF16 \&\& kv == ElementKind::kBF16;/'
fi
f=kernels/cpu/simd_decode.cc
mutant "empty partials keep what the workspace held" $f 's/p.partials.states\[row\] = IsEmpty(state) ? SoftmaxState{} : state;/if (!IsEmpty(state)) p.partials.states[row] = state;/'

mutants_end
