// SPDX-License-Identifier: Apache-2.0
// Bug programs of queues, stacks and buffers, most of them without locks.
#include "heddle/properties/litmus/bugs.hpp"

#include <algorithm>
#include <optional>

namespace heddle::prop {
namespace {

using sim::Parameters;

std::string numbered(std::string name, std::int64_t index) { return name += std::to_string(index); }

// ── work stealing ──

struct WorkStealing {
    bool spin = false;
    bool planted = true;
    std::int64_t stealers = 1;
    std::int64_t items = 4;
    std::int64_t steals = 2;
};

/// The queue of one run. Slots live in arrays, each twice as large as the one before; head and tail are indices into the present one.
class StealQueue {
public:
    StealQueue(Litmus& litmus, const WorkStealing& options)
        : options_(options),
          head_(litmus.var()),
          tail_(litmus.var()),
          word_(litmus.var()),
          mutex_(litmus.lock()),
          taken_(litmus.array(options.items)) {
        for (std::int64_t size = 2; size <= 4 * options.items; size *= 2) { arrays_.push_back(litmus.array(size, nothing)); }
    }

    void push(Thread& t, std::int64_t value) const {
        Private& own = t.machine().object<Private>();
        std::int64_t tail = t.read(tail_);
        std::int64_t head = t.read(head_);
        if (tail < head + own.mask + (options_.planted ? 1 : 0)) {
            t.write(slot(own, tail), value);
            t.write(tail_, tail + 1);
            return;
        }
        lock(t);
        head = t.read(head_);
        const std::int64_t count = t.read(tail_) - head;
        head &= own.mask;
        t.write(head_, head);
        t.write(tail_, head + count);
        if (count >= own.mask) {
            std::vector<std::int64_t> copied;
            for (std::int64_t i = 0; i < count; ++i) { copied.push_back(t.read(slot(own, head + i))); }
            const std::size_t larger = own.array + 1;
            for (std::int64_t i = 0; i < count; ++i) {
                t.machine().at(arrays_.at(larger)[i]) = copied[static_cast<std::size_t>(i)];
            }
            own.array = larger;
            own.mask = 2 * own.mask + 1;
            t.write(head_, 0);
            t.write(tail_, count);
        }
        tail = t.read(tail_);
        t.write(slot(own, tail), value);
        t.write(tail_, tail + 1);
        unlock(t);
    }

    void pop(Thread& t) const {
        const Private& own = t.machine().object<Private>();
        std::int64_t tail = t.read(tail_) - 1;
        t.write(tail_, tail);
        std::int64_t head = t.read(head_);
        if (head <= tail) {
            got(t, t.read(slot(own, tail)));
            return;
        }
        t.write(tail_, tail + 1);
        lock(t);
        tail = t.read(tail_) - 1;
        t.write(tail_, tail);
        head = t.read(head_);
        std::int64_t result = nothing;
        if (head <= tail) {
            result = t.read(slot(own, tail));
        } else {
            t.write(tail_, tail + 1);
        }
        head = t.read(head_);
        if (head > tail) {
            t.write(head_, 0);
            t.write(tail_, 0);
        } else {
            got(t, result);
        }
        unlock(t);
    }

    void steal(Thread& t) const {
        const Private& own = t.machine().object<Private>();
        lock(t);
        const std::int64_t head = t.read(head_);
        t.write(head_, head + 1);
        std::optional<std::int64_t> result;
        if (head < t.read(tail_)) {
            result = t.read(slot(own, head));
        } else {
            t.write(head_, head);
        }
        unlock(t);
        if (result) { got(t, *result); }
    }

    [[nodiscard]] std::string judge(Machine& machine) const {
        if (machine.object<Private>().unwritten) { return "a slot was taken that was never written"; }
        for (std::int64_t i = 0; i < options_.items; ++i) {
            const std::int64_t times = machine.at(taken_[i]);
            if (times != 1) { return "item " + std::to_string(i) + " was taken " + std::to_string(times) + " times"; }
        }
        return {};
    }

private:
    static constexpr std::int64_t nothing = -1;
    struct Private {
        std::int64_t mask = 1;
        std::size_t array = 0;
        bool unwritten = false;
    };

