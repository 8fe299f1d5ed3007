// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/model/model.hpp"

#include <algorithm>
#include <initializer_list>
#include <unordered_set>
#include <utility>
#include <vector>

#include "heddle/properties/model/state.hpp"

namespace heddle::prop {
namespace {

using namespace model;

// ── the rules ──

class Machine {
public:
    Machine(const Code& code, State& state) : code_(code), s_(state) {}

    /// One step of a coroutine: up to its next suspension, or its end.
    void run(std::size_t index) {
        self_ = index;
        Co& me = s_.coroutines[index];
        if (me.where == Where::unstarted) {
            me.where = Where::ready;
        } else if (!resume(me)) {
            return;
        }
        while (me.where == Where::ready) {
            if (me.at == code_[index].size()) {
                me.where = Where::done;
                return;
            }
            if (!step(me, code_[index][me.at])) { return; }
        }
    }

    /// A lease that was dropped: nobody vouches for its resource (POOL-73).
    void run_background(std::size_t number) {
        --s_.pools[number].dropped;
        end_place(number);
    }

    void close_all() {
        for (Channel& channel : s_.channels) { close(channel); }
        for (Pool& pool : s_.pools) { close_pool(pool); }
        s_.main_closed = true;
    }

private:
    void note(Co& co, const std::string& what) { co.journal += (co.journal.empty() ? "" : " ") + what; }
    Co& co(int who) { return s_.coroutines[static_cast<std::size_t>(who)]; }
    void next(Co& me) { ++me.at; }

    void wake(int who, Ended how, bool granted) {
        Co& woken = co(who);
        woken.where = Where::ready;
        woken.ended = how;
        woken.granted = granted;
    }

    /// It ends with a cancellation; leases on its stack are dropped, innermost first.
    void unwind(Co& me) {
        note(me, "cancelled");
        for (; !me.held.empty(); me.held.pop_back()) {
            const Held& held = me.held.back();
            if (held.is_lease) {
                ++s_.pools[held.number].dropped;
            } else {
                release(held.number, static_cast<std::size_t>(held.what));
            }
        }
        me.where = Where::done;
    }

    /// @returns false if a pending cancellation is thrown instead; the coroutine has ended then
    bool park(Co& me, Wait wait) {
        if (me.pending) {
            me.pending = false;
            unwind(me);
            return false;
        }
        me.where = Where::parked;
        me.wait = wait;
        me.granted = false;
        me.ended = Ended::well;
        return true;
    }

    // ── going on behind a wait ──

    /// @returns whether its step goes on
    bool resume(Co& me) {
        const Wait wait = std::exchange(me.wait, Wait::none);
        const Line line = code_[self_][me.at];
        switch (wait) {
            case Wait::none:  // a yield
                if (me.ended == Ended::cancelled) { return left(me); }
                next(me);
                return true;
            case Wait::receive: {
                Channel& channel = s_.channels[line.number];
                if (me.ended == Ended::closed) { return answer(me, "closed"); }
                if (me.ended == Ended::cancelled) {
                    if (me.granted) {
                        --channel.promised_values;
                        grant_values(channel);
                    }
                    return left(me);
                }
                --channel.promised_values;
                note(me, std::to_string(pop(channel)));
                next(me);
                return true;
            }
            case Wait::slot: {
                Channel& channel = s_.channels[line.number];
                if (me.ended == Ended::closed) { return answer(me, "closed"); }
                if (me.ended == Ended::cancelled) {
                    if (me.granted && !channel.closed) {
                        --channel.promised_slots;
                        grant_slots(channel);
                    }
                    return left(me);
                }
                if (channel.closed) { return answer(me, "closed"); }
                --channel.promised_slots;
                return enter(me, channel);
            }
            case Wait::offer: {
                Channel& channel = s_.channels[line.number];
                if (me.ended == Ended::closed) { return answer(me, "closed"); }
                if (me.ended == Ended::cancelled) {
                    if (channel.offer.who == static_cast<int>(self_)) {
                        channel.offer = {};
                        grant_slots(channel);
                    }
                    return left(me);
                }
                return answer(me, "sent");
            }
            case Wait::place: {
                Pool& pool = s_.pools[line.number];
                if (me.ended == Ended::cancelled) {
                    if (me.granted && !pool.closed) {
                        --pool.promised;
                        grant_places(line.number);
                    }
                    return left(me);
                }
                if (me.ended == Ended::closed || pool.closed) { return refused(me, line); }
                --pool.promised;
                return take(me, line, true);
            }
            case Wait::gate:
                if (me.ended == Ended::cancelled) {
                    if (me.granted) {
                        release(line.number, line.how);
                    } else {
                        serve(line.number);  // those behind it may fit (MTX-04)
                    }
                    return left(me);
                }
                entered(me, line);
                return true;
            case Wait::creation: {  // A7
                Pool& pool = s_.pools[line.number];
                if (me.ended == Ended::cancelled) {
                    end_place(line.number);
                    return left(me);
                }
                ++pool.made;
                if (pool.closed) {
                    --pool.active;
                    return refused(me, line);
                }
                lend(me, line, pool.made);
                return true;
            }
        }
        return true;
    }

