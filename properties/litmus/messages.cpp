// SPDX-License-Identifier: Apache-2.0
// Litmus programs of mailboxes (Concuerror) and of messages to handlers (Event-DPOR).
//
// A post is a step that nobody else sees, and makes the message possible; a message is a coroutine of its own. An unordered mailbox takes
// its messages in any order: those of one handler conflict through the cells of their bodies alone, but bodies of more than one step
// exclude each other.
#include "heddle/properties/litmus/litmus.hpp"

namespace heddle::prop {
namespace {

using sim::Parameters;

std::string numbered(std::string name, std::int64_t index) { return name += std::to_string(index); }

// ── mailboxes ──

/// Receives until N messages were taken; the first two attempts that find nothing do not wait.
void drain(Thread& t, ChannelName c, std::int64_t wanted) {
    std::int64_t attempts = 2;
    while (wanted > 0) {
        if (attempts > 0) {
            if (t.poll(c)) {
                --wanted;
            } else {
                --attempts;
            }
        } else {
            t.receive(c);
            --wanted;
        }
    }
}

Litmus after_test() {
    Litmus litmus;
    const ChannelName c = litmus.channel();
    const BodyName sender = litmus.body("sender", [=](Thread& t) { t.send(c, 1); });
    litmus.thread("parent", [=](Thread& t) {
        t.poll(c);
        t.start(sender, "s1");
        drain(t, c, 1);
        t.poll(c);
        t.start(sender, "s2");
        t.start(sender, "s3");
        drain(t, c, 2);
        t.poll(c);
    });
    return litmus;
}

Litmus after_spawns() {
    Litmus litmus;
    const ChannelName c = litmus.channel();
    for (std::int64_t i = 1; i <= 3; ++i) {
        litmus.thread(numbered("s", i), [=](Thread& t) { t.send(c, i); });
    }
    litmus.thread("parent", [=](Thread& t) {
        for (int i = 0; i < 3; ++i) {
            if (t.poll(c)) { continue; }
            while (t.poll(c)) {}
        }
    });
    return litmus;
}

/// A request: which worker, and whether it wants a job or goes.
constexpr std::int64_t wants_job = 0;
constexpr std::int64_t exits = 1;

struct WorkerChannels {
    ChannelName results;
    ChannelName requests;
    ChannelName replies;  // one per worker
    ChannelName done;
};

WorkerChannels add_workers(Litmus& litmus, std::int64_t workers) {
    const WorkerChannels c{litmus.channel(), litmus.channel(), litmus.channel(workers), litmus.channel()};
    for (std::int64_t w = 0; w < workers; ++w) {
        litmus.thread(numbered("worker", w), [=](Thread& t) {
            for (;;) {
                t.send(c.requests, 2 * w + wants_job);
                const std::int64_t job = t.receive(c.replies[w]);
                if (job == 0) { break; }
                t.send(c.results, job);
            }
            t.send(c.requests, 2 * w + exits);
        });
    }
    litmus.thread("main", [=](Thread& t) { t.receive(c.done); });
    return c;
}

Litmus workers(std::int64_t count, std::int64_t jobs) {
    Litmus litmus;
    const WorkerChannels c = add_workers(litmus, count);
    litmus.thread("server", [=](Thread& t) {
        std::int64_t next = 1;
        for (std::int64_t left = count; left > 0;) {
            if (t.poll(c.results)) { continue; }
            const std::int64_t request = t.receive(c.requests);
            if (request % 2 == exits) {
                --left;
            } else {
                t.send(c.replies[request / 2], next <= jobs ? next++ : 0);
            }
        }
        t.send(c.done, 0);
    });
    return litmus;
}

Litmus workers_2() {
    Litmus litmus;
    const WorkerChannels c = add_workers(litmus, 2);
    litmus.thread("server", [=](Thread& t) {
        std::int64_t left = 2;
        std::int64_t retries = 2;
        std::vector<std::int64_t> work{1, 2};
        const auto give_first = [&](std::int64_t worker) {
            const std::int64_t job = work.front();
            work.erase(work.begin());
            t.send(c.replies[worker], job);
        };
        while (left > 0 || retries > 0 || !work.empty()) {
            const std::int64_t request = t.receive(c.requests);
            if (request % 2 == exits) {
                --left;
            } else if (!work.empty()) {
                give_first(request / 2);
            } else if (retries == 0) {
                t.send(c.replies[request / 2], 0);
            } else {
                const std::int64_t earlier = t.receive(c.results);
                const std::int64_t later = t.receive(c.results);
                --retries;
                work = {later, earlier};
                give_first(request / 2);
            }
        }
        t.receive(c.results);
        t.receive(c.results);
        t.send(c.done, 0);
    });
    return litmus;
}

// ── messages to handlers ──

/// n posters, each of one message with this body.
void post_each(Litmus& litmus, const std::string& name, std::int64_t n, const Litmus::Body& body) {
    const BodyName message = litmus.body(name, body);
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("post_" + name, i), [=](Thread& t) { t.start(message); });
    }
}

