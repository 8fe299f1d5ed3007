// SPDX-License-Identifier: Apache-2.0
// ReducedSearch: every trace of a program, and as few schedules of each as its reduction manages (docs/explorer.md).
//
//   node d ── which process takes step d? ──▶ node d+1 ── … ──▶ the run ends: its races say which other processes must be tried where
//     enabled    those that may
//     slept      those whose turn here is covered by what was explored before, and stays so until somebody touches what they touch
//     to do      source: a set of processes · optimal: a tree of sequences (wakeup_tree.hpp) · none: all that are enabled
//
// RS1  A step is what a coroutine does from its dispatch to the next one, with everything that follows without a choice: microtasks,
//      the flush, deliveries. It is named by (process, answers to the value questions within it); all answers are explored before a
//      process sleeps, with the union of their footprints.
// RS2  Complete means: every trace was run. `none` runs every schedule, `source` and `optimal` at least one schedule of every trace
//      and, among the runs that are not redundant, at most one.
// RS3  A run is redundant if all that is enabled sleeps: what it would show was shown. It goes on to its end, unrecorded.
// RS4  In a world that puts one question (WorldOptions::one_question) what the reactor reports are steps as those of coroutines: a source
//      is a process, all deliveries that it makes at once are its step. Elsewhere, and where that question cannot say what may happen,
//      answers within the reactor (whether it polls, which source, which timer) are value questions of the step before them. Whether they
//      are asked depends on what every step did, so from the first of them on all steps count as dependent, and the search begins anew
//      with that (`whole_loop`).
//      With `optimal` a race is looked at again whenever steps behind it changed that its reversal was dropped or merged for.
// RS5  Memory is proportional to the length of a run, except that `optimal` keeps its trees, and `count_traces` a word per trace.
// RS6  The order of births within a scope shows only to a request that goes through its members, or to a shutdown. Until a run has one,
//      spawns of one scope are independent; then the search begins anew with that order as a cell.
// RS7  Where nothing can go on, the loop itself acts: it finds the deadlock and unwinds the rest. That is a step of its own, behind all
//      others.
// RS8  What coroutines share of a program's own memory shows while runs go on (SharedMemory). A run that finds more had too small
//      footprints, as had those before it: the search begins anew with what is known then.
// RS9  A step may take back what could have happened in its place: a timer, a report. What was possible before it and is not behind it,
//      and was not run, is tried before it; that makes the race of a cancelled event with its canceller.
// RS10 Where the queue decides who runs (faithful), dispatches follow each other, and whoever queues somebody conflicts with whoever queues
//      another. A source that wakes who has just parked makes it go on at once (SCH-34), so it races with the dispatch that came in place of
//      that. A reversal that cannot begin where its race does begins where that was queued.
// RS11 How many coroutines are active shows only beside zombies, whose time runs once nobody is. Until a run has one, births and ends of
//      coroutines are independent in that; then the search begins anew with their number as a cell.
// RS12 A step that races and sleeps is not run for the race, and it sleeps as what it was elsewhere. Reversed, before what made it another, it
//      may conflict with what is independent of it in this run; so of all that could go first something that is awake does.
// Chance: none.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/explore/lease.hpp"
#include "heddle/simreactor/explore/step_graph.hpp"
#include "heddle/simreactor/explore/wakeup_tree.hpp"
#include "heddle/simreactor/world/shared_memory.hpp"

namespace heddle::sim {

enum class Reduction : std::uint8_t { none, source, optimal };
[[nodiscard]] std::string_view to_string(Reduction reduction);
[[nodiscard]] std::optional<Reduction> reduction_from(std::string_view text);

/// Attach it to a world as chooser and as observer; one run per `next`.
class ReducedSearch final : public Chooser, public Observer {
public:
    /// Which of the enabled processes a new node tries first.
    enum class Baseline : std::uint8_t {
        queue,  ///< production's: the head of the ready queue
        ring,   ///< whoever ran last, as long as it can; else the next one in the order of birth, round and round
    };

    struct Options {
        Reduction reduction = Reduction::source;
        Baseline baseline = Baseline::queue;
        /// The k-th process that a node tries costs k, the first nothing; costs add up along a run, and what costs more is left out.
        std::optional<std::uint32_t> bound{};
        /// All memory of the program is one cell, which every step of a coroutine writes: complete whatever the program declares, and no
        /// reduction but that of what the runtime does by itself.
        bool sharing_any = false;
        bool one_question = false;  ///< its worlds may put one question; each run's world is to ask so while `puts_one_question`
        bool faithful = false;      ///< its worlds dispatch the head of the queue (RS10)
        bool count_traces = false;  ///< tell traces apart by their digest; else every run that is not redundant counts
        const SharedMemory* memory = nullptr;  ///< where its worlds keep what is shared (RS8); null: what is declared is all
    };

    explicit ReducedSearch(const Options& options) : options_(options) {}

    /// Prepares the next run. False when there is none.
    bool next();
    /// The present run once more, from its beginning, for somebody else to watch.
    void rewind();
    /// The run is over. @param extend  false if a violation or a limit cut it
    void finish(bool extend);

