// SPDX-License-Identifier: Apache-2.0
// run --reactor libuv: a scenario on the real reactor, recorded and without a chooser, and with a flight recorder at its door.
#include "heddle/tools/simrun/detail/libuv_run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "heddle/core/run/fiber.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/realreactor/uv_reactor.hpp"
#include "heddle/simreactor/chooser/replay.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/explore/worker.hpp"
#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/worker_search.hpp"
#include "heddle/traces/flight_recorder.hpp"
#include "heddle/traces/trace_recorder.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_HAS_LSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_HAS_LSAN 1
#endif
#if defined(HEDDLE_HAS_LSAN)
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::detail {
namespace {

/// What a violation leaves behind is left on purpose (LR1), and whether there will be one is not known before.
class Unchecked {
public:
#if defined(HEDDLE_HAS_LSAN)
    Unchecked() { __lsan_disable(); }
    ~Unchecked() { __lsan_enable(); }
#else
    Unchecked() = default;
    ~Unchecked() {}  // not defaulted: the guard is used for its lifetime alone
#endif
    Unchecked(const Unchecked&) = delete;
    Unchecked& operator=(const Unchecked&) = delete;
};

class LibuvRun final : private ViolationSink {
public:
    /// @param chooser  answers what a runtime without a simulated world may be asked; null: nobody
    LibuvRun(const sim::ScenarioCall& call, Chooser* chooser)
        : program_(call.program()), judges_(call.oracles()), recorder_(&labels_, chooser, {true}) {
        for (const auto& judge : judges_) {
            if (judge->begin_outside()) { observers_.add(*judge); }
        }
        observers_.add(recorder_);
        sim::WorldOptions wanted;
        if (call.scenario->world) { call.scenario->world(wanted); }
        errors_are_violations_ = wanted.errors_are_violations;
        RuntimeOptions options;
        options.observer = &observers_;
        if (chooser != nullptr) { options.chooser = &recorder_; }
        options.labels = &labels_;
        options.zombie_timeout = wanted.zombie_timeout;
        options.dispatches_max = wanted.dispatches_max;
        options.hand_over = wanted.hand_over;
        options.pool_contexts = wanted.pool_contexts;
        runtime_ = std::make_unique<Runtime>(flight_, options);
    }

    trace::Trace run(const trace::Recipe& recipe) {
        flow_.create(stacks_.acquire(), &LibuvRun::entry, this);
        ViolationSink* const outer_sink = exchange_violation_sink(this);
        Scheduler* const outer = exchange_ambient_scheduler(nullptr);
        on_caller_ = false;
        Fiber::switch_to(caller_, flow_, exception_globals());
        on_caller_ = true;
        exchange_ambient_scheduler(outer);
        exchange_violation_sink(outer_sink);
        trace::Trace trace = recorder_.take(recipe, outcome());
        trace::Trace door = flight_.take({});
        trace.version = door.version;
        trace.door = std::move(door.door);
        trace.door_omitted = door.door_omitted;
        return trace;
    }

    [[nodiscard]] bool frozen() const { return frozen_; }

private:
    void violated(const Violation& violation) override {
        if (frozen_) { return; }  // a violation while the broken run is looked at: abort
        violation_ = violation;
        frozen_ = true;
        if (on_caller_) { throw HarnessFailure{violation.invariant + ": " + violation.message}; }
        recorder_.on_event({EventKind::violated, reactor_.now(), {}, {}, 0, 0, violation_.invariant});
        // Whoever runs is never resumed; the object must not lie on the stack that is being left.
        Fiber::switch_away_for_good(gone_, caller_, exception_globals());
    }

    static void entry(void* argument) {
        LibuvRun& self = *static_cast<LibuvRun*>(argument);
        try {
            self.runtime_->run([&self] { self.program_(); });
        } catch (...) {
            const ErrorValue& known = self.runtime_->exit_error();
            self.error_ = known ? known : ErrorValue(std::current_exception());
        }
        Fiber::switch_away_for_good(self.flow_, self.caller_, exception_globals());
    }

    [[nodiscard]] bool is_deadlock() const {
        for (ErrorValue at = error_; at; at = at.previous()) {
            try {
                at.rethrow();
            } catch (const DeadlockError&) { return true; } catch (...) {
                continue;
            }
        }
        return false;
    }

    [[nodiscard]] trace::Outcome outcome() const {
        trace::Outcome outcome;
        outcome.end = reactor_.now();
        if (frozen_) {
            outcome.kind = trace::OutcomeKind::violation;
            outcome.invariant = violation_.invariant;
            outcome.message = violation_.message;
            outcome.file = violation_.file;
            outcome.line = violation_.line;
        } else if (error_) {
            outcome.kind = errors_are_violations_ ? trace::OutcomeKind::violation : trace::OutcomeKind::error;
            for (ErrorValue at = error_; at; at = at.previous()) {
                outcome.message += (outcome.message.empty() ? "" : ", after ") + at.describe();
            }
            if (errors_are_violations_) { outcome.invariant = is_deadlock() ? "DEADLOCK" : "UNHANDLED"; }
        }
        if (outcome.kind == trace::OutcomeKind::violation) { outcome.mode = "faithful"; }
        return outcome;
    }

    sim::Program program_;
    sim::OracleList judges_;
    LabelBook labels_;
    trace::TraceRecorder recorder_;
    ObserverList observers_;
    real::UvReactor reactor_;
    // With events and bytes the text stays below what read_trace takes.
    trace::FlightRecorder flight_{reactor_, {.crossings_max = 200'000, .bytes_max = std::size_t{4} << 20, .keep_bytes = true}};
    std::unique_ptr<Runtime> runtime_;
    StackPool stacks_{{.size = std::size_t{256} * 1024}};
    Fiber caller_;
    Fiber flow_;
    Fiber gone_;  // the flow that a violation left
    ErrorValue error_;
    Violation violation_;
    bool errors_are_violations_ = true;
    bool frozen_ = false;
    bool on_caller_ = true;
};

}  // namespace

trace::Trace record_on_libuv(const sim::ScenarioCall& call, trace::Recipe recipe) {
    const Unchecked unchecked;
    recipe.reactor = "libuv";
    auto run = std::make_unique<LibuvRun>(call, nullptr);
    trace::Trace trace = run->run(recipe);
    // Coroutines and workers of the pool may still hold on to what the violation froze: it stays as it is (LR1).
    if (run->frozen()) { static_cast<void>(run.release()); }
    return trace;
}

std::optional<bool> confirmed_on_libuv(const sim::ScenarioCall& call, const trace::Trace& trace) {
    constexpr Instant longest(std::chrono::nanoseconds(std::chrono::seconds(2)).count());
    const auto is_ours = [](const trace::Decision& decision) {
        return decision.kind == ChoiceKind::value || decision.kind == ChoiceKind::poll;
    };
    const bool tried = trace.outcome.kind == trace::OutcomeKind::violation && trace.outcome.mode == "faithful" &&
                       trace.outcome.end <= longest && std::ranges::all_of(trace.decisions, is_ours);
    if (!tried) { return std::nullopt; }
    const auto act = [&](sim::Seat& seat) {
        static_cast<void>(seat);
        sim::ReplayChooser::Options loose;
        loose.mode = sim::ReplayMode::carry_on;
        sim::ReplayChooser chooser(sim::plan_of(trace.decisions), std::move(loose));
        // Not destroyed: the process ends, and with it all that a violation left behind.
        auto* const run = new LibuvRun(call, &chooser);
        return std::string(run->run(trace.recipe).outcome.same_end(trace.outcome) ? "yes" : "no");
    };
    sim::WorkerLimits limits = worker_limits(1, 10);
    limits.deaths_max = 1;
    sim::Worker worker(act, limits);
    worker.wait(&seconds_now);
    if (!worker.result()) { return false; }
    return *worker.result() == "yes";
}

}  // namespace heddle::detail
