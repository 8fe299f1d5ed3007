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
// Choice points: `dispatch`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
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
    LockName lock() { return {locks_++}; }
    ChannelName channel(std::int64_t count = 1);
    LatchName latch(std::int64_t height);
    /// Coroutines that are there from the beginning, in this order.
    void thread(std::string name, Body body);
    BodyName body(std::string name, Body body);

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
    std::uint32_t channels_ = 0;
    std::vector<std::int64_t> latches_;
    std::deque<Named> bodies_;
    std::vector<std::uint32_t> threads_;
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

    /// W of the lock's tail; the wait is unseen, and the hand-over an enabling edge.
    void lock(LockName lock);
    void unlock(LockName lock);

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
    enum class Stated : std::uint8_t { nothing, cell };

    void begin(Stated stated, Cell cell, TouchMode mode = TouchMode::read);
    void park(const Ref<OneShotEvent>& event);

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

    const Litmus& litmus_;
    std::weak_ptr<Machine> self_{};
    Scheduler& scheduler_;
    std::vector<std::int64_t> values_;
    std::vector<Lock> locks_;
    std::vector<Channel> channels_;
    std::vector<Latch> latches_;
    std::shared_ptr<void> object_{};
};

}  // namespace heddle::prop
