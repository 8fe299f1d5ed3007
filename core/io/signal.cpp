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

}  // namespace heddle
