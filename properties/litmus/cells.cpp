// SPDX-License-Identifier: Apache-2.0
// Litmus programs over shared cells: the benchmark programs of Concuerror, GenMC and Nidhugg.
#include "heddle/properties/litmus/litmus.hpp"

namespace heddle::prop {
namespace {

using sim::Parameters;

std::string numbered(std::string name, std::int64_t index) { return name += std::to_string(index); }

// ── writers, readers, compare-and-swap ──

Litmus readers(std::int64_t n, bool writer_first, bool local) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var own = litmus.array(n + 1);
    const auto writer = [=](Thread& t) { t.write(x, 1); };
    if (writer_first) { litmus.thread("writer", writer); }
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("reader", i), [=](Thread& t) {
            if (local) { t.read(own[i]); }
            t.read(x);
        });
    }
    if (!writer_first) { litmus.thread("writer", writer); }
    return litmus;
}

Litmus writers(std::int64_t n, std::int64_t readers, std::int64_t writes) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("writer", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < writes; ++k) { t.write(x, i * writes + k + 1); }
        });
    }
    for (std::int64_t i = 0; i < readers; ++i) {
        litmus.thread(numbered("reader", i), [=](Thread& t) { t.read(x); });
    }
    return litmus;
}

Litmus cas_rotation(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 1; i <= n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) { t.compare_and_swap(x, i - 1, i); });
    }
    return litmus;
}

Litmus write_and_cas(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    litmus.thread("writer", [=](Thread& t) { t.write(x, 2); });
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) { t.compare_and_swap(x, 2, 3); });
    }
    return litmus;
}

Litmus cas_and_write(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            t.compare_and_swap(x, 0, 1);
            t.write(x, i + 3);
        });
    }
    return litmus;
}

Litmus cas(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 1; i <= n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) { t.compare_and_swap(x, 0, i); });
    }
    return litmus;
}

Litmus increments(std::int64_t n, std::int64_t cells) {
    Litmus litmus;
    const Var x = litmus.array(cells);
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < cells; ++k) { t.add(x[k], 1); }
        });
    }
    return litmus;
}

Litmus locked_increments(std::int64_t n, bool nested) {
    Litmus litmus;
    const Var x = litmus.var();
    const LockName outer = litmus.lock();
    const LockName inner = litmus.lock();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            t.lock(outer);
            if (nested) { t.lock(inner); }
            const std::int64_t v = t.read(x);
            t.write(x, v + 1);
            if (nested) { t.unlock(inner); }
            t.unlock(outer);
        });
    }
    return litmus;
}

Litmus load_and_store(std::int64_t n, bool store_first) {
    Litmus litmus;
    const Var x = litmus.var();
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            if (store_first) { t.write(x, i + 1); }
            const std::int64_t v = t.read(x);
            if (!store_first) { t.write(x, v + 1); }
        });
    }
    return litmus;
}

Litmus hairbrush(std::int64_t n, std::int64_t readers) {
    Litmus litmus;
    const Var x = litmus.var();
    litmus.thread("writer", [=](Thread& t) {
        for (std::int64_t k = 1; k <= n; ++k) { t.write(x, k); }
    });
    for (std::int64_t i = 0; i < readers; ++i) {
        litmus.thread(numbered("reader", i), [=](Thread& t) {
            for (std::int64_t k = 0; k < n; ++k) { t.read(x); }
        });
    }
    return litmus;
}

// ── conditional accesses ──

Litmus popl() {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const Var z = litmus.var();
    litmus.thread("p", [=](Thread& t) { t.write(x, 1); });
    litmus.thread("q", [=](Thread& t) { t.write(y, 1); });
    litmus.thread("r", [=](Thread& t) {
        if (t.read(y) == 0) { t.write(z, 1); }
    });
    litmus.thread("s", [=](Thread& t) {
        if (t.read(z) == 1 && t.read(y) == 0) { t.write(x, 2); }
    });
    return litmus;
}

Litmus sleeping_races_6() {
    Litmus litmus;
    const Var w = litmus.var();
    const Var x = litmus.var();
    const Var y = litmus.var();
    const Var z = litmus.var();
    litmus.thread("w", [=](Thread& t) { t.write(w, 1); });
    litmus.thread("x", [=](Thread& t) { t.write(x, 1); });
    litmus.thread("y", [=](Thread& t) { t.write(y, 1); });
    litmus.thread("z", [=](Thread& t) {
        t.read(y);
        t.write(z, 1);
    });
    litmus.thread("r", [=](Thread& t) {
        if (t.read(y) == 1 && t.read(z) == 1 && t.read(x) == 1) { t.read(w); }
    });
    return litmus;
}

