// SPDX-License-Identifier: Apache-2.0
// Litmus programs: coroutines whose steps are single accesses to named cells, so that the number of their traces can be known exactly.
//
//   Litmus popl;  const Var x = popl.var(), …        once: variables, objects, threads as functions
//   popl.thread("p", [=](Thread& t) { t.write(x, 1); });
//   popl.program()                                   a sim::Program: each run has a Machine of its own
//
// LM1  One operation is one step: from one operation to the next a coroutine yields. What stands between them belongs to the step before.
// LM2  A step states its cell before it touches it; a compare-and-swap states a write, and touches R if it fails.
// LM3  A wait that `Waits::unseen` names is no event: the step behind it is merely impossible until what it needs has been given
//      (TouchMode::take), and whether it had to wait shows nowhere, not even in the number of steps.
// LM4  A program for samplers is `staged`: main starts the threads, one step each, and joins them, one step each; its locks are taken by
//      a step that is always possible, and handed to one of those that queue, drawn by a choice (docs/explorer.md, "Bug programs").
// LM5  Every step but a thread's first one is foreseen (foresight.hpp).
// Choice points: `dispatch`; `value` where a lock is handed on.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/chooser/foresight.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

class Machine;
class Thread;

/// A variable, or the first of an array.
struct Var {
    std::uint32_t index = 0;
    [[nodiscard]] Var operator[](std::int64_t offset) const { return {index + static_cast<std::uint32_t>(offset)}; }
};
struct LockName {
    std::uint32_t index = 0;
};
struct ChannelName {
    std::uint32_t index = 0;
    [[nodiscard]] ChannelName operator[](std::int64_t offset) const { return {index + static_cast<std::uint32_t>(offset)}; }
};
struct ConditionName {
    std::uint32_t index = 0;
};
/// Opens when it was counted down as often as it is high.
struct LatchName {
    std::uint32_t index = 0;
};
/// A coroutine that another one starts.
struct BodyName {
    std::uint32_t index = 0;
};

class Litmus {
public:
    using Body = std::function<void(Thread&)>;

    Var var(std::int64_t initial = 0) { return array(1, initial); }
    Var array(std::int64_t size, std::int64_t initial = 0);
    /// Its value when a run begins.
    void set(Var x, std::int64_t initial) { initial_[x.index] = initial; }
    LockName lock() { return {locks_++}; }
    ChannelName channel(std::int64_t count = 1);
    LatchName latch(std::int64_t height);
    ConditionName condition() { return {conditions_++}; }
    /// Coroutines that are there from the beginning, in this order, unless it is `staged`.
    void thread(std::string name, Body body);
    BodyName body(std::string name, Body body);

    struct Sampling {
        bool staged = true;      ///< main starts the threads and joins them
        std::int64_t pad = 0;    ///< steps without a cell before each start
        bool stops = true;       ///< `Thread::fail` ends the run; else it goes on
        bool draws = true;       ///< locks are handed on by a choice; else in the order of the queue, with waits unseen (LM3)
    };
    /// What somebody did to the program since a trace of it was taken.
    struct Edit {
        bool bystander = false;  ///< a coroutine that has nothing to do with the others, started before them
        bool pauses = false;     ///< every thread suspends once more before each of its steps but the first
    };
    void edit(const Edit& edit) { edit_ = edit; }
    /// For samplers (LM4).
    void sample(const Sampling& sampling) { sampling_ = sampling; }
    /// Called behind the last step of all; says what failed, or nothing.
    void at_end(std::function<std::string(Machine&)> judge) { at_end_ = std::move(judge); }

    /// The program owns a copy of all this.
    [[nodiscard]] sim::Program program() const;

private:
    friend class Machine;
    friend class Thread;
    struct Named {
        std::string name;
        Body body;
    };

    std::vector<std::int64_t> initial_;
    std::vector<Cell> cells_;  // of the variables
    std::uint32_t locks_ = 0;
    std::uint32_t conditions_ = 0;
    std::uint32_t channels_ = 0;
    std::vector<std::int64_t> latches_;
    std::deque<Named> bodies_;
    std::vector<std::uint32_t> threads_;
    Edit edit_{};
    Sampling sampling_{.staged = false, .stops = true, .draws = false};
    std::function<std::string(Machine&)> at_end_{};
};

/// A running coroutine's hands. Every function is one step, unless it says otherwise; all of them may suspend.
class Thread {
public:
    explicit Thread(Machine& machine) : machine_(machine) {}

    std::int64_t read(Var x);
    void write(Var x, std::int64_t value);
    /// Adds, or exchanges. @returns the value before
    std::int64_t add(Var x, std::int64_t by);
    std::int64_t exchange(Var x, std::int64_t value);
    bool compare_and_swap(Var x, std::int64_t from, std::int64_t to);
    /// A step that nobody else sees: a cell of its own, a post.
    void own();
    void start(BodyName body) { start(body, {}); }
    /// Starts the n-th of several of one kind: the name tells them apart.
    void start(BodyName body, std::string_view name);
    /// Several accesses as one step. It states nothing beforehand.
    template <class F>
    void together(F&& accesses) {
        begin(Stated::nothing, {});
        ++together_;
        std::forward<F>(accesses)();
        --together_;
    }
    /// Commuting addition, as part of `together` or alone.
    void add_commuting(Var x, std::int64_t by);

