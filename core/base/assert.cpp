// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace heddle {
namespace {

thread_local ViolationSink* current_sink = nullptr;

}  // namespace

// Not inlined: a thread-local's address may be cached by the compiler across a stack switch.
[[gnu::noinline]] ViolationSink* exchange_violation_sink(ViolationSink* sink) noexcept {
    ViolationSink* previous = current_sink;
    current_sink = sink;
    return previous;
}

[[gnu::noinline]] ViolationSink* violation_sink() noexcept { return current_sink; }

void report_violation(const Violation& violation) {
    if (ViolationSink* sink = violation_sink(); sink != nullptr) { sink->violated(violation); }
    std::fprintf(stderr, "heddle: %s violated: %s (%s:%d)\n", violation.invariant.c_str(), violation.message.c_str(),
                 violation.file.c_str(), violation.line);
    std::fflush(stderr);
    std::abort();
}

void assertion_failed(const char* condition, std::string_view invariant, const char* file, int line) {
    report_violation({std::string(invariant), std::string("expected ") + condition, file, line});
}

}  // namespace heddle