Litmus combination_lock_1() {
    Litmus litmus;
    const Var v = litmus.var();
    const Var w = litmus.var();
    const Var x = litmus.var();
    const Var y = litmus.var();
    const Var z = litmus.var();
    litmus.thread("p", [=](Thread& t) { t.write(z, 1); });
    litmus.thread("q", [=](Thread& t) {
        t.write(x, 1);
        t.own();
        if (t.read(y) == 1) {
            t.write(w, 1);
            t.own();
        }
    });
    litmus.thread("r", [=](Thread& t) {
        if (t.read(x) == 1) {
            t.write(y, 1);
            t.own();
            if (t.read(v) == 1) { t.read(z); }
        }
    });
    litmus.thread("s", [=](Thread& t) {
        if (t.read(w) == 1) {
            t.write(v, 1);
            t.own();
        }
    });
    return litmus;
}

Litmus lastzero(std::int64_t n) {
    Litmus litmus;
    const Var a = litmus.array(n + 1);
    litmus.thread("reader", [=](Thread& t) {
        for (std::int64_t i = n; i > 0 && t.read(a[i]) != 0; --i) {}
    });
    for (std::int64_t i = 1; i <= n; ++i) {
        litmus.thread(numbered("writer", i), [=](Thread& t) {
            const std::int64_t before = t.read(a[i - 1]);
            t.write(a[i], before + 1);
        });
    }
    return litmus;
}

Litmus exp_mem(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const LatchName all = litmus.latch(n);
    litmus.thread("first", [=](Thread& t) { t.add(x, 1); });
    for (std::int64_t i = 0; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            t.add(y, 1);
            t.count_down(all);
        });
    }
    litmus.thread("last", [=](Thread& t) {
        t.wait(all);
        t.add(x, 1);
    });
    return litmus;
}

Litmus coa(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    const Var y = litmus.var();
    const Var z = litmus.var();
    litmus.thread("a", [=](Thread& t) {
        t.write(x, 1);
        t.read(y);
        t.read(x);
    });
    litmus.thread("b", [=](Thread& t) {
        t.write(x, 2);
        t.read(z);
        t.read(x);
    });
    for (std::int64_t i = 1; i < n; ++i) {
        litmus.thread(numbered("t", i), [=](Thread& t) {
            t.write(y, i);
            t.write(z, i);
        });
    }
    return litmus;
}

Litmus shared_ptr(std::int64_t k) {
    Litmus litmus;
    const Var cells = litmus.var(3);  // x
    litmus.var(4);                    // y, behind it
    const Var p = litmus.var();
    const auto user = [=](std::int64_t own) {
        return [=](Thread& t) {
            t.write(p, 1 - own);
            for (std::int64_t i = 0; i < k; ++i) { t.read(cells[own]); }
            const std::int64_t target = t.read(p);
            const std::int64_t value = t.read(cells[target]);
            t.write(cells[target], value + 3);
        };
    };
    litmus.thread("one", user(0));
    litmus.thread("two", user(1));
    return litmus;
}

Litmus commits(std::int64_t rounds) {
    Litmus litmus;
    const Var limit = litmus.var(2);
    const Var x = litmus.var();
    for (std::int64_t j = 1; j <= 2; ++j) {
        litmus.thread(numbered("t", j), [=](Thread& t) {
            std::int64_t done = 0;
            for (std::int64_t round = 0; round < rounds; ++round) {
                if (done >= t.read(limit)) { return; }
                t.write(x, j);
                if (t.read(x) == j) { ++done; }
            }
        });
    }
    return litmus;
}

Litmus eratosthenes(std::int64_t n) {
    Litmus litmus;
    const Var a = litmus.array(n);
    for (const char* name : {"one", "two"}) {
        litmus.thread(name, [=](Thread& t) {
            for (std::int64_t i = 0; i < n; ++i) {
                if (t.read(a[i]) != 0) { continue; }
                t.write(a[i], 1);
                for (std::int64_t j = 2 * i + 2; j < n; j += i + 2) { t.write(a[j], 2); }
            }
        });
    }
    return litmus;
}