    bool left(Co& me) {
        unwind(me);
        return false;
    }
    bool answer(Co& me, const char* text) {
        note(me, text);
        next(me);
        return true;
    }

    // ── steps ──

    bool step(Co& me, const Line& line) {
        switch (line.op) {
            case Op::yield:
                if (!park(me, Wait::none)) { return false; }
                me.where = Where::ready;
                return false;
            case Op::cancel:
                cancel(line.number);
                next(me);
                return true;
            case Op::send: {
                Channel& channel = s_.channels[line.number];
                ++me.sends;
                if (channel.closed) { return answer(me, "closed"); }
                if (free_slots(line.number) == 0) {
                    if (park(me, Wait::slot)) { channel.senders.push_back(static_cast<int>(self_)); }
                    return false;
                }
                return enter(me, channel);
            }
            case Op::receive: {
                Channel& channel = s_.channels[line.number];
                if (free_values(channel) > 0) {
                    note(me, std::to_string(pop(channel)));
                    next(me);
                    return true;
                }
                if (channel.closed) { return answer(me, "closed"); }
                if (park(me, Wait::receive)) { channel.receivers.push_back(static_cast<int>(self_)); }
                return false;
            }
            case Op::try_send: {
                Channel& channel = s_.channels[line.number];
                ++me.sends;
                if (channel.closed) { return answer(me, "closed"); }
                if (free_slots(line.number) == 0 || (is_rendezvous(channel) && channel.receivers.empty())) { return answer(me, "full"); }
                channel.buffer.push_back(value_of(me));
                grant_values(channel);
                return answer(me, "sent");
            }
            case Op::try_receive: {
                Channel& channel = s_.channels[line.number];
                if (free_values(channel) == 0) { return answer(me, channel.closed ? "closed" : "empty"); }
                note(me, std::to_string(pop(channel)));
                next(me);
                return true;
            }
            case Op::close:
                close(s_.channels[line.number]);
                next(me);
                return true;
            case Op::acquire:
            case Op::try_acquire: {
                Pool& pool = s_.pools[line.number];
                if (pool.closed) { return refused(me, line); }
                if (free_places(line.number) > 0) { return take(me, line, false); }
                if (line.op == Op::try_acquire) { return refused(me, line); }
                if (park(me, Wait::place)) { pool.waiters.push_back(static_cast<int>(self_)); }
                return false;
            }
            case Op::give_back: {
                Pool& pool = s_.pools[line.number];
                const int resource = me.held.back().what;
                me.held.pop_back();
                next(me);
                if (line.how == 2) {
                    ++pool.dropped;
                    return true;
                }
                if (line.how == 0 && !pool.closed) { pool.idle.push_back(resource); }
                end_place(line.number);
                return true;
            }
            case Op::close_pool:
                close_pool(s_.pools[line.number]);
                next(me);
                return true;
            case Op::enter: {
                serve(line.number);
                Gate& gate = s_.gates[line.number];
                if (gate.waiters.empty() && line.how <= gate.free) {
                    gate.free -= line.how;
                    entered(me, line);
                    return true;
                }
                if (park(me, Wait::gate)) {
                    gate.waiters.push_back(static_cast<int>(self_));
                } else {
                    serve(line.number);
                }
                return false;
            }
            case Op::leave:
                me.held.pop_back();
                release(line.number, line.how);
                next(me);
                return true;
            case Op::end: break;
        }
        return false;
    }

    void cancel(std::uint32_t number) {
        if (number == 0) { return; }  // nobody has main's handle
        Co& target = s_.coroutines[number];
        if (target.where == Where::done || target.pending || (target.where == Where::ready && target.ended == Ended::cancelled)) { return; }
        if (number == self_) {
            target.pending = true;
            return;
        }
        if (target.where == Where::unstarted) {
            target.where = Where::done;
            return;
        }
        if (target.where == Where::ready) {
            // In its window: news that cannot be undone, and errors, are kept (CV-04).
            const bool kept = target.ended == Ended::closed || target.wait == Wait::offer;
            if (kept) {
                target.pending = true;
            } else {
                target.ended = Ended::cancelled;
            }
            return;
        }
        const int who = static_cast<int>(number);
        const Line line = code_[number][target.at];
        switch (target.wait) {
            case Wait::receive: std::erase(s_.channels[line.number].receivers, who); break;
            case Wait::slot: std::erase(s_.channels[line.number].senders, who); break;
            case Wait::offer: s_.channels[line.number].offer.dead = true; break;
            case Wait::place: std::erase(s_.pools[line.number].waiters, who); break;
            case Wait::gate: std::erase(s_.gates[line.number].waiters, who); break;
            case Wait::creation:
            case Wait::none: break;
        }
        wake(who, Ended::cancelled, false);
    }

