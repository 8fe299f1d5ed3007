// SPDX-License-Identifier: Apache-2.0
// The life of a SimReactor, its questions and its clock. One tick: sim_tick.cpp. Sources: sim_sources.cpp. Outside:
// sim_outside.cpp.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <algorithm>
#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/port.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"
#include "heddle/simreactor/reactor/sim_workers.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_SIM_LEAK_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_SIM_LEAK_CHECKED 1
#endif
#endif
#ifdef HEDDLE_SIM_LEAK_CHECKED
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::sim {
namespace {

void validate(const SimReactor::Options& options) {
    options.timing.validate();
    const Fairness& bounds = options.fairness;
    for (const std::uint32_t bound :
         {bounds.poll, bounds.time, bounds.subset, bounds.pool, bounds.timer_io, bounds.late, bounds.close}) {
        if (bound == 0) {
            throw ValueError("fairness: every bound but spurious and arrival must be at least 1, found 0");
        }
    }
    if (options.resolution < Duration{1}) {
        throw ValueError("resolution must be at least 1 ns, found " + std::to_string(options.resolution.count()));
    }
    if (options.workers == 0) { throw ValueError("workers must be at least 1, found 0"); }
    if (options.candidates_max < 2) { throw ValueError("candidates_max must be at least 2"); }
}

/// Down to a multiple, for a clock that is read (RCT-18).
Instant round_down(Instant at, Duration resolution) { return Instant{at.ns() - at.ns() % resolution.count()}; }

/// Keeps an object for ever, and away from leak checkers.
template <class T>
void leak_knowingly(T&& value) {
    auto* kept = new std::decay_t<T>(std::forward<T>(value));
#ifdef HEDDLE_SIM_LEAK_CHECKED
    __lsan_ignore_object(kept);
#endif
    static_cast<void>(kept);
}

}  // namespace

// ── life ──

SimReactor::SimReactor(Options options) {
    configure(std::move(options));
    set_has_short_ways();
}

SimReactor::~SimReactor() { disconnect_ports(); }

void SimReactor::configure(Options options) {
    HEDDLE_ASSERT(sources_.empty() && events_.empty() && !in_tick_, "options change between runs");
    validate(options);
    options_ = std::move(options);
    clock_ = options_.clock == nullptr ? &own_clock_ : options_.clock;
    set_resolution(options_.resolution);
    if (options_.machine != nullptr) { io_ = std::make_unique<detail::SimIo>(*this, options_.machine); }
    if (options_.clock != nullptr) { look_at_clock(); }  // a node that is started again begins in the world's present
}

void SimReactor::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    sink_ = &sink;
    look_at_clock();
}

void SimReactor::shutdown() {
    if (!is_up()) { return; }
    if (in_tick_) { throw AsyncError("a reactor is not shut down from inside its tick"); }
    if (workers_ != nullptr) { workers_->shut_down(); }  // their last posts are settled before the sources go
    if (io_ != nullptr) { io_->close_all(); }
    // Owners hear nothing any more: every source is closed before the first delivery (RCT-11).
    for (std::uint32_t slot = 0; slot < sources_.end(); ++slot) {
        if (!sources_.is_used(slot)) { continue; }
        Source& source = sources_[slot];
        source.owner = nullptr;
        if (source.kind == SourceKind::poll) { continue; }  // goes with its last reference, below
        close(id_of(slot));
    }
    for (std::uint32_t slot = 0; slot < sources_.end(); ++slot) {
        while (sources_.is_used(slot)) { close(id_of(slot)); }
    }
    // Requests that lost against their cancellation run to their silent end (RCT-45): a worker is never cut off in the
    // middle.
    for (std::uint32_t index = 0; index < tasks_.end(); ++index) {
        if (tasks_.is_used(index) && tasks_[index].state == TaskState::running) { run_body(index); }
    }
    in_tick_ = true;
    while (!closes_.empty()) {
        std::vector<Closing> closing;
        closing.swap(closes_);
        for (auto at = closing.rbegin(); at != closing.rend(); ++at) { finish_close(*at); }
    }
    in_tick_ = false;
    // Threads and posts have nobody left to reach. Descriptors and children belong to the world, and children run on.
    for (std::uint32_t index = 0; index < posts_.size(); ++index) { static_cast<void>(withdraw(PostId{index + 1})); }
    std::vector<Window> ends(children_.size());
    for (std::size_t i = 0; i < children_.size(); ++i) {
        if (children_[i].timed) { ends[i] = events_.entry(children_[i].ticket).window; }
    }
    events_.clear();
    for (std::uint32_t i = 0; i < children_.size(); ++i) {
        children_[i].queued = false;
        if (children_[i].timed) { children_[i].ticket = events_.add(ends[i], Happening::exit, i); }
    }
    tasks_.clear();
    tasks_waiting_.clear();
    tasks_running_ = 0;
    ready_.clear();
    for (Descriptor& at : descriptors_) { at.queued = false; }
    signals_.clear();
    threads_.clear();
    posts_.clear();
    HEDDLE_ASSERT(active_events() == 0, "RCT-17: what was counted was closed");
    if (io_ != nullptr) { io_->forget_flights(); }
    sink_ = nullptr;
}

