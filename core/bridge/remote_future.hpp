// SPDX-License-Identifier: Apache-2.0
// RemoteState: the right to settle a future, on another thread (docs/spec/15-threads.md, 15.4).
//
//   heddle::FutureState<int> state;
//   auto answer = state.future();
//   std::thread([remote = heddle::move_to_thread(state)]() mutable { remote.complete(42); }).detach();
//   use(answer.await());
//
//   here: FutureState ── move_to_thread ──▶ RemoteState ── complete, error, or its end ──▶ post ──▶ here: the future is settled
//         FutureState, Future: look, await, derive ──cancel──▶ stop request ──▶ remote.stop()
//
// RF1  It is moved once, and the source may not settle from then on (RFU-01). The first of outcome and cancellation decides here (THR-20).
// RF2  A RemoteState that goes without having settled breaks the promise (RFU-04). One whose future has gone tells nobody (RFU-05).
// RF3  The future counts for the loop while somebody waits for it or derives from it, as a job's does (THR-16).
// Choice points: on a worker, between post and signal.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "heddle/core/bridge/end_listener.hpp"
#include "heddle/core/bridge/runtime_end.hpp"
#include "heddle/core/bridge/stop_token.hpp"
#include "heddle/core/sync/future.hpp"

namespace heddle {

namespace detail {

/// The end that stands in the runtime. The pending future keeps it, so it goes no later than that.
class RemoteEnd final : public FutureSource, public std::enable_shared_from_this<RemoteEnd> {
public:
    /// Throws AsyncError if the future is settled or was moved before, and if the reactor knows no threads.
    static std::shared_ptr<RemoteEnd> attach(FutureCore& future);
    explicit RemoteEnd(FutureCore& future);

    [[nodiscard]] const std::shared_ptr<PostBox>& box() const { return end_.box(); }
    [[nodiscard]] const std::shared_ptr<StopState>& stop() const { return stop_; }
    [[nodiscard]] FutureCore& future() const { return future_; }

    void wanted() override { end_.hold(); }
    void unwanted() noexcept override { end_.let_go(); }
    void released(FutureCore& future) override;

private:
    void on_wake();

    FutureCore& future_;
    RuntimeEnd end_;
    std::shared_ptr<StopState> stop_;
    std::shared_ptr<EndListener> listener_;
};

/// An outcome on its way. Settled by the end's drain alone, so that the end is there.
template <class T>
class RemoteOutcome final : public CompletionItem {
public:
    using Stored = typename FutureCoreOf<T>::Stored;
    RemoteOutcome(RemoteEnd* end, std::optional<Stored> value, ErrorValue error, bool broken)
        : end_(end), value_(std::move(value)), error_(std::move(error)), broken_(broken) {}
    void settle() override {
        auto& future = static_cast<FutureCoreOf<T>&>(end_->future());
        if (broken_) { future.never_report(); }
        if (error_) {
            future.finish(error_, SourceLocation::current());
        } else if constexpr (std::is_void_v<T>) {
            future.complete(SourceLocation::current());
        } else {
            future.complete(SourceLocation::current(), std::move(*value_));
        }
    }

private:
    RemoteEnd* end_;
    std::optional<Stored> value_;
    ErrorValue error_;
    bool broken_;
};

}  // namespace detail

/// Movable; used by one thread at a time. Its operations are legal on any.
template <class T = void>
class RemoteState {
public:
    using Stored = typename detail::FutureCoreOf<T>::Stored;

    RemoteState(RemoteState&&) noexcept = default;
    RemoteState& operator=(RemoteState&& other) noexcept {
        if (this != &other) {
            break_promise();
            end_ = other.end_;
            box_ = std::move(other.box_);
            stop_ = std::move(other.stop_);
        }
        return *this;
    }
    ~RemoteState() { break_promise(); }

    /// Throws AsyncError if this one has settled before, or was moved away (RFU-02).
    void complete(Stored value)
        requires(!std::is_void_v<T>)
    {
        post(std::move(value), {}, false);
    }
    void complete()
        requires(std::is_void_v<T>)
    {
        post(Stored{}, {}, false);
    }
    void error(ErrorValue error) {
        if (!error) { throw ValueError("remote future: an error is missing"); }
        post(std::nullopt, std::move(error), false);
    }
    /// Nobody wants the outcome any more (RFU-06).
    [[nodiscard]] StopToken stop() const { return StopToken(stop_); }

private:
    template <class U>
    friend RemoteState<U> move_to_thread(const FutureState<U>& state);
    explicit RemoteState(detail::RemoteEnd& end) : end_(&end), box_(end.box()), stop_(end.stop()) {}

    void post(std::optional<Stored> value, ErrorValue error, bool broken) {
        if (box_ == nullptr) { throw AsyncError("remote future: it was settled before"); }
        const std::shared_ptr<PostBox> box = std::exchange(box_, nullptr);
        box->post(std::make_shared<detail::RemoteOutcome<T>>(end_, std::move(value), std::move(error), broken));
    }
    void break_promise() noexcept {
        if (box_ != nullptr) { post(std::nullopt, ErrorValue::make<BrokenPromise>(), true); }
    }

    detail::RemoteEnd* end_;  // not looked at here: the items that reach it are settled by it
    std::shared_ptr<PostBox> box_;  // until it has settled
    std::shared_ptr<StopState> stop_;
};

/// Takes the right to settle away from `state` and its copies, to be carried to another thread (RFU-01).
/// Throws AsyncError if the future is settled, or was moved before; if its runtime is not running, or has no threads.
template <class T>
[[nodiscard]] RemoteState<T> move_to_thread(const FutureState<T>& state) {
    return RemoteState<T>(*detail::RemoteEnd::attach(state.core()));
}

}  // namespace heddle
