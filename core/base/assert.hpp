// SPDX-License-Identifier: Apache-2.0
// Assertions: how the code explains itself, on in every build.
//
//   HEDDLE_ASSERT(condition, "INV-…")   the library's own promises
//   HEDDLE_CHECK(condition)             a promise of the program that runs on it
//        │ false
//        ▼
//   ViolationSink of this thread ── simulated world: records, freezes the world, does not return
//        │ none, or it returned
//        ▼
//   report on standard error, abort
//
// A1  A failed assertion never becomes an exception: a catch-all handler of user code could swallow it.
// A2  The sink is the only thread-local of core/base. It is set for the length of a world's run and restored after it.
#pragma once

#include <string>
#include <string_view>

namespace heddle {

/// What was violated, and where. Values only: it outlives the world that it came from.
struct Violation {
    std::string invariant;  ///< number in docs/spec ("INV-WAKE-03") or "CHECK" for a program's own check
    std::string message;    ///< what was expected and what was found
    std::string file;       ///< source file as the compiler names it
    int line = 0;
};

/// Takes violations in place of the abort. `violated` may switch away for good; if it returns, the process is aborted.
class ViolationSink {
public:
    virtual void violated(const Violation& violation) = 0;

protected:
    ~ViolationSink() = default;
};

/// Installs a sink for this thread. Returns the previous one, for the caller to put back. Null restores the abort.
ViolationSink* exchange_violation_sink(ViolationSink* sink) noexcept;
[[nodiscard]] ViolationSink* violation_sink() noexcept;

/// Reports a violation to this thread's sink; aborts the process if there is none or if it comes back.
[[noreturn]] void report_violation(const Violation& violation);
[[noreturn]] void assertion_failed(const char* condition, std::string_view invariant, const char* file, int line);

}  // namespace heddle

#define HEDDLE_ASSERT(condition, invariant) \
    (static_cast<bool>(condition) ? static_cast<void>(0) : ::heddle::assertion_failed(#condition, invariant, __FILE__, __LINE__))
#define HEDDLE_CHECK(condition) HEDDLE_ASSERT(condition, "CHECK")
