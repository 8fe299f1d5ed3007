// SPDX-License-Identifier: Apache-2.0
// Runtime: one world's coroutines, as a program sees them, and the ambient functions of code that runs inside it.
//
//   heddle::real::UvReactor reactor;                 // or a simulated one
//   heddle::Runtime runtime{reactor};
//   int status = runtime.run([] {
//       auto answer = heddle::spawn([] { heddle::sleep_for(10ms); return 42; });
//       return answer.await();
//   });
//
// U1  One run() at a time on a thread, the nodes of one simulated World excepted.
// U2  The ambient functions act on the runtime whose coroutine is running; outside a coroutine they throw AsyncError.
// Choice points: `dispatch` and `poll` (docs/spec/05-reactor.md, section 8), when a Chooser is attached.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {

class Runtime {
public:
    /// @param reactor  outlives the runtime; the reactors of two runtimes are two
    explicit Runtime(Reactor& reactor, const RuntimeOptions& options = {}) : scheduler_(reactor, options, *this) {}
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Runs `main` as the main coroutine on the caller's stack and returns when the application is finished: no coroutine, microtask or
    /// counted event is left (SCH-5, SCH-73).
    /// @returns what main returned; a value-initialised one if main was cancelled
    /// Throws: the newest unhandled error, its history in `exit_error()` (SCH-74); AsyncError if a runtime is running on this thread.
    template <class F>
    auto run(F&& main, SourceLocation at = SourceLocation::current()) {
        using T = std::invoke_result_t<F&>;
        if constexpr (std::is_void_v<T>) {
            scheduler_.run([&main] { main(); }, at);
        } else {
            std::optional<T> result;
            scheduler_.run([&main, &result] { result.emplace(main()); }, at);
            return result ? std::move(*result) : T{};
        }
    }

    /// Starts graceful shutdown (SCH-67): every coroutine is cancelled, the loop goes on until they ended. Idempotent; legal in
    /// callbacks. @param reason of the Cancellation family, else ValueError
    void shutdown(const ErrorValue& reason = {}) { scheduler_.shutdown(reason); }

    [[nodiscard]] Instant now() const { return scheduler_.reactor().now(); }
    [[nodiscard]] const ErrorValue& exit_error() const { return scheduler_.exit_error(); }
    [[nodiscard]] RuntimeStatistics statistics() const { return scheduler_.statistics(); }
    /// The register: every unfinished coroutine, zombies included, in id order. Legal at any time.
    [[nodiscard]] std::vector<CoroutineRecord> coroutines() const { return scheduler_.coroutines(false); }
    /// The zombies among them: who, in which scope, spawned where, suspended where, since when.
    [[nodiscard]] std::vector<CoroutineRecord> zombies() const { return scheduler_.coroutines(true); }

    /// The installed handler is called once per tick, before the microtasks, in scheduler phase (SCH-76).
    /// @returns the previous one; chaining is the installer's duty
    UniqueFunction<void()> set_heartbeat(UniqueFunction<void()> handler) { return scheduler_.set_heartbeat(std::move(handler)); }
    /// Runs `body` before the next dispatch. It must not suspend (SCH-63). Throws AsyncError outside a run.
    void add_microtask(UniqueFunction<void()> body);
    bool add_microtask(Microtask& task) { return scheduler_.add_microtask(task); }
    /// For the current coroutine; outside one for every main coroutine launched from now on (SCH-82, SCH-83).
    std::size_t add_switch_handler(SwitchHandler& handler) { return scheduler_.add_switch_handler(nullptr, handler); }

    /// Spawns from a scheduler phase: heartbeat, microtask, event callback (SCH-13). Elsewhere use spawn.
    template <class F>
    Coroutine<std::invoke_result_t<std::decay_t<F>&>> spawn_internal(Name name, F&& entry,
                                                                     SourceLocation at = SourceLocation::current()) {
        SpawnOptions options;
        options.name = name;
        return spawn_with(options, std::forward<F>(entry), at, true);
    }

    template <class F>
    Coroutine<std::invoke_result_t<std::decay_t<F>&>> spawn_with(const SpawnOptions& options, F&& entry, SourceLocation at,
                                                                 bool internal) {
        using T = std::invoke_result_t<std::decay_t<F>&>;
        auto* core = new detail::CoroutineFrame<std::decay_t<F>, T>(scheduler_, std::forward<F>(entry));
        Coroutine<T> handle(core);
        scheduler_.spawn(*core, options, at, internal);
        return handle;
    }

    [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
    [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }

private:
    Scheduler scheduler_;  // everything else; Runtime is the program's face of it
};

/// The runtime whose coroutine is running on this thread. Throws AsyncError if there is none; `operation` names the caller.
[[nodiscard]] Runtime& current_runtime(const char* operation);

/// Spawns a coroutine in the current scope; it starts after everything that is ready now (SCH-12). Captures are moved in.
/// @param name  stable name for labels, traces and reports
/// @returns a handle; dropping it never cancels. Throws AsyncError if the scope takes no coroutines (SCP-12 to SCP-14).
/// Suspends: no. Cost: one allocation.
template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
Coroutine<std::invoke_result_t<std::decay_t<F>&>> spawn(Name name, F&& entry, SourceLocation at = SourceLocation::current()) {
    SpawnOptions options;
    options.name = name;
    return current_runtime("spawn").spawn_with(options, std::forward<F>(entry), at, false);
}
template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
Coroutine<std::invoke_result_t<std::decay_t<F>&>> spawn(F&& entry, SourceLocation at = SourceLocation::current()) {
    return current_runtime("spawn").spawn_with({}, std::forward<F>(entry), at, false);
}
/// With a scope, a provider, a priority or hooks (SCH-14, SCH-17).
template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
Coroutine<std::invoke_result_t<std::decay_t<F>&>> spawn(const SpawnOptions& options, F&& entry,
                                                        SourceLocation at = SourceLocation::current()) {
    return current_runtime("spawn").spawn_with(options, std::forward<F>(entry), at, false);
}

template <class F>
auto ScopeRef::spawn(Name name, F&& entry, SourceLocation at) const {
    SpawnOptions options;
    options.name = name;
    options.scope = *this;
    return current_runtime("spawn").spawn_with(options, std::forward<F>(entry), at, false);
}
template <class F>
auto ScopeRef::spawn(F&& entry, SourceLocation at) const {
    return spawn(Name("task"), std::forward<F>(entry), at);
}

/// Lets everything that is ready run, then continues (SCH-30). A no-op where no runtime runs. Suspends: yes; throws a pending
/// cancellation. Choice points: `dispatch`, `poll`.
inline void yield(SourceLocation at = SourceLocation::current()) { Scheduler::yield_ambient(at); }

/// A handle of the running coroutine. Throws AsyncError outside one and in a scheduler phase (SCH-25).
[[nodiscard]] CoroutineHandle current_coroutine();
/// The scope that a spawn without one would use.
[[nodiscard]] ScopeRef current_scope();
/// Cached loop time of the current runtime, in ns.
[[nodiscard]] Instant now();
void shutdown(const ErrorValue& reason = {});
void add_microtask(UniqueFunction<void()> body);

template <class T>
T Coroutine<T>::await(SourceLocation at) const {
    auto& typed = static_cast<detail::CoroutineOf<T>&>(core());
    typed.scheduler().await_finished(typed, nullptr, {"await", at, typed.label()});
    if constexpr (!std::is_void_v<T>) { return *typed.result(); }
}

}  // namespace heddle
