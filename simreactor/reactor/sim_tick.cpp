// SPDX-License-Identifier: Apache-2.0
// One tick of a SimReactor, phase by phase, in the order of libuv 1.45 (RCT-60): wait, poll, closes, clock, timers.
//
// Where chance enters: each function that asks names its CP-… of docs/spec/05-reactor.md, section 8, and its bound.
#include <algorithm>
#include <sstream>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {

// ── the tick ──

bool SimReactor::anything() const {
    return !timers_.empty() || !ready_.empty() || !events_.empty() || !closes_.empty() || posts_anywhere_ > 0;
}

bool SimReactor::poll_due(bool in_place) {
    if (puts_one_question()) { return step_due(); }
    static_cast<void>(in_place);        // one bound for both kinds of opportunity (SCH-36)
    if (!anything()) { return false; }  // nothing to find, now or when time has moved
    if (poll_misses_ >= options_.fairness.poll) {
        poll_misses_ = 0;
        return true;
    }
    const auto finds = [this] {  // something now, or something that CP-TIME may bring about
        const Instant next = posts_anywhere_ > 0 ? clock_->now() : next_happening();
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
    // A loop that turns for ever and dispatches nobody is as endless as one that dispatches for ever.
    if (++ticks_ > options_.ticks_max && options_.ticks_max != 0) [[unlikely]] {
        report_violation({"INV-LIVE-01", "the loop made more than " + std::to_string(options_.ticks_max) + " ticks: livelock", __FILE__, __LINE__});
    }
    if (!puts_one_question()) { poll_misses_ = 0; }
    if (!anything() && (mode == TickMode::no_wait || !alive())) {
        look_at_clock();
        return alive();
    }
    in_tick_ = true;
    io_delivered_ = false;
    if (io_ != nullptr) { io_->begin_tick(); }
    if (puts_one_question()) {
        step_tick(mode);
        in_tick_ = false;
        return alive();
    }
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
        if (options_.on_idle && (options_.on_idle(*this, next) || anything_ready())) {
            promote();
            continue;
        }
        const Instant first = next_by_time();  // another node may have sent something meanwhile
        if (!first.is_never()) {
            move_to(choose_wake(first));
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

/// CP-TIME: how far time moves although the tick does not wait. Production's answer for a program that does nothing
/// but yield is "not at all"; the bound is what lets a coroutine that yields until a timer has fired come to an end.
void SimReactor::let_time_pass() {
    // What other nodes have to do before that comes first (WD4), and they may send something.
    const auto pass_to = [this](Instant target) {
        if (options_.on_idle) {
            const Instant before = clock_->now();
            static_cast<void>(options_.on_idle(*this, target));
            if (clock_->now() > before) {
                clock_moved_ = true;
                still_polls_ = 0;
            }
            promote();
            if (anything_ready()) { return; }
            target = std::min(target, next_by_time());
        }
        move_to(target);
    };
    const Instant now = clock_->now();
    const Instant next = next_by_time();
    if (next.is_never() || next <= now) { return; }
    if (still_polls_ >= options_.fairness.time) {
        pass_to(next);
        return;
    }
    const Instant between = now + round_up((next - now) / 2, options_.resolution);
    const std::uint32_t answer = ask(ChoiceKind::time, between < next ? 3 : 2);
    if (answer == 1) {
        pass_to(next);
    } else {
        const std::uint32_t still = still_polls_ + 1;
        if (answer == 2) { pass_to(between); }
        still_polls_ = still;  // half the way is not there: the bound is on the nearest deadline
    }
}

/// CP-LATE: when a wait ends that has something to do at `first`. Under T2 it may end at any later instant that every
/// window allows:
/// those at which something more becomes due, and the last one.
Instant SimReactor::choose_wake(Instant first) {
    if (options_.timing.level < TimeLevel::T2 || !offers(ChoiceKind::late)) { return first; }
    const Instant last = std::min(min_latest(), std::max(first, clock_->limit()));
    if (last <= first) { return first; }
    instants_.assign({first});
    if (!last.is_never()) { instants_.push_back(last); }
    const auto add = [&](Instant at) {
        if (at > first) { instants_.push_back(at); }
    };
    const ClockSkew& skew = options_.skew;
    timers_.for_each_until(skew.own_of(last), [&](const TimerQueue::Entry& entry) { add(skew.true_of(entry.deadline)); });
    events_.for_each_until(last, add);
    std::ranges::sort(instants_);
    instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
    if (instants_.size() == 1) { return first; }  // nothing has to happen by any time, and nothing more comes
    if (instants_.size() > options_.candidates_max) { instants_.resize(options_.candidates_max); }
    return instants_[ask(ChoiceKind::late, static_cast<std::uint32_t>(instants_.size()))];
}

void SimReactor::promote() {
    if (events_.empty()) { return; }
    promoting_ = true;
    events_.take_due(clock_->now(), [this](const EventQueue::Entry& entry) {
        if (entry.what == Happening::exit) {
            children_[entry.index].timed = false;
            child_ended(entry.index);
        } else if (entry.what == Happening::arrival) {
            io_->arrive(entry.index, entry.window.latest);
        } else {
            enqueue(entry.what, entry.index, entry.window.latest);
        }
    });
    promoting_ = false;
}

void SimReactor::report_hang() {
    std::ostringstream message;
    message << "hang: the loop waits at " << clock_->now().ns() << " ns and nothing can ever happen; started:";
    for (std::uint32_t slot = 0; slot < sources_.end(); ++slot) {
        if (!sources_.is_used(slot)) { continue; }
        const Source& source = sources_[slot];
        if (!source.started && source.kind != SourceKind::operation) { continue; }
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
    // A poll that found something reports at least one of it (F2), unless timers are due: then the rest came after this
    // poll.
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

/// CP-READY, CP-SIGNAL, CP-EXIT: what is reported next. The worker pool is one source here; which of its requests:
/// CP-POOL.
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

/// Libuv runs close completions in reverse order of the closes (G19); here any order, over any number of ticks
/// (CP-CLOSE).
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
    if (Descriptor* given = closing.close_fd < 0 ? nullptr : descriptor_at(closing.close_fd)) { given->open = false; }
    deliver({.source = closing.poll, .kind = SourceKind::poll, .label = closing.label, .closed = true},
            {{cell(closing.label, "handle"), TouchMode::write}});
}

// ── timers ──

void SimReactor::timers_phase() {
    if (!timers_due()) {
        timer_io_skips_ = 0;
        return;
    }
    // CP-TIMERIO: the deadline was not quite reached when the I/O of this tick was. (Timers first, I/O in the next
    // tick: an empty batch, which may_end_batch allows while timers are due.)
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

/// RCT-30: timers armed during the pass have later start ids than all that were armed before, and wait for the next
/// one. An old one that was armed anew has such an id, too.
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

/// T1: ties in any order. T2: besides, a later one may go first, if every window allows it; those it overtakes wait
/// for the next pass, so that within one pass deadlines ascend (RCT-66). T3: unless it was armed after one of those, for at least as long.
void SimReactor::fire_by_choice(Instant pass) {
    std::vector<TimerQueue::Entry>& due = due_;
    due.clear();
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
            if (options_.timing.level == TimeLevel::T3 && overtakes_its_elder(due, begin, i)) { continue; }
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

/// RCT-31: true if one of those before `due[at]` was armed earlier than it, for no longer.
bool SimReactor::overtakes_its_elder(std::span<const TimerQueue::Entry> due, std::size_t begin, std::size_t at) {
    const auto armed_for = [&](const TimerQueue::Entry& entry) { return sources_[entry.slot].timeout; };
    return std::ranges::any_of(due.subspan(begin, at - begin), [&](const TimerQueue::Entry& elder) {
        const bool pending = timers_.is_armed(elder.slot) && timers_.entry(elder.slot).start_id == elder.start_id;
        return pending && elder.start_id < due[at].start_id && armed_for(elder) <= armed_for(due[at]);
    });
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
