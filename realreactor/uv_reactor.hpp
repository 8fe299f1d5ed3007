// SPDX-License-Identifier: Apache-2.0
// UvReactor: the production backend of the Reactor door, on libuv (docs/spec/05-reactor.md, 16-libuv-order.md).
//
//   tick ─▶ one iteration of libuv: triggers, descriptors, tasks, signals, child exits ─▶ closes ─▶ clock ─▶ timers
//                                           └──────────────── one delivery at a time ─────┴──────────────────┘──▶ sink
//
// U1  The phases come in the order of RCT-60 whatever the version of libuv: it never runs our timers, the reactor does,
//     after the iteration; libuv's own timer only bounds the poll.
// U2  Nothing in here asks a Chooser or depends on an address: where libuv's order would (F20), the reactor keeps its
//     own lists.
// U3  The loop belongs to the reactor, unless it adopts the program's, and all is done on the thread that called
//     `startup`, the workers' task bodies and TriggerPort::fire excepted.
// Nothing of libuv is visible here.
#pragma once

#include <memory>

#include "heddle/core/seam/reactor.hpp"
#include "heddle/core/seam/worker_port.hpp"

struct uv_loop_s;  // libuv's uv_loop_t, of which nothing else is visible here

namespace heddle::real {

class UvWorkers;

namespace detail {
class UvHost;
struct UvFamilies;
}  // namespace detail

struct UvOptions {
    /// A libuv loop of the program's own, which the reactor then uses beside the program's handles: its ticks are the loop's
    /// iterations, in which the program's callbacks run as always. They do not keep a runtime alive. The loop outlives the reactor,
    /// is nobody else's to run while a runtime runs, and no runtime is started from one of its callbacks. Shutdown then waits for
    /// task bodies that have begun, however long they take. Null: the reactor makes a loop.
    uv_loop_s* loop = nullptr;
    /// How long shutdown waits for task bodies that have begun, above 0. After that the loop is left allocated, for the
    /// workers that are still inside it (RCT-2), and is never freed.
    Duration shutdown_wait = std::chrono::seconds(1);
};

class UvReactor final : public Reactor, public WorkerPort {
public:
    explicit UvReactor(const UvOptions& options = {});
    /// Shuts down if it is up, without telling the sink, which may be gone by then.
    ~UvReactor() override;

    /// Throws: AsyncError if libuv cannot create a loop (too many open descriptors). Cost: some system calls.
    void startup(ReactorSink& sink) override;
    void shutdown() override;
    [[nodiscard]] bool is_up() const override;
    void refresh_clock() override;
    /// Throws: AsyncError inside another tick (RCT-3) or before startup. Stack: about 20 KiB below the caller (libuv's
    /// event buffer).
    bool tick(TickMode mode) override;
    /// In place: more than 100 ms since the last tick (SCH-36); in the loop: the coarse clock has moved since (SCH-39).
    /// Cost: about 1 ns in place; it looks at the clock now and then, more often when the calls come slowly.
    [[nodiscard]] bool poll_due(bool in_place) override;
    [[nodiscard]] bool has_closing() const override;

    SourceId open_timer(const TimerOptions& timer, const SourceOptions& options) override;
    void rearm(SourceId timer, Duration timeout) override;
    /// Throws: IoError (EBADF; EPERM for what cannot be polled, as a regular file). Puts the descriptor into
    /// non-blocking mode.
    SourceId open_poll(int fd, bool close_fd, Label label) override;
    /// Throws: AsyncError if the poll is not open.
    SourceId open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) override;
    SourceId open_trigger(const SourceOptions& options) override;
    [[nodiscard]] TriggerPortPtr trigger_port(SourceId trigger) override;
    SourceId open_signal(int number, const SourceOptions& options) override;
    /// While one is started the process has a handler for SIGCHLD; only watched children are waited for.
    SourceId open_process(int pid, const SourceOptions& options) override;
    /// An exception that leaves `body` ends the request with the error EIO. `body` is destroyed on the reactor's
    /// thread.
    SourceId submit_task(UniqueFunction<void()> body, const SourceOptions& options) override;
    bool cancel(SourceId request) override;
    HandleId open_handle(const HandleOptions& options) override;
    void close_handle(HandleId handle) override;
    [[nodiscard]] int descriptor(HandleId handle) const override;
    [[nodiscard]] HandleInfo inspect(HandleId handle) override;
    [[nodiscard]] Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] SourceId wait_readable(HandleId handle, SourceOwner& owner) override;
    [[nodiscard]] std::int64_t try_read(HandleId handle, std::span<std::byte> buffer) override;
    [[nodiscard]] std::int64_t try_write(HandleId handle, std::span<const std::byte> data) override;
    void start(SourceId source) override;
    void stop(SourceId source) override;
    void close(SourceId source) override;

    // ── WorkerPort: threads of its own, beside libuv's ──

    [[nodiscard]] std::size_t parallelism() const override;
    /// Shutdown waits for the threads, however long their jobs take (THR-15).
    void start_workers(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name) override;

private:
    friend class detail::UvHost;

    void require_up() const;
    void shut_down(bool tell);

    std::unique_ptr<detail::UvHost> host_;
    std::unique_ptr<detail::UvFamilies> families_;
    std::unique_ptr<UvWorkers> workers_;  // made when one is asked for
    bool in_tick_ = false;

    // poll_due
    std::int64_t last_poll_ns_ = 0;
    std::int64_t last_look_ns_ = 0;
    std::uint32_t look_every_ = 1;
};

}  // namespace heddle::real
