// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/litmus/machine.hpp"

#include <utility>

#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

constexpr Label root{hash_text("litmus")};

constexpr Cell nobodys = cell(root, "nobody's");

}  // namespace

// ── the program ──

Var Litmus::array(std::int64_t size, std::int64_t initial) {
    const Var first{static_cast<std::uint32_t>(initial_.size())};
    initial_.resize(initial_.size() + static_cast<std::size_t>(size), initial);
    for (std::size_t i = cells_.size(); i < initial_.size(); ++i) { cells_.push_back(cell(root, "var", i)); }
    return first;
}

ChannelName Litmus::channel(std::int64_t count) {
    const ChannelName first{channels_};
    channels_ += static_cast<std::uint32_t>(count);
    return first;
}

LatchName Litmus::latch(std::int64_t height) {
    latches_.push_back(height);
    return {static_cast<std::uint32_t>(latches_.size() - 1)};
}

BodyName Litmus::body(std::string name, Body body) {
    bodies_.push_back({std::move(name), std::move(body)});
    return {static_cast<std::uint32_t>(bodies_.size() - 1)};
}

void Litmus::thread(std::string name, Body body) { threads_.push_back(this->body(std::move(name), std::move(body)).index); }

sim::Program Litmus::program() const {
    return [litmus = std::make_shared<const Litmus>(*this)] {
        // The threads outlive main where it ends with its first step.
        const auto machine = std::make_shared<Machine>(*litmus, current_runtime("litmus").scheduler());
        machine->self_ = machine;
        if (litmus->edit_.bystander) { machine->start_bystander(); }
        litmus->sampling_.staged ? machine->run_staged() : machine->run_together();
    };
}

Machine::Machine(const Litmus& litmus, Scheduler& scheduler)
    : litmus_(litmus),
      scheduler_(scheduler),
      values_(litmus.initial_),
      locks_(litmus.locks_),
      channels_(litmus.channels_),
      conditions_(litmus.conditions_) {
    for (const std::int64_t height : litmus.latches_) { latches_.push_back({height, {}}); }
    sim::World* world = sim::World::current();
    if (world == nullptr) { return; }
    foresight_ = world->options().foresight;
    if (world->options().name_points) { static_cast<void>(world->labels().root("litmus")); }  // so that its cells have names
}

void Machine::run(const Litmus::Named& named) {
    Thread thread(*this);
    named.body(thread);
}

void Machine::start_bystander() const {
    spawn("bystander", [] {
        for (int i = 0; i < 3; ++i) { heddle::yield(); }
    });
}

void Machine::run_together() {
    const std::shared_ptr<Machine> self = self_.lock();
    running_ = litmus_.threads_.size();
    for (const std::uint32_t index : litmus_.threads_) {
        const Litmus::Named& named = litmus_.bodies_[index];
        spawn(Name::of(named.name), [self, &named] {
            self->run(named);
            if (--self->running_ == 0) { self->conclude(); }
        });
    }
}

void Machine::run_staged() {
    const std::shared_ptr<Machine> self = self_.lock();
    Thread main(*this);
    std::deque<Gate> ended(litmus_.threads_.size());
    const auto given = [](std::size_t index) { return cell(root, "ended", index); };
    for (std::size_t i = 0; i < ended.size(); ++i) {
        const Litmus::Named& named = litmus_.bodies_[litmus_.threads_[i]];
        for (std::int64_t pad = 0; pad < litmus_.sampling_.pad; ++pad) { main.own(); }
        main.own();
        spawn(Name::of(named.name), [self, &named, &gate = ended[i], cell = given(i)] {
            Thread thread(*self);
            named.body(thread);
            gate.open(thread, cell);
        });
    }
    for (std::size_t i = 0; i < ended.size(); ++i) {
        ended[i].pass(main, given(i));
        main.own();
    }
    conclude();
}

void Machine::conclude() {
    if (!litmus_.at_end_) { return; }
    const std::string failed = litmus_.at_end_(*this);
    if (!failed.empty()) { Thread(*this).fail(failed); }
}

void Machine::wake_one(std::vector<Ref<OneShotEvent>>& queue, std::string_view what) {
    const std::uint32_t chosen = sim::choose(static_cast<std::uint32_t>(queue.size()), what);
    const Ref<OneShotEvent> event = queue[chosen];
    queue.erase(queue.begin() + chosen);
    event->complete();
}

// ── steps ──

