# shellcheck shell=bash
# What the scripts of this folder share. Sourced, never run.
#
# Sets: root (the repository; also the working folder), jobs (parallel compilers), and ccache as launcher where it is installed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${HEDDLE_JOBS:-$(nproc)}

# Paths below the repository are relative for the cache: another clone of the same sources compiles nothing again. Safe, because file
# names in the programs are relative to the repository, too.
if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR=1
fi

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# configure PRESET [CMAKE ARGUMENT …]: quiet unless it fails; the output stays in build/PRESET/configure.log.
configure() {
    local preset=$1
    shift
    mkdir -p "build/$preset"
    if ! cmake --preset "$preset" "$@" >"build/$preset/configure.log" 2>&1; then
        cat "build/$preset/configure.log" >&2
        return 1
    fi
}

# build PRESET [TARGET …]: everything, or the named targets.
build() {
    local preset=$1
    shift
    if [ $# -eq 0 ]; then
        cmake --build --preset "$preset" --parallel "$jobs"
    else
        cmake --build --preset "$preset" --parallel "$jobs" --target "$@"
    fi
}
