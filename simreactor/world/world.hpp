// SPDX-License-Identifier: Apache-2.0
// World: one simulated world: reactor, chooser, observers, and one Runtime per node, run until they end or something is violated.
//
//   host (the caller) ──run(program)──▶ node's stack: Runtime::run(program) ── coroutines …
//        ▲                                   │ ended            │ HEDDLE_ASSERT, HEDDLE_CHECK, an oracle
//        └───────────────────────────────────┴──── frozen ◀─────┘ switches away for good
//
// WD1  A world is an object: nothing in it is global. Thousands live in one process, one after another or on several threads.
// WD2  A violation freezes the world: no exception that user code could swallow, no destructor runs on broken state. Its stacks go
//      as a whole, its heap is leaked knowingly and hidden from leak checkers.
// WD3  The same program with the same answers gives the same run, whether or not anybody observes it (INV-RCT-14).
// WD4  The nodes of a world share its clock and the thread; one runs until it has nothing to do but wait, then another may.
// WD5  Each node has a machine of its own in one network: address 10.0.0.n for the n-th, known by the node's name. A node that
//      crashes loses its stacks and its heap as a frozen world does, and what it had open; its machine keeps its disk.
// WD6  Each node has a clock of its own (ClockSkew): what it waits for takes as long as its own clock says.
// Choice points: all of docs/spec/05-reactor.md, section 8, those of the kernel (simreactor/net), and `node` with several nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/simreactor/chooser/step_plan.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

class Foresight;
class MemoryWatch;
class SharedMemory;
class World;

/// What a node's main coroutine runs. Called once per run; it must build everything anew each time.
using Program = std::function<void()>;
using Outcome = trace::Outcome;

/// An Observer that knows invariants: it reports what is violated through report_violation (core/base/assert.hpp).
class Oracle : public Observer {
public:
    /// Before the first event of a run; forgets earlier runs.
    virtual void begin(World& world) = 0;
    /// After every node has ended well, on the host's stack: what must be true then (kind E).
    virtual void at_end(World& world) { (void)world; }
    /// In place of `begin`, for a run that is not in a simulated world (libuv): forgets earlier runs. False, the default: this one
    /// cannot judge it and is left out. `at_end` is not called there.
    virtual bool begin_outside() { return false; }
    void on_event(const Event& event) override { (void)event; }
};

/// What a node makes of the time. The same in each life of a node (restart).
struct NodeClock {
    ClockSkew skew{};
    /// A search decides in each run, when the node begins, whether it has it: choice `value` at "<node>:clock", 0 no, 1 yes.
    bool is_chosen = false;
};

struct NodeOptions {
    bool daemon = false;  ///< serves the others: once all of them have ended it is shut down (Runtime::shutdown)
    NodeClock clock{};
};

/// A node beside the first one.
struct NodeProgram {
    std::string_view name;  ///< a literal; its name in the network, too
    Program program;
    NodeOptions options{};
};

struct WorldOptions {
    std::uint64_t seed = 1;  ///< of World::prng, for programs and fault plans; schedules come from the chooser
    trace::Order order = trace::Order::faithful;
    Timing timing{};
    Fairness fairness{};
    ChoiceMask mask = ChoiceMask::all();
    bool faults = false;  ///< the chooser is asked for faults
    NetworkOptions network{};
    NodeClock clock{};                 ///< the first node's; others have theirs in NodeOptions
    std::vector<NodeProgram> nodes{};  ///< of each run, behind those of World::add_node; so searches have several, too
    Duration resolution = std::chrono::milliseconds(1);
    Duration zombie_timeout = std::chrono::seconds(2);
    std::uint64_t dispatches_max = 1'000'000;  ///< more is a violation, INV-LIVE-01; 0: no bound
    /// An exception that leaves a node's run (an unhandled error, a deadlock) is a violation. Off: it is the outcome `error`.
    bool errors_are_violations = true;
    Chooser* chooser = nullptr;        ///< null: the baseline, nothing is asked
    std::vector<Observer*> observers{};
    std::vector<Oracle*> oracles{};
    Foresight* foresight = nullptr;    ///< told what the next steps touch, by programs that know
    /// What the program's coroutines share of their own memory is found out, kept here and touched: in programs whose sources were compiled
    /// with the hooks (memory_watch.hpp), where somebody observes. Null: nobody asks.
    SharedMemory* memory = nullptr;
    /// Called on the host's stack when the run is over and labels are still known: the moment to take a trace.
    std::function<void(const Outcome&)> at_end{};
    std::function<void()> on_violation{};  ///< called where it happened, before the world freezes: for debuggers
    /// What stands between a node's runtime and its reactor; null: nothing. Called at the beginning of each run, for each node.
    std::function<std::unique_ptr<Reactor>(SimReactor&)> door{};
    bool name_points = true;    ///< RuntimeOptions of the same name; off only where neither chooser nor observers ask for names
    bool hand_over = true;      ///< RuntimeOptions of the same name
    bool pool_contexts = true;
    /// All that can happen next is one question, of kind dispatch, for searches whose steps are coroutines and sources alike
    /// (reactor/sim_steps.cpp). Without effect where a world has several nodes, a time level above T1, or a mask.
    bool one_question = false;
};

