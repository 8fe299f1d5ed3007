// SPDX-License-Identifier: Apache-2.0
// WaitEntry: one wait of one coroutine for one primitive, on that coroutine's own stack.
//
//   park ──▶ waiting in the primitive's WaitList ──grant / fail──▶ woken, unlinked ──▶ runs: spends the grant, or hands it on
//                        └── cancelled, or its token fired: dead (still linked) ──▶ runs: leaves
//
// WE1  A grant is promised to an entry whose wait still goes on, and to no dead one (CV-08); the promise ends the wait (CV-03).
// WE2  Whoever grants unlinks; an entry is linked exactly while it waits without a grant, a dead one at most until it runs.
// WE3  It outlives the wait and every reference to it: the waker is cleaned before park returns, on every path.
// WE4  No allocation: the entry is a local of the operation, its subscription comes from the scheduler's store.
// WE5  A wait that only a grant can end, in a world that nobody watches, has no subscription: the entry speaks to the scheduler itself.
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/base/intrusive_list.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/runtime_object.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle::detail {

class WaitEntry final : public ListHook<WaitEntry> {
public:
    /// @param side  a literal: what is waited for ("lock"), for labels, events and reports
    WaitEntry(const RuntimeObject& object, CoroutineCore& self, const char* side) : object_(object), self_(self), side_(side) {
        if (scheduler().labels() != nullptr) [[unlikely]] { label_ = scheduler().object_label(side); }
    }

    /// Suspends until the wait is ended. @param token may be null; a live one (live_token)
    /// @param timeout  more than zero: the wait ends with TimeoutError then
    /// Throws what the wait ends with. Suspends: yes.
    void park(EventSource* token, SourceLocation at, Duration timeout = Duration::zero()) {
        if (detail::any(token != nullptr, timeout > Duration::zero(), scheduler().observed(), scheduler().may_choose())) [[unlikely]] {
            park_watched(token, at, timeout);
            return;
        }
        struct Over {
            Phase& phase;
            ~Over() { phase = Phase::over; }
        } over{phase_};
        if (self_.waker().status() != WakerStatus::none) [[unlikely]] { self_.waker().clean(); }  // while nobody can grant: it may call code
        phase_ = Phase::parked;
        scheduler().suspend_until_resumed(self_, {side_, at, object_.object_label()});
    }

    /// The wait is about to begin, or goes on: nobody has ended it (CV-08).
    [[nodiscard]] bool is_living() const {
        if (phase_ != Phase::parked) { return phase_ == Phase::fresh; }
        const Waker& waker = self_.waker();
        // With no status yet, the running coroutine stands between its registration and its suspension.
        return !granted_ && (waker.status() == WakerStatus::waiting || (waker.status() == WakerStatus::none && waker.has_subscriptions()));
    }
    [[nodiscard]] bool is_granted() const { return granted_; }
    [[nodiscard]] const CoroutineCore& coroutine() const { return self_; }

    /// Ends the wait with a promise. Requires: living. @param keeps  news that no cancellation may replace (CV-04)
    void grant(bool keeps = false);
    /// Ends the wait with an error. Without effect on a dead one.
    void fail(const ErrorValue& error);

    /// Looked at by somebody who passed it by because it is dead: the cancellation that made it so decided that.
    void touch_dead() const;

    void note(EventKind kind) const {
        if (scheduler().observed()) [[unlikely]] { tell(kind); }
    }

    std::uint64_t ticket = 0;  ///< the owner's: place in its order of arrival

private:
    class End;
    [[nodiscard]] Scheduler& scheduler() const { return object_.scheduler(); }
    void park_watched(EventSource* token, SourceLocation at, Duration timeout);
    void tell(EventKind kind) const;

    const RuntimeObject& object_;
    CoroutineCore& self_;
    const char* side_;
    Label label_;
    EventSource* end_ = nullptr;  // what the waker waits for; null: WE5
    enum class Phase : std::uint8_t { fresh, parked, over };
    Phase phase_ = Phase::fresh;
    bool granted_ = false;
};

using WaitList = IntrusiveList<WaitEntry, WaitEntry>;

/// The oldest living waiter; dead ones before it are unlinked. Null if there is none. @param passed called for each dead one
template <class F>
WaitEntry* oldest_living(WaitList& list, F&& passed) {
    while (WaitEntry* entry = list.front()) {
        if (entry->is_living()) { return entry; }
        list.remove(*entry);
        entry->touch_dead();
        passed(*entry);
    }
    return nullptr;
}

[[nodiscard]] std::size_t living_count(const WaitList& list);

}  // namespace heddle::detail
