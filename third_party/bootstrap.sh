#!/usr/bin/env bash
# Installs what a build of paged needs and this machine lacks.
#
#   third_party/bootstrap.sh
#
# On Debian and Ubuntu it installs packages, as root or through a sudo that asks
# nothing. Elsewhere it lists what is missing. When all is there it does nothing.
# Exit status: 0 all is there; 2 something is missing and was not installed.
set -euo pipefail

readonly MIN_CMAKE=3.25
# README.md beside this file says what each is for.
readonly LIBRARIES=(libabsl-dev libhwy-dev libgtest-dev libgmock-dev
                    libbenchmark-dev nlohmann-json3-dev python3-matplotlib
                    valgrind)
# The materialising baseline on the host, where no CUDA toolkit brings it. Not
# every release has the package, and all else works without.
readonly OPTIONAL=libthrust-dev

has() { command -v "$1" > /dev/null 2>&1; }

# Whether version $1 is at least $2.
at_least() { [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }

cmake_version() { cmake --version 2> /dev/null | sed -n '1s/^cmake version //p'; }

cmake_is_new_enough() { has cmake && at_least "$(cmake_version)" "${MIN_CMAKE}"; }

has_compiler() { [[ -n "${CXX:-}" ]] && has "${CXX%% *}" || has c++ || has g++; }

package_is_installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" == installed ]]
}

# Names what is missing: one Debian package, or one program, a line.
missing_tools() {
  has_compiler || echo g++
  cmake_is_new_enough || echo cmake
  has ninja || echo ninja-build
}

missing_libraries() {
  local package
  for package in "${LIBRARIES[@]}"; do
    package_is_installed "${package}" || echo "${package}"
  done
}

# Fails when there is nothing to do about it.
wants_optional() {
  ! has nvcc && [[ ! -x /usr/local/cuda/bin/nvcc ]] &&
    ! package_is_installed "${OPTIONAL}" &&
    apt-cache show "${OPTIONAL}" > /dev/null 2>&1
}

give_up() {
  printf 'bootstrap: %s\n' "$@" >&2
  exit 2
}

# Prints the command prefix that makes one root; fails when there is none.
root_prefix() {
  if [[ "$(id -u)" == 0 ]]; then
    echo env
  elif has sudo && sudo -n true 2> /dev/null; then
    echo "sudo -n env"
  else
    return 1
  fi
}

install_optional() {
  local as_root
  wants_optional && as_root="$(root_prefix)" || return 0
  echo "bootstrap: installing ${OPTIONAL}"
  ${as_root} DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
    install -y --no-install-recommends "${OPTIONAL}" > /dev/null ||
    echo "bootstrap: ${OPTIONAL} was not installed; builds lack the baseline on the host" >&2
}

install_debian() {
  local packages as_root
  mapfile -t packages < <(missing_tools; missing_libraries)
  if (( ${#packages[@]} == 0 )); then
    install_optional
    return
  fi
  local by_hand="apt-get install ${packages[*]}"
  as_root="$(root_prefix)" || give_up \
    "missing: ${packages[*]}" \
    "installing them takes root; run: sudo ${by_hand}"

  echo "bootstrap: installing ${packages[*]}"
  local apt="${as_root} DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"
  # Lists may be absent or old; an unreachable source need not be the one needed.
  ${apt} update > /dev/null || echo "bootstrap: apt-get update failed; trying with what is known" >&2
  ${apt} install -y --no-install-recommends "${packages[@]}" > /dev/null ||
    give_up "apt-get failed; try: ${by_hand}"

  cmake_is_new_enough || give_up \
    "missing: cmake ${MIN_CMAKE} or newer; this system's packages have $(cmake_version)" \
    "get it from https://cmake.org/download or by: pip install cmake"
  mapfile -t packages < <(missing_tools; missing_libraries)
  (( ${#packages[@]} == 0 )) || give_up "still missing: ${packages[*]}"
  install_optional
}

# Other systems: the libraries are found by CMake, or fetched by it.
check_other() {
  local tools
  tools="$(missing_tools | sed 's/^ninja-build$/ninja/' | tr '\n' ' ')"
  if [[ -n "${tools}" ]]; then
    give_up \
      "missing: ${tools}" \
      "install a C++20 compiler, cmake ${MIN_CMAKE} or newer and ninja with your system's package manager" \
      "Abseil, Highway, GoogleTest, Google Benchmark and nlohmann/json are downloaded where CMake finds none"
  fi
}

if has dpkg-query && has apt-get; then
  install_debian
else
  check_other
fi
