// SPDX-License-Identifier: Apache-2.0
// Bug programs from reported vulnerabilities of kernels and browsers: pointers that another thread clears or frees meanwhile.
#include "heddle/properties/litmus/bugs.hpp"

namespace heddle::prop {
namespace {

/// v = R p, and a failure if there is nothing.
void dereference(Thread& t, Var p) { t.fail_if(t.read(p) == 0, "a pointer is null"); }
void release(Thread& t, Var freed) { t.fail_if(t.exchange(freed, 1) != 0, "an object is freed twice"); }

Litmus cve_2009_3547() {
    Litmus litmus;
    const Var p = litmus.var(1);
    const Var readers = litmus.var();
    const LockName m = litmus.lock();
    litmus.thread("open", [=](Thread& t) {
        t.lock(m);
        dereference(t, p);
        const std::int64_t v = t.read(readers);
        t.write(readers, v + 1);
        t.unlock(m);
    });
    litmus.thread("release", [=](Thread& t) {
        t.lock(m);
        t.write(p, 0);
        t.unlock(m);
    });
    return litmus;
}

Litmus cve_2013_1792() {
    Litmus litmus;
    const Var uid = litmus.var();
    const Var session = litmus.var();
    const LockName m = litmus.lock();
    const auto install = [=](Thread& t) {
        if (t.read(uid) != 0) { return; }
        t.lock(m);
        if (t.read(uid) == 0) {
            t.write(uid, 1);
            t.write(session, 1);
        }
        t.unlock(m);
    };
    litmus.thread("looks", [=](Thread& t) {
        if (t.read(session) == 0) { install(t); }
        dereference(t, session);
    });
    litmus.thread("installs", install);
    return litmus;
}

Litmus cve_2015_7550() {
    Litmus litmus;
    const Var flags = litmus.var();
    const Var keys = litmus.var(1);
    const LockName m = litmus.lock();
    litmus.thread("reads", [=](Thread& t) {
        if (t.read(flags) != 0) { return; }
        t.lock(m);
        dereference(t, keys);
        t.unlock(m);
    });
    litmus.thread("revokes", [=](Thread& t) {
        t.lock(m);
        t.write(flags, 2);
        t.write(keys, 0);
        t.unlock(m);
    });
    return litmus;
}

Litmus cve_2016_1972() {
    Litmus litmus;
    const Var done = litmus.var();
    const Var waiters = litmus.var();
    const Var p = litmus.var(1);
    const Var freed = litmus.var();
    const LockName m = litmus.lock();
    for (const char* name : {"a", "b"}) {
        litmus.thread(name, [=](Thread& t) {
            if (t.read(done) != 0) { return; }
            std::int64_t v = t.read(waiters);
            t.write(waiters, v + 1);
            dereference(t, p);
            t.lock(m);
            if (t.read(done) == 0) { t.write(done, 1); }
            dereference(t, p);
            t.unlock(m);
            v = t.read(waiters);
            t.write(waiters, v - 1);
            if (v != 1) { return; }
            const std::int64_t q = t.read(p);
            t.fail_if(t.exchange(freed, 1) == 1 && q != 0, "an object is freed twice");
            t.write(p, 0);
        });
    }
    return litmus;
}

Litmus cve_2016_1973() {
    Litmus litmus;
    const Var count = litmus.var();
    const Var instance = litmus.var();
    const Var freed = litmus.array(3);
    const auto get = [=](Thread& t, std::int64_t me) {
        const auto create = [&] {
            if (t.add(count, 1) == 0) {
                t.exchange(instance, me);
            } else {
                t.add(count, -1);
            }
        };
        if (t.read(count) != 0) {
            if (t.add(count, 1) == 0) {
                t.add(count, -1);
                create();
            }
        } else {
            create();
        }
        const std::int64_t q = t.read(instance);
        t.fail_if(q == 0, "there is no instance");
        t.read(freed[q]);
    };
    litmus.thread("gets", [=](Thread& t) { get(t, 2); });
    litmus.thread("gets_and_drops", [=](Thread& t) {
        get(t, 1);
        if (t.add(count, -1) != 1) { return; }
        const std::int64_t old = t.exchange(instance, 0);
        if (old != 0) { t.exchange(freed[old], 1); }
    });
    return litmus;
}

Litmus cve_2016_7911() {
    Litmus litmus;
    const Var p = litmus.var(1);
    const Var n = litmus.var();
    const LockName m = litmus.lock();
    litmus.thread("reads", [=](Thread& t) {
        if (t.read(p) == 0) { return; }
        t.read(p);
        dereference(t, p);
    });
    litmus.thread("exits", [=](Thread& t) {
        t.lock(m);
        t.read(p);
        t.write(p, 0);
        t.unlock(m);
        const std::int64_t v = t.read(n);
        t.write(n, v - 1);
    });
    return litmus;
}

Litmus cve_2016_9806() {
    Litmus litmus;
    const Var buffer = litmus.var();
    const Var freed = litmus.array(3);
    const LockName m = litmus.lock();
    for (const std::int64_t me : {1, 2}) {
        litmus.thread(me == 1 ? "a" : "b", [=](Thread& t) {
            t.lock(m);
            t.write(buffer, me);
            t.unlock(m);
            const std::int64_t q = t.read(buffer);
            release(t, freed[q]);
        });
    }
    return litmus;
}

Litmus cve_2017_6346() {
    Litmus litmus;
    const Var p = litmus.var();
    const Var freed = litmus.array(3);
    const LockName m = litmus.lock();
    for (const std::int64_t me : {1, 2}) {
        litmus.thread(me == 1 ? "a" : "b", [=](Thread& t) {
            if (me == 1) { t.own(); }
            t.write(p, me);
            if (t.read(p) == 0) { return; }
            t.read(p);
            dereference(t, p);
            t.lock(m);
            t.unlock(m);
            const std::int64_t q = t.read(p);
            if (q != 0) { release(t, freed[q]); }
            t.write(p, 0);
        });
    }
    return litmus;
}

}  // namespace

std::vector<sim::Scenario> litmus_pointer_bugs() {
    std::vector<sim::Scenario> all;
    const auto add = [&](const char* name, const char* about, Litmus (*build)()) {
        all.push_back(bug_scenario(name, about, {}, [build](const sim::Parameters&) { return build(); }));
    };
    add("cve_2009_3547", "a pipe is opened while it goes away", &cve_2009_3547);
    add("cve_2013_1792", "a session is used between two writes that install it", &cve_2013_1792);
    add("cve_2015_7550", "keys are read behind a check that came too early", &cve_2015_7550);
    add("cve_2016_1972", "the last of two that wait frees, twice", &cve_2016_1972);
    add("cve_2016_1973", "an instance is got while the last owner drops it", &cve_2016_1973);
    add("cve_2016_7911", "a context is read while it exits", &cve_2016_7911);
    add("cve_2016_9806", "two free what is left in a shared variable", &cve_2016_9806);
    add("cve_2017_6346", "a socket's fanout is dropped twice", &cve_2017_6346);
    return all;
}

}  // namespace heddle::prop
