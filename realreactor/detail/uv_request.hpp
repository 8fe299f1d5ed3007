// SPDX-License-Identifier: Apache-2.0
// UvRequests and UvHandles: what the families of operations share: requests, handles by id, answers that wait for a
// tick.
//
//   submit ─▶ family ──▶ answered at once ─────────────────────▶ Submission::done      (a bounded number per tick and handle)
//                 └────▶ UvRequest ─┬─ finish, in a tick ─▶ one delivery ─▶ sink
//                                   ├─ defer ─▶ the next tick ─▶ finish
//                                   └─ closed by its waiter ─▶ on_abandoned: nobody hears of it, no memory of the caller is used
//
// Q1  A request's source exists from its submission to its one delivery. The request leaves the source before the
//     delivery, so that callbacks may do anything (RCT-10).
// Q2  A request that cannot be stopped keeps its source, and counts, until it completes in silence (RCT-15, RCT-45).
// Q3  A deferred answer does not depend on the handle or request that it came from any more.
// Q4  A handle that a dropped answer carried is closed: nobody else could.
#pragma once

#include <cerrno>
#include <vector>

#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

class UvRequest {
public:
    UvRequest() = default;
    UvRequest(const UvRequest&) = delete;
    UvRequest& operator=(const UvRequest&) = delete;
    virtual ~UvRequest() = default;

    /// Its waiter is gone. @returns true if it is over with this, and may have destroyed itself; false if it completes
    /// later, in silence (Q2)
    virtual bool on_abandoned() = 0;
    /// Asked to end early: defers an answer that says so if nothing of it happened or will happen, and may then destroy
    /// itself.
    virtual void on_cancel() = 0;

    [[nodiscard]] bool is_pending() const { return static_cast<bool>(id); }

    SourceId id{};
};

class UvHandle {
public:
    UvHandle(UvHost& host, HandleKind handle_kind) : kind(handle_kind), host_(host) {}
    UvHandle(const UvHandle&) = delete;
    UvHandle& operator=(const UvHandle&) = delete;
    virtual ~UvHandle() = default;

    virtual Submission submit(const Operation& operation, const SourceOptions& options) = 0;
    /// The most frequent request of a server, without a place in the table of sources: its id is made of the handle's.
    /// @returns 0 if it is readable now
    virtual SourceId wait_readable(SourceOwner& owner);
    /// Its waiter is gone.
    virtual void stop_waiting() {}
    [[nodiscard]] static bool is_wait(SourceId request) { return (request.value & wait_bit) != 0; }
    [[nodiscard]] static HandleId handle_of(SourceId wait) { return HandleId{wait.value & ~wait_bit}; }
    virtual std::int64_t try_read(std::span<std::byte>) { return -EAGAIN; }
    virtual std::int64_t try_write(std::span<const std::byte>) { return -EAGAIN; }
    [[nodiscard]] virtual int descriptor() const = 0;
    [[nodiscard]] virtual HandleInfo info() const = 0;
    /// Ends what is in flight and frees the handle when it may be freed: nothing else touches it from here on.
    virtual void close() = 0;

    const HandleKind kind;
    HandleId id{};

protected:
    [[nodiscard]] SourceId wait_id() const { return SourceId{id.value | wait_bit}; }
    [[nodiscard]] bool has_turn() const { return turns_tick_ != host_.tick_count || turns_ < turns_max; }
    /// Takes one of the answers at once that this handle has in each tick: a program that finds data whenever it looks
    /// must not keep everybody else waiting.
    bool take_turn() {
        if (turns_tick_ != host_.tick_count) {
            turns_tick_ = host_.tick_count;
            turns_ = 0;
        }
        return turns_++ < turns_max;
    }
    /// At once while there are turns left, else in the next tick.
    Submission answer(const Completion& completion, const SourceOptions& options);
    [[noreturn]] void refuse(const Operation& operation) const;

    UvHost& host_;

private:
    static constexpr std::uint64_t wait_bit = std::uint64_t{1} << 63;  // no generation of a table comes so far
    static constexpr std::uint32_t turns_max = 32;                     // about what libuv reads in one event (G12)
    std::uint64_t turns_tick_ = 0;
    std::uint32_t turns_ = 0;
};

/// Handles by id: slots with a generation, as sources.
class UvHandles {
public:
    HandleId add(UvHandle& handle);
    void remove(HandleId id);
    [[nodiscard]] UvHandle* find(HandleId id) const {
        const auto slot = static_cast<std::uint32_t>(id.value);
        return slot < slots_.size() && slots_[slot].generation == static_cast<std::uint32_t>(id.value >> 32)
                   ? slots_[slot].handle
                   : nullptr;
    }
    /// In slot order.
    [[nodiscard]] std::vector<HandleId> all() const;

private:
    struct Slot {
        UvHandle* handle = nullptr;
        std::uint32_t generation = 1;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

class UvRequests {
public:
    explicit UvRequests(UvHost& host) : host_(host) {}

    /// Q1. @returns the request's id
    SourceId open(UvRequest& request, const SourceOptions& options);
    /// The one delivery, inside a tick, or silence if it was abandoned. The request may be destroyed by now or later.
    void finish(UvRequest& request, const Completion& completion);
    /// A delivery of a request that goes on.
    void report(UvRequest& request, const Completion& completion);
    /// Its answer comes in the next tick; the request itself is done with (Q3).
    void defer(UvRequest& request, const Completion& completion);
    /// The same for one that was cancelled before it took effect.
    void defer_cancelled(UvRequest& request);
    /// An answer without a request of its own.
    SourceId open_deferred(const Completion& completion, const SourceOptions& options);

    /// The end of a wait whose handle was closed: told in the next tick, unless its waiter goes before.
    void defer_wait(SourceId wait, SourceOwner& owner) { closed_waits_.push_back({wait, &owner}); }
    void forget_wait(SourceId wait);

    /// What the reactor's `close` and `cancel` mean for a source of this kind.
    void close(UvSource& source, SourceId id);
    bool cancel(UvSource& source, SourceId id);

    /// @returns true if there were any
    bool deliver_deferred();
    /// At shutdown, after all handles: closes the requests, which then end in silence.
    void close_all();
    /// Those that will never end, because what they wait for was abandoned.
    void forget_all();

    /// An answer that stays valid until the next one.
    Answer& scratch() {
        scratch_ = Answer{};
        return scratch_;
    }

private:
    struct Deferred {
        SourceId id;
        Completion completion;
        Answer answer;
    };
    void deliver(UvSource& source, SourceId id, const Completion& completion);
    void drop(const Completion& completion);

    UvHost& host_;
    struct ClosedWait {
        SourceId id;
        SourceOwner* owner = nullptr;
    };
    std::vector<Deferred> deferred_;
    std::vector<ClosedWait> closed_waits_;
    Answer scratch_;
};

}  // namespace heddle::real::detail
