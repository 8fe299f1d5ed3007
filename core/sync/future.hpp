// SPDX-License-Identifier: Apache-2.0
// Future: a value that comes later. FutureState settles it, Future observes it, derives from it, or cancels it (docs/spec/12-future-await.md).
//
//   heddle::FutureState<int> answer;
//   heddle::spawn([future = answer.future()] { use(future.await()); });        // any number of observers
//   answer.complete(42);                                                        // wakes them; nobody runs inside
//
//   future.map(f)            child: f(value)        rejected passes through
//   future.catch_error(f)    child: f(error)        a value passes through
//   future.finally(f)        child: as the source   f runs on both; its own error replaces the outcome
//
// Callbacks run in coroutines of the scope that was current when they were attached, behind the awaiters, in the order of attachment.
// FT1  Every observer sees the same outcome, early or late (INV-FUT-03).
// FT2  Values are copied out, so that each observer has its own; of a type that cannot be copied, a reference to the one that is kept.
// Choice points: `dispatch`. Suspends: await only.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/unwind.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/future_state.hpp"

namespace heddle {

template <class T>
class Future;

namespace detail {

/// A future with a place for its value.
template <class T>
class FutureCoreOf : public FutureCore {
public:
    using Stored = std::conditional_t<std::is_void_v<T>, Nothing, T>;
    using FutureCore::FutureCore;

    /// @returns false, and the value is dropped, if it was settled before
    template <class... Args>
    bool complete(SourceLocation at, Args&&... args) {
        if (is_settled()) {
            touch_looked();
            return false;
        }
        value_.emplace(std::forward<Args>(args)...);
        return finish({}, at);
    }
    [[nodiscard]] const Stored& value() const { return *value_; }
    [[nodiscard]] Stored& value() { return *value_; }

private:
    std::optional<Stored> value_;
};

/// Calls `body` and settles the child with what it returns; `body` may throw.
template <class U, class Body>
void settle_with(FutureCoreOf<U>& child, SourceLocation at, const ErrorValue& cause, Body&& body) {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
            body();
            child.complete(at);
        } else {
            child.complete(at, body());
        }
    } catch (const UnwindToken&) {
        throw;
    } catch (const Cancellation&) {
        child.finish(ErrorValue(std::current_exception()).with_previous(cause), at);
        throw;
    } catch (...) {
        child.finish(ErrorValue(std::current_exception()).with_previous(cause), at);
    }
}

template <class T>
void pass_on(const FutureCoreOf<T>& source, FutureCoreOf<T>& child, SourceLocation at) {
    if (source.error()) {
        child.finish_like(source, at);
    } else {
        child.complete(at, source.value());
    }
}

template <class T, class F>
decltype(auto) call_with_value(F& function, FutureCoreOf<T>& source) {
    source.on_obtained();
    if constexpr (std::is_void_v<T>) {
        return function();
    } else {
        return function(std::as_const(source).value());
    }
}

template <class T, class U, class F>
class MapDerivation final : public Derivation {
public:
    explicit MapDerivation(F function) : function_(std::move(function)) {}
    void run(FutureCore& core) override {
        auto& source = static_cast<FutureCoreOf<T>&>(core);
        auto& to = static_cast<FutureCoreOf<U>&>(*child);
        if (to.is_settled()) { return; }
        if (source.error()) {
            to.finish_like(source, at);
            return;
        }
        settle_with(to, at, {}, [&]() -> decltype(auto) { return call_with_value<T>(function_, source); });
    }

private:
    F function_;
};

template <class T, class F>
class CatchDerivation final : public Derivation {
public:
    explicit CatchDerivation(F function) : function_(std::move(function)) {}
    void run(FutureCore& core) override {
        auto& source = static_cast<FutureCoreOf<T>&>(core);
        auto& to = static_cast<FutureCoreOf<T>&>(*child);
        if (to.is_settled()) { return; }
        if (!source.error()) {
            source.on_obtained();
            pass_on(source, to, at);
            return;
        }
        settle_with(to, at, {}, [&]() -> decltype(auto) { return function_(source.error()); });
    }

private:
    F function_;
};

template <class T, class F>
class FinallyDerivation final : public Derivation {
public:
    explicit FinallyDerivation(F function) : function_(std::move(function)) {}
    void run(FutureCore& core) override {
        auto& source = static_cast<FutureCoreOf<T>&>(core);
        auto& to = static_cast<FutureCoreOf<T>&>(*child);
        if (to.is_settled()) { return; }
        if (!source.error()) { source.on_obtained(); }
        try {
            if constexpr (std::is_invocable_v<F&, const ErrorValue&>) {
                function_(source.error());
            } else {
                function_();
            }
        } catch (const UnwindToken&) {
            throw;
        } catch (const Cancellation&) {
            to.finish(ErrorValue(std::current_exception()).with_previous(source.error()), at);
            throw;
        } catch (...) {
            to.finish(ErrorValue(std::current_exception()).with_previous(source.error()), at);
            return;
        }
        pass_on(source, to, at);
    }

private:
    F function_;
};