void SimReactor::reset(ResetMode mode) {
    if (mode == ResetMode::abandon) {
        for (std::uint32_t index = 0; index < tasks_.end(); ++index) {
            if (tasks_.is_used(index)) { leak_knowingly(std::move(tasks_[index].body)); }
        }
        for (Post& at : posts_) { leak_knowingly(std::move(at.run)); }
        for (std::unique_ptr<ForeignThread>& at : threads_) { leak_knowingly(std::move(at)); }
        if (io_ != nullptr) { leak_knowingly(std::move(io_)); }  // it may have been left in the middle of anything
    }
    if (workers_ != nullptr) { leak_knowingly(workers_->abandon()); }  // empty behind a shutdown
    workers_ = nullptr;
    io_ = nullptr;
    disconnect_ports();
    sink_ = nullptr;
    sources_.clear();
    timers_.clear();
    events_.clear();
    ready_.clear();
    batch_.clear();
    closes_.clear();
    if (polls_used_) { polls_.clear(); }
    polls_used_ = false;
    descriptors_.clear();
    triggers_.clear();
    signals_.clear();
    children_.clear();
    tasks_.clear();
    tasks_waiting_.clear();
    tasks_running_ = 0;
    workers_held_ = false;
    threads_.clear();
    posts_.clear();
    posts_pending_ = posts_anywhere_ = 0;
    anchor_ = loop_label_ = outside_ = Label{};
    asked_ = {};
    in_tick_ = in_body_ = clock_moved_ = io_delivered_ = promoting_ = posts_seen_ = false;
    next_.reset();
    body_touches_.clear();
    ticks_ = 0;
    poll_misses_ = still_polls_ = spurious_ = timer_io_skips_ = close_skips_ = 0;
    own_clock_.reset();
    restart_clock(Instant{});
    reset_counts();
}

void SimReactor::start_workers(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name) {
    require_up();
    if (workers_ == nullptr) { workers_ = std::make_unique<SimWorkers>(*this); }
    workers_->start(std::move(code), count, name);
}

// ── questions and footprints ──

Label SimReactor::loop_label() {
    if (!loop_label_) {
        loop_label_ = options_.book == nullptr ? LabelBook::of(options_.name) : options_.book->root(options_.name);
    }
    return loop_label_;
}

Label SimReactor::outside_label(std::string_view name) {
    if (options_.book == nullptr) {
        return Label{hash_mix(hash_text(name), 1 + threads_.size() + posts_.size() * std::uint64_t{1'000'003})};
    }
    if (!outside_) { outside_ = options_.book->root("outside"); }
    touch_names(name);
    return options_.book->child(outside_, name);
}

Label SimReactor::point_label(std::string_view kind, Label object) {
    const Label at = anchor_ ? anchor_ : loop_label();
    if (options_.book != nullptr) { return options_.book->point(at, kind, object); }
    std::uint64_t& ordinal = asked_[hash_text(kind) % asked_.size()];
    return Label{hash_mix(hash_mix(at.value, hash_text(kind, object.value)), ++ordinal)};
}

