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
// Modes: without observer as in production, with one that is deaf, without direct hand-over, without context pool, with neither
// (SCH-44, INV-SCHED-21). ManualReactor polls every 16th time unless a test says otherwise.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/run/runtime.hpp"
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
    } catch (const Cancellation& cancellation) {
        return cancellation.what();
    } catch (const std::exception& other) {
        return other.what();
    } catch (...) {
        return "?";
    }
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
    } catch (const E&) {
        return true;
    } catch (...) {
        return false;
    }
}

/// Calls `body` and returns what it threw, or no error. Terminal unwinding passes through.
template <class Body>
[[nodiscard]] ErrorValue caught(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        return ErrorValue(std::current_exception());
    } catch (const std::exception&) {
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
        } catch (...) {
            thrown = ErrorValue(std::current_exception());
        }
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

/// Hears everything and does nothing: with it the runtime takes its observed paths (labels, notes, touches).
class DeafObserver final : public Observer {
public:
    void on_event(const Event&) override {}
};

/// Runs `body` once per mode, each time with a fresh world. @param options what all modes share
template <class Body>
void in_every_mode(const RuntimeOptions& options, Body&& body) {
    const auto one = [&](const char* mode, bool hand_over, bool pool_contexts, Observer* observer) {
        RuntimeOptions chosen = options;
        chosen.hand_over = hand_over;
        chosen.pool_contexts = pool_contexts;
        if (observer != nullptr) { chosen.observer = observer; }
        Program program(chosen, mode);
        body(program);
    };
    DeafObserver deaf;
    one("plain", true, true, nullptr);
    one("observed", true, true, &deaf);
    one("without hand-over", false, true, nullptr);
    one("without context pool", true, false, nullptr);
    one("without either", false, false, &deaf);
}

template <class Body>
void in_every_mode(Body&& body) {
    in_every_mode(RuntimeOptions{}, std::forward<Body>(body));
}

}  // namespace heddle::testing
