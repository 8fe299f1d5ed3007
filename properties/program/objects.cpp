// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/objects.hpp"

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using std::chrono::milliseconds;

void expect(bool condition, const char* invariant, const char* message) {
    if (!condition) { report_violation({invariant, message, __FILE__, __LINE__}); }
}

/// A bound for a wait; with 0 there is none.
class Bound {
public:
    explicit Bound(std::uint32_t ms) {
        if (ms > 0) { timeout_.emplace(milliseconds(ms)); }
    }
    [[nodiscard]] Token token() const { return timeout_ ? Token(timeout_->event()) : Token(); }

private:
    std::optional<Timeout> timeout_{};
};

constexpr std::size_t permits_in_all = 2;
/// The futures that coroutines leave for each other.
constexpr std::array<std::string_view, ProgramData::channels> later_cells{"later 0", "later 1", "later 2"};
constexpr std::array<std::size_t, ProgramData::channels> capacities{0, 1, unbounded_capacity};

/// What a hook does where the search decides it: 0 nothing special, 1 it suspends, 2 it fails.
bool hook_fails(const char* name) {
    switch (sim::choose(3, name)) {
        case 1: sleep_for(milliseconds(1)); return false;
        case 2: return true;
        default: return false;
    }
}

/// Runs at the end of a block, however it ends.
template <class F>
class Finally {
public:
    explicit Finally(F leave) : leave_(std::move(leave)) {}
    Finally(const Finally&) = delete;
    Finally& operator=(const Finally&) = delete;
    ~Finally() { leave_(); }

private:
    F leave_;
};

}  // namespace

std::string Journal::text() const {
    std::string text;
    for (const auto& [who, line] : lines_) { text += (text.empty() ? "" : " | ") + std::to_string(who) + ": " + line; }
    return text;
}

ProgramObjects::ProgramObjects(Journal* journal) : journal_(journal), permits_(permits_in_all), future_(state_.future()) {
    future_.ignore();
    for (const std::size_t capacity : capacities) { channels_.emplace_back(ChannelOptions{.capacity = capacity}); }
    later_.resize(ProgramData::channels);
    pools_.push_back(plain_pool());
    pools_.push_back(slow_pool());
    pools_.push_back(pool_with_hooks());
}

// ── exclusion ──

void ProgramObjects::lock(std::uint32_t who, std::uint32_t mutex, Body& body) {
    if (mutexes_[mutex].is_mine()) { return; }
    const Lock lock(mutexes_[mutex]);
    expect(!std::exchange(inside_[mutex], true), "INV-MTX-04", "two coroutines hold one mutex");
    note(who, "in m" + std::to_string(mutex) + "#" + std::to_string(++entered_[mutex]));
    const Finally leave([this, mutex] { inside_[mutex] = false; });
    body();
}

void ProgramObjects::permit(std::uint32_t who, std::uint32_t count, Body& body) {
    const Permit permit(permits_, count);
    held_ += count;
    expect(held_ <= permits_in_all, "INV-MTX-01", "more permits are held than there are");
    note(who, "in p#" + std::to_string(++permitted_));
    const Finally leave([this, count] { held_ -= count; });
    body();
}

void ProgramObjects::change(bool all) {
    if (all) {
        static_cast<void>(changed_.notify_all());
    } else {
        static_cast<void>(changed_.notify_one());
    }
}

void ProgramObjects::news(std::uint32_t ms) {
    if (guard_.is_mine()) { return; }
    Lock lock(guard_);
    const Bound bound(ms);
    changed_.wait(lock, bound.token());
    expect(lock.is_held() && guard_.is_mine(), "INV-MTX-04", "a wait for news came back without its lock");
}

// ── channels ──

void ProgramObjects::received(int value) {
    expect(received_.insert(value).second, "INV-CHAN-04", "a value was received twice");
    expect(!failed_.contains(value), "INV-CHAN-06", "the value of a send that failed was received");
}

void ProgramObjects::send(std::uint32_t who, std::uint32_t channel, std::uint32_t ms) {
    const int value = next_value(who);
    const Bound bound(ms);
    try {
        channels_[channel].send(value, bound.token());
        note(who, "sent");
    } catch (const ChannelError&) {
        failed_.insert(value);
        expect(!received_.contains(value), "INV-CHAN-06", "the value of a send that failed was received");
        note(who, "closed");
        if (journal_ == nullptr) { throw; }
    } catch (const Cancellation&) {
        failed_.insert(value);
        expect(!received_.contains(value), "INV-CHAN-06", "the value of a send that failed was received");
        throw;
    }
}

void ProgramObjects::receive(std::uint32_t who, std::uint32_t channel, std::uint32_t ms) {
    const Bound bound(ms);
    try {
        const int value = channels_[channel].receive(bound.token());
        received(value);
        note(who, std::to_string(value));
    } catch (const ChannelError&) {
        note(who, "closed");
        if (journal_ == nullptr) { throw; }
    }
}

