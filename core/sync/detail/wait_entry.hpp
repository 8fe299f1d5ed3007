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
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/base/intrusive_list.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/runtime_object.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle::detail {

class WaitEntry final : public EventSource, public ListHook<WaitEntry> {
public:
    /// @param side  a literal: what is waited for ("lock"), for labels, events and reports
    WaitEntry(const RuntimeObject& object, CoroutineCore& self, const char* side);

    /// Suspends until the wait is ended. @param token may be null; a live one (live_token)
    /// @param timeout  more than zero: the wait ends with TimeoutError then
    /// Throws what the wait ends with. Suspends: yes.
    void park(EventSource* token, SourceLocation at, Duration timeout = Duration::zero());

    /// The wait is about to begin, or goes on: nobody has ended it (CV-08).
    [[nodiscard]] bool is_living() const;
    [[nodiscard]] bool is_granted() const { return granted_; }
    [[nodiscard]] const CoroutineCore& coroutine() const { return self_; }

    /// Ends the wait with a promise. Requires: living. @param keeps  news that no cancellation may replace (CV-04)
    void grant(bool keeps = false);
    /// Ends the wait with an error. Without effect on a dead one.
    void fail(const ErrorValue& error);

    /// Looked at by somebody who passed it by because it is dead: the cancellation that made it so decided that.
    void touch_dead() const;

    void note(EventKind kind) const;

    std::uint64_t ticket = 0;  ///< the owner's: place in its order of arrival

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] Label label() const override { return label_; }

private:
    void dispose() override {}  // a local of its operation (WE3)

    const RuntimeObject& object_;
    CoroutineCore& self_;
    const char* side_;
    Label label_;
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
