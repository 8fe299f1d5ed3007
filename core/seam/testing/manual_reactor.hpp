// SPDX-License-Identifier: Apache-2.0
// ManualReactor: a reactor without a world, driven by a test's own hands.
//
//   test ── pass_time, set_ready, raise, end_child, finish_task, at ──▶ what is ready, first in first out
//   core ── tick ──▶ poll batch, closes, clock, timers (RCT-60) ──▶ sink
//
// MR1  True time moves by `pass_time`, and to the next deadline or happening in a tick that blocks; `now()` follows
//      where RCT-18 says.
// MR2  Everything is reported in the order in which it became ready; nothing is late, merged or lost unless the test
//      says so.
// MR3  A blocking tick in which nothing could ever happen throws (RCT-69): a test that would hang fails instead.
// MR4  Nothing starves: every so many ticks (`idle_ticks_max`) a tick that neither waits nor delivers moves the clock
//      to the next deadline (CP-TIME), and the oldest task finishes by itself (CP-POOL).
// Chance: none. It is not safe against other threads; a TriggerPort is fired by the test's thread, or by a happening.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "heddle/core/base/timer_queue.hpp"
#include "heddle/core/seam/poll_table.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle::testing {

class ManualReactor final : public Reactor {
public:
    ManualReactor() = default;
    ~ManualReactor() override { shut_down(false); }

    // ── the outside world ──

    /// True time goes by, as while a program computes; `now()` does not notice before RCT-18 lets it.
    void pass_time(Duration by) { true_time_ = true_time_ + by; }
    [[nodiscard]] Instant true_time() const { return true_time_; }
    /// Does `happening` inside the first tick at or after true time + `after`, before it polls. Equal times: in order
    /// of the calls.
    void at(Duration after, UniqueFunction<void()> happening);

    /// The descriptor is ready for `bits` from now on, until the next call; 0 ends it (RCT-32). Any number is a
    /// descriptor.
    void set_ready(int fd, PollMask bits);
    /// The descriptor reports this failure (a positive errno value; EBADF is DISCONNECT) until the next `set_ready`.
    void set_failed(int fd, int error);
    /// Marks a stream socket, whose READABLE is verified when its turn comes (RCT-37).
    void set_stream(int fd) { streams_.insert(fd); }
    /// Descriptors that the reactor closed (RCT-38), in that order.
    [[nodiscard]] const std::vector<int>& closed_descriptors() const { return closed_descriptors_; }

    /// One delivery to each subscriber of the signal; ignored while there is none.
    void raise(int signal);
    /// Declares a child process that runs. One that was never declared is "reaped elsewhere" (RCT-53).
    void add_child(int pid) { children_[pid] = Child{}; }
    /// @param code exit code, or -(signal)
    void end_child(int pid, int code);

    /// Worker threads: a task that has begun cannot be cancelled any more; finishing runs its body here and now.
    void begin_task(SourceId task);
    void finish_task(SourceId task);
    /// Requests whose work is not done, oldest first. A blocking tick with nothing else to wait for finishes the oldest
    /// (and MR4).
    [[nodiscard]] std::vector<SourceId> tasks() const;

    /// The next answers of `poll_due`, used up first.
    void script_polls(std::initializer_list<bool> answers) { polls_.insert(polls_.end(), answers); }
    /// Without a script `poll_due` says yes once in this many calls; 1 always, 0 never.
    void set_poll_every(std::uint32_t calls) { poll_every_ = calls; }
    /// See MR4; 0 moves nothing by itself.
    void set_idle_ticks_max(std::uint32_t ticks) { idle_ticks_max_ = ticks; }

    [[nodiscard]] std::uint64_t ticks() const { return tick_count_; }
    /// Opened and not yet closed, whatever the kind; 0 when nothing has leaked.
    [[nodiscard]] std::size_t open_sources() const { return sources_.size(); }

    // ── Reactor ──

    void startup(ReactorSink& sink) override;
    void shutdown() override { shut_down(true); }
    [[nodiscard]] bool is_up() const override { return sink_ != nullptr; }
    void refresh_clock() override;
    bool tick(TickMode mode) override;
    [[nodiscard]] bool has_closing() const override { return !closing_.empty(); }
    [[nodiscard]] bool poll_due(bool in_place) override;

