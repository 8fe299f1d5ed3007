// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/detail/request.hpp"

#include <utility>

namespace heddle::detail {
namespace {

void keep(Performed& performed, const Completion& completion) {
    performed.completion = completion;
    if (completion.answer != nullptr) [[unlikely]] { performed.answer = std::make_unique<Answer>(*completion.answer); }
}

/// P3
void release(Reactor& reactor, const Performed& performed) {
    if (performed.completion.handle) { reactor.close_handle(performed.completion.handle); }
    if (performed.answer == nullptr) { return; }
    for (const HandleId handle : performed.answer->handles) {
        if (handle) { reactor.close_handle(handle); }
    }
}

class Request final : public EventSource, private SourceOwner {
public:
    Request(Scheduler& scheduler, OperationKind kind, CoroutineCore& waiter)
        : EventSource(scheduler), waiter_(waiter), kind_(kind), label_(scheduler.object_label(to_string(kind))) {}

    ~Request() override {
        HEDDLE_ASSERT(references() == 0, "P1");
        if (source_) { scheduler().reactor().close(source_); }
        release(scheduler().reactor(), performed_);
    }

    /// @returns true if it was answered at once
    bool submit(const Operation& operation) {
        const Submission submission = scheduler().reactor().submit(operation, {this, label_, false});
        source_ = submission.request;
        if (source_) { return false; }
        if (scheduler().observed()) [[unlikely]] {
            for (const Touch& at : submission.footprint) { scheduler().observer()->on_touch(at.cell, at.mode); }
        }
        keep(performed_, submission.done);
        done_ = true;
        return true;
    }

    [[nodiscard]] bool is_done() const { return done_; }
    Performed take() {
        performed_.completion.answer = performed_.answer.get();
        return {std::exchange(performed_.completion, {}), std::move(performed_.answer)};
    }

    [[nodiscard]] bool replay(Outcome& outcome) const override {
        if (!done_) { return false; }
        outcome = {performed_.completion.transferred, true, {}};
        return true;
    }
    [[nodiscard]] std::string describe() const override { return std::string(to_string(kind_)); }
    [[nodiscard]] Label label() const override { return label_; }

private:
    void on_delivery(const Delivery& delivery) override {
        HEDDLE_ASSERT(delivery.completion != nullptr, "RCT-41");
        source_ = {};
        keep(performed_, *delivery.completion);
        done_ = true;
        scheduler().touch(label_, "state", TouchMode::write);
        Waker& waker = waiter_.waker();
        const bool waiting = waker.status() == WakerStatus::waiting;
        notify_and_close({performed_.completion.transferred, true, {}});
        if (waiting && waker.status() != WakerStatus::waiting) { waker.keep_outcome(); }  // P2
    }

    void dispose() override {}  // it is a frame's

    CoroutineCore& waiter_;
    OperationKind kind_;
    bool done_ = false;
    Label label_;
    SourceId source_{};
    Performed performed_;
};

struct CleanWaker {
    Waker& waker;
    ~CleanWaker() { waker.clean(); }
};

/// The same where nobody watches and nothing else can end the wait but a cancellation: no event stands between the
/// reactor and the coroutine. Most reads and writes of a server are of this kind.
class PlainRequest final : private SourceOwner {
public:
    PlainRequest(Scheduler& scheduler, CoroutineCore& waiter) : scheduler_(scheduler), waiter_(waiter) {}
    PlainRequest(const PlainRequest&) = delete;
    PlainRequest& operator=(const PlainRequest&) = delete;
    ~PlainRequest() {
        if (source_) [[unlikely]] { scheduler_.reactor().close(source_); }
        if (taken_) [[likely]] { return; }
        release(scheduler_.reactor(), performed_);
    }

