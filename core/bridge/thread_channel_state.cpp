// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/thread_channel_state.hpp"

#include <algorithm>
#include <utility>

#include "heddle/core/bridge/worker.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"

namespace heddle {

ThreadChannelState::ThreadChannelState(Scheduler& owner, const ThreadChannelOptions& options)
    : label_(owner.object_label(options.name)), capacity_(options.capacity) {
    if (options.capacity == 0) { throw ValueError("thread channel: a capacity of 0; between threads there is no rendezvous"); }
}

void ThreadChannelState::follow(Scheduler& owner) {
    // The last handle may go on another thread while the port tells the end.
    listener_ = EndListener::listen(owner, "thread channel", [weak = weak_from_this()] {
        if (const std::shared_ptr<ThreadChannelState> alive = weak.lock(); alive != nullptr) { alive->close(); }
    });
}

void ThreadChannelState::wake(const Waiters& waiters) {
    if (waiters.empty()) { return; }
    worker_point("signal");
    for (const TriggerPortPtr& waiter : waiters) { waiter->fire(); }
}

ThreadChannelState::Answer ThreadChannelState::push(void* value, const TriggerPortPtr& waiter) {
    worker_point("send");
    touch_shared(label_, "channel", TouchMode::write);
    Waiters woken;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (closed_) { return Answer::closed; }
        if (size_ == capacity_) {
            if (waiter != nullptr) { senders_.push_back(waiter); }
            return Answer::wait;
        }
        store_push(value);
        ++size_;
        woken.swap(receivers_);
    }
    wake(woken);
    return Answer::done;
}

ThreadChannelState::Answer ThreadChannelState::pop(void* to, const TriggerPortPtr& waiter) {
    worker_point("receive");
    touch_shared(label_, "channel", TouchMode::write);
    Waiters woken;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (size_ == 0) {
            if (closed_) { return Answer::closed; }
            if (waiter != nullptr) { receivers_.push_back(waiter); }
            return Answer::wait;
        }
        store_pop(to);
        --size_;
        woken.swap(senders_);
    }
    wake(woken);
    return Answer::done;
}

void ThreadChannelState::wait(void* value, bool sends, EventSource* token, SourceLocation at) {
    Scheduler& scheduler = current_runtime("thread channel").scheduler();
    static_cast<void>(scheduler.require_suspendable("thread channel"));
    static_cast<void>(live_token(token));
    const auto attempt = [&](const TriggerPortPtr& waiter) {
        const Answer answer = sends ? push(value, waiter) : pop(value, waiter);
        if (answer == Answer::closed) { throw ThreadChannelClosed("the thread channel is closed"); }
        return answer == Answer::done;
    };
    if (attempt(nullptr)) { return; }
    const std::shared_ptr<ThreadChannelState> alive = shared_from_this();
    const Ref<ReactorEvent> event = ReactorEvent::trigger(scheduler, "thread_channel_wait");
    const TriggerPortPtr port = event->port();
    struct Close {
        ThreadChannelState& channel;
        const TriggerPortPtr& port;
        ReactorEvent& event;
        ~Close() {
            channel.leave(port);
            event.close();
        }
    } const close{*this, port, *event};
    while (!attempt(port)) {
        try {
            await_event(*event, token != nullptr ? Token(*token) : Token(), at);
        } catch (const OperationCanceled&) {
            // What can be had beats a token that fired at the same time (TCH-03); a coroutine's own cancellation is none.
            if (token == nullptr || !token->is_closed() || !attempt(nullptr)) { throw; }
            return;
        }
    }
}

void ThreadChannelState::leave(const TriggerPortPtr& waiter) {
    touch_shared(label_, "channel", TouchMode::write);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(senders_, waiter);
    std::erase(receivers_, waiter);
}

void ThreadChannelState::close() {
    worker_point("close");
    touch_shared(label_, "channel", TouchMode::write);
    Waiters woken;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (std::exchange(closed_, true)) { return; }
        woken.swap(senders_);
        woken.insert(woken.end(), receivers_.begin(), receivers_.end());
        receivers_.clear();
    }
    wake(woken);
}

bool ThreadChannelState::is_closed() const {
    touch_shared(label_, "channel", TouchMode::read);
    const std::lock_guard<std::mutex> lock(mutex_);
    return closed_;
}

std::size_t ThreadChannelState::size() const {
    touch_shared(label_, "channel", TouchMode::read);
    const std::lock_guard<std::mutex> lock(mutex_);
    return size_;
}

std::size_t ThreadChannelState::waiting() const {
    touch_shared(label_, "channel", TouchMode::read);
    const std::lock_guard<std::mutex> lock(mutex_);
    return senders_.size() + receivers_.size();
}

}  // namespace heddle