std::uint32_t SimReactor::ask(ChoiceKind kind, std::uint32_t count, std::span<const Label> candidates, Label object) {
    return ask_named(kind, to_string(kind), count, candidates, object);
}

std::uint32_t SimReactor::ask_named(ChoiceKind kind, std::string_view name, std::uint32_t count,
                                    std::span<const Label> candidates, Label object) {
    if (count < 2 || !offers(kind)) { return 0; }
    HEDDLE_ASSERT(candidates.empty() || candidates.size() == count, "C3: every candidate has its label");
    const std::uint32_t answer = options_.chooser->choose(
        {.kind = kind, .at = point_label(name, object), .count = count, .candidates = candidates});
    HEDDLE_ASSERT(answer < count, "RCT-68: an answer is one of the alternatives");
    return answer;
}

void SimReactor::touch(Cell where, TouchMode mode) {
    if (options_.observer == nullptr) { return; }
    if (in_body_) {
        body_touches_.push_back({where, mode});
    } else {
        options_.observer->on_touch(where, mode);
    }
}

/// Hands one delivery to core, with what it touches: the given cells, the clock if it has just moved, and what a worker
/// left.
void SimReactor::deliver(Delivery delivery, std::initializer_list<Touch> touches) {
    if (options_.observer == nullptr) {
        sink_->deliver(delivery);
        return;
    }
    if (puts_one_question()) { clock_moved_ = false; }  // ST2: an instant comes before the next one, whoever is the first in it
    const std::size_t count = touches.size() + (clock_moved_ ? 1 : 0) + body_touches_.size();
    std::array<Touch, 4> few;  // on this stack: a callback may start what is delivered at once, within this delivery
    std::vector<Touch> many(count <= few.size() ? 0 : count);
    const std::span<Touch> footprint = many.empty() ? std::span(few).first(count) : std::span(many);
    auto at = std::copy(touches.begin(), touches.end(), footprint.begin());
    if (std::exchange(clock_moved_, false)) { *at++ = {VirtualClock::now_cell(), TouchMode::max}; }
    std::ranges::copy(body_touches_, at);
    body_touches_.clear();
    delivery.footprint = footprint;
    sink_->deliver(delivery);
}

// ── clock ──

void SimReactor::look_at_clock() { set_now(std::max(now(), round_down(options_.skew.own_of(clock_->now()), options_.resolution))); }

void SimReactor::refresh_clock() { look_at_clock(); }

void SimReactor::set_skew(const ClockSkew& skew) {
    options_.skew = skew;
    look_at_clock();
}

void SimReactor::burn(Duration by) {
    clock_->advance_to(clock_->now() + round_up(by, options_.resolution));
    clock_moved_ = true;
}

void SimReactor::move_to(Instant at) {
    if (at <= clock_->now()) { return; }
    clock_->advance_to(at);
    clock_moved_ = true;
    still_polls_ = 0;
}

bool SimReactor::anything_ready() {
    return std::ranges::any_of(ready_, [&](const Ready& at) { return is_deliverable(at); });
}

/// The nearest deadline or event, which may be over; never if time brings nothing.
Instant SimReactor::next_by_time() const {
    return timers_.empty() ? events_.next() : std::min(events_.next(), first_deadline());
}

Instant SimReactor::next_happening() {
    if (!closes_.empty() || anything_ready()) { return clock_->now(); }
    const Instant next = next_by_time();
    return next.is_never() ? next : std::max(next, clock_->now());
}

/// The latest instant that everything pending allows (TM1).
Instant SimReactor::min_latest() {
    Instant least = events_.min_latest();
    // One jitter for all timers: the first one's window is also the first to end.
    if (!timers_.empty()) { least = std::min(least, options_.skew.true_of(options_.timing.latest(timers_.first().deadline))); }
    for (const Ready& at : ready_) {
        if (is_deliverable(at)) { least = std::min(least, at.latest); }
    }
    return std::max(least, clock_->now());
}

}  // namespace heddle::sim