Litmus fibonacci(std::int64_t n, bool checker) {
    Litmus litmus;
    const Var cells = litmus.array(2, 1);
    for (std::int64_t own = 0; own < 2; ++own) {
        litmus.thread(numbered("t", own), [=](Thread& t) {
            for (std::int64_t i = 0; i < n; ++i) {
                // With the checker both read x first; without it each its own cell first.
                const std::int64_t first = t.read(cells[checker ? 0 : own]);
                const std::int64_t second = t.read(cells[checker ? 1 : 1 - own]);
                t.write(cells[own], first + second);
            }
        });
    }
    if (checker) {
        litmus.thread("checker", [=](Thread& t) {
            if (t.read(cells[0]) <= 144) { t.read(cells[1]); }
        });
    }
    return litmus;
}

/// Four coroutines of loads and stores: each a text of cells w to z; digits say what is stored.
Litmus stress(std::vector<std::string> threads) {
    Litmus litmus;
    const Var cells = litmus.array(4);
    std::int64_t index = 0;
    for (const std::string& text : threads) {
        litmus.thread(numbered("t", index++), [=](Thread& t) {
            for (std::size_t i = 0; i < text.size(); ++i) {
                const Var at = cells[text[i] - 'w'];
                if (i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9') {
                    t.write(at, text[++i] - '0');
                } else {
                    t.read(at);
                }
            }
        });
    }
    return litmus;
}

Litmus indexer(std::int64_t n) {
    Litmus litmus;
    const Var table = litmus.array(128);
    for (std::int64_t id = 0; id < n; ++id) {
        litmus.thread(numbered("t", id), [=](Thread& t) {
            for (std::int64_t m = 0; m < 4; ++m) {
                const std::int64_t key = 11 * m + id;
                std::int64_t h = 7 * key % 128;
                // Key 0 would look like a free place; what is stored is one more.
                while (!t.compare_and_swap(table[h], 0, key + 1)) { h = (h + 1) % 128; }
            }
        });
    }
    return litmus;
}

Litmus filesystem(std::int64_t n) {
    Litmus litmus;
    constexpr std::int64_t inodes = 32;
    constexpr std::int64_t blocks = 26;
    const Var inode = litmus.array(inodes);
    const Var busy = litmus.array(blocks);
    std::vector<LockName> inode_lock;
    std::vector<LockName> block_lock;
    for (std::int64_t i = 0; i < inodes; ++i) { inode_lock.push_back(litmus.lock()); }
    for (std::int64_t i = 0; i < blocks; ++i) { block_lock.push_back(litmus.lock()); }
    for (std::int64_t id = 0; id < n; ++id) {
        litmus.thread(numbered("t", id), [=](Thread& t) {
            const std::int64_t i = id % inodes;
            t.lock(inode_lock[static_cast<std::size_t>(i)]);
            if (t.read(inode[i]) == 0) {
                std::int64_t b = 2 * i % blocks;
                for (std::int64_t tried = 0; tried < blocks; ++tried, b = (b + 1) % blocks) {
                    const LockName lock = block_lock[static_cast<std::size_t>(b)];
                    t.lock(lock);
                    if (t.read(busy[b]) == 0) {
                        t.write(busy[b], 1);
                        t.write(inode[i], b + 1);
                        t.unlock(lock);
                        break;
                    }
                    t.unlock(lock);
                }
            }
            t.unlock(inode_lock[static_cast<std::size_t>(i)]);
        });
    }
    return litmus;
}

Litmus bug_after_1k(std::int64_t n) {
    Litmus litmus;
    const Var x = litmus.var();
    litmus.thread("checker", [=](Thread& t) {
        t.read(x);
        for (std::int64_t i = 0; i < n; ++i) { t.write(x, i); }
    });
    litmus.thread("writer", [=](Thread& t) {
        for (std::int64_t i = 0; i < n; ++i) { t.write(x, i); }
    });
    return litmus;
}

}  // namespace

