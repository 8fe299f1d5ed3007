// SPDX-License-Identifier: Apache-2.0
// The life of a SimReactor, and one tick of it. Sources: sim_sources.cpp. What happens outside: sim_outside.cpp.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/port.hpp"

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

SimReactor::SimReactor(Options options) { configure(std::move(options)); }

SimReactor::~SimReactor() { disconnect_ports(); }

void SimReactor::configure(Options options) {
    HEDDLE_ASSERT(sources_.empty() && events_.empty() && !in_tick_, "options change between runs");
    validate(options);
    options_ = std::move(options);
    clock_ = options_.clock == nullptr ? &own_clock_ : options_.clock;
    set_resolution(options_.resolution);
}

void SimReactor::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    sink_ = &sink;
    look_at_clock();
}

void SimReactor::shutdown() {
    if (!is_up()) { return; }
    if (in_tick_) { throw AsyncError("a reactor is not shut down from inside its tick"); }
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
    // Requests that lost against their cancellation run to their silent end (RCT-45): a worker is never cut off in the middle.
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
    sink_ = nullptr;
}

void SimReactor::reset(ResetMode mode) {
    if (mode == ResetMode::abandon) {
        for (std::uint32_t index = 0; index < tasks_.end(); ++index) {
            if (tasks_.is_used(index)) { leak_knowingly(std::move(tasks_[index].body)); }
        }
        for (Post& at : posts_) { leak_knowingly(std::move(at.run)); }
        for (std::unique_ptr<ForeignThread>& at : threads_) { leak_knowingly(std::move(at)); }
    }
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
    in_tick_ = in_body_ = clock_moved_ = io_delivered_ = false;
    body_touches_.clear();
    poll_misses_ = still_polls_ = spurious_ = timer_io_skips_ = close_skips_ = 0;
    own_clock_.reset();
    restart_clock(Instant{});
    reset_counts();
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

/// Hands one delivery to core, with what it touches: the given cells, the clock if it has just moved, and what a worker left.
void SimReactor::deliver(Delivery delivery, std::initializer_list<Touch> touches) {
    if (options_.observer == nullptr) {
        sink_->deliver(delivery);
        return;
    }
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

void SimReactor::look_at_clock() { set_now(std::max(now(), round_down(clock_->now(), options_.resolution))); }

void SimReactor::refresh_clock() { look_at_clock(); }

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
    return timers_.empty() ? events_.next() : std::min(events_.next(), timers_.first().deadline);
}

Instant SimReactor::next_happening() {
    if (!closes_.empty() || posts_anywhere_ > 0 || anything_ready()) { return clock_->now(); }
    const Instant next = next_by_time();
    return next.is_never() ? next : std::max(next, clock_->now());
}

/// The latest instant that everything pending allows (TM1).
Instant SimReactor::min_latest() {
    Instant least = events_.min_latest();
    // One jitter for all timers: the first one's window is also the first to end.
    if (!timers_.empty()) { least = std::min(least, options_.timing.latest(timers_.first().deadline)); }
    for (const Ready& at : ready_) {
        if (is_deliverable(at)) { least = std::min(least, at.latest); }
    }
    return std::max(least, clock_->now());
}

// ── the tick ──

bool SimReactor::anything() const {
    return !timers_.empty() || !ready_.empty() || !events_.empty() || !closes_.empty() || posts_anywhere_ > 0;
}

bool SimReactor::poll_due(bool in_place) {
    static_cast<void>(in_place);        // one bound for both kinds of opportunity (SCH-36)
    if (!anything()) { return false; }  // nothing to find, now or when time has moved
    if (poll_misses_ >= options_.fairness.poll) {
        poll_misses_ = 0;
        return true;
    }
    const auto finds = [this] {  // something now, or something that CP-TIME may bring about
        const Instant next = next_happening();
        return next <= clock_->now() || (!next.is_never() && offers(ChoiceKind::time));
    };
    if (offers(ChoiceKind::poll) && finds() && ask(ChoiceKind::poll, 2) == 1) {
        poll_misses_ = 0;
        return true;
    }
    ++poll_misses_;
    return false;
}

bool SimReactor::tick(TickMode mode) {
    require_up();
    if (in_tick_) { throw AsyncError("tick is not reentrant: a callback or coroutine called it from inside a tick"); }
    poll_misses_ = 0;
    if (!anything() && (mode == TickMode::no_wait || !alive())) {
        look_at_clock();
        return alive();
    }
    in_tick_ = true;
    io_delivered_ = false;
    wait(mode);
    look_at_clock();
    if (alive() && spurious_ < options_.fairness.spurious && offers(ChoiceKind::spurious) &&
        (timers_due() || !closes_.empty() || anything_ready()) && ask(ChoiceKind::spurious, 2) == 1) {
        ++spurious_;
        in_tick_ = false;
        return alive();
    }
    spurious_ = 0;
    poll_phase();
    close_phase();
    look_at_clock();
    timers_phase();
    in_tick_ = false;
    return alive();
}

bool SimReactor::waits(TickMode mode) const {
    return mode == TickMode::may_block && closes_.empty() && alive() && !sink_->has_ready_work();
}

/// Moves the clock as far as this tick moves it, and finds what is ready by then.
void SimReactor::wait(TickMode mode) {
    promote();
    if (posts_anywhere_ > 0) { let_posts_arrive(!alive()); }
    while (waits(mode)) {
        const Instant now = clock_->now();
        // What has come, and may not be put off any longer, is delivered now.
        const auto must_go = [&](const Ready& at) { return at.latest <= now && is_deliverable(at); };
        if (std::ranges::any_of(ready_, must_go)) { break; }
        const Instant next = next_by_time();
        if (next <= now || anything_ready()) {
            move_to(choose_wake(now));  // T2: what may happen now may also happen later
            promote();
            return;
        }
        if (options_.on_idle && options_.on_idle(*this, next)) {
            promote();
            continue;
        }
        if (!next.is_never()) {
            move_to(choose_wake(next));
            promote();
            return;
        }
        if (posts_anywhere_ == 0) { report_hang(); }
        let_posts_arrive(true);
        return;
    }
    if (mode == TickMode::no_wait || alive()) { let_time_pass(); }
    promote();
}

/// CP-TIME: how far time moves although the tick does not wait. Production's answer for a program that does nothing but yield is
/// "not at all"; the bound is what lets a coroutine that yields until a timer has fired come to an end.
void SimReactor::let_time_pass() {
    const Instant now = clock_->now();
    const Instant next = next_by_time();
    if (next.is_never() || next <= now) { return; }
    if (still_polls_ >= options_.fairness.time) {
        move_to(next);
        return;
    }
    const Instant between = now + round_up((next - now) / 2, options_.resolution);
    const std::uint32_t answer = ask(ChoiceKind::time, between < next ? 3 : 2);
    if (answer == 1) {
        move_to(next);
    } else {
        const std::uint32_t still = still_polls_ + 1;
        if (answer == 2) { move_to(between); }
        still_polls_ = still;  // half the way is not there: the bound is on the nearest deadline
    }
}

/// CP-LATE: when a wait ends that has something to do at `first`. Under T2 it may end at any later instant that every window allows:
/// those at which something more becomes due, and the last one.
Instant SimReactor::choose_wake(Instant first) {
    if (options_.timing.level < TimeLevel::T2 || !offers(ChoiceKind::late)) { return first; }
    const Instant last = std::min(min_latest(), std::max(first, clock_->limit()));
    if (last <= first || last.is_never()) { return first; }
    instants_.assign({first, last});
    const auto add = [&](Instant at) {
        if (at > first) { instants_.push_back(at); }
    };
    timers_.for_each_until(last, [&](const TimerQueue::Entry& entry) { add(entry.deadline); });
    events_.for_each_until(last, add);
    std::ranges::sort(instants_);
    instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
    if (instants_.size() > options_.candidates_max) { instants_.resize(options_.candidates_max); }
    return instants_[ask(ChoiceKind::late, static_cast<std::uint32_t>(instants_.size()))];
}

void SimReactor::promote() {
    if (events_.empty()) { return; }
    events_.take_due(clock_->now(), [this](const EventQueue::Entry& entry) {
        if (entry.what == Happening::exit) {
            children_[entry.index].timed = false;
            child_ended(entry.index);
        } else {
            enqueue(entry.what, entry.index, entry.window.latest);
        }
    });
}

void SimReactor::report_hang() {
    std::ostringstream message;
    message << "hang: the loop waits at " << clock_->now().ns() << " ns and nothing can ever happen; started:";
    for (std::uint32_t slot = 0; slot < sources_.end(); ++slot) {
        if (!sources_.is_used(slot) || !sources_[slot].started) { continue; }
        const Source& source = sources_[slot];
        message << ' ' << to_string(source.kind);
        if (source.label && options_.book != nullptr) { message << ' ' << options_.book->text(source.label); }
        if (source.hidden) { message << " (hidden)"; }
        message << ';';
    }
    if (workers_held_ && !tasks_.empty()) { message << " requests that no worker takes: " << tasks_.size() << ';'; }
    report_violation({"RCT-69", message.str(), __FILE__, __LINE__});
}

// ── poll ──

/// Fixes the batch: what can be delivered now, in order of arrival, signals and exits behind the rest (RCT-60, G9).
void SimReactor::collect() {
    batch_.clear();
    for (const bool late_class : {false, true}) {
        for (const Ready& at : ready_) {
            const bool is_late = at.what == Happening::signal || at.what == Happening::exit;
            if (is_late != late_class) { continue; }
            if (is_deliverable(at)) {
                batch_.push_back(at);
            } else {
                forget(at);
            }
        }
    }
    ready_.clear();
}

bool SimReactor::may_end_batch(bool delivered) const {
    // A poll that found something reports at least one of it (F2), unless timers are due: then the rest came after this poll.
    const Instant now = clock_->now();
    const bool windowed = std::ranges::all_of(batch_, [&](const Ready& at) { return at.latest > now; });
    if (!delivered && !windowed && !timers_due()) { return false; }
    return std::ranges::none_of(batch_, [&](const Ready& at) { return at.skipped >= options_.fairness.subset; });
}

/// CP-SUBSET: the rest waits for a later tick, in front of what came meanwhile.
void SimReactor::cut_batch() {
    for (Ready& at : batch_) { ++at.skipped; }
    ready_.insert(ready_.begin(), batch_.begin(), batch_.end());
    batch_.clear();
}

void SimReactor::poll_phase() {
    if (ready_.empty()) { return; }
    collect();
    bool delivered = false;
    if (options_.chooser == nullptr) {  // the same order without asking, and without looking at the rest each time
        for (std::size_t i = 0; i < batch_.size(); ++i) {
            const Ready ready = batch_[i];
            if (!is_deliverable(ready)) {
                forget(ready);
                continue;
            }
            delivered = true;
            deliver_ready(ready);
        }
        batch_.clear();
    }
    for (;;) {
        std::erase_if(batch_, [&](const Ready& at) {
            if (is_deliverable(at)) { return false; }
            forget(at);
            return true;
        });
        if (batch_.empty()) { break; }
        if (offers(ChoiceKind::batch) && may_end_batch(delivered) && ask(ChoiceKind::batch, 2) == 1) {
            cut_batch();
            break;
        }
        const std::size_t pick = choose_ready();
        const Ready ready = batch_[pick];
        batch_.erase(batch_.begin() + static_cast<std::ptrdiff_t>(pick));
        delivered = true;
        deliver_ready(ready);
    }
    io_delivered_ = delivered;
}

/// CP-READY, CP-SIGNAL, CP-EXIT: what is reported next. The worker pool is one source here; which of its requests: CP-POOL.
std::size_t SimReactor::choose_ready() {
    if (batch_.size() == 1 || options_.chooser == nullptr) { return 0; }
    candidates_.clear();
    picks_.clear();
    bool pool_listed = false;
    for (std::size_t i = 0; i < batch_.size() && picks_.size() < options_.candidates_max; ++i) {
        const bool is_task = batch_[i].what == Happening::task;
        if (is_task && std::exchange(pool_listed, true)) { continue; }
        candidates_.push_back(label_of(batch_[i]));
        picks_.push_back(static_cast<std::uint32_t>(i));
    }
    const std::size_t pick = picks_[ask(ChoiceKind::ready, static_cast<std::uint32_t>(picks_.size()), candidates_)];
    return batch_[pick].what == Happening::task ? choose_task(pick) : pick;
}

std::size_t SimReactor::choose_task(std::size_t first) {
    candidates_.clear();
    picks_.clear();
    for (std::size_t i = first; i < batch_.size() && picks_.size() < options_.candidates_max; ++i) {
        if (batch_[i].what != Happening::task) { continue; }
        if (batch_[i].passed >= options_.fairness.pool) { return i; }
        candidates_.push_back(label_of(batch_[i]));
        picks_.push_back(static_cast<std::uint32_t>(i));
    }
    const std::size_t pick = picks_[ask(ChoiceKind::pool, static_cast<std::uint32_t>(picks_.size()), candidates_)];
    for (std::size_t i = first; i < pick; ++i) { ++batch_[i].passed; }
    return pick;
}

// ── closes ──

/// Libuv runs close completions in reverse order of the closes (G19); here any order, over any number of ticks (CP-CLOSE).
void SimReactor::close_phase() {
    if (closes_.empty()) { return; }
    std::vector<Closing> closing;
    closing.swap(closes_);
    std::ranges::reverse(closing);
    while (!closing.empty()) {
        if (close_skips_ < options_.fairness.close && ask_named(ChoiceKind::close, "close-wait", 2, {}, {}) == 1) {
            ++close_skips_;
            std::ranges::reverse(closing);
            closes_.insert(closes_.begin(), closing.begin(), closing.end());
            return;
        }
        candidates_.clear();
        const std::size_t count = std::min<std::size_t>(closing.size(), options_.candidates_max);
        for (std::size_t i = 0; i < count; ++i) { candidates_.push_back(closing[i].label); }
        const std::uint32_t pick = ask(ChoiceKind::close, static_cast<std::uint32_t>(count), candidates_);
        const Closing done = closing[pick];
        closing.erase(closing.begin() + pick);
        finish_close(done);
    }
    close_skips_ = 0;
}

void SimReactor::finish_close(const Closing& closing) {
    if (Descriptor* given = closing.close_fd < 0 ? nullptr : descriptor(closing.close_fd)) { given->open = false; }
    deliver({.source = closing.poll, .kind = SourceKind::poll, .label = closing.label, .closed = true},
            {{cell(closing.label, "handle"), TouchMode::write}});
}

// ── timers ──

void SimReactor::timers_phase() {
    if (!timers_due()) {
        timer_io_skips_ = 0;
        return;
    }
    // CP-TIMERIO: the deadline was not quite reached when the I/O of this tick was. (Timers first, I/O in the next tick: an empty
    // batch, which may_end_batch allows while timers are due.)
    if (io_delivered_ && timer_io_skips_ < options_.fairness.timer_io && ask(ChoiceKind::timer_io, 2) == 1) {
        ++timer_io_skips_;
        return;
    }
    timer_io_skips_ = 0;
    if (options_.timing.level == TimeLevel::T0 || !offers(ChoiceKind::timer)) {
        fire_in_order(now());
    } else {
        fire_by_choice(now());
    }
}

/// RCT-30: timers armed during the pass have later start ids than all that were armed before, and wait for the next one. An old
/// one that was armed anew has such an id, too.
void SimReactor::fire_in_order(Instant pass) {
    const std::uint64_t last_start_id = timers_.last_start_id();
    while (!timers_.empty()) {
        const TimerQueue::Entry first = timers_.first();
        if (first.deadline > pass) { break; }
        if (first.start_id > last_start_id) {
            break;
        }  // armed in this pass, hence due no earlier than what was due before
        fire(first.slot);
    }
}

/// T1: ties in any order. T2: besides, a later one may go first, if every window allows it; those it overtakes wait for the next
/// pass, so that within one pass deadlines ascend (RCT-66).
void SimReactor::fire_by_choice(Instant pass) {
    std::vector<TimerQueue::Entry> due;
    timers_.for_each_until(pass, [&](const TimerQueue::Entry& entry) { due.push_back(entry); });
    std::ranges::sort(due, [](const auto& a, const auto& b) { return a.before(b); });
    const auto still_due = [&](const TimerQueue::Entry& entry) {
        return timers_.is_armed(entry.slot) && timers_.entry(entry.slot).start_id == entry.start_id;
    };
    std::size_t begin = 0;
    while (begin < due.size()) {
        if (!still_due(due[begin])) {
            ++begin;
            continue;
        }
        const Instant first = due[begin].deadline;
        const Instant last = options_.timing.latest(first);
        candidates_.clear();
        picks_.clear();
        for (std::size_t i = begin; i < due.size() && due[i].deadline <= last; ++i) {
            if (picks_.size() == options_.candidates_max) { break; }
            if (!still_due(due[i])) { continue; }
            candidates_.push_back(label_of(id_of(due[i].slot), sources_[due[i].slot]));
            picks_.push_back(static_cast<std::uint32_t>(i));
            if (sources_[due[i].slot].overtaken >= options_.fairness.late) { break; }
        }
        const std::size_t pick = picks_[ask(ChoiceKind::timer, static_cast<std::uint32_t>(picks_.size()), candidates_)];
        const TimerQueue::Entry chosen = due[pick];
        // Ties of the chosen one stay in this pass; what was due before it does not.
        std::size_t ties = pick;
        while (ties > begin && due[ties - 1].deadline == chosen.deadline) { --ties; }
        for (std::size_t i = begin; i < ties; ++i) {
            if (still_due(due[i])) { ++sources_[due[i].slot].overtaken; }
        }
        due.erase(due.begin() + static_cast<std::ptrdiff_t>(pick));
        begin = ties;
        fire(chosen.slot);
    }
}

void SimReactor::fire(std::uint32_t slot) {
    const SourceId id = id_of(slot);
    Source& source = sources_[slot];
    const auto start_id = static_cast<std::int64_t>(timers_.entry(slot).start_id);
    const Cell fired_arming = armed_cell(id, source);
    const Delivery delivery{
        .source = id, .kind = SourceKind::timer, .owner = source.owner, .label = source.label, .value = start_id};
    source.overtaken = 0;
    if (source.periodic) {  // RCT-27
        timers_.arm(slot, now() + round_up(source.timeout, options_.resolution));
        ++source.armings;
        const Cell armed = armed_cell(id, source);
        deliver(delivery, {{fired_arming, TouchMode::write}, {armed, TouchMode::write}});
        return;
    }
    timers_.disarm(slot);
    count_stopped(source);
    if (!source.multishot) { drop_source(id); }  // RCT-26
    deliver(delivery, {{fired_arming, TouchMode::write}});
}

}  // namespace heddle::sim
