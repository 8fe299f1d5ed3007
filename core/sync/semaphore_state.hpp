// SPDX-License-Identifier: Apache-2.0
// SemaphoreState: the books of a fair semaphore with weights; a mutex is one with a single unit.
//
//   acquire(n) ── fits, nobody before it ──▶ n units less                 release(n) ──▶ n units more ──▶ oldest waiters, as they fit
//      └── parks, in order of arrival ──granted: the units are its own from then on──▶ runs
//                 └── leaves: cancelled, token fired     granted and yet thrown out: the units go to the next (CV-06)
//
// SM1  available + units granted or held = permits + released - returned by nobody: units are neither lost nor made.
// SM2  A newcomer takes nothing that a living waiter before it waits for (CV-07): the oldest is served first, and holds back whoever
//      wants less behind it.
// SM3  With a unit free, no living waiter that it would satisfy is at the head of the queue.
// SM4  The state lives as long as its handle or an operation on it (CV-16); without a handle every waiter is failed.
//
// Cells. Units are numbered in the order in which they are asked for, and releases in theirs; unit u of m permits needs release u-m.
//   acquire of unit u   W tail, R skips, R release[u-m]        leaving without a unit, passing a dead one   W skips
//   release of unit r   W released, W release[r], R skips      looking                                      R tail, R released
// Choice points: none. Suspends: acquire only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/sync/detail/wait_entry.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

class SemaphoreState final : public RuntimeObject {
public:
    /// @param what  "semaphore" or "mutex": for messages. @param side  what its waiters are said to do: "acquire", "lock"
    SemaphoreState(Scheduler& scheduler, std::string_view name, const char* what, const char* side, std::size_t permits,
                   std::size_t permits_max);

    /// Takes `count` units, waiting for its turn. Throws the token's OperationCanceled, a cancellation, AsyncError once the handle is
    /// gone. Suspends: unless it fits at once.
    void acquire(std::size_t count, EventSource* token, SourceLocation at);
    [[nodiscard]] bool try_acquire(std::size_t count);
    /// Gives units back and serves whom they satisfy. Runs nobody, never throws; allowed in a scheduler phase.
    void release(std::size_t count);

    [[nodiscard]] std::size_t available() const { return available_; }
    [[nodiscard]] std::size_t permits_max() const { return permits_max_; }
    /// Units that may come back: taken or granted ones.
    [[nodiscard]] std::size_t room() const { return permits_max_ - available_; }
    [[nodiscard]] std::size_t granted_units() const { return granted_units_; }
    [[nodiscard]] const detail::WaitList& waiters() const { return waiters_; }
    [[nodiscard]] std::size_t units_wanted(const detail::WaitEntry& entry) const { return entry.ticket; }
    void touch_looked() const;

    // A mutex: the coroutine whose turn it is; 0 for none. Set in the step that grants.
    [[nodiscard]] CoroutineId holder() const { return holder_; }

    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "SM4");
        if (--references_ == 0) { delete this; }
    }
    /// The handle goes: waiters are failed in order of arrival, and later calls refused.
    void abandon();

private:
    ~SemaphoreState() override;

    void serve();
    void take(std::size_t count, CoroutineId by);
    void touch_acquire(std::size_t count) const;
    void touch_release(std::size_t count) const;
    void skip(std::size_t count);

    detail::WaitList waiters_;  // living and ungranted ones, and dead ones that have not run; ticket = units wanted
    const char* what_;
    const char* side_;
    std::size_t permits_ = 0;
    std::size_t permits_max_ = 0;
    std::size_t available_ = 0;
    std::size_t granted_units_ = 0;
    std::uint64_t asked_ = 0;     // units asked for, those of waiters who left not counted
    std::uint64_t released_ = 0;  // units that came back
    CoroutineId holder_{};
    std::uint32_t references_ = 0;
    bool abandoned_ = false;
};

}  // namespace heddle
