// SPDX-License-Identifier: Apache-2.0
// SimReactor: the Reactor of a simulated world. What could happen in more than one way is asked.
//
//   outside: descriptors, triggers, threads, posts, workers, signals, children      timers
//        │ becomes ready (EventQueue, by virtual time)                                │ become due
//        ▼                                                                            ▼
//   tick:  wait ───▶ poll batch, one delivery at a time ───▶ closes ───▶ clock ───▶ timers pass          (RCT-60)
//          CP-TIME   signals and exits last                  CP-CLOSE               CP-TIMERIO, ties
//          CP-LATE   CP-READY CP-SUBSET CP-POOL
//                    CP-MERGE CP-CANCEL CP-SPURIOUS
//
// SR1  Alternative 0 of every question is what libuv 1.45 does; without a Chooser it is the only one (C2).
// SR2  Same program and same answers give the same run, bit for bit (RCT-68): no clock, no address, no hash order.
// SR3  What is postponed by an answer comes within a bound (Fairness, RCT-72), and nothing is postponed that could
//      never come then.
// SR4  A batch is fixed when the poll begins (RCT-6); what is stopped or closed meanwhile drops out of it (RCT-11).
// SR5  A wait in which nothing could ever happen is a violation, "RCT-69", and names what waits.
// SR6  What is not used costs nothing: a world of coroutines that only yield allocates nothing here.
// Choice points: those above; CP-POLL in poll_due, CP-REQCANCEL in cancel and close, CP-ERROR in start and submit_task;
// those of handles and operations are the kernel's (simreactor/net).
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heddle/core/base/timer_queue.hpp"
#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/core/seam/poll_table.hpp"
#include "heddle/core/seam/reactor.hpp"
#include "heddle/core/seam/worker_port.hpp"
#include "heddle/simreactor/chooser/choice_mask.hpp"
#include "heddle/simreactor/net/network.hpp"
#include "heddle/simreactor/reactor/detail/slots.hpp"
#include "heddle/simreactor/reactor/event_queue.hpp"
#include "heddle/simreactor/reactor/outside.hpp"
#include "heddle/simreactor/reactor/timing.hpp"
#include "heddle/simreactor/reactor/virtual_clock.hpp"

namespace heddle::sim {

/// How often in a row something may be put off. Requires: all at least 1, spurious and arrival may be 0.
struct Fairness {
    std::uint32_t poll = 4;        ///< opportunities to poll that may be passed (CP-POLL)
    std::uint32_t time = 4;        ///< polls without time moving while something waits for it (CP-TIME)
    std::uint32_t subset = 4;      ///< ticks that may leave a ready source for later (CP-SUBSET)
    std::uint32_t pool = 4;        ///< completions that may overtake a request (CP-POOL)
    std::uint32_t timer_io = 4;    ///< ticks that may leave due timers for later (CP-TIMERIO)
    std::uint32_t late = 4;        ///< passes in which later timers may go before a due one (CP-LATE)
    std::uint32_t close = 4;       ///< ticks that may leave close completions for later (CP-CLOSE)
    std::uint32_t spurious = 1;    ///< ticks without callbacks (CP-SPURIOUS)
    std::uint32_t arrival = 1000;  ///< delivery points that a post for anywhere may let go by (CP-CANCEL)
};

class SimReactor;
class SimWorkers;
class StepPlan;
namespace detail {
class SimIo;
}

struct SimReactorOptions {
    /// Before a wait moves the clock to `next` (never: nothing of this node's own can happen any more): lets other
    /// nodes of the world run. @returns true if anything may have changed, so that the wait looks again; false to go
    /// on
    using IdleHook = std::function<bool(SimReactor& node, Instant next)>;

    Chooser* chooser = nullptr;    ///< null: always 0
    Observer* observer = nullptr;  ///< hears footprints (on_touch); null: none are made
    LabelBook* book = nullptr;     ///< names choice points and the outside; null: hashes that are equal for equal runs
    Timing timing{};
    Fairness fairness{};
    ChoiceMask mask = ChoiceMask::all();                 ///< kinds that are offered; the others are answered with 0
    bool faults = false;                                 ///< offer `fault` choices (CP-ERROR)
    Duration resolution = std::chrono::milliseconds(1);  ///< 1 ns or more
    std::uint32_t workers = 4;                           ///< threads of the worker pool, at least 1
    std::uint32_t candidates_max = 64;                   ///< of one question; what is beyond keeps its production order
    std::uint64_t ticks_max = 0;                         ///< more in one run is a violation, INV-LIVE-01; 0: no bound
    const char* name = "loop";                           ///< root label; a literal
    VirtualClock* clock = nullptr;                       ///< shared by the nodes of a world; null: a clock of its own
    ClockSkew skew{};                                    ///< of what this node makes of it
    NetworkOptions network{};                            ///< of a network of its own
    Machine* machine = nullptr;  ///< its kernel, in a network that nodes share; null: one of its own, once it is needed
    IdleHook on_idle{};
    /// Puts one question for all that can happen next, coroutines and sources, in place of those of the phases of a tick (sim_steps.cpp).
    /// Null: the usual ones. Requires: T0 or T1, one node. As soon as operations are in use the usual ones are asked all the same.
    StepPlan* plan = nullptr;
};

class SimReactor final : public Reactor, public WorkerPort {
public:
    using Options = SimReactorOptions;

