// SPDX-License-Identifier: Apache-2.0
// The smallest program on libuv: one coroutine sleeps, another waits for its answer.
#include <cstdio>

// README: program
#include "heddle/heddle.hpp"
#include "heddle/uv.hpp"

using namespace std::chrono_literals;

int main() {
    heddle::real::UvReactor reactor;
    heddle::Runtime runtime{reactor};
    int answer = runtime.run([] {
        auto worker = heddle::spawn("worker", [] {
            heddle::sleep_for(10ms);
            return 42;
        });
        return worker.await();  // suspends; rethrows the worker's error
    });
    std::printf("the answer is %d\n", answer);
}
// README end