    Performed run(const Operation& operation, SourceLocation at) {
        const Submission submission = scheduler_.reactor().submit(operation, {this, {}, false});
        source_ = submission.request;
        if (source_) {
            scheduler_.suspend_until_resumed(waiter_, {to_string(operation.kind).data(), at});
        } else {
            keep(performed_, submission.done);
        }
        taken_ = true;
        performed_.completion.answer = performed_.answer.get();
        return std::move(performed_);
    }

private:
    void on_delivery(const Delivery& delivery) override {
        source_ = {};
        keep(performed_, *delivery.completion);
        Waker& waker = waiter_.waker();
        if (waker.status() != WakerStatus::waiting) { return; }  // a cancellation was first
        scheduler_.resume(waiter_, nullptr, {delivery.value, true, {}});
        waker.keep_outcome();  // P2
    }

    Scheduler& scheduler_;
    CoroutineCore& waiter_;
    bool taken_ = false;
    SourceId source_{};
    Performed performed_;
};

}  // namespace

namespace {

/// A server has thousands of these, each on a stack of its own: what is small here is little that the processor has to
/// fetch.
class ReadableWait final : private SourceOwner {
public:
    ReadableWait(Scheduler& scheduler, CoroutineCore& waiter) : scheduler_(scheduler), waiter_(waiter) {}
    ReadableWait(const ReadableWait&) = delete;
    ReadableWait& operator=(const ReadableWait&) = delete;
    ~ReadableWait() {
        if (source_) [[unlikely]] { scheduler_.reactor().close(source_); }
    }
    int run(HandleId handle, SourceLocation at) {
        source_ = scheduler_.reactor().wait_readable(handle, *this);
        if (!source_) { return 0; }  // it is readable now
        scheduler_.suspend_until_resumed(waiter_, {"read", at});
        return error_;
    }

private:
    void on_delivery(const Delivery& delivery) override {
        source_ = {};
        error_ = delivery.error;
        if (waiter_.waker().status() == WakerStatus::waiting) { scheduler_.resume(waiter_, nullptr, {}); }
    }

    Scheduler& scheduler_;
    CoroutineCore& waiter_;
    SourceId source_{};
    int error_ = 0;
};

}  // namespace

int wait_readable(Scheduler& scheduler, HandleId handle, SourceLocation at) {
    return ReadableWait(scheduler, scheduler.require_suspendable("read")).run(handle, at);
}

Performed perform(Scheduler& scheduler, const Operation& operation, const IoOptions& options, SourceLocation at) {
    CoroutineCore& self = scheduler.require_suspendable("an operation");
    const bool bounded = options.timeout != Duration::zero() || options.token.event() != nullptr;
    if (!bounded && !scheduler.observed() && !scheduler.may_choose()) [[likely]] {
        return PlainRequest(scheduler, self).run(operation, at);
    }
    if (options.timeout < Duration::zero()) { throw ValueError("the timeout of an operation must not be negative"); }
    if (EventSource* const token = options.token.event(); token != nullptr) { static_cast<void>(live_token(token)); }
    Request request(scheduler, operation.kind, self);
    if (request.submit(operation)) { return request.take(); }

    Waker& waker = self.waker();
    const CleanWaker clean{waker};
    waker.begin_with_timeout(options.timeout, options.token.event());
    waker.resume_when(request, WakeBy::resolve);
    try {
        scheduler.suspend({to_string(operation.kind).data(), at, request.label()});
    } catch (const OperationCanceled&) {
        if (request.is_done()) { return request.take(); }
        throw;
    }
    if (!request.is_done()) { throw TimeoutError(std::string(to_string(operation.kind)) + ": the timeout expired"); }
    return request.take();
}

void wait_for(EventSource& event, const char* what, const IoOptions& options, SourceLocation at) {
    CoroutineCore& self = event.scheduler().require_suspendable(what);
    if (options.timeout < Duration::zero()) {
        throw ValueError(std::string(what) + ": the timeout must not be negative");
    }
    Waker& waker = self.waker();
    const CleanWaker clean{waker};
    const EventSource* const timer = waker.begin_with_timeout(options.timeout, options.token.event());
    waker.resume_when(event, WakeBy::resolve);
    event.scheduler().suspend({what, at, event.label()});
    if (timer != nullptr && waker.was_triggered(*timer) && !waker.was_triggered(event)) {
        throw TimeoutError(std::string(what) + ": the timeout expired");
    }
}

}  // namespace heddle::detail
