// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/litmus/bugs.hpp"

#include <algorithm>
#include <utility>

namespace heddle::prop {
namespace {

using sim::Parameters;

std::string numbered(std::string name, std::int64_t index) { return name += std::to_string(index); }

// ── two cells, two stages ──

/// Fails when a checker's reads all fall behind the first write of a and before the first write of b.
Litmus reorder(std::int64_t setters, std::int64_t checkers) {
    Litmus litmus;
    const Var a = litmus.var();
    const Var b = litmus.var();
    for (std::int64_t i = 0; i < setters; ++i) {
        litmus.thread(numbered("setter", i), [=](Thread& t) {
            t.write(a, 1);
            t.write(b, -1);
        });
    }
    for (std::int64_t i = 0; i < checkers; ++i) {
        litmus.thread(numbered("checker", i), [=](Thread& t) {
            if (t.read(a) == 0 && t.read(b) == 0) { return; }
            if (t.read(a) == 1 && t.read(b) == -1) { return; }
            t.fail("the two writes of a setter were seen in part");
        });
    }
    return litmus;
}

Litmus twostage(std::int64_t first, std::int64_t second) {
    Litmus litmus;
    const Var d1 = litmus.var();
    const Var d2 = litmus.var();
    const LockName m1 = litmus.lock();
    const LockName m2 = litmus.lock();
    for (std::int64_t i = 0; i < first; ++i) {
        litmus.thread(numbered("first", i), [=](Thread& t) {
            t.lock(m1);
            t.write(d1, 1);
            t.unlock(m1);
            t.lock(m2);
            const std::int64_t v = t.read(d1);
            t.write(d2, v + 1);
            t.unlock(m2);
        });
    }
    for (std::int64_t i = 0; i < second; ++i) {
        litmus.thread(numbered("second", i), [=](Thread& t) {
            t.lock(m1);
            if (t.read(d1) == 0) {
                t.unlock(m1);
                return;
            }
            const std::int64_t seen = t.read(d1);
            t.unlock(m1);
            t.lock(m2);
            const std::int64_t u = t.read(d2);
            t.unlock(m2);
            t.fail_if(u != seen + 1, "the first stage was seen without the second");
        });
    }
    return litmus;
}

// ── locks that guard too little ──

Litmus bluetooth_driver() {
    Litmus litmus;
    const Var pending = litmus.var(1);
    const Var stopping = litmus.var();
    const Var event = litmus.var();
    const Var stopped = litmus.var();
    const LockName m = litmus.lock();
    const auto release = [=](Thread& t) {
        t.lock(m);
        const std::int64_t v = t.read(pending);
        t.write(pending, v - 1);
        const std::int64_t p = t.read(pending);
        t.unlock(m);
        if (p == 0) { t.write(event, 1); }
    };
    litmus.thread("stopper", [=](Thread& t) {
        t.write(stopping, 1);
        release(t);
        if (t.read(event) != 0) { t.write(stopped, 1); }
    });
    litmus.thread("adder", [=](Thread& t) {
        if (t.read(stopping) == 0) {
            t.lock(m);
            const std::int64_t v = t.read(pending);
            t.write(pending, v + 1);
            t.unlock(m);
            t.fail_if(t.read(stopped) != 0, "the driver works although it was stopped");
        }
        release(t);
    });
    return litmus;
}

Litmus stringbuffer() {
    Litmus litmus;
    const Var count = litmus.var(3);
    const LockName shared = litmus.lock();
    const LockName own = litmus.lock();
    litmus.thread("eraser", [=](Thread& t) {
        t.lock(shared);
        const std::int64_t n = std::min<std::int64_t>(3, t.read(count));
        if (n > 0) {
            const std::int64_t v = t.read(count);
            t.write(count, v - n);
        }
        t.unlock(shared);
        t.lock(shared);
        const std::int64_t v = t.read(count);
        t.write(count, v + 3);
        t.unlock(shared);
    });
    litmus.thread("appender", [=](Thread& t) {
        t.lock(own);
        t.lock(shared);
        const std::int64_t n = t.read(count);
        t.unlock(shared);
        t.lock(shared);
        t.fail_if(n > t.read(count), "the buffer is shorter than it was");
        t.unlock(shared);
        t.unlock(own);
    });
    return litmus;
}

Litmus account() {
    Litmus litmus;
    const Var balance = litmus.var(1);
    const Var deposited = litmus.var();
    const Var withdrawn = litmus.var();
    const LockName m = litmus.lock();
    const auto change = [=](std::int64_t by, Var done) {
        return [=](Thread& t) {
            t.lock(m);
            const std::int64_t v = t.read(balance);
            t.write(balance, v + by);
            t.write(done, 1);
            t.unlock(m);
        };
    };
    litmus.thread("checker", [=](Thread& t) {
        t.lock(m);
        if (t.read(deposited) != 0 && t.read(withdrawn) != 0) { t.fail_if(t.read(balance) != -5, "the balance is another one"); }
        t.unlock(m);
    });
    litmus.thread("depositor", change(2, deposited));
    litmus.thread("withdrawer", change(-4, withdrawn));
    return litmus;
}

Litmus lazy01() {
    Litmus litmus;
    const Var data = litmus.var();
    const LockName m = litmus.lock();
    const auto adder = [=](std::int64_t by) {
        return [=](Thread& t) {
            t.lock(m);
            const std::int64_t v = t.read(data);
            t.write(data, v + by);
            t.unlock(m);
        };
    };
    litmus.thread("checker", [=](Thread& t) {
        t.lock(m);
        t.fail_if(t.read(data) >= 3, "both have added");
        t.unlock(m);
    });
    litmus.thread("two", adder(2));
    litmus.thread("one", adder(1));
    return litmus;
}

Litmus carter01() {
    Litmus litmus;
    const Var users = litmus.array(2);
    const LockName m = litmus.lock();
    const LockName resource = litmus.lock();
    for (std::int64_t i = 0; i < 2; ++i) {
        litmus.thread(i == 0 ? "a" : "b", [=, x = users[i]](Thread& t) {
            t.lock(m);
            std::int64_t v = t.read(x);
            t.write(x, v + 1);
            if (t.read(x) == 1) { t.lock(resource); }
            t.unlock(m);
            t.lock(m);
            v = t.read(x);
            t.write(x, v - 1);
            if (t.read(x) == 0) { t.unlock(resource); }
            t.unlock(m);
        });
    }
    return litmus;
}

Litmus deadlock01() {
    Litmus litmus;
    const Var c = litmus.var(1);
    const LockName a = litmus.lock();
    const LockName b = litmus.lock();
    const auto locked = [=](LockName outer, LockName inner, std::int64_t by) {
        return [=](Thread& t) {
            t.lock(outer);
            t.lock(inner);
            const std::int64_t v = t.read(c);
            t.write(c, v + by);
            t.unlock(inner);
            t.unlock(outer);
        };
    };
    litmus.thread("one", locked(a, b, 1));
    litmus.thread("two", locked(b, a, -1));
    return litmus;
}

Litmus token_ring() {
    Litmus litmus;
    const Var x1 = litmus.var(1);
    const Var x2 = litmus.var(2);
    const Var x3 = litmus.var(1);
    const Var done = litmus.array(3);
    const LockName m = litmus.lock();
    const auto passes = [=](Var from, Var to, std::int64_t by, Var flag) {
        return [=](Thread& t) {
            t.lock(m);
            const std::int64_t v = t.read(from);
            t.write(to, by == 0 ? v : (v + by) % 4);
            t.write(flag, 1);
            t.unlock(m);
        };
    };
    litmus.thread("one", passes(x3, x1, 1, done[0]));
    litmus.thread("two", passes(x1, x2, 0, done[1]));
    litmus.thread("three", passes(x2, x3, 0, done[2]));
    litmus.thread("four", [=](Thread& t) {
        t.lock(m);
        if (t.read(done[0]) == 1 && t.read(done[1]) == 1 && t.read(done[2]) == 1) {
            const std::int64_t first = t.read(x1);
            const std::int64_t second = t.read(x2);
            bool equal = first == second;
            if (equal) { equal = t.read(x2) == t.read(x3); }
            t.fail_if(!equal, "the tokens differ");
        }
        t.unlock(m);
    });
    return litmus;
}

Litmus wronglock(std::int64_t n) {
    Litmus litmus;
    const Var data = litmus.var();
    const LockName m = litmus.lock();
    const LockName other = litmus.lock();
    litmus.thread("reader", [=](Thread& t) {
        t.lock(m);
        const std::int64_t x = t.read(data);
        const std::int64_t v = t.read(data);
        t.write(data, v + 1);
        t.fail_if(t.read(data) != x + 1, "somebody wrote within the locked section");
        t.unlock(m);
    });
    for (std::int64_t i = 1; i < n; ++i) {
        litmus.thread(numbered("writer", i), [=](Thread& t) {
            t.lock(other);
            const std::int64_t v = t.read(data);
            t.write(data, v + 1);
            t.unlock(other);
        });
    }
    return litmus;
}

/// Set and checkers of reorder, first and second of twostage, for the sizes that the benchmark has.
std::pair<std::int64_t, std::int64_t> reorder_split(std::int64_t n) {
    if (n == 20) { return {10, 10}; }
    if (n == 50) { return {40, 10}; }
    return {n - 1, 1};
}
std::pair<std::int64_t, std::int64_t> twostage_split(std::int64_t n) {
    if (n == 2) { return {1, 1}; }
    if (n == 20) { return {10, 10}; }
    if (n == 50) { return {40, 10}; }
    return {n - 1, 1};
}

}  // namespace

Litmus::Sampling sampling_of(const Parameters& parameters) {
    const bool counts = parameters.text("use") == "counting";
    return {.staged = parameters.text("start") == "staged", .pad = parameters.integer("pad"), .stops = !counts, .draws = !counts};
}

sim::Scenario bug_scenario(std::string name, std::string about, std::vector<sim::Parameter> parameters,
                           std::function<Litmus(const Parameters&)> build) {
    const auto word = [](const char* key, const char* what, std::vector<std::string> words) {
        sim::Parameter parameter{key, what, words.front(), true};
        parameter.words = std::move(words);
        return parameter;
    };
    parameters.push_back(word("start", "main starts and joins the others, or all are there at once", {"staged", "together"}));
    parameters.push_back(number("pad", "steps without a cell before each start", 0, 0, 64));
    parameters.push_back(word("use", "sampling: a failure ends the run, locks are handed on by a choice; counting: neither",
                              {"sampling", "counting"}));
    parameters.push_back(word("edit", "what was done to the program: one more coroutine, one more suspension before each step, both",
                              {"none", "coroutine", "suspension", "both"}));
    return litmus_scenario(std::move(name), std::move(about), std::move(parameters), [build = std::move(build)](const Parameters& given) {
        Litmus litmus = build(given);
        litmus.sample(sampling_of(given));
        const std::string& edit = given.text("edit");
        litmus.edit({.bystander = edit == "coroutine" || edit == "both", .pauses = edit == "suspension" || edit == "both"});
        return litmus;
    });
}

std::vector<sim::Scenario> litmus_bugs() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, std::vector<sim::Parameter> parameters,
                         std::function<Litmus(const Parameters&)> build) {
        all.push_back(bug_scenario(name, about, std::move(parameters), std::move(build)));
    };
    add("reorder", "setters of two cells, and checkers that must not see one without the other",
        {number("n", "threads, split as the benchmark does", 3, 2, 100), number("set", "setters; 0: by n", 0, 0, 100),
         number("check", "checkers; 0: by n", 0, 0, 100)},
        [](const Parameters& p) {
            const auto [set, check] = reorder_split(p.integer("n"));
            return reorder(p.integer("set") > 0 ? p.integer("set") : set, p.integer("check") > 0 ? p.integer("check") : check);
        });
    add("twostage", "a first stage under one lock, a second under another, and readers of both",
        {number("n", "threads, split as the benchmark does", 2, 2, 100), number("first", "writers; 0: by n", 0, 0, 100),
         number("second", "readers; 0: by n", 0, 0, 100)},
        [](const Parameters& p) {
            const auto [first, second] = twostage_split(p.integer("n"));
            return twostage(p.integer("first") > 0 ? p.integer("first") : first,
                            p.integer("second") > 0 ? p.integer("second") : second);
        });
    add("bluetooth_driver", "a driver that stops while a request is between its check and its work", {},
        [](const Parameters&) { return bluetooth_driver(); });
    add("stringbuffer", "an append in two locked sections, and an erase between them", {}, [](const Parameters&) { return stringbuffer(); });
    add("account", "a check that is wrong once deposit and withdrawal are done", {}, [](const Parameters&) { return account(); });
    add("lazy01", "a check that is wrong once both have added", {}, [](const Parameters&) { return lazy01(); });
    add("carter01", "two users of two counters that guard one resource", {}, [](const Parameters&) { return carter01(); });
    add("deadlock01", "two locks in opposite orders", {}, [](const Parameters&) { return deadlock01(); });
    add("token_ring", "three hand a token on, the fourth compares", {}, [](const Parameters&) { return token_ring(); });
    add("wronglock", "a reader under one lock, n-1 writers under another", {number("n", "threads", 4, 2, 64)},
        [](const Parameters& p) { return wronglock(p.integer("n")); });
    return all;
}

}  // namespace heddle::prop