    /// W of the lock's tail; the wait is unseen, and the hand-over an enabling edge. Drawn locks (LM4): both write the lock.
    void lock(LockName lock);
    void unlock(LockName lock);
    /// Hands the lock on and queues; once woken it takes the lock, with a step of its own. Drawn locks only, as is `signal`.
    void wait(ConditionName condition, LockName lock);
    /// Wakes one of those that wait, drawn by a choice.
    void signal(ConditionName condition);

    /// The run has failed: a violation of CHECK, here. Goes on if the program counts. No step.
    void fail(std::string_view what);
    void fail_if(bool failed, std::string_view what) {
        if (failed) { fail(what); }
    }

    /// W tail, W slot. The channels are first in, first out, and have one receiver each.
    void send(ChannelName channel, std::int64_t value);
    /// R of the next slot: takes what is there, or finds nothing.
    std::optional<std::int64_t> poll(ChannelName channel);
    /// R of the next slot, possible only once it is filled.
    std::int64_t receive(ChannelName channel);

    void count_down(LatchName latch);  ///< no step: what the step before gives
    /// The next step is possible only once the latch is open. No step itself.
    void wait(LatchName latch);

    // ── for objects that have their own cells ──

    [[nodiscard]] Machine& machine() { return machine_; }
    void touch(Cell cell, TouchMode mode);
    /// The next step begins here, when what it waits for has come.
    void next_step();

private:
    friend class Gate;
    friend class Litmus;
    enum class Stated : std::uint8_t { nothing, cell, none };

    void begin(Stated stated, Cell cell, TouchMode mode = TouchMode::read, sim::CellUse use = sim::CellUse::data);
    void park(const Ref<OneShotEvent>& event);
    std::function<void()> parks_in(std::vector<Ref<OneShotEvent>>& queue, const char* name);
    void take_drawn(LockName lock);
    void hand_on(LockName lock);

    Machine& machine_;
    bool begun_ = false;
    std::uint32_t together_ = 0;
    std::function<void()> due_{};  // how the next step begins, if not by a yield
};

/// Where the step behind something waits, unseen (LM3).
class Gate {
public:
    /// Opens it: whoever waits goes on.
    void open(Thread& by, Cell given);
    [[nodiscard]] bool is_open() const { return open_; }
    /// The next step of `thread` is possible only when this is open. No step itself.
    void pass(Thread& thread, Cell given);
    /// It is passable again from here on only after another `open`.
    void shut() { open_ = false; }

private:
    bool open_ = false;
    Ref<OneShotEvent> waiter_{};
};

/// The shared state of one run.
class Machine {
public:
    Machine(const Litmus& litmus, Scheduler& scheduler);

    [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
    [[nodiscard]] Cell cell_of(Var x) const { return litmus_.cells_[x.index]; }
    [[nodiscard]] std::int64_t& at(Var x) { return values_[x.index]; }
    [[nodiscard]] const std::vector<std::int64_t>& values() const { return values_; }
    /// State of a program's own objects, made by whoever asks first. One type per program.
    template <class T>
    [[nodiscard]] T& object() {
        if (!object_) { object_ = std::make_shared<T>(); }
        return *static_cast<T*>(object_.get());
    }

private:
    friend class Litmus;
    friend class Thread;
    struct Lock {
        std::uint32_t next = 0;  // ticket of who comes next
        std::uint32_t turn = 0;  // ticket of who has it, or may have it
        std::deque<Gate> gates;  // by ticket
        bool held = false;       // drawn locks: somebody has it
        std::vector<Ref<OneShotEvent>> queue{};
    };
    struct Channel {
        std::deque<std::int64_t> slots;  // all that were ever sent
        std::deque<Gate> gates;          // by slot
        std::size_t head = 0;
    };
    struct Latch {
        std::int64_t left = 0;
        Gate gate;
    };
    static Gate& gate(std::deque<Gate>& gates, std::size_t index) {
        if (gates.size() <= index) { gates.resize(index + 1); }
        return gates[index];
    }

    void run(const Litmus::Named& named);
    void start_bystander() const;
    void run_staged();
    void run_together();
    void conclude();
    /// One of the queue, by a choice.
    void wake_one(std::vector<Ref<OneShotEvent>>& queue, std::string_view what);

    const Litmus& litmus_;
    std::weak_ptr<Machine> self_{};
    sim::Foresight* foresight_ = nullptr;
    Scheduler& scheduler_;
    std::vector<std::int64_t> values_;
    std::vector<Lock> locks_;
    std::vector<Channel> channels_;
    std::vector<Latch> latches_;
    std::vector<std::vector<Ref<OneShotEvent>>> conditions_;  // who waits
    std::size_t running_ = 0;  // threads that have not ended, where somebody asks
    std::shared_ptr<void> object_{};
};

}  // namespace heddle::prop