    [[nodiscard]] Var slot(const Private& own, std::int64_t index) const { return arrays_.at(own.array)[index & own.mask]; }

    void lock(Thread& t) const {
        if (!options_.spin) {
            t.lock(mutex_);
            return;
        }
        while (t.exchange(word_, 1) == 1) { t.own(); }
    }
    void unlock(Thread& t) const {
        if (options_.spin) {
            t.write(word_, 0);
        } else {
            t.unlock(mutex_);
        }
    }
    void got(Thread& t, std::int64_t item) const {
        if (item == nothing) {
            t.machine().object<Private>().unwritten = true;
            return;
        }
        const std::int64_t v = t.read(taken_[item]);
        t.write(taken_[item], v + 1);
    }

    WorkStealing options_;
    Var head_;
    Var tail_;
    Var word_;
    LockName mutex_;
    Var taken_;
    std::vector<Var> arrays_{};
};

Litmus work_steal(const WorkStealing& options) {
    Litmus litmus;
    const auto queue = std::make_shared<const StealQueue>(litmus, options);
    for (std::int64_t i = 0; i < options.stealers; ++i) {
        litmus.thread(numbered("stealer", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < options.steals; ++k) { queue->steal(t); }
        });
    }
    litmus.thread("owner", [=](Thread& t) {
        for (std::int64_t i = 0; i < options.items / 2; ++i) {
            queue->push(t, 2 * i);
            queue->push(t, 2 * i + 1);
            queue->pop(t);
        }
        for (std::int64_t i = 0; i < options.items / 2; ++i) { queue->pop(t); }
    });
    litmus.at_end([=](Machine& machine) { return queue->judge(machine); });
    return litmus;
}

// ── stacks and buffers under one lock ──

Litmus stack(std::int64_t n) {
    Litmus litmus;
    const Var top = litmus.var();
    const Var flag = litmus.var();
    const Var items = litmus.array(n + 1);
    const LockName m = litmus.lock();
    litmus.thread("pusher", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) {
            t.lock(m);
            t.fail_if(t.read(top) == n, "the stack is full");
            const std::int64_t at = t.read(top);
            t.write(items[at], i);
            const std::int64_t count = t.read(top);
            t.write(top, count + 1);
            t.write(flag, 1);
            t.unlock(m);
        }
    });
    litmus.thread("popper", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) {
            t.lock(m);
            if (t.read(flag) != 0) {
                t.fail_if(t.read(top) == 0, "the stack is empty");
                const std::int64_t count = t.read(top);
                t.write(top, count - 1);
                const std::int64_t at = t.read(top);
                t.read(items[std::max<std::int64_t>(at, 0)]);
            }
            t.unlock(m);
        }
    });
    return litmus;
}

Litmus circular_buffer(std::int64_t n) {
    Litmus litmus;
    const Var send = litmus.var(1);
    const Var receive = litmus.var();
    const Var first = litmus.var();
    const Var next = litmus.var();
    const Var buffer = litmus.array(std::max<std::int64_t>(10, n));
    const LockName m = litmus.lock();
    litmus.thread("sender", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) {
            t.lock(m);
            if (t.read(send) != 0) {
                const std::int64_t at = t.read(next);
                t.write(buffer[at], i);
                t.write(next, at + 1);
                t.write(send, 0);
                t.write(receive, 1);
            }
            t.unlock(m);
        }
    });
    litmus.thread("receiver", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) {
            t.lock(m);
            if (t.read(receive) != 0) {
                std::int64_t value = -1;
                if (t.read(next) > 0) {
                    const std::int64_t at = t.read(first);
                    t.write(first, at + 1);
                    value = t.read(buffer[at]);
                }
                t.fail_if(value != i, "another item than the one that is due");
                t.write(receive, 0);
                t.write(send, 1);
            }
            t.unlock(m);
        }
    });
    return litmus;
}

