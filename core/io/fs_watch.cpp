// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/fs_watch.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {

class FsWatch::State final : private SourceOwner, private EventCallback {
public:
    State(Scheduler& scheduler, std::string_view path, const FsWatchOptions& options)
        : scheduler_(scheduler), path_(path), options_(options) {
        if (options.debounce < Duration::zero() || options.hold_max < Duration::zero()) {
            throw ValueError("FsWatch: a duration is negative");
        }
        const Operation operation{.kind = OperationKind::watch, .amount = options.recursive ? 1 : 0, .target = path};
        const Submission submission =
            scheduler.reactor().submit(operation, {this, scheduler.object_label("watch"), false});
        if (submission.done.error != 0) { fail(submission.done.error); }
        source_ = submission.request;
    }
    ~State() override {
        stop_watching();
        stop_timer();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    std::optional<FsChange> next(const IoOptions& options, SourceLocation at) {
        while (changes_.empty()) {
            if (error_ != 0) { fail(error_); }
            if (closed_) { return {}; }
            if (bell_) { throw AsyncError("somebody waits for this watch already"); }
            struct Waiting {
                Ref<OneShotEvent>& bell;
                ~Waiting() { bell.reset(); }
            } const waiting{bell_};
            bell_ = OneShotEvent::make(scheduler_, "watch");
            detail::wait_for(*bell_, "watch", options, at);
        }
        FsChange change = std::move(changes_.front());
        by_name_.erase(change.name);
        changes_.pop_front();
        return change;
    }

    void close() {
        if (std::exchange(closed_, true)) { return; }
        stop_watching();
        release_held();
        if (bell_) { bell_->complete(); }
    }
    [[nodiscard]] bool is_closed() const { return closed_; }
    [[nodiscard]] std::size_t kept() const { return changes_.size(); }

private:
    [[noreturn]] void fail(int code) const {
        throw OperationError(OperationKind::watch, HandleKind::none, -1, path_, code);
    }

    void on_delivery(const Delivery& delivery) override {
        const Completion& completion = *delivery.completion;
        if (!completion.more) { source_ = {}; }
        if (completion.error != 0) {
            error_ = completion.error;
        } else if (FsChange change{static_cast<std::uint32_t>(completion.transferred), completion.answer->host}; !counts(change)) {
            return;
        } else if (options_.debounce > Duration::zero()) {
            hold(change);
            return;
        } else {
            keep(std::move(change));
        }
        if (bell_) { bell_->complete(); }
    }

    [[nodiscard]] bool counts(const FsChange& change) const {
        if (options_.extensions.empty() || change.name.empty()) { return true; }
        return std::ranges::any_of(options_.extensions, [&](const std::string& extension) { return change.name.ends_with(extension); });
    }

    /// FSW-01: where changes are not wanted one by one, a path that is kept already has them added.
    void keep(FsChange change) {
        if (!options_.raw) {
            if (const auto known = by_name_.find(change.name); known != by_name_.end()) {
                known->second->bits |= change.bits;
                return;
            }
        }
        changes_.push_back(std::move(change));
        if (!options_.raw) { by_name_.emplace(changes_.back().name, std::prev(changes_.end())); }
    }

    /// FSW-03: one more of a burst, which ends when nothing comes for a while, or by its age.
    void hold(const FsChange& change) {
        const Instant now = scheduler_.reactor().now();
        if (!held_) { held_.emplace(Held{0, now}); }
        held_->bits |= change.bits;
        Duration wait = options_.debounce;
        if (options_.hold_max > Duration::zero()) {
            wait = std::min(wait, std::max(Duration::zero(), held_->since + options_.hold_max - now));
        }
        if (quiet_) {
            quiet_->rearm(wait);
            return;
        }
        TimerOptions timer;
        timer.timeout = wait;
        timer.multishot = true;
        quiet_ = ReactorEvent::timer(scheduler_, timer, true, "debounce");
        quiet_->subscribe(*this);
        quiet_->start();
    }

    void release_held() {
        stop_timer();
        if (const std::optional<Held> held = std::exchange(held_, {})) { keep({held->bits, {}}); }
    }

    void call(EventSource&, const Outcome& outcome) override {
        if (outcome.error) { return; }
        release_held();
        if (bell_) { bell_->complete(); }
    }

    void stop_watching() {
        if (const SourceId source = std::exchange(source_, {}); source) { scheduler_.reactor().close(source); }
    }
    void stop_timer() {
        if (const Ref<ReactorEvent> timer = std::exchange(quiet_, {}); timer) {
            timer->unsubscribe(*this);
            timer->close();
        }
    }

    struct Held {
        std::uint32_t bits;
        Instant since;
    };

    Scheduler& scheduler_;
    std::string path_;
    FsWatchOptions options_;
    SourceId source_{};
    int error_ = 0;
    bool closed_ = false;
    std::list<FsChange> changes_;  // oldest first
    std::map<std::string, std::list<FsChange>::iterator> by_name_;  // of those, where paths have one entry each
    std::optional<Held> held_;
    Ref<ReactorEvent> quiet_{};
    Ref<OneShotEvent> bell_{};
};

FsWatch::FsWatch(std::string_view path, const FsWatchOptions& options)
    : state_(std::make_unique<State>(current_runtime("FsWatch").scheduler(), path, options)) {}
FsWatch::FsWatch(FsWatch&&) noexcept = default;
FsWatch& FsWatch::operator=(FsWatch&&) noexcept = default;
FsWatch::~FsWatch() = default;

FsChange FsWatch::next(const IoOptions& options, SourceLocation at) {
    std::optional<FsChange> change = state_->next(options, at);
    if (!change) { throw AsyncError("FsWatch: it was closed, and nothing is left"); }
    return std::move(*change);
}
std::optional<FsChange> FsWatch::next_if_open(const IoOptions& options, SourceLocation at) { return state_->next(options, at); }
void FsWatch::close() { state_->close(); }
bool FsWatch::is_closed() const { return state_->is_closed(); }
std::size_t FsWatch::kept() const { return state_->kept(); }

}  // namespace heddle