    SimReactor() : SimReactor(Options{}) {}
    /// Throws ValueError for options out of range.
    explicit SimReactor(Options options);
    ~SimReactor() override;

    /// Takes other options. Requires: not up, or nothing opened yet. Throws ValueError for options out of range.
    void configure(Options options);
    [[nodiscard]] const Options& options() const { return options_; }
    void set_chooser(Chooser* chooser) { options_.chooser = chooser; }
    /// From now on. now() does not go back: a clock that is behind what it showed stands until it has caught up.
    void set_skew(const ClockSkew& skew);

    enum class ResetMode : std::uint8_t {
        destroy,  ///< functions that never ran are destroyed
        abandon,  ///< a frozen world's refer to broken state: leaked knowingly, hidden from leak checkers
    };
    /// The state of a new reactor; keeps the memory. Delivers nothing. Resets its own clock, never a shared one.
    void reset(ResetMode mode = ResetMode::destroy);

    /// The coroutine that hosts the ticks from now on: choice points are named after it. 0 is the loop itself.
    void set_anchor(Label anchor) override { anchor_ = anchor; }
    [[nodiscard]] Label anchor() const { return anchor_; }
    /// One more choice in this reactor's world, under its mask: for what stands above it. 0 if it is not offered.
    /// @param candidates  as many as `count`, or empty
    std::uint32_t ask(ChoiceKind kind, std::uint32_t count, std::span<const Label> candidates = {}, Label object = {});

    // ── time ──

    [[nodiscard]] VirtualClock& clock() { return *clock_; }
    [[nodiscard]] Instant true_time() const { return clock_->now(); }
    /// True time goes by while the program computes; rounded up to the resolution. now() follows where RCT-18 says
    /// (RCT-25).
    void burn(Duration by);
    /// The earliest instant at which something of this node happens by itself: true_time() if something is ready, never
    /// if nothing is to come. A post that may come anywhere is not counted: it comes in some other tick, at the latest
    /// when all else is over.
    [[nodiscard]] Instant next_happening();

    // ── descriptors; what a test says of one stays until it says otherwise (RCT-32) ──

    /// A new descriptor, ready for nothing. What is reported of it is exact: there is no readability without data
    /// (RCT-37).
    int make_descriptor();
    void set_ready(int fd, PollMask bits);    ///< adds bits
    void clear_ready(int fd, PollMask bits);  ///< takes bits away
    /// The other end went away: DISCONNECT, and the end of the stream can be read.
    void hang_up(int fd) { set_ready(fd, PollBits::disconnect | PollBits::readable); }
    /// The descriptor reports `error`, a positive errno value, to everybody; EBADF is DISCONNECT without error
    /// (RCT-36).
    void fail(int fd, int error);
    /// Open until somebody closed it: `close_descriptor`, or the reactor for `close_fd` (RCT-38).
    [[nodiscard]] bool is_open(int fd);
    void close_descriptor(int fd);
    [[nodiscard]] PollMask readiness(int fd);

    // ── threads and posts (outside.hpp) ──

    /// A thread without steps; add them with `then`. Lives until reset. @param name of its label "outside/name"
    ForeignThread& add_thread(std::string_view name);
    PostId post(std::string_view name, UniqueFunction<void()> run, const PostOptions& options = {});
    /// It will not come. False if it has come already.
    bool withdraw(PostId post);
    [[nodiscard]] std::size_t posts_waiting() const { return posts_pending_; }

    // ── signals and children ──

