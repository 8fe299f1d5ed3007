// SPDX-License-Identifier: Apache-2.0
// Litmus programs of coroutine objects: a mutex, a pool, a channel, by their operation cells. What an object touches is declared here as
// it is for the runtime's own; `cells=whole` takes the object for one cell, `waits=unseen` its waits for no events.
#include "heddle/properties/litmus/litmus.hpp"

namespace heddle::prop {
namespace {

using sim::Parameters;

constexpr Label object{hash_text("litmus/object")};

struct View {
    bool whole = false;
    bool seen = true;
};

View view_of(const Parameters& parameters) {
    return {parameters.text("cells") == "whole", parameters.text("waits") == "seen"};
}

std::string numbered(std::string name, std::int64_t index) { return name += std::to_string(index); }

/// What the coroutines of one run share. A Litmus knows cells and gates; what an object keeps besides is made anew by its first user.
struct Turns {
    std::int64_t next = 0;
    std::int64_t released = 0;
    std::deque<Gate> gates{};
    Gate& gate(std::int64_t index) {
        while (gates.size() <= static_cast<std::size_t>(index)) { gates.emplace_back(); }
        return gates[static_cast<std::size_t>(index)];
    }
};

/// m may be inside at once; m = 1 is the mutex. Acquire t: W tail, R of the release that lets it in. Release r: W of its own cell.
class Permits {
public:
    Permits(View view, std::int64_t permits) : view_(view), permits_(permits) {}

    /// One step. @returns the ticket
    std::int64_t acquire(Thread& t) const {
        t.next_step();
        Turns& turns = t.machine().object<Turns>();
        const std::int64_t ticket = turns.next++;
        if (view_.whole) {
            t.touch(cell(object, "whole"), TouchMode::write);
        } else {
            t.touch(cell(object, "tail"), TouchMode::write);
            if (view_.seen && ticket >= permits_) { t.touch(released_cell(ticket - permits_), TouchMode::read); }
        }
        if (ticket >= permits_) { turns.gate(ticket - permits_).pass(t, given_cell(ticket - permits_)); }
        return ticket;
    }

    /// Part of the step at hand.
    void release(Thread& t, std::int64_t ticket) const {
        Turns& turns = t.machine().object<Turns>();
        const std::int64_t index = turns.released++;
        if (view_.whole) {
            t.touch(cell(object, "whole"), TouchMode::write);
        } else {
            if (permits_ > 1) { t.touch(cell(object, "relTail"), TouchMode::write); }
            if (view_.seen) {
                t.touch(released_cell(index), TouchMode::write);
                if (permits_ > 1 && ticket >= permits_) { t.touch(released_cell(ticket - permits_), TouchMode::read); }
            }
        }
        turns.gate(index).open(t, given_cell(index));
    }

private:
    [[nodiscard]] static Cell released_cell(std::int64_t index) { return cell(object, "rel", static_cast<std::uint64_t>(index)); }
    [[nodiscard]] static Cell given_cell(std::int64_t index) { return cell(object, "given", static_cast<std::uint64_t>(index)); }

    View view_;
    std::int64_t permits_;
};

Litmus permits(std::int64_t n, std::int64_t m, View view) {
    Litmus litmus;
    const Permits pool(view, m);
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            const std::int64_t ticket = pool.acquire(t);
            t.next_step();
            pool.release(t, ticket);
        });
    }
    return litmus;
}

Litmus lock_increment_unlock(std::int64_t n, View view) {
    Litmus litmus;
    const Permits mutex(view, 1);
    const Var x = litmus.var();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            const std::int64_t ticket = mutex.acquire(t);
            t.add(x, 1);
            t.next_step();
            mutex.release(t, ticket);
        });
    }
    return litmus;
}

/// push i: W tail, W slot[i]; pop j: R slot[j], whether it finds an item or waits for it.
Litmus hand_off(std::int64_t producers, std::int64_t pushes, View view) {
    Litmus litmus;
    const auto slot = [](std::int64_t index) { return cell(object, "slot", static_cast<std::uint64_t>(index)); };
    const auto given = [](std::int64_t index) { return cell(object, "given", static_cast<std::uint64_t>(index)); };
    for (std::int64_t i = 0; i < producers; ++i) {
        litmus.thread(numbered("producer", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < pushes; ++k) {
                t.next_step();
                Turns& turns = t.machine().object<Turns>();
                const std::int64_t index = turns.next++;
                if (view.whole) {
                    t.touch(cell(object, "whole"), TouchMode::write);
                } else {
                    t.touch(cell(object, "tail"), TouchMode::write);
                    t.touch(slot(index), TouchMode::write);
                }
                turns.gate(index).open(t, given(index));
            }
        });
    }
    litmus.thread("consumer", [=](Thread& t) {
        for (std::int64_t j = 0; j < producers * pushes; ++j) {
            Gate& filled = t.machine().object<Turns>().gate(j);
            if (!view.seen) { filled.pass(t, given(j)); }
            t.next_step();
            t.touch(view.whole ? cell(object, "whole") : slot(j), view.whole ? TouchMode::write : TouchMode::read);
            if (view.seen) { filled.pass(t, given(j)); }
        }
        if (view.seen) { t.own(); }  // it has the last item
    });
    return litmus;
}

