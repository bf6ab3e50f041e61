# SPDX-License-Identifier: MIT
#
# What the scripts share; sourced, never run. It sets `root` and changes to it.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf '== %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Cores that this process may use.
cores="$(nproc)"

# configure_and_build PRESET [TARGET...]: quiet where nothing changed, ninja's progress where something did. A LibTorch of
# the user's own is named by TIMBRE_LIBTORCH_DIR in the environment.
configure_and_build() {
  local preset="$1"
  shift
  say "build $preset (build/$preset)"
  cmake --preset "$preset" --log-level=WARNING ${TIMBRE_LIBTORCH_DIR:+"-DTIMBRE_LIBTORCH_DIR=$TIMBRE_LIBTORCH_DIR"} >"build/$preset.configure.log" 2>&1 ||
    { cat "build/$preset.configure.log" >&2; fail "cmake --preset $preset failed"; }
  cmake --build "build/$preset" -j "$cores" ${1:+--target "$@"}
}