class World final : private ViolationSink {
public:
    explicit World(WorldOptions options = {});
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// One more node, started by the next run after the ones before it. @param name label root of its main coroutine; a literal
    void add_node(std::string_view name, Program program, const NodeOptions& options = {});

    /// Runs `program` as the only node, or as the first of several, until all have ended or a violation froze the world.
    /// The world may run again after it, also after a violation.
    Outcome run(const Program& program);

    /// Other options for the next run; keeps memory. Cost: well under a microsecond.
    void configure(const WorldOptions& options) { options_ = options; }
    [[nodiscard]] const WorldOptions& options() const { return options_; }
    WorldOptions& mutable_options() { return options_; }

    /// The first node's, while it runs or after a run that ended well.
    [[nodiscard]] Runtime& runtime() { return *nodes_.front()->runtime; }
    [[nodiscard]] SimReactor& reactor() { return *nodes_.front()->reactor; }
    [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
    [[nodiscard]] Runtime& runtime(std::size_t node) { return *nodes_[node]->runtime; }
    [[nodiscard]] SimReactor& reactor(std::size_t node) { return *nodes_[node]->reactor; }
    /// Links, names and faults of this run.
    [[nodiscard]] Network& network() { return network_ != nullptr ? *network_ : reactor().machine().network(); }
    /// Opportunities and strikes of the kernel's faults, in all runs of this world so far.
    [[nodiscard]] const FaultTotals& fault_totals() const { return fault_totals_; }
    /// What a node's clock makes of the time in this run.
    [[nodiscard]] const ClockSkew& skew(std::size_t node) const { return nodes_[node]->skew; }
    [[nodiscard]] Machine& machine(std::size_t node) { return network_ != nullptr ? network_->machine(node) : reactor().machine(); }

    /// Stops a node at once, where it stands: no destructor runs, no peer is told. Requires: several nodes, and not the one that runs.
    void crash(std::size_t node);
    [[nodiscard]] bool has_crashed(std::size_t node) const { return nodes_[node]->crashed; }
    /// Starts a node that has crashed or ended anew, with its program from the beginning.
    void restart(std::size_t node);
    [[nodiscard]] LabelBook& labels() { return labels_; }
    [[nodiscard]] Prng& prng() { return prng_; }
    /// Part of the state that two orders of one trace must have in common (show_state). In no order but that of each coroutine.
    void show(std::uint64_t value);
    /// All that the present or last run showed.
    [[nodiscard]] std::uint64_t state_digest() const { return state_; }
    /// True once a violation has frozen the present run.
    [[nodiscard]] bool is_frozen() const { return frozen_; }

    /// The world whose run is in progress on this thread, or null.
    [[nodiscard]] static World* current() noexcept;

private:
    struct Node {
        std::string_view name;
        Program program;
        std::unique_ptr<SimReactor> reactor;
        std::unique_ptr<Reactor> door;  // in front of it, where the options ask for one
        std::unique_ptr<Runtime> runtime;
        Fiber fiber;
        Fiber* parked = nullptr;  // where it waits for the other nodes
        Stack stack{};
        Scheduler* ambient = nullptr;
        ErrorValue error{};
        World* world = nullptr;
        Instant next{};
        bool finished = false;
        bool idle = false;
        bool may_advance = false;
        bool crashed = false;
        bool daemon = false;
        bool told_to_end = false;
        NodeClock clock{};
        ClockSkew skew{};  // of this run
        bool clock_is_set = true;
        StepPlan plan{};  // of the scheduler's part in the one question
    };

    void violated(const Violation& violation) override;
    static void node_entry(void* argument);
    void watch_memory();
    void prepare(Node& node, bool alone, std::size_t index);
    void drive(bool alone);
    void enter(Node& node);
    bool idle(Node& node, Instant next);
    Node* pick();
    void end_daemons();
    void set_clock(Node& node);
    void choose_clock(Node& node);
    void count_faults();
    void take_nodes();
    void bury();
    Outcome conclude();

    WorldOptions options_;
    LabelBook labels_;
    ObserverList observers_;
    Prng prng_;
    VirtualClock clock_;
    std::unique_ptr<MemoryWatch> memory_;  // null unless somebody asked for it
    std::unique_ptr<StackPool> stacks_;
    std::unique_ptr<Network> network_;  // of a run with several nodes; before them, so that they go first
    std::vector<std::unique_ptr<Node>> nodes_;
    std::size_t own_nodes_ = 1;  // the first one, and those of add_node; behind them those of the options
    Program first_program_;
    Fiber host_;
    std::unique_ptr<Fiber> gone_;  // the flow that a violation left
    Node* running_ = nullptr;
    Violation violation_;
    std::map<std::uint64_t, std::uint64_t> shown_;  // so far, by coroutine
    std::uint64_t state_ = 0;
    FaultTotals fault_totals_;
    bool frozen_ = false;
    bool on_host_ = true;
};

/// The running coroutine says what the program has come to: a sum, a size, a hash. A search that audits what coroutines share compares it
/// between orders of one trace, where it must be the same. Elsewhere it does nothing. Suspends: never. Choice points: none.
void show_state(std::uint64_t value);

}  // namespace heddle::sim