    /// Ignored while nobody watches the number, as nobody would know.
    void raise_signal(int number);
    /// A child process that runs for a time; Duration::max() until `end_child` or `kill_child`.
    /// @param value exit code, or -(signal) @returns its pid
    int start_child(const Latency& runs_for, int value = 0);
    int start_child() { return start_child(Latency::exactly(Duration::max())); }
    /// It ends now. False if it has ended already.
    bool end_child(int pid, int value);
    bool kill_child(int pid, int signal) { return end_child(pid, -signal); }
    /// Somebody else waited for the child: its watchers get -1 (RCT-53).
    void reap_elsewhere(int pid);

    // ── kernel ──

    /// This node's kernel: its sockets, its network with links, names and faults.
    [[nodiscard]] Machine& machine();
    /// Null as long as nobody needed one.
    [[nodiscard]] Machine* machine_if_any();

    // ── worker pool ──

    /// From its return to `release_workers` no request begins.
    void hold_workers() { workers_held_ = true; }
    void release_workers();
    [[nodiscard]] std::size_t tasks_in_flight() const { return tasks_.size(); }

    // ── Reactor ──

    void startup(ReactorSink& sink) override;
    void shutdown() override;
    [[nodiscard]] bool is_up() const override { return sink_ != nullptr; }
    void refresh_clock() override;
    bool tick(TickMode mode) override;
    [[nodiscard]] bool has_closing() const override { return !closes_.empty(); }
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
    HandleId open_handle(const HandleOptions& options) override;
    void close_handle(HandleId handle) override;
    [[nodiscard]] int descriptor(HandleId handle) const override;
    [[nodiscard]] HandleInfo inspect(HandleId handle) override;
    [[nodiscard]] Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] std::int64_t try_write(HandleId handle, std::span<const std::byte> data) override;
    [[nodiscard]] std::int64_t try_read(HandleId handle, std::span<std::byte> buffer) override;
    [[nodiscard]] SourceId wait_readable(HandleId handle, SourceOwner& owner) override;
    void start(SourceId source) override;
    void stop(SourceId source) override;
    void close(SourceId source) override;

    // ── WorkerPort: sequences of steps in place of threads (sim_workers.hpp) ──

    [[nodiscard]] std::size_t parallelism() const override { return options_.workers; }
    void start_workers(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name) override;

private:
    friend class ForeignThread;
    friend class detail::SimIo;
    class Port;

    struct Source {
        SourceOwner* owner = nullptr;
        Label label;
        Duration timeout = Duration::zero();
        std::uint32_t detail = 0;     ///< in the table of its kind: fd, trigger, signal, pid, task
        std::uint32_t armings = 0;    ///< timer: how often it was armed; names the cell of one arming
        std::uint32_t overtaken = 0;  ///< timer: passes in which a later one went first
        SourceKind kind = SourceKind::none;
        bool started = false;
        bool hidden = false;
        bool periodic = false;
        bool multishot = false;
        bool refresh = false;
    };
    struct Descriptor {
        PollMask ready = 0;
        int error = 0;
        bool open = true;
        bool queued = false;
        SourceId poll;
    };
    struct Trigger {
        SourceId source;
        std::uint32_t fired = 0;
        bool queued = false;
        std::shared_ptr<Port> port;
    };
    struct SignalNumber {
        int number = 0;
        std::uint32_t pending = 0;
        bool queued = false;
        std::vector<SourceId> watchers;  // started ones, in start order
    };
    struct Child {
        int value = 0;
        bool ended = false;
        bool waited = false;  // its end was delivered
        bool reaped = false;  // nobody can learn its code any more
        bool queued = false;
        bool timed = false;         // its end is in the event queue
        std::uint32_t watches = 0;  // open sources: as long as there is one, the code is kept
        EventQueue::Ticket ticket = 0;
        std::vector<SourceId> watchers;  // started ones, in start order
    };
    enum class TaskState : std::uint8_t { waiting, running, cancelled };
    struct Task {
        SourceId source;            // none once its owner has closed it
        std::uint64_t request = 0;  // it serves one of SimIo's, which has the source
        UniqueFunction<void()> body;
        Label label;
        TaskState state = TaskState::waiting;
        bool cancel_lost = false;
        bool timed = false;  // its completion is in the event queue
        EventQueue::Ticket ticket = 0;
    };
    enum class PostState : std::uint8_t { fresh, postponed, timed, arrived, over };
    struct Post {
        UniqueFunction<void()> run;
        Label label;
        PostState state = PostState::fresh;
        bool counted = false;
        std::uint32_t passed = 0;
        EventQueue::Ticket ticket = 0;
    };
    /// Something that may be delivered in a poll phase.
    struct Ready {
        Happening what = Happening::descriptor;
        std::uint64_t key = 0;      ///< of a slot for triggers and tasks, else an index
        std::uint32_t skipped = 0;  ///< ticks that left it
        std::uint32_t passed = 0;   ///< completions that overtook it
        Instant latest;             ///< no wait moves the clock past it
    };
    struct Closing {
        SourceId poll;
        Label label;
        int close_fd = -1;
    };
    /// Something that may happen next (sim_steps.cpp).
    struct Next {
        enum class Kind : std::uint8_t { ready, post, close, timer };
        Kind kind = Kind::ready;
        std::size_t index = 0;  ///< among its kind; a timer's slot
        Label label;
    };
    class PostRunner final : public SourceOwner {
    public:
        explicit PostRunner(SimReactor& reactor) : reactor_(reactor) {}
        void on_delivery(const Delivery& delivery) override;

