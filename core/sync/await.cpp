// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/await.hpp"

#include <algorithm>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {
namespace {

void refuse_itself(const Scheduler& scheduler, const EventSource* event) {
    if (event != nullptr && scheduler.in_coroutine() && event == scheduler.current()) {
        throw AsyncError("await: a coroutine cannot wait for itself");  // AWT-7, AWC-08
    }
}

/// Somebody waits for it, so that its outcome is used; a wait that has been overdue for long closes it now (TMO-02).
void visit(EventSource& event) {
    event.mark_used();
    event.on_awaited();
    event.settle();
    event.look();
}

/// The outcome of an event that is over, which counts as delivered from here on (ERR-9). Throws AsyncError if it keeps none (EVT-9).
Outcome outcome_of(EventSource& event) {
    Outcome outcome;
    if (!event.replay(outcome)) { throw AsyncError("await: the event is closed: " + event.describe()); }
    if (auto* coroutine = dynamic_cast<CoroutineCore*>(&event); coroutine != nullptr) { coroutine->mark_observed(); }
    return outcome;
}

/// The one context that all callbacks of a combinator share (AWT-12).
struct Collector {
    const CollectOptions& options;
    Collected collected;
    const Scheduler* scheduler = nullptr;  // with `waiter`, while it is parked
    Label waiter{};
    std::size_t settled = 0;
    std::size_t succeeded = 0;
    ErrorValue first_error{};
    bool ended_by_token = false;

    void record(std::size_t index, const Outcome& outcome) {
        if (collected.settled[index]) { return; }
        if (waiter) { scheduler->touch(waiter, "wait", TouchMode::write); }  // the order in which they come shows
        collected.settled[index] = true;
        collected.outcomes[index] = outcome;
        collected.order.push_back(index);
        ++settled;
        if (!outcome.error) {
            ++succeeded;
        } else if (!first_error) {
            first_error = outcome.error;
        }
    }

    [[nodiscard]] bool done() const {
        const std::size_t count = collected.settled.size();
        const std::size_t wanted = std::min(options.wanted, count);
        switch (options.mode) {
            case CollectMode::all: return settled == count;
            case CollectMode::all_or_fail: return settled == count || first_error;
            case CollectMode::any: return settled > 0 || count == 0;
            case CollectMode::some: return settled >= wanted;
            case CollectMode::some_or_fail: return settled >= wanted || first_error;
            case CollectMode::some_success: return succeeded >= wanted || settled == count;
            case CollectMode::any_success: return succeeded > 0 || settled == count;
        }
        return true;
    }

    /// The error of an input that is the answer of this wait, and not one of several that it collects.
    [[nodiscard]] bool failed() const {
        return first_error && (options.mode == CollectMode::all_or_fail || options.mode == CollectMode::some_or_fail ||
                               options.mode == CollectMode::any);
    }
};

/// Parks until the condition holds, the token fires or a cancellation comes.
/// @returns the cancellation or the token's OperationCanceled that ended the wait; empty if the condition holds
ErrorValue park(Scheduler& scheduler, std::span<EventSource* const> inputs, EventSource* ends_it, Collector& context,
                SourceLocation at) {
    CoroutineCore& self = scheduler.require_suspendable("await");
    Waker& waker = self.waker();
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    waker.clean();
    ErrorValue thrown;
    try {
        EventSource* token = nullptr;
        try {
            token = live_token(ends_it);
        } catch (...) {
            context.ended_by_token = true;
            throw;
        }
        if (token != nullptr) {
            waker.resume_when(*token, [&context, &scheduler, &self](EventSource& event, const Outcome& outcome) {
                if (event.is_disarmed()) { return; }  // AWT-10
                const ErrorValue reason = ErrorValue::make<OperationCanceled>("the token fired", outcome.error);
                if (scheduler.resume(self, &event, {0, false, reason})) { context.ended_by_token = true; }
            });
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i] == ends_it || context.collected.settled[i]) { continue; }
            waker.resume_when(*inputs[i], [&context, &scheduler, &self, i](EventSource& event, const Outcome& outcome) {
                if (self.waker().status() != WakerStatus::waiting) { return; }  // AWC-10: it came after the end
                context.record(i, outcome);
                if (outcome.error) { event.mark_error_handled(); }
                // An error that is the answer is the wait's own outcome, so that a cancellation in the window follows it (WKR-11).
                if (context.done()) { scheduler.resume(self, &event, {0, false, context.failed() ? context.first_error : ErrorValue()}); }
            });
        }
        context.scheduler = &scheduler;
        context.waiter = self.label();
        scheduler.suspend({"await", at});
    } catch (const UnwindToken&) {
        throw;
    } catch (...) {
        thrown = ErrorValue(std::current_exception());
    }
    if (thrown && context.failed() && thrown.same_error(context.first_error)) { return {}; }
    if (thrown && !thrown.is_cancellation()) { thrown.rethrow(); }  // an input could not be started
    return thrown;
}