Litmus yielders(std::int64_t n, std::int64_t k) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            for (std::int64_t step = 0; step < k; ++step) { t.add(x, 1); }
        });
    }
    return litmus;
}

/// What ends a wait writes wait[i], what comes too late reads it.
Litmus timeouts(std::int64_t n) {
    Litmus litmus;
    const Var wait = litmus.array(n);
    for (std::int64_t i = 0; i < n; ++i) {
        for (const char* name : {"io", "timer"}) {
            litmus.thread(numbered(name, i), [=](Thread& t) { t.compare_and_swap(wait[i], 0, 1); });
        }
    }
    return litmus;
}

Litmus cancelled_sleepers(std::int64_t n, bool log) {
    Litmus litmus;
    const Var cancelled = litmus.var();
    const Var written = litmus.var();
    for (std::int64_t i = 1; i < n; ++i) {
        litmus.thread(numbered("sleeper", i), [=](Thread& t) {
            t.together([&] {
                if (t.read(cancelled) != 0) { return; }
                if (log) {
                    t.add(written, 1);
                } else {
                    t.add_commuting(written, 1);
                }
            });
        });
    }
    litmus.thread("failing", [=](Thread& t) { t.write(cancelled, 1); });
    return litmus;
}

Litmus batches(std::int64_t n) {
    Litmus litmus;
    const Var buffer = litmus.array(n);
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("fd", i), [=](Thread& t) { t.write(buffer[i], 1); });
    }
    return litmus;
}

sim::Parameter word(const char* name, const char* about, std::vector<std::string> words) {
    sim::Parameter parameter{name, about, words.front(), true};
    parameter.words = std::move(words);
    return parameter;
}

}  // namespace

std::vector<sim::Scenario> litmus_objects() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, std::vector<sim::Parameter> parameters,
                         std::function<Litmus(const Parameters&)> build) {
        all.push_back(litmus_scenario(name, about, std::move(parameters), std::move(build)));
    };
    const sim::Parameter cells = word("cells", "what of an object is a cell", {"operation", "whole"});
    const sim::Parameter waits = word("waits", "whether somebody may see a wait", {"seen", "unseen"});
    const auto n = [](std::int64_t initial) { return number("n", "coroutines", initial, 1, 64); };
    add("lock", "n lock, increment and unlock, one step each", {n(3), cells, waits},
        [](const Parameters& p) { return lock_increment_unlock(p.integer("n"), view_of(p)); });
    add("mutex", "n lock, and unlock at the end of the step that has the lock", {n(3), cells, waits},
        [](const Parameters& p) { return permits(p.integer("n"), 1, view_of(p)); });
    add("pool", "n take one of m permits each", {n(3), number("m", "permits", 2, 1, 16), cells, waits},
        [](const Parameters& p) { return permits(p.integer("n"), p.integer("m"), view_of(p)); });
    add("chan", "p push k items each, one pops them all",
        {number("p", "producers", 2, 1, 8), number("k", "items of each", 2, 1, 16), cells, waits},
        [](const Parameters& p) { return hand_off(p.integer("p"), p.integer("k"), view_of(p)); });
    add("yielders", "n take k conflicting steps each", {n(2), number("k", "steps of each", 2, 1, 64)},
        [](const Parameters& p) { return yielders(p.integer("n"), p.integer("k")); });
    add("timeouts", "n waits, each ended by I/O or by a timer", {n(3)}, [](const Parameters& p) { return timeouts(p.integer("n")); });
    add("cancel_log", "n-1 write a log unless the n-th has cancelled them", {n(3)},
        [](const Parameters& p) { return cancelled_sleepers(p.integer("n"), true); });
    add("cancel_set", "the same with a counter in place of the log", {n(3)},
        [](const Parameters& p) { return cancelled_sleepers(p.integer("n"), false); });
    add("batches", "n independent events", {n(3)}, [](const Parameters& p) { return batches(p.integer("n")); });
    return all;
}

}  // namespace heddle::prop