    private:
        SimReactor& reactor_;
    };

    // tick (sim_reactor.cpp)
    [[nodiscard]] bool anything() const;
    void wait(TickMode mode);
    [[nodiscard]] bool waits(TickMode mode) const;
    void let_time_pass();
    [[nodiscard]] Instant choose_wake(Instant first);
    void move_to(Instant at);
    void look_at_clock();
    void promote();
    void let_posts_arrive(bool all);
    void poll_phase();
    void collect();
    [[nodiscard]] bool may_end_batch(bool delivered) const;
    void cut_batch();
    [[nodiscard]] std::size_t choose_ready();
    [[nodiscard]] std::size_t choose_task(std::size_t first);
    void close_phase();
    void finish_close(const Closing& closing);
    void timers_phase();
    void fire_in_order(Instant pass);
    void fire_by_choice(Instant pass);
    [[nodiscard]] bool overtakes_its_elder(std::span<const TimerQueue::Entry> due, std::size_t begin, std::size_t at);
    void fire(std::uint32_t slot);
    [[noreturn]] void report_hang();
    [[nodiscard]] bool timers_due() const { return !timers_.empty() && timers_.first().deadline <= now(); }
    [[nodiscard]] Instant min_latest();
    [[nodiscard]] Instant next_by_time() const;
    /// In true time, as all that is compared with the world's clock; a timer's deadline is one of the node's own clock.
    [[nodiscard]] Instant first_deadline() const { return options_.skew.true_of(timers_.first().deadline); }
    [[nodiscard]] bool anything_ready();

    // one question (sim_steps.cpp)
    [[nodiscard]] bool puts_one_question() const { return options_.plan != nullptr && io_ == nullptr; }
    [[nodiscard]] bool step_due();
    void step_tick(TickMode mode);
    [[nodiscard]] bool find_next(TickMode mode);
    void report_next();
    void list_sources();
    [[nodiscard]] bool ask_next();
    [[nodiscard]] Label step_label(const Ready& ready);
    [[nodiscard]] Label step_label(SourceId id, const Source& source);
    [[nodiscard]] static Label signal_label(int number);
    [[nodiscard]] static Label process_label(int pid);
    void enables(Label source);
    void takes_back(Label source, bool found);
    void touch_workers();
    void touch_names(std::string_view kind);

    // questions and footprints
    [[nodiscard]] Label point_label(std::string_view kind, Label object);
    [[nodiscard]] Label loop_label();
    [[nodiscard]] Label outside_label(std::string_view name);
    std::uint32_t ask_named(ChoiceKind kind, std::string_view name, std::uint32_t count,
                            std::span<const Label> candidates, Label object);
    [[nodiscard]] bool offers(ChoiceKind kind) const { return options_.chooser != nullptr && options_.mask.has(kind); }
    void touch(Cell where, TouchMode mode);
    void deliver(Delivery delivery, std::initializer_list<Touch> touches);

    // sources (sim_sources.cpp)
    SourceId add_source(SourceKind kind, const SourceOptions& options, std::uint32_t detail);
    [[nodiscard]] Source* find(SourceId id);
    [[nodiscard]] SourceId id_of(std::uint32_t slot) const { return SourceId{sources_.key(slot)}; }
    [[nodiscard]] static std::uint32_t slot_of(SourceId id) { return SourceSlots::slot_of(id.value); }
    [[nodiscard]] Label label_of(SourceId id, const Source& source) const;
    void require_up() const;
    void count_started(Source& source);
    void count_stopped(Source& source);
    void arm(SourceId id, Source& source);
    void drop_source(SourceId id);
    void start_process(SourceId id, Source& source);
    void release_poll(SourceId poll);
    void refuse_if_faulty(const char* what, Label object);
    [[nodiscard]] Cell armed_cell(SourceId id, const Source& source) const;
    void disconnect_ports();