    // ── channels (spec 11) ──

    [[nodiscard]] int value_of(const Co& me) const { return static_cast<int>(100 * self_) + me.sends; }
    [[nodiscard]] bool is_rendezvous(const Channel& channel) const { return &channel == s_.channels.data(); }
    [[nodiscard]] static std::size_t free_values(const Channel& channel) {
        const bool living = channel.offer.who != nobody && !channel.offer.dead;
        return channel.buffer.size() + (living ? 1 : 0) - channel.promised_values;
    }
    [[nodiscard]] std::size_t free_slots(std::size_t number) const {
        const Channel& channel = s_.channels[number];
        const std::size_t size = channel.buffer.size() + (channel.offer.who != nobody ? 1 : 0);
        return std::max<std::size_t>(capacities.at(number), 1) - size - channel.promised_slots;
    }

    /// The value goes in, or is offered until somebody takes it.
    bool enter(Co& me, Channel& channel) {
        if (!is_rendezvous(channel)) {
            channel.buffer.push_back(value_of(me));
            grant_values(channel);
            return answer(me, "sent");
        }
        channel.offer = {static_cast<int>(self_), value_of(me), false};
        grant_values(channel);
        if (channel.promised_values > channel.buffer.size()) {  // committed: it is the channel's now
            channel.buffer.push_back(channel.offer.value);
            channel.offer = {};
            return answer(me, "sent");
        }
        if (park(me, Wait::offer)) { return false; }
        channel.offer = {};
        grant_slots(channel);
        return false;
    }

    int pop(Channel& channel) {
        int value = 0;
        if (!channel.buffer.empty()) {
            value = channel.buffer.front();
            channel.buffer.pop_front();
        } else {
            value = channel.offer.value;
            wake(channel.offer.who, Ended::well, true);
            channel.offer = {};
        }
        grant_slots(channel);
        return value;
    }

    void grant_values(Channel& channel) {
        while (!channel.closed && !channel.receivers.empty() && free_values(channel) > 0) {
            const int who = channel.receivers.front();
            channel.receivers.pop_front();
            ++channel.promised_values;
            wake(who, Ended::well, true);
        }
    }

    void grant_slots(Channel& channel) {
        const auto number = static_cast<std::size_t>(&channel - s_.channels.data());
        while (!channel.closed && !channel.senders.empty() && free_slots(number) > 0) {
            const int who = channel.senders.front();
            channel.senders.pop_front();
            ++channel.promised_slots;
            wake(who, Ended::well, true);
        }
    }

    void close(Channel& channel) {
        if (channel.closed) { return; }
        channel.closed = true;
        channel.promised_slots = 0;
        for (const int who : std::exchange(channel.receivers, {})) { wake(who, Ended::closed, false); }
        if (const Offer withdrawn = std::exchange(channel.offer, {}); withdrawn.who != nobody && !withdrawn.dead) {
            wake(withdrawn.who, Ended::closed, false);
        }
        for (const int who : std::exchange(channel.senders, {})) { wake(who, Ended::closed, false); }
    }

    // ── the pools (spec 10) ──

    [[nodiscard]] std::size_t free_places(std::size_t number) const {
        return pool_places.at(number) - s_.pools.at(number).active - s_.pools.at(number).promised;
    }

    /// A5: a place is spent; on an idle resource that is nobody else's, or else on one that has to be made.
    /// @returns whether the step goes on
    bool take(Co& me, const Line& line, bool granted) {
        Pool& pool = s_.pools[line.number];
        ++pool.active;
        const bool has_idle = granted ? !pool.idle.empty() : pool.idle.size() > pool.promised;
        if (has_idle) {
            const int resource = pool.idle.front();
            pool.idle.pop_front();
            lend(me, line, resource);
            return true;
        }
        const bool suspends = line.number == 1;
        if (!suspends) {
            lend(me, line, ++pool.made);
            return true;
        }
        if (me.pending) { end_place(line.number); }  // the factory's suspension throws it
        if (park(me, Wait::creation)) { me.where = Where::ready; }
        return false;
    }

    void lend(Co& me, const Line& line, int resource) {
        me.held.push_back({true, line.number, resource});
        note(me, (line.number == 0 ? "has " : "has " + std::to_string(line.number) + "/") + std::to_string(resource));
        next(me);
    }