Litmus queue(std::int64_t n) {
    Litmus litmus;
    const Var may_put = litmus.var(1);
    const Var may_get = litmus.var();
    const Var head = litmus.var();
    const Var tail = litmus.var();
    const Var amount = litmus.var();
    const Var items = litmus.array(n);
    const Var kept = litmus.array(n);
    const LockName m = litmus.lock();
    const auto put = [=](Thread& t, std::int64_t value) {
        const std::int64_t at = t.read(tail);
        t.write(items[at], value);
        const std::int64_t count = t.read(amount);
        t.write(amount, count + 1);
        t.write(tail, at + 1);
    };
    litmus.thread("producer", [=](Thread& t) {
        t.lock(m);
        put(t, 0);
        t.write(kept[0], 0);
        const std::int64_t front = t.read(head);
        t.fail_if(front == t.read(tail), "the queue is empty behind a put");
        t.unlock(m);
        std::int64_t value = 0;
        for (std::int64_t i = 1; i < n; ++i) {
            t.lock(m);
            if (t.read(may_put) != 0) {
                ++value;
                put(t, value);
                t.write(kept[i], value);
                t.write(may_put, 0);
                t.write(may_get, 1);
            }
            t.unlock(m);
        }
    });
    litmus.thread("consumer", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) {
            t.lock(m);
            if (t.read(may_get) != 0) {
                const std::int64_t at = t.read(head);
                const std::int64_t x = t.read(items[at]);
                const std::int64_t count = t.read(amount);
                t.write(amount, count - 1);
                t.write(head, at + 1);
                t.fail_if(x != t.read(kept[i]), "another item than the one that was kept");
                t.write(may_get, 0);
                t.write(may_put, 1);
            }
            t.unlock(m);
        }
    });
    return litmus;
}

Litmus bounded_buffer(std::int64_t n) {
    Litmus litmus;
    const Var head = litmus.var();
    const Var rear = litmus.var();
    const Var producers = litmus.var();  // that wait
    const Var consumers = litmus.var();
    const Var buffer = litmus.array(3);
    const LockName m = litmus.lock();
    const ConditionName not_full = litmus.condition();
    const ConditionName not_empty = litmus.condition();
    const auto is_full = [=](Thread& t) {
        const std::int64_t behind = (t.read(rear) + 1) % 3;
        return behind == t.read(head);
    };
    const auto is_empty = [=](Thread& t) {
        const std::int64_t front = t.read(head);
        return front == t.read(rear);
    };
    for (std::int64_t i = 0; i < 2; ++i) {
        litmus.thread(numbered("producer", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < n; ++k) {
                t.lock(m);
                if (is_full(t)) {
                    std::int64_t waiting = t.read(producers);
                    t.write(producers, waiting + 1);
                    while (is_full(t)) { t.wait(not_full, m); }
                    waiting = t.read(producers);
                    t.write(producers, waiting - 1);
                }
                std::int64_t at = t.read(rear);
                t.write(buffer[at], k);
                at = t.read(rear);
                t.write(rear, (at + 1) % 3);
                if (t.read(consumers) > 0) { t.signal(not_empty); }
                t.unlock(m);
            }
        });
    }
    for (std::int64_t i = 0; i < 2; ++i) {
        litmus.thread(numbered("consumer", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < n; ++k) {
                t.lock(m);
                if (is_empty(t)) {
                    std::int64_t waiting = t.read(consumers);
                    t.write(consumers, waiting + 1);
                    while (is_empty(t)) { t.wait(not_empty, m); }
                    waiting = t.read(consumers);
                    t.write(consumers, waiting - 1);
                }
                t.unlock(m);
                t.lock(m);
                t.fail_if(is_empty(t), "the item that was seen is gone");
                std::int64_t at = t.read(head);
                t.read(buffer[at]);
                at = t.read(head);
                t.write(head, (at + 1) % 3);
                if (t.read(producers) > 0) { t.signal(not_full); }
                t.unlock(m);
            }
        });
    }
    return litmus;
}