    // outside (sim_outside.cpp)
    void enqueue(Happening what, std::uint32_t index, Instant latest);
    [[nodiscard]] bool is_deliverable(const Ready& ready);
    void forget(const Ready& ready);
    [[nodiscard]] Label label_of(const Ready& ready);
    void deliver_ready(const Ready& ready);
    void deliver_descriptor(std::uint32_t index);
    void deliver_trigger(std::uint64_t key);
    void deliver_signal(std::uint32_t index);
    void deliver_exit(std::uint32_t index);
    void deliver_task(std::uint32_t slot);
    void deliver_post(std::uint32_t index);
    void deliver_thread(std::uint32_t index);
    [[nodiscard]] Descriptor* descriptor_at(int fd);
    [[nodiscard]] std::uint32_t descriptor_index(int fd);
    void touch_descriptor(std::uint32_t index, PollMask bits, TouchMode mode);
    void check_descriptor(std::uint32_t index);
    [[nodiscard]] PollMask reportable(const Descriptor& at);
    void fired(SourceId trigger);
    std::uint32_t signal_index(int number);
    [[nodiscard]] Child* child(int pid);
    void child_ended(std::uint32_t index);
    [[nodiscard]] static Cell exit_cell(int pid);
    [[nodiscard]] std::uint32_t merged(std::uint32_t count, Label object);
    void begin_tasks();
    void run_body(std::uint32_t slot);
    [[nodiscard]] bool cancel_wins(Task& task);
    void withdraw_task(std::uint32_t slot);
    void close_task(SourceId id);
    void schedule_step(ForeignThread& thread);
    [[nodiscard]] detail::SimIo& io();

    using SourceSlots = detail::Slots<Source>;

    Options options_;
    ReactorSink* sink_ = nullptr;
    VirtualClock own_clock_;
    VirtualClock* clock_ = &own_clock_;
    Label anchor_;
    Label loop_label_;
    Label outside_;
    std::array<std::uint64_t, static_cast<std::size_t>(ChoiceKind::count_)>
        asked_{};  // ordinals where no book counts them

    SourceSlots sources_;
    TimerQueue timers_;  // by slot of the source
    EventQueue events_;
    std::vector<Ready> ready_;  // in order of arrival
    std::vector<Ready> batch_;  // what is left of the batch at hand
    std::vector<Closing> closes_;
    PollTable polls_;
    bool polls_used_ = false;
    std::vector<Descriptor> descriptors_;  // by fd - first_fd
    detail::Slots<Trigger> triggers_;
    std::vector<SignalNumber> signals_;
    std::vector<Child> children_;  // by pid - first_pid
    detail::Slots<Task> tasks_;
    std::vector<std::uint32_t> tasks_waiting_;  // first in, first out
    std::uint32_t tasks_running_ = 0;
    bool workers_held_ = false;
    std::vector<std::unique_ptr<ForeignThread>> threads_;
    std::vector<Post> posts_;
    std::size_t posts_pending_ = 0;   // not over
    std::size_t posts_anywhere_ = 0;  // of these: fresh or postponed
    PostRunner post_runner_{*this};
    std::unique_ptr<detail::SimIo> io_;  // SR6: made when a handle or an operation is asked for
    std::unique_ptr<SimWorkers> workers_;  // likewise

    bool in_tick_ = false;
    bool in_body_ = false;      // a worker's function runs: what it touches belongs to its completion
    bool clock_moved_ = false;  // the next delivery is the one that tells
    bool promoting_ = false;
    bool posts_seen_ = false;   // one that may come anywhere, in this run
    std::vector<Touch> body_touches_;
    std::uint64_t ticks_ = 0;        // of this run
    std::uint32_t poll_misses_ = 0;  // opportunities in a row that did not poll
    std::uint32_t still_polls_ = 0;  // polls in a row that did not move the time
    std::uint32_t spurious_ = 0;
    std::uint32_t timer_io_skips_ = 0;
    std::uint32_t close_skips_ = 0;
    bool io_delivered_ = false;  // in this tick

    std::vector<Label> candidates_;     // scratch of one question
    std::vector<std::uint32_t> picks_;  // what its alternatives stand for
    std::vector<Instant> instants_;
    std::vector<TimerQueue::Entry> due_;  // of the timers pass at hand
    std::vector<Next> nexts_;             // all sources that may be reported
    std::optional<Next> next_;            // the chosen one

    static constexpr int first_fd = 3;
    static constexpr int first_pid = 1000;
};

}  // namespace heddle::sim