/// AWT-16: the unfinished coroutines among the inputs are cancelled, and waited for whatever happens (PROT-03).
void cancel_and_wait(Scheduler& scheduler, std::span<EventSource* const> inputs, SourceLocation at) {
    std::vector<Ref<CoroutineCore>> rest;
    for (EventSource* input : inputs) {
        if (auto* coroutine = dynamic_cast<CoroutineCore*>(input); coroutine != nullptr && !coroutine->is_completed()) {
            rest.emplace_back(coroutine);
        }
    }
    if (rest.empty()) { return; }
    const ErrorValue reason = ErrorValue::make<AsyncCancellation>("the wait for it and its siblings is over");
    for (const Ref<CoroutineCore>& coroutine : rest) { scheduler.cancel(*coroutine, CancelKind::forced, reason); }
    cleanup([&] {
        for (const Ref<CoroutineCore>& coroutine : rest) {
            try {
                scheduler.await_finished(*coroutine, nullptr, {"await", at, coroutine->label()});
            } catch (const UnwindToken&) {
                throw;
            } catch (...) {
                // What it ended with was observed by this wait. A cancellation of the waiter itself ends the waiting and goes on
                // (PRT-10): it comes only once the runtime has removed the protection.
                const ErrorValue thrown(std::current_exception());
                const bool its_own = coroutine->is_completed() && thrown.same_error(coroutine->error());
                if (!its_own || (thrown.is_cancellation() && scheduler.current()->protection_depth() == 0)) { throw; }
            }
        }
    });
}

}  // namespace

Outcome await_event(EventSource& event, const Token& token, SourceLocation at) {
    Scheduler& scheduler = event.scheduler();
    const Ref<EventSource> alive(&event);
    EventSource* ends_it = token.event() == &event ? nullptr : token.event();  // AWT-2
    refuse_itself(scheduler, &event);
    refuse_itself(scheduler, ends_it);
    visit(event);
    if (event.is_closed()) {
        Outcome outcome = outcome_of(event);
        if (outcome.error) { outcome.error.rethrow(); }
        return outcome;
    }
    ends_it = live_token(ends_it);
    Waker& waker = scheduler.require_suspendable("await").waker();
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    waker.clean();
    waker.resume_when(event, WakeBy::resolve);
    if (ends_it != nullptr) { waker.resume_when(*ends_it, WakeBy::token); }
    scheduler.suspend({"await", at, event.label()});
    return waker.outcome();
}

Collected await_collect(std::span<EventSource* const> inputs, const CollectOptions& options, const Token& token,
                        SourceLocation at) {
    Scheduler& scheduler = current_runtime("await").scheduler();
    EventSource* ends_it = token.event();
    if (ends_it != nullptr && ends_it->is_disarmed()) { ends_it = nullptr; }  // AWT-10: an input like any other then
    for (const EventSource* input : inputs) { refuse_itself(scheduler, input); }  // before any input is touched
    refuse_itself(scheduler, ends_it);
    Collector context{options, {std::vector<bool>(inputs.size()), std::vector<Outcome>(inputs.size()), {}}};
    std::vector<Ref<EventSource>> alive;
    alive.reserve(inputs.size());
    for (EventSource* input : inputs) { alive.emplace_back(input); }
    // AWT-13: completed inputs in list order, then the token, then the subscriptions. Inputs behind the end are neither visited nor
    // marked (AWC-09).
    for (std::size_t i = 0; i < inputs.size() && !context.done(); ++i) {
        if (inputs[i] == ends_it) { continue; }  // it acts as the token
        visit(*inputs[i]);
        if (inputs[i]->is_closed()) { context.record(i, outcome_of(*inputs[i])); }
    }
    ErrorValue interrupted;
    if (!context.done()) { interrupted = park(scheduler, inputs, ends_it, context, at); }
    const bool cancelled = interrupted && !context.ended_by_token;  // AWC-20: then no input is affected
    const bool fails = options.mode == CollectMode::all_or_fail && (context.failed() || interrupted);
    if (!cancelled && (fails || options.cancel_rest)) { cancel_and_wait(scheduler, inputs, at); }
    if (interrupted) { interrupted.rethrow(); }
    if (context.failed() && options.mode != CollectMode::any) { context.first_error.rethrow(); }
    for (const std::size_t index : context.collected.order) {
        if (!context.collected.outcomes[index].error) { inputs[index]->on_obtained(); }  // FUT-25
    }
    return std::move(context.collected);
}

std::size_t await_any(std::initializer_list<EventSource*> events, const Token& token, SourceLocation at) {
    const Collected collected = await_collect(std::span(events.begin(), events.size()), {CollectMode::any}, token, at);
    if (collected.order.empty()) { throw ValueError("await_any: no events"); }
    const std::size_t first = collected.order.front();
    if (collected.outcomes[first].error) { collected.outcomes[first].error.rethrow(); }
    return first;
}

void await_all(std::span<EventSource* const> inputs, const Token& token, SourceLocation at) {
    const Collected collected = await_collect(inputs, {CollectMode::all}, token, at);
    for (const std::size_t index : collected.order) {
        const ErrorValue& error = collected.outcomes[index].error;
        if (error && !error.is_cancellation()) { error.rethrow(); }
    }
}

}  // namespace heddle