Litmus writes_and_reads(std::int64_t writes, std::int64_t reads, std::int64_t cells) {
    Litmus litmus;
    for (std::int64_t i = 0; i < cells; ++i) {
        const Var x = litmus.var();
        post_each(litmus, numbered("w", i), writes, [=](Thread& t) { t.write(x, 1); });
        post_each(litmus, numbered("r", i), reads, [=](Thread& t) { t.read(x); });
    }
    return litmus;
}

Litmus multipost1(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    const BodyName second = litmus.body("second", [=](Thread& t) { t.write(x, 1); });
    post_each(litmus, "first", n, [=](Thread& t) { t.start(second); });
    return litmus;
}

Litmus writes_and_others(std::int64_t n, bool empty) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    post_each(litmus, "x", n, [=](Thread& t) { t.write(x, 1); });
    post_each(litmus, "y", n, [=](Thread& t) { empty ? t.own() : t.write(y, 1); });
    return litmus;
}

Litmus buyers(std::int64_t n) {
    Litmus litmus;
    const Var need = litmus.var(50);
    const Var amount = litmus.array(n);
    for (std::int64_t i = 0; i < n; ++i) {
        const BodyName bid = litmus.body("bid", [=](Thread& t) {
            t.together([&] {
                if (t.read(need) > 0) { t.add(need, -t.read(amount[i])); }
            });
        });
        litmus.thread(numbered("buyer", i), [=](Thread& t) {
            t.write(amount[i], 123 * i % 10);
            t.start(bid);
        });
    }
    return litmus;
}

Litmus nonatomic(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const LockName handler = litmus.lock();
    post_each(litmus, "m", n, [=](Thread& t) {
        t.lock(handler);
        t.write(x, 1);
        t.write(y, 1);
        t.unlock(handler);
    });
    litmus.thread("other", [=](Thread& t) { t.write(x, 2); });
    return litmus;
}

Litmus ordered_posts(std::int64_t n, bool fifo) {
    Litmus litmus;
    const Var x = litmus.var();
    if (fifo) {
        const ChannelName mailbox = litmus.channel();
        litmus.thread("poster", [=](Thread& t) {
            for (std::int64_t i = 0; i < n; ++i) { t.send(mailbox, i); }
        });
        litmus.thread("handler", [=](Thread& t) {
            for (std::int64_t i = 0; i < n; ++i) {
                t.receive(mailbox);
                t.write(x, i + 1);
            }
        });
        return litmus;
    }
    const BodyName message = litmus.body("m", [=](Thread& t) { t.write(x, 1); });
    litmus.thread("poster", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) { t.start(message); }
    });
    return litmus;
}

Litmus ordered_posts_around(bool on_x) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const BodyName message = litmus.body("m", [=](Thread& t) { t.write(on_x ? x : y, 1); });
    litmus.thread("writer", [=](Thread& t) {
        t.start(message, "m1");
        t.write(x, 2);
    });
    litmus.thread("reader", [=](Thread& t) {
        t.read(x);
        t.start(message, "m2");
    });
    return litmus;
}

Litmus three_msgs() {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const LockName handler = litmus.lock();
    post_each(litmus, "short", 2, [=](Thread& t) {
        t.lock(handler);
        t.write(x, 1);
        t.unlock(handler);
    });
    post_each(litmus, "long", 1, [=](Thread& t) {
        t.lock(handler);
        t.write(y, 1);
        t.write(x, 2);
        t.unlock(handler);
    });
    litmus.thread("other", [=](Thread& t) { t.write(y, 2); });
    return litmus;
}

Litmus two_phase_commit(std::int64_t n) {
    Litmus litmus;
    const Var vote = litmus.array(n);
    const Var done = litmus.array(n);
    const Var votes = litmus.var();
    const Var decided = litmus.var();
    std::vector<BodyName> asks;
    for (std::int64_t i = 0; i < n; ++i) {
        const BodyName answer = litmus.body("answer", [=](Thread& t) {
            t.together([&] {
                t.add(votes, t.read(vote[i]));
                t.write(done[t.read(decided)], 1);
                t.add(decided, 1);
            });
        });
        asks.push_back(litmus.body(numbered("ask", i), [=](Thread& t) {
            t.together([&] {
                t.write(vote[i], 1);
                t.start(answer);
            });
        }));
    }
    const BodyName update = litmus.body("update", [=](Thread& t) {
        for (const BodyName ask : asks) { t.start(ask); }
    });
    litmus.thread("client", [=](Thread& t) {
        t.start(update);
        if (t.read(done[n - 1]) == 0) { return; }
        t.read(votes);
    });
    return litmus;
}