    bool refused(Co& me, const Line& line) {
        note(me, line.op == Op::acquire ? "closed" : "none");
        me.at = line.past;
        return true;
    }

    void end_place(std::size_t number) {
        --s_.pools[number].active;
        grant_places(number);
    }

    void grant_places(std::size_t number) {
        Pool& pool = s_.pools[number];
        while (!pool.closed && !pool.waiters.empty() && free_places(number) > 0) {
            const int who = pool.waiters.front();
            pool.waiters.pop_front();
            ++pool.promised;
            wake(who, Ended::well, true);
        }
    }

    void close_pool(Pool& pool) {
        if (pool.closed) { return; }
        pool.closed = true;
        pool.promised = 0;
        pool.idle.clear();
        for (const int who : std::exchange(pool.waiters, {})) { wake(who, Ended::closed, false); }
    }

    // ── mutexes and permits (spec 17) ──

    void entered(Co& me, const Line& line) {
        Gate& gate = s_.gates[line.number];
        me.held.push_back({false, line.number, static_cast<int>(line.how)});
        note(me, (line.number == the_permits ? "in p#" : "in m" + std::to_string(line.number) + "#") + std::to_string(++gate.entered));
        next(me);
    }

    void release(std::size_t number, std::size_t count) {
        s_.gates[number].free += count;
        serve(number);
    }

    /// In order of arrival; whoever asks for more than is free holds back those behind it (MTX-03).
    void serve(std::size_t number) {
        Gate& gate = s_.gates[number];
        while (!gate.waiters.empty()) {
            const int who = gate.waiters.front();
            const std::size_t asks = code_[static_cast<std::size_t>(who)][co(who).at].how;
            if (asks > gate.free) { return; }
            gate.waiters.pop_front();
            gate.free -= asks;
            wake(who, Ended::well, true);
        }
    }

    const Code& code_;
    State& s_;
    std::size_t self_ = 0;
};

}  // namespace

ProgramData with_models_main(const ProgramData& program) {
    ProgramData whole = program;
    Block main;
    const auto add = [](Block& block, Do what, std::initializer_list<std::uint32_t> numbers) {
        Step step;
        step.what = what;
        std::copy(numbers.begin(), numbers.end(), step.numbers.begin());
        block.push_back(std::move(step));
    };
    for (std::uint32_t i = 1; i < program.coroutines.size(); ++i) { add(main, Do::spawn, {i, 0}); }
    add(main, Do::sleep, {ProgramData::ms_max});  // time moves, slowly, also while there are steps to make
    for (std::uint32_t channel = 0; channel < ProgramData::channels; ++channel) { add(main, Do::close, {channel}); }
    for (std::uint32_t pool = 0; pool < pool_places.size(); ++pool) { add(main, Do::close_pool, {pool}); }
    for (std::uint32_t i = 1; i < program.coroutines.size(); ++i) {
        add(main, Do::attempt, {});
        main.back().blocks.resize(2);
        add(main.back().blocks[0], Do::await, {i, 0});
    }
    whole.coroutines[0] = std::move(main);
    return whole;
}

std::optional<std::set<std::string>> possible_outcomes(const ProgramData& program, std::size_t states_max) {
    Code code(program.coroutines.size());
    for (std::size_t i = 1; i < code.size(); ++i) { flatten(program.coroutines[i], code[i]); }
    State first;
    first.coroutines.resize(code.size());
    first.coroutines[0].where = Where::done;  // main is the machine's
    for (std::size_t i = 0; i < first.gates.size(); ++i) { first.gates[i].free = permits_in_all[i]; }
    std::set<std::string> outcomes;
    std::unordered_set<std::string> seen{first.key()};
    std::vector<State> open{std::move(first)};
    const auto visit = [&](State&& state) {
        if (seen.insert(state.key()).second) { open.push_back(std::move(state)); }
    };
    while (!open.empty()) {
        if (seen.size() > states_max) { return std::nullopt; }
        const State state = std::move(open.back());
        open.pop_back();
        bool moves = false;
        for (std::size_t i = 1; i < code.size(); ++i) {
            const Where where = state.coroutines[i].where;
            if (where != Where::ready && where != Where::unstarted) { continue; }
            moves = true;
            State after = state;
            Machine(code, after).run(i);
            visit(std::move(after));
        }
        for (std::size_t number = 0; number < state.pools.size(); ++number) {
            if (state.pools[number].dropped == 0) { continue; }
            moves = true;
            State after = state;
            Machine(code, after).run_background(number);
            visit(std::move(after));
        }
        if (moves) { continue; }
        if (state.main_closed) {
            outcomes.insert(state.outcome());
            continue;
        }
        State after = state;
        Machine(code, after).close_all();
        visit(std::move(after));
    }
    return outcomes;
}

}  // namespace heddle::prop
