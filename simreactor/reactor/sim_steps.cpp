// SPDX-License-Identifier: Apache-2.0
// A SimReactor that puts one question only: what happens next, of all that can (SimReactorOptions::plan).
//
//   poll_due ── some source can be reported? ── no ──▶ the scheduler dispatches, and asks which coroutine
//        │ yes
//        ▼
//   {ready coroutines, sources} ──▶ a coroutine: StepPlan has its name
//                              └──▶ a source: the tick reports it, and asks again until a coroutine is named
//
// ST1  A source is what a poll may report, a timer that is due, a close completion, or a post that may come anywhere. Each is one step; its
//      order among all others is free, as those of CP-POLL, CP-READY, CP-SUBSET, CP-POOL, CP-TIMERIO, ties of CP-LATE and CP-CLOSE are
//      together.
//      What it decides takes effect at once: waits that it has ended stop what else they waited for. Production does so at the end of a
//      batch, in which the rest may still be reported, to nobody.
// ST2  No time passes while anything can happen (T0, T1), so all that happens at one instant happens before all that happens at the next.
// ST3  What this cannot say is asked in the usual way, and tells a search that it needs the usual world: a batch that goes on before the
//      microtasks of what it has reported (CP-SUBSET), a post that may come before or after time has passed (CP-CANCEL), a program that
//      polls until time passes (CP-TIME), operations of the simulated kernel.
// ST4  A source is told apart by its label; what makes it possible gives its cell "wait", as waking a coroutine does, and what takes it
//      back writes it.
// Chance: dispatch, under the name "step".
#include <algorithm>

#include "heddle/simreactor/chooser/step_plan.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {
namespace {

/// Dispatches at one instant after which a program counts as one that waits for time to pass without waiting.
constexpr std::uint32_t patience = 2000;

}  // namespace

/// ST1; what cannot be delivered any more is forgotten.
void SimReactor::list_sources() {
    promote();  // what has become possible just now can be reported at once
    nexts_.clear();
    std::erase_if(ready_, [this](const Ready& at) {
        if (is_deliverable(at)) { return false; }
        forget(at);
        return true;
    });
    for (const Ready& at : ready_) { nexts_.push_back({Next::Kind::ready, nexts_.size(), step_label(at)}); }
    for (std::size_t i = 0; posts_anywhere_ > 0 && i < posts_.size(); ++i) {
        const bool waits = posts_[i].state == PostState::fresh || posts_[i].state == PostState::postponed;
        if (waits) { nexts_.push_back({Next::Kind::post, i, posts_[i].label}); }
    }
    for (std::size_t i = closes_.size(); i > 0; --i) { nexts_.push_back({Next::Kind::close, i - 1, closes_[i - 1].label}); }
    if (!timers_due()) { return; }
    const auto timer = [this](const TimerQueue::Entry& entry) {
        nexts_.push_back({Next::Kind::timer, entry.slot, label_of(id_of(entry.slot), sources_[entry.slot])});
    };
    const TimerQueue::Entry first = timers_.first();
    if (options_.timing.level == TimeLevel::T0) {
        timer(first);
        return;
    }
    due_.clear();
    timers_.for_each_until(first.deadline, [this](const TimerQueue::Entry& entry) { due_.push_back(entry); });
    std::ranges::sort(due_, [](const auto& a, const auto& b) { return a.before(b); });
    std::ranges::for_each(due_, timer);
}

Label SimReactor::step_label(const Ready& ready) {
    switch (ready.what) {
        case Happening::signal: return signal_label(signals_[ready.key].number);
        case Happening::exit: return process_label(first_pid + static_cast<int>(ready.key));
        default: return label_of(ready);
    }
}

/// What a source that is started or stopped is a part of, as ST4 names it.
Label SimReactor::step_label(SourceId id, const Source& source) {
    switch (source.kind) {
        case SourceKind::proxy: {
            const Descriptor* const at = descriptor_at(static_cast<int>(source.detail));
            const Source* const poll = at == nullptr ? nullptr : find(at->poll);
            return poll == nullptr ? label_of(id, source) : label_of(at->poll, *poll);
        }
        case SourceKind::signal: return signal_label(static_cast<int>(source.detail));
        case SourceKind::process: return process_label(static_cast<int>(source.detail));
        default: return label_of(id, source);
    }
}

/// ST4. What only the passing of time promotes has been made possible before.
void SimReactor::enables(Label source) {
    if (puts_one_question() && !promoting_) { touch(cell(source, "wait"), TouchMode::give); }
}

void SimReactor::takes_back(Label source, bool found) {
    if (puts_one_question()) { touch(cell(source, "wait"), found ? TouchMode::write : TouchMode::read); }
}

/// Tasks are taken in the order of their submission, by whoever is free: one cell for all of them.
void SimReactor::touch_workers() {
    if (puts_one_question()) { touch(cell(loop_label(), "workers"), TouchMode::write); }
}

