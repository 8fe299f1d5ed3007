// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/await.hpp"

#include <algorithm>

#include "heddle/core/run/cancellation.hpp"

namespace heddle {
namespace {

[[noreturn]] void throw_token(EventSource& token) {
    Outcome fired;
    static_cast<void>(token.replay(fired));
    throw OperationCanceled("the token fired", fired.error);
}

/// The one context that all callbacks of a combinator share (AWT-12).
struct Collector {
    const CollectOptions& options;
    Collected collected;
    std::size_t settled = 0;
    std::size_t succeeded = 0;
    ErrorValue first_error{};

    void record(std::size_t index, const Outcome& outcome) {
        if (collected.settled[index]) { return; }
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
        switch (options.mode) {
            case CollectMode::all: return settled == count;
            case CollectMode::all_or_fail: return settled == count || first_error;
            case CollectMode::any: return settled > 0 || count == 0;
            case CollectMode::some: return settled >= std::min(options.wanted, count);
            case CollectMode::any_success: return succeeded > 0 || settled == count;
        }
        return true;
    }
};

void observe(EventSource& event) {
    event.mark_used();
    if (auto* coroutine = dynamic_cast<CoroutineCore*>(&event); coroutine != nullptr && coroutine->is_completed()) {
        coroutine->mark_observed();
    }
}

}  // namespace

Outcome await_event(EventSource& event, const Token& token, std::source_location at) {
    Scheduler& scheduler = event.scheduler();
    EventSource* ends_it = token.event() == &event ? nullptr : token.event();
    const Ref<EventSource> alive(&event);
    observe(event);
    Outcome outcome;
    if (event.is_closed()) {
        if (!event.replay(outcome)) { throw AsyncError("await: the event is closed: " + event.describe()); }
        if (outcome.error) { outcome.error.rethrow(); }
        return outcome;
    }
    if (ends_it != nullptr) {
        ends_it->mark_used();
        if (ends_it->is_closed()) { throw_token(*ends_it); }
    }
    CoroutineCore& self = scheduler.require_suspendable("await");
    if (&self == &event) { throw AsyncError("await: a coroutine cannot wait for itself"); }
    Waker& waker = self.waker();
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
                        std::source_location at) {
    Scheduler& scheduler = current_runtime("await").scheduler();
    EventSource* ends_it = token.event();
    Collector context{options, {std::vector<bool>(inputs.size()), std::vector<Outcome>(inputs.size()), {}}};
    std::vector<Ref<EventSource>> alive;
    alive.reserve(inputs.size());
    for (EventSource* input : inputs) {
        observe(*input);
        alive.emplace_back(input);
        if (input == scheduler.current()) { throw AsyncError("await: a coroutine cannot wait for itself"); }
    }
    // AWT-13: completed inputs in list order, then the token, then the subscriptions.
    for (std::size_t i = 0; i < inputs.size() && !context.done(); ++i) {
        Outcome outcome;
        if (inputs[i] != ends_it && inputs[i]->is_closed() && inputs[i]->replay(outcome)) { context.record(i, outcome); }
    }
    ErrorValue interrupted;
    if (!context.done()) {
        CoroutineCore& self = scheduler.require_suspendable("await");
        Waker& waker = self.waker();
        struct Clean {
            Waker& waker;
            ~Clean() { waker.clean(); }
        } clean{waker};
        waker.clean();
        try {
            if (ends_it != nullptr) {
                ends_it->mark_used();
                if (ends_it->is_closed()) { throw_token(*ends_it); }
                waker.resume_when(*ends_it, WakeBy::token);
            }
            for (std::size_t i = 0; i < inputs.size(); ++i) {
                if (inputs[i] == ends_it || context.collected.settled[i]) { continue; }
                if (inputs[i]->is_closed()) { continue; }
                waker.resume_when(*inputs[i], [&context, &scheduler, &self, i](EventSource& event, const Outcome& outcome) {
                    if (self.waker().status() != WakerStatus::waiting && self.waker().status() != WakerStatus::none) { return; }
                    context.record(i, outcome);
                    if (outcome.error) { event.mark_error_handled(); }
                    if (context.done()) { scheduler.resume(self, &event, {}); }
                });
            }
            scheduler.suspend({"await", at});
        } catch (const Cancellation&) {
            interrupted = ErrorValue(std::current_exception());
        }
    }
    const bool failed = options.mode == CollectMode::all_or_fail && context.first_error;
    if (options.cancel_rest && (failed || interrupted)) {
        // AWT-16: unfinished coroutine inputs end first. Protected, because this clean-up is finished whatever happens (PROT-03).
        std::vector<Ref<CoroutineCore>> rest;
        for (EventSource* input : inputs) {
            if (auto* coroutine = dynamic_cast<CoroutineCore*>(input); coroutine != nullptr && !coroutine->is_completed()) {
                rest.emplace_back(coroutine);
            }
        }
        for (const Ref<CoroutineCore>& coroutine : rest) {
            scheduler.cancel(*coroutine, CancelKind::forced, ErrorValue::make<AsyncCancellation>("a sibling failed"));
        }
        cleanup([&] {
            for (const Ref<CoroutineCore>& coroutine : rest) {
                try {
                    scheduler.await_finished(*coroutine, nullptr, {"await", at, coroutine->label()});
                } catch (const Cancellation&) {
                } catch (const std::exception&) {
                    // Its error was observed by this wait; the first one is thrown below.
                }
            }
        });
    }
    if (interrupted) { interrupted.rethrow(); }
    if (failed) { context.first_error.rethrow(); }
    if (options.mode == CollectMode::any_success && context.succeeded == 0 && !inputs.empty()) {
        std::vector<ErrorValue> errors;
        for (const std::size_t index : context.collected.order) { errors.push_back(context.collected.outcomes[index].error); }
        throw CompositeError(std::move(errors));
    }
    return std::move(context.collected);
}

std::size_t await_any(std::initializer_list<EventSource*> events, const Token& token, std::source_location at) {
    const Collected collected = await_collect(std::span(events.begin(), events.size()), {CollectMode::any}, token, at);
    if (collected.order.empty()) { throw ValueError("await_any: no events"); }
    const std::size_t first = collected.order.front();
    if (collected.outcomes[first].error) { collected.outcomes[first].error.rethrow(); }
    return first;
}

void await_all(std::span<EventSource* const> inputs, const Token& token, std::source_location at) {
    const Collected collected = await_collect(inputs, {CollectMode::all}, token, at);
    for (const std::size_t index : collected.order) {
        const ErrorValue& error = collected.outcomes[index].error;
        if (error && !error.is_cancellation()) { error.rethrow(); }
    }
}

}  // namespace heddle
