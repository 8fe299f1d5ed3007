// SPDX-License-Identifier: Apache-2.0
// World: what the tests of waits, cancellation and scopes have at hand: one Program, its log, and short words for requests.
//
//   class ScopeTest : public ::testing::Test, protected World {};
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/testing/bell.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {

class World {
protected:
    World() = default;
    explicit World(const RuntimeOptions& options) : program_(options) {}

    Scheduler& scheduler() { return program_.scheduler(); }
    ManualReactor& reactor() { return program_.reactor(); }
    void log(std::string_view entry) { program_.log(entry); }
    [[nodiscard]] std::string text() const { return program_.text(); }

    /// @returns the chain of what run() threw, or no error
    template <class Body>
    ErrorValue run(Body&& body) {
        return program_.run(std::forward<Body>(body));
    }
    /// Logs what `body` throws: "none" for nothing.
    template <class Body>
    void log_caught(Body&& body) {
        log(message(caught(std::forward<Body>(body))));
    }

    Ref<Bell> bell(std::string name = "bell") { return Bell::make(scheduler(), std::move(name)); }
    /// The waker of the running coroutine, cleaned.
    Waker& fresh() {
        Waker& waker = scheduler().require_current("test").waker();
        waker.clean();
        return waker;
    }
    void suspend(SourceLocation at = SourceLocation::current()) { scheduler().suspend({"test", at}); }
    /// Runs in the next tick's microtask drain: in a scheduler phase, on whoever suspends then.
    void in_next_tick(UniqueFunction<void()> body) { program_.runtime().add_microtask(std::move(body)); }
    void cancel(const CoroutineHandle& target, CancelKind kind = CancelKind::forced, const char* text = "cancelled") {
        scheduler().cancel(target.core(), kind, ErrorValue::make<AsyncCancellation>(text));
    }
    static ErrorValue cancellation(const char* text) { return ErrorValue::make<AsyncCancellation>(text); }
    static TimerOptions in(Duration timeout) {
        TimerOptions options;
        options.timeout = timeout;
        return options;
    }

    Program program_;
};

/// Runs `body` when it goes out of scope, as clean-up does.
template <class Body>
class AtExit {
public:
    explicit AtExit(Body body) : body_(std::move(body)) {}
    ~AtExit() { body_(); }
    AtExit(const AtExit&) = delete;
    AtExit& operator=(const AtExit&) = delete;

private:
    Body body_;
};

}  // namespace heddle::testing