Litmus ping_pong(std::int64_t n) {
    Litmus litmus;
    const Var last_q = litmus.var(-1);
    const Var last_p = litmus.var(-1);
    for (std::int64_t i = 0; i < n; ++i) {
        const BodyName pong = litmus.body("pong", [=](Thread& t) {
            t.together([&] { t.write(last_p, t.read(last_p) < i ? i : n + 1); });
        });
        litmus.thread(numbered("ping", i), [=](Thread& t) {
            t.together([&] {
                if (t.read(last_q) < i) {
                    t.write(last_q, i);
                    t.start(pong);
                } else {
                    t.write(last_q, n + 1);
                }
            });
        });
    }
    return litmus;
}

}  // namespace

std::vector<sim::Scenario> litmus_messages() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, std::vector<sim::Parameter> parameters,
                         std::function<Litmus(const Parameters&)> build) {
        all.push_back(litmus_scenario(name, about, std::move(parameters), std::move(build)));
    };
    const auto add_n = [&](const char* name, const char* about, std::int64_t initial, Litmus (*build)(std::int64_t)) {
        add(name, about, {number("n", "how many", initial, 1, 16)},
            [build](const Parameters& p) { return build(p.integer("n")); });
    };
    add("after_test", "a mailbox that is asked before, between and after its senders", {}, [](const Parameters&) { return after_test(); });
    add("after_spawns", "a mailbox that is asked while three send", {}, [](const Parameters&) { return after_spawns(); });
    add("workers", "a server gives jobs to workers who ask for them",
        {number("n", "workers", 2, 1, 4), number("k", "jobs", 2, 0, 4)},
        [](const Parameters& p) { return workers(p.integer("n"), p.integer("k")); });
    add("workers_2", "the same with jobs that come back twice", {}, [](const Parameters&) { return workers_2(); });
    add_n("nW", "n messages write a cell", 3, [](std::int64_t n) { return writes_and_reads(n, 0, 1); });
    add_n("nR", "n messages read a cell", 3, [](std::int64_t n) { return writes_and_reads(0, n, 1); });
    add_n("multipost1", "n messages post one each, which writes a cell", 3, multipost1);
    add_n("nW_nR", "n messages write a cell, n read it", 2, [](std::int64_t n) { return writes_and_reads(n, n, 1); });
    add_n("nW_n1R", "n messages write a cell, n-1 read it", 3, [](std::int64_t n) { return writes_and_reads(n, n - 1, 1); });
    add_n("two_cells_nW_nR", "nW_nR on two cells", 2, [](std::int64_t n) { return writes_and_reads(n, n, 2); });
    add_n("dep_msgs2", "n messages write x, n write y", 2, [](std::int64_t n) { return writes_and_others(n, false); });
    add_n("dep_n_indep", "n messages write x, n do nothing", 3, [](std::int64_t n) { return writes_and_others(n, true); });
    add_n("buyers", "n bid for a price", 3, buyers);
    add_n("two_handlers_2nW", "n messages on each of two handlers write one cell", 2,
          [](std::int64_t n) { return writes_and_reads(2 * n, 0, 1); });
    add_n("nonatomic_2nW", "n messages of two writes, and one write beside them", 2, nonatomic);
    add("ordered_posts1", "one posts n messages that write a cell",
        {number("n", "messages", 3, 1, 16), number("fifo", "1: the mailbox keeps their order", 0, 0, 1)},
        [](const Parameters& p) { return ordered_posts(p.integer("n"), p.integer("fifo") == 1); });
    add("ordered_posts2", "a post before a write, a read before a post", {}, [](const Parameters&) { return ordered_posts_around(false); });
    add("ordered_posts3", "the same on one cell", {}, [](const Parameters&) { return ordered_posts_around(true); });
    add("three_msgs", "a message of two writes among short ones", {}, [](const Parameters&) { return three_msgs(); });
    add_n("two_phase_commit", "a manager asks n nodes, a client looks", 2, two_phase_commit);
    add_n("ping_pong", "n numbered pings, each answered if it comes in order", 3, ping_pong);
    return all;
}

}  // namespace heddle::prop
