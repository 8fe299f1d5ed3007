// SPDX-License-Identifier: Apache-2.0
// UvLoop: libuv's loop and the three handles that the reactor steers it with.
//
//   run(block, bound) ─▶ uv_run: … prepare (work became ready? don't wait) ─▶ poll until `bound` ─▶ callbacks, closes
//                                                                             ▲ ring(), from any thread
//
// L1  The wake-up handle keeps the loop alive, so that an iteration always polls; whether it may block is decided by
//     the caller, from what counts (RCT-5, RCT-14), never by libuv's own reference counts.
//     An adopted loop's other handles run in the same iterations, and count for nothing.
// L2  What libuv can touch lives in one heap block. It is freed after uv_loop_close said yes, or never (RCT-2).
#pragma once

#include <uv.h>

#include <atomic>
#include <memory>

#include "heddle/core/base/time.hpp"
#include "heddle/core/base/unique_function.hpp"

namespace heddle::real::detail {

/// What other threads and signal handlers ring, shared with them, so that it stays valid when the loop is gone.
class UvBell {
public:
    explicit UvBell(uv_async_t& handle) : handle_(&handle) {}
    /// Wakes the loop; nothing once it is muted. Async-signal-safe; keeps errno.
    void ring() noexcept;
    /// Returns when nobody is inside `ring` any more, and nobody touches the handle from here on.
    void mute() noexcept;

private:
    static constexpr std::uint64_t muted = std::uint64_t{1} << 63;
    std::atomic<std::uint64_t> state_{0};  // `muted`, and how many are inside
    uv_async_t* handle_;
};

class UvLoop {
public:
    /// Asked before a wait; true keeps the poll from blocking.
    using ReadyWork = UniqueFunction<bool()>;
    using Woken = UniqueFunction<void()>;

    /// @param adopted  a loop of the program's own, which stays its own; null: a new one. Throws: AsyncError.
    UvLoop(ReadyWork ready_work, Woken woken, uv_loop_t* adopted = nullptr);
    /// After `close`.
    ~UvLoop();
    UvLoop(const UvLoop&) = delete;
    UvLoop& operator=(const UvLoop&) = delete;

    [[nodiscard]] uv_loop_t* raw() { return block_->loop; }
    [[nodiscard]] const std::shared_ptr<UvBell>& bell() const { return bell_; }

    /// libuv's cached clock.
    [[nodiscard]] Instant now() const;
    void update_time() { uv_update_time(block_->loop); }

    /// One iteration. Blocks only with `block`, and then not beyond `bound` (`never`: without limit).
    void run(bool block, Instant bound);

    /// Closes the handles and runs iterations until nothing is left, waiting up to `wait` while `busy()`.
    /// @returns false if something of the loop is still in use: its memory is then left alone for ever. Of an adopted loop nothing can
    /// be left alone, because the program goes on running it: then it waits as long as it takes.
    [[nodiscard]] bool close(Duration wait, UniqueFunction<bool()> busy);

private:
    struct Block {
        uv_loop_t own{};
        uv_loop_t* loop = &own;
        int handles_open = 0;
        uv_prepare_t prepare{};
        uv_timer_t bound{};
        uv_async_t wakeup{};
        UvLoop* self = nullptr;
    };

    void open();
    void close_adopted(UniqueFunction<bool()>& busy);
    void set_bound(Instant bound);

    std::unique_ptr<Block> block_;
    std::shared_ptr<UvBell> bell_;
    ReadyWork ready_work_;
    Woken woken_;
    Instant armed_bound_ = Instant::never();
    bool closed_ = false;
};

}  // namespace heddle::real::detail
