// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_loop.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "heddle/core/base/assert.hpp"
#include "heddle/realreactor/detail/uv_abandoned.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

/// Held while loops of this process open and close their descriptors. They need no lock, but libuv closes by a bare
/// system call, which ThreadSanitizer does not see: it would call it a race when another thread's loop is given the
/// same numbers.
std::mutex descriptors_mutex;

template <class Block>
void close_handle(Block& block, uv_handle_t* handle) {
    if (uv_is_closing(handle) != 0) { return; }
    ++block.handles_open;
    uv_close(handle, [](uv_handle_t* closed) { --static_cast<Block*>(closed->data)->handles_open; });
}

/// An iteration that ends soon, whatever else is on the loop.
void wait_a_little(uv_timer_t& bound) {
    constexpr std::uint64_t slice_ms = 10;
    uv_timer_start(
        &bound, [](uv_timer_t* handle) { uv_stop(handle->loop); }, slice_ms, 0);
    uv_run(bound.loop, UV_RUN_ONCE);
}

}  // namespace

void UvBell::ring() noexcept {
    const int kept = errno;
    if ((state_.fetch_add(1, std::memory_order_acq_rel) & muted) == 0) { uv_async_send(handle_); }
    state_.fetch_sub(1, std::memory_order_release);
    errno = kept;
}

void UvBell::mute() noexcept {
    // A ring is two atomic operations around one write, so this wait is short. A signal handler of this thread cannot
    // be inside: it would have ended before we went on.
    state_.fetch_or(muted, std::memory_order_acq_rel);
    while ((state_.load(std::memory_order_acquire) & ~muted) != 0) { sched_yield(); }
}

UvLoop::UvLoop(ReadyWork ready_work, Woken woken, uv_loop_t* adopted)
    : block_(std::make_unique<Block>()), ready_work_(std::move(ready_work)), woken_(std::move(woken)) {
    if (adopted != nullptr) { block_->loop = adopted; }
    open();
    bell_ = std::make_shared<UvBell>(block_->wakeup);
}

UvLoop::~UvLoop() { HEDDLE_ASSERT(closed_, "a loop is closed before it goes"); }

void UvLoop::open() {
    const std::lock_guard<std::mutex> lock(descriptors_mutex);
    Block& block = *block_;
    block.self = this;
    const bool is_own = block.loop == &block.own;
    if (is_own) {
        if (const int status = uv_loop_init(&block.own); status != 0) {
            throw_async_error("cannot create an event loop", status);
        }
    }
    const int status = uv_async_init(block.loop, &block.wakeup,
                                     [](uv_async_t* handle) { static_cast<Block*>(handle->data)->self->woken_(); });
    if (status != 0) {
        if (is_own) { uv_loop_close(&block.own); }
        throw_async_error("cannot create the wake-up of an event loop", status);
    }
    uv_timer_init(block.loop, &block.bound);
    uv_prepare_init(block.loop, &block.prepare);
    block.wakeup.data = block.bound.data = block.prepare.data = &block;
    // Callbacks that ran earlier in this iteration may have made coroutines ready (libuv's pending queue precedes the
    // poll).
    uv_prepare_start(&block.prepare, [](uv_prepare_t* handle) {
        if (static_cast<Block*>(handle->data)->self->ready_work_()) { uv_stop(handle->loop); }  // G25
    });
}

Instant UvLoop::now() const { return Instant{static_cast<std::int64_t>(uv_now(block_->loop)) * ns_per_ms}; }

void UvLoop::set_bound(Instant bound) {
    if (bound == armed_bound_) { return; }
    armed_bound_ = bound;
    if (bound.is_never()) {
        uv_timer_stop(&block_->bound);
        return;
    }
    const std::int64_t left = std::max<std::int64_t>(0, (bound - now()).count());
    const auto left_ms = static_cast<std::uint64_t>(left / ns_per_ms + (left % ns_per_ms != 0 ? 1 : 0));
    uv_timer_start(
        &block_->bound,
        [](uv_timer_t* handle) {
            static_cast<Block*>(handle->data)->self->armed_bound_ = Instant::never();
            // Up to 1.44 timers run before the poll, which would then wait for the next of libuv's own timers: there is
            // none.
            uv_stop(handle->loop);
        },
        left_ms, 0);
}

void UvLoop::run(bool block, Instant bound) {
    if (block) { set_bound(bound); }
    uv_run(block_->loop, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

bool UvLoop::close(Duration wait, UniqueFunction<bool()> busy) {
    HEDDLE_ASSERT(!closed_, "a loop is closed once");
    closed_ = true;
    Block& block = *block_;
    bell_->mute();
    close_handle(block, reinterpret_cast<uv_handle_t*>(&block.prepare));
    close_handle(block, reinterpret_cast<uv_handle_t*>(&block.wakeup));
    if (block.loop != &block.own) {
        close_adopted(busy);
        return true;
    }

    const std::uint64_t begin = uv_hrtime();
    const auto limit = begin + static_cast<std::uint64_t>(wait.count());
    for (int round = 0; round < 8 && uv_run(block.loop, UV_RUN_NOWAIT) != 0; ++round) {}
    while (busy() && uv_hrtime() < limit) { wait_a_little(block.bound); }
    close_handle(block, reinterpret_cast<uv_handle_t*>(&block.bound));
    // A signal handle with undelivered signals takes some rounds (G19); nothing here waits.
    for (int round = 0; round < 64 && uv_run(block.loop, UV_RUN_NOWAIT) != 0; ++round) {}
    if (!busy()) {
        const std::lock_guard<std::mutex> lock(descriptors_mutex);
        if (uv_loop_close(block.loop) == 0) { return true; }
    }
    abandon(std::shared_ptr<void>(std::move(block_)));
    return false;
}

void UvLoop::close_adopted(UniqueFunction<bool()>& busy) {
    Block& block = *block_;
    while (busy()) { wait_a_little(block.bound); }
    close_handle(block, reinterpret_cast<uv_handle_t*>(&block.bound));
    while (block.handles_open > 0) { uv_run(block.loop, UV_RUN_NOWAIT); }
}

}  // namespace heddle::real::detail