    std::uint32_t choose(const ChoicePoint& point) override;
    void on_event(const Event& event) override;
    void on_touch(Cell cell, TouchMode mode) override;
    void on_statement(Cell cell, TouchMode mode) override;
    void on_source(Label source, Instant at) override;

    /// Every trace was run, as far as no bound left one out and no run was cut.
    [[nodiscard]] bool complete() const { return exhausted_ && !bounded_ && cut_ == 0; }
    /// Nothing is left to run within the bound.
    [[nodiscard]] bool is_exhausted() const { return exhausted_; }
    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    /// Distinct ones among the runs that were neither redundant nor cut.
    [[nodiscard]] std::uint64_t traces() const { return options_.count_traces ? digests_.size() : runs_ - redundant_ - cut_; }
    [[nodiscard]] std::uint64_t redundant() const { return redundant_; }
    [[nodiscard]] bool bounded() const { return bounded_; }
    /// True if reactor answers made all steps dependent (RS4).
    [[nodiscard]] bool whole_loop() const { return whole_loop_; }
    /// The next run's world is to have this option (RS4).
    [[nodiscard]] bool puts_one_question() const { return options_.one_question && !whole_loop_; }
    /// Of the last run, when `finish` has been called: it was not redundant, and its trace.
    [[nodiscard]] bool was_redundant() const { return blocked_; }
    [[nodiscard]] std::uint64_t trace_digest() const { return graph_.digest(); }
    [[nodiscard]] const StepGraph& graph() const { return graph_; }
    [[nodiscard]] const std::unordered_set<std::uint64_t>& digests() const { return digests_; }
    /// What its step was answered, its dispatch apart. Requires: a step of the last run's graph, before `next`.
    [[nodiscard]] Answers answers_at(StepIndex step) const { return answers_of(step); }
    /// The step is the loop's own (RS7).
    [[nodiscard]] bool is_at_rest(StepIndex step) const;
    /// The number of a cell in the graph; none if nothing has touched it.
    [[nodiscard]] std::optional<std::uint32_t> number_of(Cell cell) const { return graph_.find_cell(cell); }
    // ── parts of a search (lease.hpp); between `finish` and `next`, without bound, none and source alone ──

    /// Requires: nothing was run; Options::memory knows what the lease says. A lease without nodes is the whole search.
    void load(const Lease& lease);
    [[nodiscard]] Lease save();
    /// Gives away a process of the first node that can spare one; none if no node can.
    [[nodiscard]] std::optional<Lease> split();
    /// What lies behind the first `depth` steps of the present run, as a lease that has nothing to tell anybody: the next run is behind
    /// other steps, and before `depth` all that is enabled is tried.
    [[nodiscard]] Lease cut_at(std::size_t depth);
    /// Requires: `load`; and that the node is in it.
    void apply(const UpwardRace& race);
    void apply(const LentNews& news);
    /// Of the process that this lease is about. Requires: a lease of depth 1 or more, which has run.
    [[nodiscard]] LentNews news();
    /// That process's step asked no question, so that what it touches is known before all of it is explored.
    [[nodiscard]] bool is_simple() const { return lease_depth_ > 0 && is_simple(lease_depth_ - 1); }
    [[nodiscard]] std::vector<UpwardRace> take_upward() { return std::exchange(upward_, {}); }
    /// `next` said false because a process is lent: later there may be more.
    [[nodiscard]] bool is_waiting() const { return waiting_; }
    /// What was found out while the search was divided: it has to begin anew, with RS4, RS6, RS8 or RS11.
    [[nodiscard]] bool wants_restart() const { return restart_wanted_; }
    [[nodiscard]] bool orders_shown() const { return orders_shown_; }
    [[nodiscard]] bool zombies_shown() const { return zombies_shown_; }
    [[nodiscard]] std::uint64_t cut() const { return cut_; }

    /// How much of what is known to be wanted was run, weighed by the number of siblings at each node of the present run: 0 to 1. It grows, and
    /// falls back where races ask for more.
    [[nodiscard]] double explored_share() const;
    /// Steps of the present run.
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(depth_); }

private:
    struct OwnCells {
        std::uint32_t wait = 0;
        std::uint32_t state = 0;
    };
    struct Sleeper {
        Pid pid = 0;
        std::uint32_t first = 0;  // into `feet` of its node
        std::uint32_t count = 0;
        std::uint64_t cells = 0;  // Footprint::cells
    };
    struct Node {
        std::uint32_t question = 0;      // position of its dispatch question among the answers; where its step's answers begin, if none
        bool asked = false;
        bool taken_back = false;         // its step is being run with other answers
        Pid current = 0;
        std::uint32_t explored = 0;      // processes tried before the current one
        std::uint32_t cost = 0;          // spent before this node
        std::vector<Pid> enabled{};      // in the order of the question
        std::vector<Sleeper> slept{};
        std::vector<Foot> feet{};
        std::vector<Foot> current_feet{};  // union over the answers that were tried
        std::vector<Pid> source{};
        std::vector<Pid> lent{};
        WakeupTree tree{};
    };

