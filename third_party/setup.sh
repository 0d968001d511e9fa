# Sourced by apps/quickstart.sh and tests/run.sh:
#
#   setup_paged <preset> <last step>
#
# makes this machine ready, configures and builds a preset in build/<preset>,
# and says so as steps 1 to 3 of <last step>. Leaves the shell in the root.

say() { printf '[%s/%s] %s\n' "$1" "${last_step}" "$2"; }

num_cores() { nproc 2> /dev/null || getconf _NPROCESSORS_ONLN; }

setup_paged() {
  local preset="$1"
  last_step="$2"
  cd "$(dirname "${BASH_SOURCE[0]}")/.."

  say 1 "checking compiler, CMake, Ninja and libraries"
  third_party/bootstrap.sh

  say 2 "configuring build/${preset}"
  local log="build/${preset}-configure.log"
  mkdir -p build
  if ! cmake --preset "${preset}" > "${log}" 2>&1; then
    cat "${log}" >&2
    return 2
  fi
  grep -E '^-- (CUDA|absl|hwy|GTest|benchmark|nlohmann_json):' "${log}" || true

  say 3 "building build/${preset} on $(num_cores) cores (the first time takes minutes)"
  cmake --build --preset "${preset}" --parallel "$(num_cores)"
}
