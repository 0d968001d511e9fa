# What the mutants_*.sh scripts share: sources are broken on purpose, one
# mutant at a time, in a copy, and their tests are expected to notice. Sourced,
# with these set:
#
#   root       the repository
#   work       a folder for the copy and its objects
#   sources    files of the repository that are compiled
#   headers    those that are copied beside them
#   tests      test files, compiled once unless a mutant is in a header that
#              they include
#   libs       for the linker
#   defines    for the compiler; may be empty
#   vector_flags  for the compiler too, of files named simd_*; may be empty
#   only_mutant  words that a mutant's name must hold; may be empty
#   nvcc, nvcc_flags  the compiler (words) of sources named *.cu, where there
#              are some
#
# The caller may define mutants_prepare, which changes the copy in "$work/whole"
# before anything is compiled, and adds what it wrote there to sources.
# The caller defines tests_pass, which runs "$work/tests": tests_pass quick
# those that notice most mutants, tests_pass whole all others. Or it defines
# mutants_keep <name>, which takes "$work/tests" away to be run elsewhere; the
# name is empty for what nothing is broken in, and what could not be compiled
# left no "$work/tests". CXX names the compiler, and may be several words.
read -ra cxx <<< "${CXX:-c++}"
jobs=$(nproc)
num_mutants=0
num_killed=0
num_kept=0

mutants_restore() {
  rm -rf "$work/tree" "$work/mutant" "$work/tests"
  cp -r "$work/whole" "$work/tree"
  cp -r "$work/objects" "$work/mutant"
}

# mutants_compile <source under the tree or the repository> <folder of objects>
mutants_compile() {
  local from=$work/tree/$1
  [[ -e $from ]] || from=$root/$1
  local flags=(${defines[@]+"${defines[@]}"})
  if [[ $1 == */simd_* ]]; then flags+=(${vector_flags[@]+"${vector_flags[@]}"}); fi
  local compiler=("${cxx[@]}")
  if [[ $1 == *.cu ]]; then compiler=("${nvcc[@]}" "${nvcc_flags[@]}"); fi
  "${compiler[@]}" -std=c++20 -O1 -w ${flags[@]+"${flags[@]}"} -MMD \
    -I"$work/tree/lib" -I"$work/tree" -I"$root/lib" -I"$root" \
    -c "$from" -o "$2/${1//\//_}.o"
}

mutants_link() {
  "${cxx[@]}" "$work"/mutant/*.o -o "$work/tests" "${libs[@]}"
}

# Compiles files, as many at once as there are processors.
mutants_compile_all() {
  local file pids=() failed=0
  for file in "$@"; do
    mutants_compile "$file" "$work/mutant" &
    pids+=($!)
    if (( ${#pids[@]} >= jobs )); then
      wait "${pids[0]}" || failed=1
      pids=("${pids[@]:1}")
    fi
  done
  for file in ${pids[@]+"${pids[@]}"}; do wait "$file" || failed=1; done
  return $failed
}

mutants_keeps() { declare -F mutants_keep > /dev/null; }

# What follows is of other sources and tests.
mutants_begin() { is_built=no; }

# Compiles everything as it is, and insists that the tests pass.
mutants_build() {
  local file
  rm -rf "$work/whole" "$work/tree" "$work/mutant" "$work/objects"
  mkdir -p "$work/whole" "$work/mutant"
  for file in "${sources[@]}" "${headers[@]}"; do
    mkdir -p "$work/whole/$(dirname "$file")"
    cp "$root/$file" "$work/whole/$file"
  done
  if declare -F mutants_prepare > /dev/null; then mutants_prepare; fi
  cp -r "$work/whole" "$work/tree"
  mutants_compile_all "${sources[@]}" "${tests[@]}" || exit 1
  cp -r "$work/mutant" "$work/objects"
  mutants_link
  if mutants_keeps; then
    mutants_keep ""
  elif ! tests_pass quick || ! tests_pass whole; then
    cat "$work/log"
    echo "the tests fail without a mutant"
    exit 1
  fi
  is_built=yes
}

# mutants_dependents <file> <candidate>...: those that are compiled from it, by
# the lists that the compiler left.
mutants_dependents() {
  local changed=$1 file
  shift
  for file in "$@"; do
    if grep -q "/$changed\( \|$\)" "$work/objects/${file//\//_}.d"; then echo "$file"; fi
  done
}

# mutants_rebuild <changed file> <candidate>...: links what is compiled from it
# anew, with what is not as it was.
mutants_rebuild() {
  local changed
  mapfile -t changed < <(mutants_dependents "$@")
  mutants_compile_all ${changed[@]+"${changed[@]}"} && mutants_link
}

# Tests that include a mutated header are compiled again only when a mutant
# lives through the quick ones. 0: alive; 1: killed; 2: does not compile.
mutants_live() {
  mutants_rebuild "$1" "${sources[@]}" || return 2
  tests_pass quick || return 1
  mutants_rebuild "$1" "${tests[@]}" || return 2
  tests_pass whole || return 1
}

# What the tests say of the mutant in the tree.
mutants_judge() {  # mutants_judge <what it breaks> <file>
  local outcome=0 begin=$SECONDS
  mutants_live "$2" || outcome=$?
  case $outcome in
    0) echo "SURVIVED: $1" ;;
    2) echo "does not compile: $1" ;;
    *)
      num_killed=$((num_killed + 1))
      echo "killed: $1 ($((SECONDS - begin)) s)"
      ;;
  esac
}

# Compiles the mutant in the tree for mutants_keep.
mutants_hand_over() {  # mutants_hand_over <what it breaks> <file>
  local begin=$SECONDS
  if mutants_rebuild "$2" "${sources[@]}" "${tests[@]}"; then
    num_kept=$((num_kept + 1))
    echo "compiled: $1 ($((SECONDS - begin)) s)"
  else
    echo "does not compile: $1"
  fi
}

mutant() {  # mutant <what it breaks> <file> <sed script>
  if [[ -n ${only_mutant:-} && $1 != *"$only_mutant"* ]]; then return; fi
  num_mutants=$((num_mutants + 1))
  if [[ $is_built == no ]]; then mutants_build; fi
  mutants_restore
  sed -i "$3" "$work/tree/$2"
  if cmp -s "$work/whole/$2" "$work/tree/$2"; then
    echo "does not apply: $1"
  elif mutants_keeps; then
    mutants_hand_over "$1" "$2"
  else
    mutants_judge "$1" "$2"
  fi
  if mutants_keeps; then mutants_keep "$1"; fi
}

mutants_end() {
  echo "$num_killed of $num_mutants mutants killed"
  [[ $num_killed == "$num_mutants" ]]
}