    [[nodiscard]] OwnCells own_cells(Pid pid, Label label);
    [[nodiscard]] bool records() const { return !skipping_ && !blocked_ && !ended_; }
    Node& new_node();
    void begin_step(Label who, bool unborn, Instant at);
    void begin_coroutine(Pid pid);
    void note_answer(const ChoicePoint& point);
    void note_taken_back();
    [[nodiscard]] bool can_begin(const Node& node) const;
    [[nodiscard]] bool place(Race& race, StepIndex end);
    void try_all(StepIndex step);
    void begin_rest();
    void open_step(Pid pid, bool asked, std::uint32_t question);
    void close_step();
    void inherit_sleep(Node& node);
    std::optional<Pid> first_choice(Node& node);
    [[nodiscard]] std::optional<Pid> other_choice(Node& node);
    [[nodiscard]] std::optional<Pid> first_branch(const Node& node) const;
    [[nodiscard]] bool sleeps(const Node& node, Pid pid) const;
    [[nodiscard]] std::size_t rank(const Node& node, StepIndex at, Pid pid) const;
    void put_to_sleep(Node& node);
    [[nodiscard]] static Footprint feet(const Node& node, const Sleeper& sleeper) {
        return {std::span(node.feet).subspan(sleeper.first, sleeper.count), sleeper.cells};
    }
    [[nodiscard]] std::uint32_t first_answer(const Node& node) const { return node.question + (node.asked ? 1 : 0); }
    [[nodiscard]] Answers answers_of(StepIndex step) const;
    bool advance();
    void resume_at(std::size_t depth, std::uint32_t answers);
    void restart();
    StepIndex race_to_source(Race race);
    bool ask_source(Node& node, const std::vector<Pid>& pids);
    static void let_sleep(Node& node, Pid pid, const std::vector<Foot>& feet);
    void join_feet(StepIndex step);
    // reduced_lease.cpp
    [[nodiscard]] std::vector<Touch> spelled(std::span<const Foot> feet) const;
    [[nodiscard]] std::vector<Label> spelled(const std::vector<Pid>& pids) const;
    [[nodiscard]] std::vector<Foot> numbered(const std::vector<Touch>& touches);
    [[nodiscard]] std::vector<Pid> numbered(const std::vector<Label>& labels);
    [[nodiscard]] std::vector<SharedMemory::Entry> known_memory() const;
    [[nodiscard]] Lease::Node saved(const Node& node, bool owned) const;
    [[nodiscard]] bool is_simple(std::size_t depth) const;
    void send_up(StepIndex node, const std::vector<Pid>& initials);
    [[nodiscard]] StepIndex race_to_tree(Race race);
    void expand_all();

    Options options_;
    StepGraph graph_;
    std::vector<Node> nodes_;   // depth_ of them are in use
    std::size_t depth_ = 0;
    std::vector<std::uint32_t> answers_;  // of the present run, in order
    std::vector<std::uint32_t> counts_;   // alternatives of each
    std::size_t position_ = 0;            // answers given in this run
    std::size_t replay_until_ = 0;        // answers before it are those of the run before
    std::size_t skip_steps_ = 0;          // steps before it are known already
    std::size_t steps_begun_ = 0;
    StepIndex first_new_ = 0;             // steps before it are those of the run before
    /// Beside the graph's races: what was decided about each holds as long as the steps up to this one stay; no_step: for this run alone.
    std::vector<StepIndex> settled_;
    std::optional<Pid> chosen_;           // a dispatch was answered, its step has not begun
    std::vector<OwnCells> own_cells_;     // by process
    std::vector<Label> doomed_;           // cancelled before they began
    bool skipping_ = false;
    bool watching_ = true;                // false: `rewind`
    bool blocked_ = false;
    bool started_ = false;
    bool exhausted_ = false;
    bool bounded_ = false;
    bool whole_loop_ = false;
    bool reactor_seen_ = false;
    bool orders_shown_ = false;
    bool zombies_shown_ = false;
    bool zombies_seen_ = false;
    bool order_read_ = false;
    bool ended_ = false;
    std::uint64_t memory_version_ = 0;    // when the present run began (RS8)
    bool at_rest_ = false;                // nothing can go on, and nothing has happened since (RS7)
    bool in_tick_ = false;
    bool in_source_ = false;              // the open step is a source's
    std::optional<Label> in_place_of_;    // who parked last, if its own tick dispatches
    std::vector<bool> coroutines_;        // by process: it is one
    GenerationMap order_cells_;  // of all scopes that were ever opened
    Reversal reversal_;
    WakeupForest forest_;  // the trees of all nodes
    std::vector<Pid> initials_;
    std::uint64_t runs_ = 0;
    std::uint64_t redundant_ = 0;
    std::uint64_t cut_ = 0;
    std::uint32_t lease_fixed_ = 0;  // Lease::fixed
    std::uint32_t lease_depth_ = 0;  // nodes before it are somebody else's (lease.hpp)
    bool leased_ = false;
    bool waiting_ = false;
    bool restart_wanted_ = false;
    std::vector<UpwardRace> upward_;
    std::unordered_set<std::uint64_t> digests_;  // counted and compared, never walked
};

}  // namespace heddle::sim
