// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/reactor/timing.hpp"

#include <string>

#include "heddle/core/base/error.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

/// Texts are made only for what is refused: options are checked before every run of a search.
void require(bool holds, const char* member, const char* what, Duration found) {
    if (holds) [[likely]] { return; }
    throw ValueError("timing: " + std::string(member) + what + ", found " + std::to_string(found.count()) + " ns");
}

void validate(const char* name, const Latency& latency) {
    require(latency.min >= Duration::zero(), name, ".min must not be negative", latency.min);
    require(latency.max >= latency.min, name, ".max must not be below its min", latency.max);
}

}  // namespace

Timing Timing::at(TimeLevel level) {
    Timing timing{.level = level};
    if (level == TimeLevel::T2 || level == TimeLevel::T3) {
        timing.jitter = 1ms;
        timing.task = {0ms, 10ms};
        timing.post = {0ms, 10ms};
    }
    timing.validate();
    return timing;
}

void Timing::validate() const {
    require(jitter >= Duration::zero(), "jitter", " must not be negative", jitter);
    require(jitter == Duration::zero() || level == TimeLevel::T2 || level == TimeLevel::T3, "jitter", " needs level T2 or T3", jitter);
    sim::validate("task", task);
    sim::validate("post", post);
}

}  // namespace heddle::sim