template <class F, class T>
struct MapResult {
    using type = std::invoke_result_t<F&, const T&>;
};
template <class F>
struct MapResult<F, void> {
    using type = std::invoke_result_t<F&>;
};

}  // namespace detail

/// Observes a future. A value; copies observe the same one. Dropping the last copy forgets the future (FUT-09).
template <class T = void>
class Future {
public:
    using Core = detail::FutureCoreOf<T>;
    using Stored = typename Core::Stored;
    using Value = std::conditional_t<std::is_void_v<T>, void, std::conditional_t<std::is_copy_constructible_v<Stored>, T, const Stored&>>;

    Future() = default;
    explicit Future(Core* core) : core_(core) {
        if (core_ != nullptr) { core_->add_consumer(); }
    }
    Future(const Future& other) : Future(other.core_) {}
    Future(Future&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    Future& operator=(Future other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~Future() { release(); }

    /// Futures that are settled from the start (FUT-07).
    [[nodiscard]] static Future completed(Stored value, SourceLocation at = SourceLocation::current())
        requires(!std::is_void_v<T>)
    {
        Future future = make(at);
        future.core_->complete(at, std::move(value));
        return future;
    }
    [[nodiscard]] static Future completed(SourceLocation at = SourceLocation::current())
        requires(std::is_void_v<T>)
    {
        Future future = make(at);
        future.core_->complete(at);
        return future;
    }
    [[nodiscard]] static Future failed(ErrorValue error, SourceLocation at = SourceLocation::current()) {
        if (!error) { throw ValueError("Future::failed: an error is missing"); }
        Future future = make(at);
        future.core_->finish(std::move(error), at);
        return future;
    }

    /// Waits for its outcome: returns the value or throws the error. A settled one answers without suspending and beats a fired token
    /// (AWC-01). Throws: OperationCanceled when the token fires first; a cancellation. Suspends: unless settled.
    Value await(const Token& token = {}, SourceLocation at = SourceLocation::current()) const {
        const Future alive(*this);  // the handle that was awaited may go meanwhile
        static_cast<void>(await_event(core(), token, at));
        core().on_obtained();
        if constexpr (!std::is_void_v<T>) { return std::as_const(core()).value(); }
    }

    /// Both settled states (FUT-02).
    [[nodiscard]] bool is_completed() const {
        core().touch_looked();
        return core().is_settled();
    }
    /// Rejected with a cancellation.
    [[nodiscard]] bool is_cancelled() const {
        core().touch_looked();
        return core().is_rejected() && core().error().is_cancellation();
    }
    /// Its error; empty while pending and behind a value. Does not count as having taken it.
    [[nodiscard]] ErrorValue error() const {
        core().touch_looked();
        return core().error();
    }

    /// Rejects a pending one (FUT-04); a settled one is left alone. Stops no work by itself. @returns true if it took effect
    /// @param reason of the Cancellation family, else ValueError; empty: AsyncCancellation
    bool cancel(const ErrorValue& reason = {}, SourceLocation at = SourceLocation::current()) const {
        return core().cancel(reason, at);
    }
    /// Silences both diagnostics for this future alone (FUT-23).
    const Future& ignore() const {
        core().ignore();
        return *this;
    }

    /// f(value) → the child's value; any type but a reference. Not flattened: a future that f returns is the value (FUT-19).
    template <class F>
    [[nodiscard]] auto map(F&& f, SourceLocation at = SourceLocation::current()) const {
        using Function = std::decay_t<F>;
        using U = typename detail::MapResult<Function, T>::type;
        static_assert(!std::is_reference_v<U>, "map: a future holds no reference");
        return derive<U>(new detail::MapDerivation<T, U, Function>(std::forward<F>(f)), "map", at);
    }
    /// f(const ErrorValue&) → the child's value, also for a cancellation (FUT-18).
    template <class F>
    [[nodiscard]] Future catch_error(F&& f, SourceLocation at = SourceLocation::current()) const {
        return derive<T>(new detail::CatchDerivation<T, std::decay_t<F>>(std::forward<F>(f)), "catch", at);
    }
    /// f() or f(const ErrorValue&), which is empty behind a value.
    template <class F>
    [[nodiscard]] Future finally(F&& f, SourceLocation at = SourceLocation::current()) const {
        return derive<T>(new detail::FinallyDerivation<T, std::decay_t<F>>(std::forward<F>(f)), "finally", at);
    }

    [[nodiscard]] explicit operator bool() const { return core_ != nullptr; }
    [[nodiscard]] Core& core() const {
        HEDDLE_ASSERT(core_ != nullptr, "an empty future");
        return *core_;
    }
    /// As a token, or an input of a combinator.
    [[nodiscard]] EventSource& event() const { return core(); }
    operator Token() const { return Token(core()); }  // NOLINT: any one-shot awaitable is a token (CV-13)

    void release() {
        if (Core* core = std::exchange(core_, nullptr); core != nullptr) { core->drop_consumer(); }
    }

private:
    template <class U>
    friend class Future;

    static Future make(SourceLocation at) { return Future(new Core(current_runtime("future").scheduler(), "future", at)); }

    template <class U>
    Future<U> derive(Derivation* made, const char* name, SourceLocation at) const {
        const Ref<Derivation> derivation(made);
        Scheduler& scheduler = core().scheduler();
        Future<U> child(new detail::FutureCoreOf<U>(scheduler, name, at));
        derivation->child = Ref<FutureCore>(&child.core());
        derivation->scope = Ref<ScopeCore>(scheduler.current_scope());
        derivation->name = name;
        derivation->at = at;
        core().attach(derivation);
        return child;
    }

    Core* core_ = nullptr;
};

/// Settles a future. A value; copies settle the same one. When the last goes and it is pending, it is rejected (FUT-08).
template <class T = void>
class FutureState {
public:
    using Core = detail::FutureCoreOf<T>;
    using Stored = typename Core::Stored;

    /// Of the running coroutine's runtime; AsyncError outside one.
    explicit FutureState(SourceLocation at = SourceLocation::current())
        : FutureState(current_runtime("future").scheduler(), at) {}
    explicit FutureState(Runtime& runtime, SourceLocation at = SourceLocation::current())
        : FutureState(runtime.scheduler(), at) {}
    FutureState(const FutureState& other) : core_(other.core_) {
        if (core_ != nullptr) { core_->add_producer(); }
    }
    FutureState(FutureState&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    FutureState& operator=(FutureState other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~FutureState() {
        if (Core* core = std::exchange(core_, nullptr); core != nullptr) { core->drop_producer(); }
    }

    [[nodiscard]] Future<T> future() const { return Future<T>(core_); }

    /// Throws AsyncError that says where it was settled, if it was (FUT-03). Suspends: no; nobody runs inside. Legal in callbacks.
    void complete(Stored value, SourceLocation at = SourceLocation::current()) const
        requires(!std::is_void_v<T>)
    {
        if (!try_complete(std::move(value), at)) { core_->refuse_settled("complete"); }
    }
    void complete(SourceLocation at = SourceLocation::current()) const
        requires(std::is_void_v<T>)
    {
        if (!try_complete(at)) { core_->refuse_settled("complete"); }
    }
    void error(ErrorValue error, SourceLocation at = SourceLocation::current()) const {
        if (!try_error(std::move(error), at)) { core_->refuse_settled("error"); }
    }
    /// False if it was settled before; the value is dropped then.
    bool try_complete(Stored value, SourceLocation at = SourceLocation::current()) const
        requires(!std::is_void_v<T>)
    {
        core_->require_settler("complete");
        return core_->complete(at, std::move(value));
    }
    bool try_complete(SourceLocation at = SourceLocation::current()) const
        requires(std::is_void_v<T>)
    {
        core_->require_settler("complete");
        return core_->complete(at);
    }
    bool try_error(ErrorValue error, SourceLocation at = SourceLocation::current()) const {
        core_->require_settler("error");
        if (!error) { throw ValueError("future: an error is missing"); }
        return core_->finish(std::move(error), at);
    }
    [[nodiscard]] bool is_completed() const {
        core_->touch_looked();
        return core_->is_settled();
    }
    [[nodiscard]] Core& core() const {
        HEDDLE_ASSERT(core_ != nullptr, "an empty future state");
        return *core_;
    }

private:
    FutureState(Scheduler& scheduler, SourceLocation at) : core_(new Core(scheduler, "future", at)) { core_->add_producer(); }
    Core* core_ = nullptr;
};

/// Waits for a future as for a coroutine.
template <class T>
typename Future<T>::Value await(const Future<T>& target, const Token& token = {}, SourceLocation at = SourceLocation::current()) {
    return target.await(token, at);
}

}  // namespace heddle