void Thread::next_step() {
    if (due_) {
        std::exchange(due_, {})();
    } else if (begun_) {
        heddle::yield();
    }
    begun_ = true;
}

void Thread::begin(Stated stated, Cell cell, TouchMode mode, sim::CellUse use) {
    if (together_ > 0) { return; }
    if (machine_.litmus_.edit_.pauses && begun_ && !due_) { heddle::yield(); }
    if (machine_.foresight_ != nullptr && begun_) {
        if (cell == nobodys) {
            machine_.foresight_->foresee_nothing();
        } else if (stated != Stated::nothing) {
            machine_.foresight_->foresee(cell, mode, use);
        }
    }
    next_step();
    if (stated == Stated::cell) { machine_.scheduler().state_footprint(cell, mode); }
}

void Thread::touch(Cell cell, TouchMode mode) {
    const Scheduler& scheduler = machine_.scheduler();
    if (scheduler.observed()) { scheduler.observer()->on_touch(cell, mode); }
}

std::int64_t Thread::read(Var x) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::read);
    touch(cell, TouchMode::read);
    return machine_.at(x);
}

void Thread::write(Var x, std::int64_t value) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::write);
    touch(cell, TouchMode::write);
    machine_.at(x) = value;
}

std::int64_t Thread::exchange(Var x, std::int64_t value) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::write);
    touch(cell, TouchMode::write);
    return std::exchange(machine_.at(x), value);
}

std::int64_t Thread::add(Var x, std::int64_t by) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::write);
    touch(cell, TouchMode::write);
    return std::exchange(machine_.at(x), machine_.at(x) + by);
}

void Thread::add_commuting(Var x, std::int64_t by) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::add);
    touch(cell, TouchMode::add);
    machine_.at(x) += by;
}

bool Thread::compare_and_swap(Var x, std::int64_t from, std::int64_t to) {
    const Cell cell = machine_.cell_of(x);
    begin(Stated::cell, cell, TouchMode::write);
    const bool wins = machine_.at(x) == from;
    touch(cell, wins ? TouchMode::write : TouchMode::read);
    if (wins) { machine_.at(x) = to; }
    return wins;
}

void Thread::own() { begin(Stated::cell, nobodys, TouchMode::read); }

void Thread::start(BodyName body, std::string_view name) {
    own();
    Scheduler& scheduler = machine_.scheduler();
    if (together_ == 0) { scheduler.state_footprint(cell(scheduler.current_scope()->label(), "flag"), TouchMode::read); }
    const Litmus::Named& named = machine_.litmus_.bodies_[body.index];
    const std::string text(name.empty() ? std::string_view(named.name) : name);
    const std::shared_ptr<Machine> machine = machine_.self_.lock();
    spawn(Name::of(text), [machine, &named] { machine->run(named); });
}

// ── waits ──

void Thread::park(const Ref<OneShotEvent>& event) { static_cast<void>(await_event(*event)); }

void Gate::open(Thread& by, Cell given) {
    by.touch(given, TouchMode::give);
    open_ = true;
    if (waiter_) { std::exchange(waiter_, {})->complete(); }
}

void Gate::pass(Thread& thread, Cell given) {
    if (!thread.begun_) { thread.own(); }  // a wait must not show in the number of steps
    thread.due_ = [this, &thread, given] {
        if (open_) {
            heddle::yield();
        } else {
            waiter_ = OneShotEvent::make(thread.machine().scheduler(), "gate");
            waiter_->leave_waits_unseen();
            const Ref<OneShotEvent> mine = waiter_;
            thread.park(mine);
        }
        thread.touch(given, TouchMode::take);
    };
}

/// Joins a queue. @returns how the next step begins
std::function<void()> Thread::parks_in(std::vector<Ref<OneShotEvent>>& queue, const char* name) {
    queue.push_back(OneShotEvent::make(machine_.scheduler(), name));
    queue.back()->leave_waits_unseen();
    return [this, event = queue.back()] { park(event); };
}

/// Free: taken. Else the caller queues, and goes on from there when it is given the lock.
void Thread::take_drawn(LockName name) {
    const Cell word = cell(root, "lock", name.index);
    begin(Stated::cell, word, TouchMode::write, sim::CellUse::lock);
    touch(word, TouchMode::write);
    Machine::Lock& lock = machine_.locks_[name.index];
    if (!std::exchange(lock.held, true)) { return; }
    due_ = parks_in(lock.queue, "lock");
}

