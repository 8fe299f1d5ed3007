// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/litmus/machine.hpp"

#include <utility>

namespace heddle::prop {
namespace {

constexpr Label root{hash_text("litmus")};

void run_thread(const std::shared_ptr<Machine>& machine, const Litmus::Body& body) {
    Thread thread(*machine);
    body(thread);
}

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
        // The threads outlive main, which ends with its first step.
        const auto machine = std::make_shared<Machine>(*litmus, current_runtime("litmus").scheduler());
        machine->self_ = machine;
        for (const std::uint32_t index : litmus->threads_) {
            const Named& named = litmus->bodies_[index];
            spawn(Name::of(named.name), [machine, &named] { run_thread(machine, named.body); });
        }
    };
}

Machine::Machine(const Litmus& litmus, Scheduler& scheduler)
    : litmus_(litmus), scheduler_(scheduler), values_(litmus.initial_), locks_(litmus.locks_), channels_(litmus.channels_) {
    for (const std::int64_t height : litmus.latches_) { latches_.push_back({height, {}}); }
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

void Thread::begin(Stated stated, Cell cell, TouchMode mode) {
    if (together_ > 0) { return; }
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

void Thread::own() { begin(Stated::cell, cell(root, "nobody's"), TouchMode::read); }

void Thread::start(BodyName body, std::string_view name) {
    own();
    const Litmus::Named& named = machine_.litmus_.bodies_[body.index];
    const std::string text(name.empty() ? std::string_view(named.name) : name);
    const std::shared_ptr<Machine> machine = machine_.self_.lock();
    spawn(Name::of(text), [machine, &named] { run_thread(machine, named.body); });
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

void Thread::lock(LockName name) {
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
    begin(Stated::cell, cell(root, "nobody's"), TouchMode::read);
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
