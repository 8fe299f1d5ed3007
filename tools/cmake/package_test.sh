#!/usr/bin/env bash
# Uses the built tree as a stranger would, in one way per call: the example of README is built against it and run.
#
# usage: package_test.sh BUILD_DIR find_package|pkg_config|fetch_content|own_pool|own_pool_embedded|own_pool_fetched|drawn_values
set -euo pipefail

build=$(cd "$1" && pwd)
way=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
cxx=${CXX:-c++}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Installed in one place and moved to another: no file may remember where it was.
install() {
    cmake --install "$build" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
    mv "$work/installed" "$work/prefix"
}

configure_and_build() {
    cmake -G Ninja -S "$1" -B "$work/build" -DCMAKE_BUILD_TYPE=Release "${@:2}"
    cmake --build "$work/build" --target first_program
    cp "$work/build/first_program" "$work/first_program"
}

# A project with a property of its own: its bug is found, and the trace replays with the command that was printed.
run_own_pool() {
    cmake -G Ninja -S "$source/examples/own_pool" -B "$work/build" -DCMAKE_BUILD_TYPE=Release "$@"
    cmake --build "$work/build" --target tiny_pool_test
    ctest --test-dir "$work/build" --output-on-failure --tests-regex the_bug_is_found
    test "$(ctest --test-dir "$work/build" -N -L property | grep -c 'Test *#')" = 1
    trace=$(find "$work/build" -name 'TinyPool.*.trace.json')
    if HEDDLE_REPLAY=$trace "$(find "$work/build" -name tiny_pool_test -type f)" >"$work/replayed"; then
        echo "the replay passes"
        exit 1
    fi
    grep 'reproduced, bit for bit the recorded run' "$work/replayed"
    echo "$way: the bug is found and replayed"
    exit 0
}

case $way in
    own_pool)
        install
        run_own_pool -DCMAKE_PREFIX_PATH="$work/prefix"
        ;;
    own_pool_embedded)
        run_own_pool -DHEDDLE_SOURCE="$source"
        ;;
    own_pool_fetched)
        run_own_pool -DHEDDLE_REPOSITORY="$source" -DFETCHCONTENT_SOURCE_DIR_HEDDLE="$source"
        ;;
    drawn_values)
        # The few lines that docs/writing_a_property.md shows.
        install
        mkdir "$work/project"
        cp "$source"/examples/own_pool/{tiny_pool.hpp,sized_pool_test.cpp} "$work/project"
        printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(sized LANGUAGES CXX ASM)' 'enable_testing()' \
            'find_package(heddle 0.1 REQUIRED COMPONENTS rapidcheck)' \
            'heddle_add_simulation(sized_pool_test SOURCES sized_pool_test.cpp LINK heddle::rapidcheck)' >"$work/project/CMakeLists.txt"
        cmake -G Ninja -S "$work/project" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
        cmake --build "$work/build"
        cd "$work/build"
        ./sized_pool_test >said && { echo "the search finds nothing"; exit 1; }
        grep 'values   connections = 1, queries = \[1, 1\]' said
        echo "$way: the simplest values are found"
        exit 0
        ;;
    find_package)
        install
        configure_and_build "$source/examples/installed" -DCMAKE_PREFIX_PATH="$work/prefix"
        ;;
    pkg_config)
        install
        PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name heddle-uv.pc)")
        export PKG_CONFIG_PATH
        # shellcheck disable=SC2046  # flags are words
        "$cxx" "$source/examples/first_program.cpp" -o "$work/first_program" $(pkg-config --cflags --libs heddle-uv)
        ;;
    fetch_content)
        configure_and_build "$source/examples/embedded" -DFETCHCONTENT_SOURCE_DIR_HEDDLE="$source"
        if ls "$work"/build/_deps/heddle-build/*/*_test >/dev/null 2>&1; then
            echo "tests of Heddle were built in somebody else's project"
            exit 1
        fi
        ;;
    *)
        echo "unknown way '$way'" >&2
        exit 2
        ;;
esac

"$work/first_program" | diff - "$source/examples/first_program.expected"
echo "$way: first_program runs"