/// Things that are told apart by how many there were before: whoever makes one conflicts with whoever makes another.
void SimReactor::touch_names(std::string_view kind) {
    if (puts_one_question()) { touch(cell(loop_label(), kind), TouchMode::write); }
}

/// The question. True: a source was chosen, and is in `next_`.
bool SimReactor::ask_next() {
    std::vector<Label>& candidates = candidates_;
    candidates.clear();
    static_cast<void>(sink_->list_ready(candidates));
    const std::size_t coroutines = candidates.size();
    for (const Next& next : nexts_) { candidates.push_back(next.label); }
    const std::uint32_t answer =
        ask_named(ChoiceKind::dispatch, "step", static_cast<std::uint32_t>(candidates.size()), candidates, {});
    if (answer < coroutines) {
        options_.plan->name(candidates_[answer]);
        return false;
    }
    next_ = nexts_[answer - coroutines];
    return true;
}

bool SimReactor::step_due() {
    options_.plan->clear();
    next_.reset();
    if (!anything()) { return false; }
    list_sources();
    candidates_.clear();
    const bool anybody = sink_->list_ready(candidates_) && !candidates_.empty();
    if (nexts_.empty() || !anybody) {  // the loop's own tick has nothing else to do
        if (next_by_time().is_never() || ++poll_misses_ < patience) { return false; }
        poll_misses_ = 0;
        return true;  // ST3: the tick asks whether time passes
    }
    return ask_next();
}

void SimReactor::step_tick(TickMode mode) {
    const bool chosen = next_.has_value();
    if (!chosen && !find_next(mode)) { return; }
    for (;;) {
        report_next();
        sink_->settle();
        list_sources();
        candidates_.clear();
        if (nexts_.empty()) { return; }
        if (!sink_->list_ready(candidates_)) {  // ST3
            if (ask(ChoiceKind::batch, 2) == 1) { return; }
            next_ = nexts_.front();
            continue;
        }
        if (!chosen || candidates_.empty() || !ask_next()) { return; }
    }
}

/// Nobody can run: the next source, where need be at a later time.
bool SimReactor::find_next(TickMode mode) {
    list_sources();
    const bool nothing_due = std::ranges::all_of(nexts_, [](const Next& at) { return at.kind == Next::Kind::post; });
    const Instant next = next_by_time();
    if (nothing_due && posts_seen_ && !next.is_never()) {  // ST3: before or after time has passed
        static_cast<void>(ask(ChoiceKind::arrival, 2));
    }
    if (nexts_.empty() && waits(mode)) {
        if (next.is_never()) {
            report_hang();
        } else {
            move_to(next);
        }
    } else if (nexts_.empty() && mode == TickMode::no_wait && sink_->has_ready_work()) {
        let_time_pass();
    }
    look_at_clock();
    list_sources();
    if (nexts_.empty()) { return false; }
    candidates_.clear();
    for (const Next& at : nexts_) { candidates_.push_back(at.label); }
    next_ = nexts_[ask_named(ChoiceKind::dispatch, "step", static_cast<std::uint32_t>(candidates_.size()), candidates_, {})];
    return true;
}

void SimReactor::report_next() {
    const Next next = *next_;
    next_.reset();
    poll_misses_ = 0;
    if (options_.observer != nullptr) { options_.observer->on_source(next.label, now()); }
    const auto turns_the_loop = [&] {  // RCT-13
        if (next.kind == Next::Kind::post) { return posts_[next.index].counted; }
        if (next.kind == Next::Kind::timer) { return !sources_[static_cast<std::uint32_t>(next.index)].hidden; }
        if (next.kind == Next::Kind::close) { return true; }
        const Ready& ready = ready_[next.index];
        if (ready.what == Happening::trigger) { return !find(triggers_.find(ready.key)->source)->hidden; }
        return ready.what != Happening::thread && (ready.what != Happening::post || posts_[ready.key].counted);
    };
    if (!turns_the_loop()) { touch(cell(Label{hash_text("loop")}, "end"), TouchMode::read); }  // the run may end before it
    switch (next.kind) {
        case Next::Kind::ready: {
            const Ready ready = ready_[next.index];
            ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(next.index));
            deliver_ready(ready);
            return;
        }
        case Next::Kind::post:
            --posts_anywhere_;
            posts_[next.index].state = PostState::arrived;
            deliver_post(static_cast<std::uint32_t>(next.index));
            return;
        case Next::Kind::close: {
            const Closing closing = closes_[next.index];
            closes_.erase(closes_.begin() + static_cast<std::ptrdiff_t>(next.index));
            finish_close(closing);
            return;
        }
        case Next::Kind::timer: fire(static_cast<std::uint32_t>(next.index)); return;
    }
}

}  // namespace heddle::sim