void Thread::hand_on(LockName name) {
    Machine::Lock& lock = machine_.locks_[name.index];
    if (lock.queue.empty()) {
        lock.held = false;
    } else {
        machine_.wake_one(lock.queue, "lock");
    }
}

void Thread::wait(ConditionName condition, LockName name) {
    const Cell word = cell(root, "lock", name.index);
    begin(Stated::none, word, TouchMode::write, sim::CellUse::lock);
    touch(word, TouchMode::write);
    touch(cell(root, "condition", condition.index), TouchMode::write);
    hand_on(name);
    due_ = parks_in(machine_.conditions_[condition.index], "condition");
    take_drawn(name);
}

void Thread::signal(ConditionName condition) {
    const Cell waiters = cell(root, "condition", condition.index);
    begin(Stated::cell, waiters, TouchMode::write, sim::CellUse::lock);
    touch(waiters, TouchMode::write);
    if (!machine_.conditions_[condition.index].empty()) { machine_.wake_one(machine_.conditions_[condition.index], "condition"); }
}

void Thread::fail(std::string_view what) {
    if (machine_.litmus_.sampling_.stops) { report_violation({"CHECK", std::string(what), __FILE__, __LINE__}); }
}

void Thread::lock(LockName name) {
    if (machine_.litmus_.sampling_.draws) {
        take_drawn(name);
        return;
    }
    const Cell tail = cell(root, "lock", name.index);
    begin(Stated::cell, tail, TouchMode::write);
    touch(tail, TouchMode::write);
    Machine::Lock& lock = machine_.locks_[name.index];
    const std::uint32_t ticket = lock.next++;
    Gate& gate = Machine::gate(lock.gates, ticket);
    const Cell given = cell(Label{tail.value}, "turn", ticket);
    if (ticket == 0) { gate.open(*this, given); }
    gate.pass(*this, given);
}

void Thread::unlock(LockName name) {
    const Cell tail = cell(root, "lock", name.index);
    if (machine_.litmus_.sampling_.draws) {
        begin(Stated::cell, tail, TouchMode::write, sim::CellUse::lock);
        touch(tail, TouchMode::write);
        hand_on(name);
        return;
    }
    begin(Stated::cell, nobodys, TouchMode::read);
    Machine::Lock& lock = machine_.locks_[name.index];
    ++lock.turn;
    Machine::gate(lock.gates, lock.turn).open(*this, cell(Label{tail.value}, "turn", lock.turn));
}

void Thread::send(ChannelName name, std::int64_t value) {
    Machine::Channel& channel = machine_.channels_[name.index];
    const Cell tail = cell(root, "tail", name.index);
    begin(Stated::nothing, {});
    const Cell slot = cell(Label{tail.value}, "slot", channel.slots.size());
    touch(tail, TouchMode::write);
    touch(slot, TouchMode::write);
    channel.slots.push_back(value);
    Machine::gate(channel.gates, channel.slots.size() - 1).open(*this, cell(Label{tail.value}, "filled", channel.slots.size() - 1));
}

std::optional<std::int64_t> Thread::poll(ChannelName name) {
    Machine::Channel& channel = machine_.channels_[name.index];
    const Cell slot = cell(Label{cell(root, "tail", name.index).value}, "slot", channel.head);
    begin(Stated::cell, slot, TouchMode::read);
    touch(slot, TouchMode::read);
    if (channel.head == channel.slots.size()) { return std::nullopt; }
    return channel.slots[channel.head++];
}

std::int64_t Thread::receive(ChannelName name) {
    Machine::Channel& channel = machine_.channels_[name.index];
    const Label tail{cell(root, "tail", name.index).value};
    Machine::gate(channel.gates, channel.head).pass(*this, cell(tail, "filled", channel.head));
    const Cell slot = cell(tail, "slot", channel.head);
    begin(Stated::cell, slot, TouchMode::read);
    touch(slot, TouchMode::read);
    return channel.slots[channel.head++];
}

void Thread::count_down(LatchName name) {
    Machine::Latch& latch = machine_.latches_[name.index];
    const Cell given = cell(root, "latch", name.index);
    touch(given, TouchMode::give);
    if (--latch.left == 0) { latch.gate.open(*this, given); }
}

void Thread::wait(LatchName name) { machine_.latches_[name.index].gate.pass(*this, cell(root, "latch", name.index)); }

}  // namespace heddle::prop