    SourceId open_timer(const TimerOptions& timer, const SourceOptions& options) override;
    void rearm(SourceId timer, Duration timeout) override;
    SourceId open_poll(int fd, bool close_fd, Label label) override;
    SourceId open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) override;
    SourceId open_trigger(const SourceOptions& options) override;
    [[nodiscard]] TriggerPortPtr trigger_port(SourceId trigger) override;
    SourceId open_signal(int number, const SourceOptions& options) override;
    SourceId open_process(int pid, const SourceOptions& options) override;
    SourceId submit_task(UniqueFunction<void()> body, const SourceOptions& options) override;
    bool cancel(SourceId request) override;
    void start(SourceId source) override;
    void stop(SourceId source) override;
    void close(SourceId source) override;

private:
    class Port;
    enum class TaskState : std::uint8_t { queued, begun, done };

    struct Source {
        SourceKind kind = SourceKind::none;
        SourceOptions options;
        bool started = false;
        TimerOptions timer{};
        int number = 0;         // signal number or pid
        bool fired = false;     // trigger: a fire waits for its delivery
        bool detached = false;  // request: closed in flight, completes in silence (RCT-45)
        TaskState task = TaskState::queued;
        UniqueFunction<void()> body{};
        Completion completion{};
        std::shared_ptr<Port> port{};
    };
    struct Child {
        bool ended = false;
        int code = 0;
        std::uint32_t watchers = 0;
    };
    struct Level {
        PollMask bits = 0;
        int error = 0;
        std::uint64_t sequence = 0;
    };
    /// Something to report once: a fired trigger, a finished request, a signal, a child's end.
    struct Occurrence {
        std::uint64_t sequence = 0;
        SourceKind kind = SourceKind::none;
        SourceId source;
        int number = 0;
    };
    struct Happening {
        Instant when;
        std::uint64_t sequence = 0;
        UniqueFunction<void()> body;
    };
    struct Closing {
        SourceId source;
        PollTable::Poll poll;
    };

    void shut_down(bool tell);
    SourceId add(SourceKind kind, const SourceOptions& options);
    [[nodiscard]] Source* find(SourceId id);
    void set_started(Source& source, bool started);
    void arm(SourceId id, const Source& source, Duration timeout);
    void deliver(SourceId id, const SourceOptions& options, SourceKind kind, std::int64_t value,
                 std::int32_t error = 0);
    void occur(SourceKind kind, SourceId source, int number);
    void drop_watcher(int pid);
    [[nodiscard]] std::vector<SourceId> started_for(SourceKind kind, int number) const;

    [[nodiscard]] bool something_ready();
    void wait();
    bool do_happenings();
    void let_time_pass_in_idle_ticks(TickMode mode, bool delivered);
    void let_old_tasks_finish();
    void poll_phase();
    void report_level(SourceId poll, int fd, Level collected);
    void report(const Occurrence& occurrence);
    void close_phase(bool tell = true);
    void timers_phase();

    ReactorSink* sink_ = nullptr;
    bool in_tick_ = false;
    Instant true_time_;
    std::uint64_t last_id_ = 0;
    std::uint64_t last_sequence_ = 0;
    std::map<SourceId, Source> sources_;
    std::vector<SourceId> start_order_;  // started signals and processes, oldest first
    TimerQueue timers_;
    PollTable polls_table_;
    std::map<int, Level> levels_;
    std::set<int> streams_;
    std::map<int, Child> children_;
    std::deque<Occurrence> occurrences_;
    std::deque<Happening> happenings_;
    std::vector<Closing> closing_;
    std::vector<int> closed_descriptors_;

    std::deque<bool> polls_;
    std::uint32_t poll_every_ = 16;
    std::uint32_t poll_calls_ = 0;
    std::uint32_t idle_ticks_max_ = 16;
    std::uint32_t idle_ticks_ = 0;
    std::uint32_t task_ticks_ = 0;
    std::uint64_t tick_count_ = 0;
    std::uint64_t delivered_ = 0;
};

}  // namespace heddle::testing
