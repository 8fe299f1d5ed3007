// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/signal.hpp"

#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {

/// Counts from the beginning, without keeping the loop alive; a waiter has an event of its own beside it, which is told
/// after it.
class SignalWatch::State final : private SourceOwner {
public:
    State(Scheduler& scheduler, int number) : scheduler_(scheduler), number_(number) {
        source_ = scheduler.reactor().open_signal(number, {this, scheduler.object_label("signal"), true});
        try {
            scheduler.reactor().start(source_);
        } catch (...) {
            scheduler.reactor().close(source_);
            throw;
        }
    }
    ~State() { scheduler_.reactor().close(source_); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    std::uint64_t wait(const IoOptions& options, SourceLocation at) {
        while (count_ == 0) {
            const Ref<ReactorEvent> event = ReactorEvent::signal(scheduler_, number_);
            detail::wait_for(*event, "signal", options, at);
        }
        return std::exchange(count_, 0);
    }
    [[nodiscard]] int number() const { return number_; }

private:
    void on_delivery(const Delivery&) override { ++count_; }

    Scheduler& scheduler_;
    int number_;
    std::uint64_t count_ = 0;
    SourceId source_{};
};

SignalWatch::SignalWatch(int number)
    : state_(std::make_unique<State>(current_runtime("SignalWatch").scheduler(), number)) {}
SignalWatch::SignalWatch(SignalWatch&&) noexcept = default;
SignalWatch& SignalWatch::operator=(SignalWatch&&) noexcept = default;
SignalWatch::~SignalWatch() = default;

std::uint64_t SignalWatch::wait(const IoOptions& options, SourceLocation at) { return state_->wait(options, at); }
int SignalWatch::number() const { return state_->number(); }

namespace {

/// Behind a future of a signal: hears of it from the call on, hidden, and keeps the loop alive while it is wanted.
class SignalArrival final : public FutureSource, private SourceOwner {
public:
    using Core = detail::FutureCoreOf<int>;

    SignalArrival(Core& future, int number, SourceLocation at) : future_(&future), end_(new End(*this)), at_(at), number_(number) {
        Scheduler& scheduler = future.scheduler();
        source_ = scheduler.reactor().open_signal(number, {this, scheduler.object_label("signal"), true});
        try {
            scheduler.reactor().start(source_);
        } catch (...) {
            scheduler.reactor().close(source_);
            throw;
        }
    }
    SignalArrival(const SignalArrival&) = delete;
    SignalArrival& operator=(const SignalArrival&) = delete;
    ~SignalArrival() override { HEDDLE_ASSERT(!future_, "a pending future of a signal keeps what is behind it"); }

    /// SIG-02. @param token  live, or null
    void end_by(EventSource* token) {
        if (token == nullptr) { return; }
        token_ = Ref<EventSource>(token);
        token->subscribe(*end_);
        token->start();
    }

    void wanted() override {
        if (wanted_++ > 0 || !future_) { return; }
        keeps_alive_ = ReactorEvent::signal(future_->scheduler(), number_);
        keeps_alive_->start();
    }
    void unwanted() noexcept override {
        if (--wanted_ == 0) { keeps_alive_.reset(); }
    }
    void released(FutureCore&) override { static_cast<void>(let_go()); }

private:
    /// The token, as a callback. The pass that calls it holds it longer than the future is pending.
    class End final : public EventCallback {
    public:
        explicit End(SignalArrival& owner) : owner_(owner) {}
        void call(EventSource& event, const Outcome& outcome) override {
            event.mark_error_handled();
            const SourceLocation at = owner_.at_;
            if (const Ref<Core> future = owner_.let_go(); future) {
                future->finish(ErrorValue::make<OperationCanceled>("the token fired", outcome.error), at);
            }
        }

    private:
        void dispose() override { delete this; }
        SignalArrival& owner_;  // subscribed only while it lives
    };

    void on_delivery(const Delivery&) override {
        if (const Ref<Core> future = let_go(); future) { future->complete(at_, number_); }
    }

    /// SIG-03: no handler, no subscription. What it returns is all that still holds the future from here.
    Ref<Core> let_go() {
        Ref<Core> future = std::exchange(future_, {});
        if (!future) { return future; }
        future->scheduler().reactor().close(std::exchange(source_, {}));
        if (const Ref<EventSource> token = std::exchange(token_, {}); token) {
            token->unsubscribe(*end_);
            token->stop();
        }
        return future;
    }

    Ref<Core> future_;
    Ref<End> end_;
    SourceLocation at_;
    int number_;
    int wanted_ = 0;
    SourceId source_{};
    Ref<EventSource> token_{};
    Ref<ReactorEvent> keeps_alive_{};
};

}  // namespace

Future<int> signal(int number, const Token& token, SourceLocation at) {
    Scheduler& scheduler = current_runtime("signal").scheduler();
    static_cast<void>(scheduler.require_current("signal"));
    auto* const core = new SignalArrival::Core(scheduler, "signal", at);
    Future<int> future(core);
    EventSource* live = nullptr;
    try {
        live = live_token(token.event());
    } catch (const OperationCanceled&) {
        core->finish(ErrorValue(std::current_exception()), at);
        return future;
    }
    try {
        const auto arrival = std::make_shared<SignalArrival>(*core, number, at);
        core->set_source(arrival);
        arrival->end_by(live);
    } catch (...) {
        future.ignore();
        throw;
    }
    return future;
}

}  // namespace heddle
