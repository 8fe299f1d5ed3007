// SPDX-License-Identifier: Apache-2.0
// The benchmark program: floors, ours and peers in one binary, so that a ratio compares two numbers of one run.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Laps::begin() { began_ = cpu_seconds(); }
void Laps::end() { seconds_.push_back(cpu_seconds() - began_); }

void Laps::report(std::size_t operations_per_lap) {
    std::sort(seconds_.begin(), seconds_.end());
    const std::size_t middle = seconds_.size() / 2;
    state_.counters["per_op"] = seconds_[middle] / static_cast<double>(operations_per_lap);
    state_.counters["best"] = seconds_.front() / static_cast<double>(operations_per_lap);
}

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace heddle::bench

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) { return 2; }
    heddle::bench::register_ours();
#if !defined(HEDDLE_WITHOUT_DOORS)
    heddle::bench::register_sync_ours();
    heddle::bench::register_floor();
    heddle::bench::register_sync_floor();
    heddle::bench::register_simulation();
    heddle::bench::register_echo();
#endif
#if defined(HEDDLE_BENCH_PEER)
    heddle::bench::register_peer();
#endif
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
