# SPDX-License-Identifier: MIT
#
# What the scripts share; sourced, never run. It sets `root` and changes to it.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Cores that this process may use.
cores="$(nproc)"

# Further options of cmake for what is built next.
cmake_options=()

# configure_and_build PRESET [TARGET...]: quiet where nothing changed, ninja's progress where something did. A LibTorch of
# the user's own is named by TIMBRE_LIBTORCH_DIR in the environment.
configure_and_build() {
  local preset="$1"
  shift
  say "build $preset (build/$preset)"
  cmake --preset "$preset" --log-level=WARNING "${cmake_options[@]}" \
    ${TIMBRE_LIBTORCH_DIR:+"-DTIMBRE_LIBTORCH_DIR=$TIMBRE_LIBTORCH_DIR"} >"build/$preset.configure.log" 2>&1 ||
    { cat "build/$preset.configure.log" >&2; fail "cmake --preset $preset failed"; }
  cmake --build "build/$preset" -j "$cores" ${1:+--target "$@"}
}

# build_benchmarks TARGET...: in build/release. Nothing goes to stdout, which is for the tables.
build_benchmarks() {
  cmake_options+=(-DTIMBRE_BENCHMARKS=ON)
  configure_and_build release "$@" >&2
}

# run_benchmark PROGRAM REPETITIONS REPORT [OPTION...]: of Google Benchmark, its rounds mixed.
run_benchmark() {
  local program="$1" repetitions="$2" report="$3"
  shift 3
  say "measure: $program" >&2
  "$program" --benchmark_repetitions="$repetitions" --benchmark_enable_random_interleaving=true \
    --benchmark_min_time=0.2 --benchmark_out="$report" --benchmark_out_format=json "$@" >&2
}

# install_packages PACKAGE...: what is missing of these Debian packages, by root or sudo; else ends with the command that
# an administrator has to run.
install_packages() {
  command -v dpkg-query >/dev/null || fail "this script knows Debian 12 only; install by hand: $*"
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
  done
  if [ ${#missing[@]} = 0 ]; then return 0; fi
  local run=()
  if [ "$(id -u)" != 0 ]; then
    # A sudo that would ask for a password is only of use to somebody who sits there.
    if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      run=(sudo)
    else
      echo "These system packages are missing, and this user is neither root nor able to use sudo:" >&2
      printf '  %s\n' "${missing[@]}" >&2
      echo "Let an administrator run:" >&2
      echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  say "install system packages: ${missing[*]}"
  "${run[@]}" apt-get update
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
