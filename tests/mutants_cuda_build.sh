# The first half of mutants_cuda.sh, sourced by it: the list of mutants, and how
# they are compiled into its folder. build_programs does it.

# What mutants_lib.sh wants to be set.
set_up_build() {
  work=$folder/scratch
  read -ra nvcc <<< "${NVCC:-$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)}"
  local source cuda
  arch=${CUDAARCHS:-$(capability || echo 90)}
  cuda=$(dirname "$(dirname "$(command -v "${nvcc[-1]}")")")
  # Neither what another GPU would need nor compressed: the programs are alike
  # but for a few kernels, and pack well together.
  nvcc_flags=(-gencode "arch=compute_$arch,code=sm_$arch" --no-compress
    -forward-unknown-to-host-compiler)
  mapfile -t libs < <(pkg-config --libs absl_status absl_statusor absl_strings \
    absl_str_format absl_span absl_flat_hash_map absl_flat_hash_set |
    tr ' ' '\n' | grep .)
  libs=(-s -Wl,-Bstatic "${libs[@]}" -lgmock -lgtest -lgtest_main
    "-L$cuda/lib64" -lcudart_static -Wl,-Bdynamic -ldl -lrt -lpthread)
  headers=(lib/paged/*.h lib/paged/internal/*.h kernels/core/*.h kernels/cpu/*.h
    kernels/baseline/*.h kernels/cuda/*.h kernels/cuda/*.cuh)
  sources=(kernels/cpu/simd_absent.cc kernels/cpu/simd_decode.cc kernels/cpu/simd_scratch.cc
    kernels/cuda/decode_registry.cc
    kernels/baseline/{thrust_cuda_absent,thrust_host_absent,thrust_workspace}.cc)
  for source in lib/paged/*.cc kernels/cpu/*.cc kernels/cuda/*.cu; do
    case $(basename "$source") in
      cuda_backend_absent.cc | simd_* | gather.cu | traced_decode.cu) ;;
      *) sources+=("$source") ;;
    esac
  done
  tests=(tests/support/*.cc tests/walk/{walk_spec,random_walk_test}.cc)
  defines=(-DPAGED_HAS_CUDA=1 "-I$cuda/include")
}

# In the copy: few instances, in as many files as are compiled at once, since
# families that share a file take a quarter less.
mutants_prepare() {
  local family element kind rows file count=0
  sed -i -E \
    -e 's/(InstanceShape k(All|Few)\[\] = ).*/\1{{4, 2}};/' \
    -e 's/(InstanceShape k(Padded|Deep)\[\] = ).*/\1{{4, 3}};/' \
    -e '/InstanceShape kSmall\[\] = \{$/{N;s/\n.*/{4, 2}};/}' \
    -e '/VisitShapes\([a-z_]+, \{(64|80|96|112|192|256|512), /d' \
    -e 's/\{ElementKind::kF16, ElementKind::kBF16\}/{ElementKind::kF16}/' \
    -e 's/\{ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8\}/{ElementKind::kE4M3}/' \
    -e 's/\{ElementKind::kF16, ElementKind::kBF16, ElementKind::kF32,/{ElementKind::kF32}) {/' \
    -e '/^ +ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8\}\) \{/d' \
    -e 's/int dim : \{128, 512\}/int dim : {128}/' \
    "$work/whole/kernels/core/instance.h"
  # What the planner knows of their registers is of the whole list.
  sed -i -e '/= std::to_array({/,/^});/c\inline constexpr auto kInstanceRegisters = [] { std::array<int, kInstances.size()> all{}; all.fill(128); return all; }();' \
    "$work/whole/kernels/core/instance_registers.h"
  sed -i -e '/^  AppendSmall<InstanceKind::kCudaCores/d' \
    -e 's/^         ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8>/         ElementKind::kE4M3>/' \
    -e 's/^\(  Append<.*ElementKind::kF16,\) ElementKind::kBF16,/\1/' \
    "$work/whole/kernels/cuda/decode_registry.cc"
  for family in F16,Plain,8 F16,Plain,16 F16,General,8 F16,General,16 F16,General,32 \
    E4M3,Plain,8 E4M3,Plain,16 E4M3,General,8 E4M3,General,16 E4M3,General,32 \
    F32,CudaCores,8; do
    IFS=, read -r element kind rows <<< "$family"
    file=kernels/cuda/instances_$((count++ % jobs)).cu
    [[ -e $work/whole/$file ]] || sources+=("$file")
    sed -e "s/@element@/$element/; s/@kind@/$kind/; s/@max_rows@/$rows/" \
      "$root/kernels/cuda/instances.cu.in" >> "$work/whole/$file"
  done
}

# A line of the list: the program, - where there is none, and the name of the
# mutant, which is empty for the kernels as they are.
mutants_keep() {  # mutants_keep <name>
  local program=-
  if [[ -f $work/tests ]]; then
    program=$(printf 'program_%02d' "$num_mutants")
    [[ -n $1 ]] || program=program_unbroken
    mv "$work/tests" "$folder/$program"
  fi
  echo "$program $1" >> "$work/list"
}

break_kernels() {
  local f
  f=kernels/cuda/softmax_step.cuh
  mutant "values keep their old maximum" $f 's/values\[i\]\[j\] \*= keep\[Layout::HalfOf(j)\];/values[i][j] *= 1.0f;/'
  mutant "sums keep their old maximum" $f 's/rows.sum\[half\] \*= keep\[half\];//'
  mutant "tokens have the first one's scale" $f 's/scores\[n\]\[j\] \*= factors\[Layout::TokenOf(n, j)\];/scores[n][j] *= factors[0];/'
  f=kernels/cuda/lane_rules.cuh
  mutant "slopes are a token off" $f 's/static_cast<float>(position - row.position)/static_cast<float>(position - row.position + 1)/'
  mutant "masked scores count" $f 's/return Sees(row, position) ? score : -INFINITY;/return score;/'
  mutant "the beginning of what is seen is not masked" $f 's/begin < seen_begin_ || begin + kTileTokens/begin + kTileTokens/'
  mutant "a cap is not applied" $f 's/if (rules.soft_cap_log2 != 0.0f) {/if (false) {/'
  mutant "a bias alone is not applied" $f 's/^ *p.rules.bias != nullptr;/false;/'
  mutant "tokens have the first one's bias" $f 's/LoadSharedFloat(biases + Layout::Place(i) \* 4)/LoadSharedFloat(biases)/'
  f=kernels/cuda/reduce_row.cuh
  mutant "partials are added without weights" $f 's/AddWeighted(weight, sums\[i\]/AddWeighted(1.0f, sums[i]/'
  mutant "splits past the first eight are lost" $f 's/first < min(32, parts.count - batch)/first < min(kSplitsAtOnce, parts.count - batch)/'
  f=kernels/cuda/warp_merge.cuh
  mutant "warps are added without weights" $f 's/AddWeighted(weight, parts\[w\].sum/AddWeighted(1.0f, parts[w].sum/'
  if ((${arch%[af]} >= 90)); then
    f=kernels/cuda/cluster_merge.cuh
    mutant "clusters are added without weights" $f 's/AddWeighted(WeightOf(parts\[s\].max_log2, total.max_log2), parts/AddWeighted(1.0f, parts/'
  fi
  f=kernels/cuda/epilogue.cuh
  mutant "a scale of values is lost" $f 's/end.factor \* HeadScale(p.value_scales, kv_head)/end.factor/'
  f=kernels/cuda/attend_range.cuh
  mutant "a scale of keys is lost" $f 's/p.scale_log2 \* HeadScale(p.key_scales, kv_head);/p.scale_log2;/'
  f=kernels/cuda/tile_copies.cuh
  mutant "hidden tokens are read" $f 's/Sees(item_.visible, position)/true/'
  mutant "tokens past the context are read" $f 's/position < item_.context_len/true/'
  mutant "tiles begin at slot 0" $f 's/OffsetOf(view, block, first_slot + /OffsetOf(view, block, /'
  mutant "small blocks: values have the offsets of keys" $f 's/lane_ < kTileTokens ? p_.key : p_.value/p_.key/'
  mutant "the second half of a chunk is lost" $f 's/dims_left >= Layout::kChunkElements ? bytes : 0/0/'
  mutant "the last visible token is not copied" $f 's/bits >> row \& 1/bits >> row + 1 \& 1/'
  f=kernels/cuda/kv_ring.cuh
  mutant "small blocks: every other tile has the blocks of the one before" $f 's/count % 2 \* kTileTokens + lane_ % kTileTokens/lane_ % kTileTokens/'
  mutant "small blocks: ids are looked up once in 32 tiles" $f 's/issued_ % tiles_ahead_ == 0/issued_ % 32 == 0/'
  f=kernels/cuda/core_range.cuh
  mutant "sums keep their old maximum (CUDA cores)" $f 's/states_\[r\].sum \* keeps\[r\] + weights\[r\]/states_[r].sum + weights[r]/'
  mutant "both halves of a warp have the same rows (CUDA cores)" $f 's/first_row_(lane_ \/ kTileTokens \* kLaneRows)/first_row_(0)/'
}

build_programs() {
  cd "$root"
  rm -f "$folder"/{list,hashes,program_*}
  set_up_build
  source tests/mutants_lib.sh
  source benchmarks/record_lib.sh
  mutants_begin
  break_kernels
  insist_on_mutants "$num_mutants"
  write_hashes "$folder"
  mv "$work/list" "$folder/list"
  rm -r "$work"
  echo "$num_kept of $num_mutants mutants compiled"
  if ((num_kept < num_mutants)); then result=1; fi
}