/// Fails by a cell that comes back: head is what it was, and what lies behind it is not.
Litmus safe_stack(std::int64_t n, std::int64_t rounds) {
    Litmus litmus;
    const Var head = litmus.var();
    const Var count = litmus.var(n);
    const Var next = litmus.array(n);
    const Var value = litmus.array(n);
    for (std::int64_t i = 0; i < n; ++i) { litmus.set(next[i], i + 1 < n ? i + 1 : -1); }
    const auto pop = [=](Thread& t) -> std::int64_t {
        while (true) {
            if (t.read(count) <= 1) { return -1; }
            const std::int64_t top = t.read(head);
            const std::int64_t behind = t.exchange(next[top], -1);
            if (behind < 0) {
                t.own();
                continue;
            }
            if (t.compare_and_swap(head, top, behind)) {
                t.add(count, -1);
                return top;
            }
            t.exchange(next[top], behind);
        }
    };
    const auto push = [=](Thread& t, std::int64_t item) {
        std::int64_t top = t.read(head);
        while (true) {
            t.write(next[item], top);
            if (t.compare_and_swap(head, top, item)) { break; }
            top = t.machine().at(head);  // what the failed exchange saw, in the same step
        }
        t.add(count, 1);
    };
    for (std::int64_t me = 0; me < n; ++me) {
        litmus.thread(numbered("t", me), [=](Thread& t) {
            for (std::int64_t round = 0; round < rounds; ++round) {
                std::int64_t item = pop(t);
                while (item < 0) {
                    t.own();
                    item = pop(t);
                }
                t.write(value[item], me);
                t.fail_if(t.read(value[item]) != me, "two have the same element");
                push(t, item);
            }
        });
    }
    return litmus;
}

}  // namespace

std::vector<sim::Scenario> litmus_queue_bugs() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, std::vector<sim::Parameter> parameters,
                         std::function<Litmus(const Parameters&)> build) {
        all.push_back(bug_scenario(name, about, std::move(parameters), std::move(build)));
    };
    add("work_steal", "a work-stealing queue whose owner sees room for one item too many",
        {number("spin", "the queue's lock spins", 0, 0, 1), number("planted", "the bug is in", 1, 0, 1), number("stealers", "thieves", 1, 1, 8),
         number("items", "pushed by the owner", 4, 2, 64), number("steals", "of each thief", 2, 1, 64)},
        [](const Parameters& p) {
            return work_steal({p.integer("spin") == 1, p.integer("planted") == 1, p.integer("stealers"), p.integer("items") / 2 * 2,
                               p.integer("steals")});
        });
    add("stack", "a flag that says the stack is not empty, and is never taken back", {number("n", "pushes and pops", 10, 1, 64)},
        [](const Parameters& p) { return stack(p.integer("n")); });
    add("circular_buffer", "turns and loop counters that part", {number("n", "items", 7, 1, 64)},
        [](const Parameters& p) { return circular_buffer(p.integer("n")); });
    add("queue", "the same with a queue and a copy of what was put", {number("n", "items", 20, 2, 64)},
        [](const Parameters& p) { return queue(p.integer("n")); });
    add("bounded_buffer", "consumers that see an item and take it in two locked sections", {number("n", "items of each", 4, 1, 64)},
        [](const Parameters& p) { return bounded_buffer(p.integer("n")); });
    add("safe_stack", "a lock-free stack of indices with an ABA on its head",
        {number("n", "threads and elements", 3, 2, 8), number("rounds", "of each", 2, 1, 16)},
        [](const Parameters& p) { return safe_stack(p.integer("n"), p.integer("rounds")); });
    return all;
}

}  // namespace heddle::prop