std::vector<sim::Scenario> litmus_cells() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, std::vector<sim::Parameter> parameters,
                         std::function<Litmus(const Parameters&)> build) {
        all.push_back(litmus_scenario(name, about, std::move(parameters), std::move(build)));
    };
    const auto add_n = [&](const char* name, const char* about, std::int64_t initial, Litmus (*build)(std::int64_t)) {
        add(name, about, {number("n", "how many", initial, 1, 64)},
            [build](const Parameters& p) { return build(p.integer("n")); });
    };
    add_n("readers", "one writes a cell, n read their own and then it", 3, [](std::int64_t n) { return readers(n, true, true); });
    add_n("readers_2", "n read a cell, the last one writes it", 3, [](std::int64_t n) { return readers(n, false, false); });
    add_n("readers_compare", "readers", 3, [](std::int64_t n) { return readers(n, true, true); });
    add_n("writers", "n write one cell", 3, [](std::int64_t n) { return writers(n, 0, 1); });
    add_n("writers_reader", "n write one cell, one reads it", 3, [](std::int64_t n) { return writers(n, 1, 1); });
    add("two_writes", "p write one cell twice", {number("p", "processes", 2, 1, 64)},
        [](const Parameters& p) { return writers(p.integer("p"), 0, 2); });
    add_n("casrot", "the i-th swaps i-1 for i", 3, cas_rotation);
    add_n("wcas", "one writes 2, n swap 2 for 3", 3, write_and_cas);
    add_n("casw", "n swap 0 for 1, then write", 2, cas_and_write);
    add_n("cas", "n swap 0 for their own number", 3, cas);
    add_n("ainc", "n add to one cell", 3, [](std::int64_t n) { return increments(n, 1); });
    add_n("binc", "n add to two cells in order", 3, [](std::int64_t n) { return increments(n, 2); });
    add_n("cinc", "n add to three cells in order", 2, [](std::int64_t n) { return increments(n, 3); });
    add_n("lockinc", "n read and write under a lock", 3, [](std::int64_t n) { return locked_increments(n, false); });
    add_n("lock2inc", "n read and write under two locks", 3, [](std::int64_t n) { return locked_increments(n, true); });
    add_n("rw", "n write a cell and read it", 2, [](std::int64_t n) { return load_and_store(n, true); });
    add_n("inc", "n read a cell and write it", 2, [](std::int64_t n) { return load_and_store(n, false); });
    add("hairbrush", "n writes against n reads, once per reader",
        {number("n", "accesses of each", 3, 1, 16), number("readers", "how many read", 1, 1, 8)},
        [](const Parameters& p) { return hairbrush(p.integer("n"), p.integer("readers")); });
    add("popl", "conditional writes that source sets alone run into twice", {}, [](const Parameters&) { return popl(); });
    add("sleeping_races_6", "a chain of conditional reads", {}, [](const Parameters&) { return sleeping_races_6(); });
    add("combination_lock_1", "a chain of four conditional writes", {}, [](const Parameters&) { return combination_lock_1(); });
    add_n("lastzero", "a reader looks for the last 0 of an array that n writers fill", 3, lastzero);
    add_n("exp_mem", "one adds at once, another one after n others have", 3, exp_mem);
    add_n("coa", "two write and read x, between reads of what n-1 others write", 2, coa);
    add("shared_ptr", "two follow a pointer that both set", {number("k", "reads in between", 1, 0, 1000)},
        [](const Parameters& p) { return shared_ptr(p.integer("k")); });
    add("commits", "two stamp a cell and look whether their stamp is still there", {number("rounds", "at most", 6, 1, 12)},
        [](const Parameters& p) { return commits(p.integer("rounds")); });
    add_n("eratosthenes", "two sieve one array", 3, eratosthenes);
    add_n("fib_bench", "two add up each other's cell, a third looks", 2, [](std::int64_t n) { return fibonacci(n, true); });
    add_n("fib", "two add up each other's cell", 2, [](std::int64_t n) { return fibonacci(n, false); });
    add("big0", "four coroutines of loads and stores", {}, [](const Parameters&) {
        return stress({"xyzwxyz", "xyz", "x1y1x2y2x3y3", "z1w1z2w2z3w3"});
    });
    add("big1", "four coroutines of loads and stores", {}, [](const Parameters&) {
        return stress({"xyzwxyzw", "xyzwxy", "x1y1x2y2x3y3", "z1w1z2w2z3w3"});
    });
    add("big2", "four coroutines of loads and stores", {}, [](const Parameters&) {
        return stress({"xyzxy", "xyzx", "x1y1z1x2y2z2", "x3y3z3x4y4z4"});
    });
    add_n("indexer", "n put four keys each into a hash table", 11, indexer);
    add_n("filesystem", "n take a block each under its lock", 13, filesystem);
    add_n("bug_after_1k", "a read before n writes, against n writes", 3, bug_after_1k);
    return all;
}

}  // namespace heddle::prop