void ProgramObjects::try_send(std::uint32_t who, std::uint32_t channel) {
    const int value = next_value(who);
    const SendResult result = channels_[channel].try_send(value);
    if (result != SendResult::ok) { failed_.insert(value); }
    note(who, result == SendResult::ok ? "sent" : result == SendResult::full ? "full" : "closed");
}

void ProgramObjects::try_receive(std::uint32_t who, std::uint32_t channel) {
    const TryReceived<int> result = channels_[channel].try_receive();
    if (result.value) { received(*result.value); }
    note(who, result.value ? std::to_string(*result.value) : result.result == ReceiveResult::empty ? "empty" : "closed");
}

void ProgramObjects::receive_later(std::uint32_t channel) {
    touch(later_cells[channel], TouchMode::write);
    later_[channel] = channels_[channel].receive_async();
    later_[channel].ignore();
}

void ProgramObjects::obtain(std::uint32_t channel, std::uint32_t ms) {
    touch(later_cells[channel], TouchMode::write);
    const Future<int> future = std::exchange(later_[channel], {});
    if (!future) { return; }
    const Bound bound(ms);
    received(future.await(bound.token()));
}

void ProgramObjects::close(std::uint32_t channel) { channels_[channel].close(); }

// ── the future ──

void ProgramObjects::settle(std::uint32_t how) {
    const bool was = future_.is_completed();
    bool done = false;
    switch (how) {
        case 0: done = state_.try_complete(7); break;
        case 1: done = state_.try_error(ErrorValue::make<std::runtime_error>("E-future")); break;
        default: done = future_.cancel(); break;
    }
    expect(done != was, "INV-FUT-02", "a settled future was settled again, or a pending one was not");
    expect(future_.is_completed(), "INV-FUT-01", "a future is pending behind the call that settled it");
}

void ProgramObjects::await_future(std::uint32_t ms) {
    const Bound bound(ms);
    const auto sees = [this](int outcome) {
        expect(outcome_ == 0 || outcome_ == outcome, "INV-FUT-03", "two awaiters of one future see different outcomes");
        outcome_ = outcome;
    };
    try {
        sees(future_.await(bound.token()));
    } catch (const std::exception&) {
        sees(1);
        throw;
    }
}

// ── pools ──

Pool<int> ProgramObjects::plain_pool() {
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [resources = resources_[0]] { return ++resources->made; };
    return Pool<int>(std::move(options));
}

Pool<int> ProgramObjects::slow_pool() {
    PoolOptions<int> options;
    options.max = 2;
    options.factory = [resources = resources_[1]] {
        yield();
        return ++resources->made;
    };
    return Pool<int>(std::move(options));
}

Pool<int> ProgramObjects::pool_with_hooks() {
    PoolOptions<int> options;
    options.max = 2;
    options.strategy = std::make_shared<Threshold>(Threshold::Options{.failures = 2, .open = milliseconds(2), .probes = 1, .probe = milliseconds(20)});
    options.factory = [resources = resources_[2]]() -> std::optional<int> {
        if (hook_fails("factory")) { throw std::runtime_error("E-factory"); }
        resources->alive.insert(++resources->made);
        expect(resources->alive.size() <= 2, "INV-POOL-02", "more resources exist than the pool allows");
        return resources->made;
    };
    options.before_acquire = [](int&) { return !hook_fails("before_acquire"); };
    options.before_release = [](int&, PoolReturn) { return !hook_fails("before_release"); };
    options.destructor = [resources = resources_[2]](int& resource) {
        expect(resources->alive.erase(resource) == 1, "INV-POOL-12", "a resource was destroyed twice");
        if (hook_fails("destructor")) { throw std::runtime_error("E-destructor"); }
    };
    return Pool<int>(std::move(options));
}

void ProgramObjects::hold(std::uint32_t who, std::uint32_t pool, Lease<int> lease, std::uint32_t how, Body& body) {
    const std::pair<std::uint32_t, int> key{pool, *lease};
    expect(lent_.insert(key).second, "INV-POOL-04", "a resource is lent to two");
    note(who, (pool == 0 ? "has " : "has " + std::to_string(pool) + "/") + std::to_string(*lease));
    {
        const Finally leave([this, key] { lent_.erase(key); });
        body();
    }
    switch (how) {
        case 0: lease.release(); return;
        case 1: lease.discard(); return;
        default: return;
    }
}

void ProgramObjects::use(std::uint32_t who, std::uint32_t pool, std::uint32_t ms, std::uint32_t how, Body& body) {
    std::optional<Lease<int>> lease;
    try {
        lease.emplace(pools_[pool].acquire({.timeout = milliseconds(ms)}));
    } catch (const PoolError&) {
        note(who, "closed");
        if (journal_ == nullptr) { throw; }
        return;
    }
    hold(who, pool, std::move(*lease), how, body);
}

void ProgramObjects::try_use(std::uint32_t who, std::uint32_t pool, std::uint32_t how, Body& body) {
    Lease<int> lease = pools_[pool].try_acquire();
    if (!lease) {
        note(who, "none");
        return;
    }
    hold(who, pool, std::move(lease), how, body);
}

void ProgramObjects::close_pool(std::uint32_t pool) { pools_[pool].close(); }

}  // namespace heddle::prop
