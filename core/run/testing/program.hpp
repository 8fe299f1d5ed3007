// SPDX-License-Identifier: Apache-2.0
// Program: a test's world and its log. One body, run in every mode in which it must behave the same.
//
//   in_every_mode([](Program& program) {
//       SCOPED_TRACE(program.mode());
//       program.run([&] {
//           program.log("start");
//           spawn([&] { program.log("A"); });
//       });
//       EXPECT_EQ(program.text(), "start A");
//   });
//
// Modes: without observer as in production, under a Watch, without direct hand-over, without context pool, with neither
// (SCH-44, INV-SCHED-21). ManualReactor polls every 16th time unless a test says otherwise.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/testing/watch.hpp"
#include "heddle/core/seam/testing/manual_reactor.hpp"

namespace heddle::testing {

/// An error of the program, as users make them.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// what() of an error or a cancellation; "none" for no error.
[[nodiscard]] inline std::string message(const ErrorValue& error) {
    if (!error) { return "none"; }
    try {
        error.rethrow();
    } catch (const Cancellation& cancellation) { return cancellation.what(); } catch (const std::exception& other) {
        return other.what();
    } catch (...) { return "?"; }
}

/// The history of an error, newest first: "E2 < E1".
[[nodiscard]] inline std::string chain(const ErrorValue& error) {
    std::string text = message(error);
    for (ErrorValue at = error.previous(); at; at = at.previous()) { text += " < " + message(at); }
    return text;
}

/// Whether the exception object is an E.
template <class E>
[[nodiscard]] bool holds(const ErrorValue& error) {
    if (!error) { return false; }
    try {
        error.rethrow();
    } catch (const E&) { return true; } catch (...) {
        return false;
    }
}

/// Calls `body` and returns what it threw, or no error. Terminal unwinding passes through.
template <class Body>
[[nodiscard]] ErrorValue caught(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) { return ErrorValue(std::current_exception()); } catch (const std::exception&) {
        return ErrorValue(std::current_exception());
    }
    return {};
}

class Program {
public:
    explicit Program(const RuntimeOptions& options = {}, std::string mode = "plain")
        : mode_(std::move(mode)), runtime_(reactor_, options) {}

    /// Runs `main` as the main coroutine. @returns the chain of what run() threw, or no error
    template <class Main>
    ErrorValue run(Main&& main) {
        ErrorValue thrown;
        try {
            runtime_.run(std::forward<Main>(main));
        } catch (...) { thrown = ErrorValue(std::current_exception()); }
        if (thrown && !thrown.same_error(runtime_.exit_error())) { return thrown; }  // run() itself refused
        HEDDLE_ASSERT(static_cast<bool>(thrown) == static_cast<bool>(runtime_.exit_error()), "INV-SHUT-03");
        return runtime_.exit_error();
    }

    void log(std::string_view entry) { log_.emplace_back(entry); }
    [[nodiscard]] const std::vector<std::string>& entries() const { return log_; }
    /// All entries with a space between them.
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& entry : log_) { all += (all.empty() ? "" : " ") + entry; }
        return all;
    }
    void clear() { log_.clear(); }

    [[nodiscard]] const std::string& mode() const { return mode_; }
    [[nodiscard]] ManualReactor& reactor() { return reactor_; }
    [[nodiscard]] Runtime& runtime() { return runtime_; }
    [[nodiscard]] Scheduler& scheduler() { return runtime_.scheduler(); }
    [[nodiscard]] std::uint64_t switches() const { return runtime_.statistics().switches; }

private:
    std::string mode_;
    std::vector<std::string> log_;
    ManualReactor reactor_;
    Runtime runtime_;
};

/// Waits for one event, as a primitive does: subscribe, suspend, read, clean (SCH-32).
inline Outcome wait_for(EventSource& event, const char* kind = "wait",
                        SourceLocation at = SourceLocation::current()) {
    Scheduler& scheduler = current_runtime("wait_for").scheduler();
    Waker& waker = scheduler.require_suspendable("wait_for").waker();
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    waker.clean();
    waker.resume_when(event, WakeBy::resolve);
    scheduler.suspend({kind, at, event.label()});
    return waker.outcome();
}

/// Waits for what never comes: only a cancellation ends it.
inline void wait_forever(SourceLocation at = SourceLocation::current()) {
    const Ref<OneShotEvent> never = OneShotEvent::make(current_runtime("wait_forever").scheduler(), "never");
    wait_for(*never, "forever", at);
}

/// Waits for a private timer.
inline void pause_for(Duration duration, SourceLocation at = SourceLocation::current()) {
    TimerOptions options;
    options.timeout = duration;
    options.refresh = true;
    const Ref<ReactorEvent> timer = ReactorEvent::timer(current_runtime("pause_for").scheduler(), options);
    wait_for(*timer, "pause", at);
}

/// Runs `body` once per mode, each time with a fresh world. @param options what all modes share; its observer takes the
/// Watch's place
template <class Body>
void in_every_mode(const RuntimeOptions& options, Body&& body) {
    const auto one = [&](const char* mode, bool hand_over, bool pool_contexts, bool watched) {
        Watch watch;
        RuntimeOptions chosen = options;
        chosen.hand_over = hand_over;
        chosen.pool_contexts = pool_contexts;
        if (watched && chosen.observer == nullptr) { chosen.observer = &watch; }
        Program program(chosen, mode);
        watch.attach(program.scheduler());
        body(program);
    };
    one("plain", true, true, false);
    one("watched", true, true, true);
    one("without hand-over", false, true, false);
    one("without context pool", true, false, false);
    one("without either, watched", false, false, true);
}

template <class Body>
void in_every_mode(Body&& body) {
    in_every_mode(RuntimeOptions{}, std::forward<Body>(body));
}

}  // namespace heddle::testing
