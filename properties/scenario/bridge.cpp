// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/bridge.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

enum class End : std::uint8_t { value, error, cancelled };

/// How a call ended. The unwinding of a run that has ended passes through.
template <class Body>
End end_of(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        return End::cancelled;
    } catch (const std::exception&) {
        return End::error;
    }
    return End::value;
}

template <class... Handles>
void join(const Handles&... handles) {
    EventSource* const inputs[] = {&handles.core()...};
    static_cast<void>(await_collect(inputs, {}));
}

/// Everything that was accepted has ended, and the books say so (THR-07).
void check_over(WorkPool& pool, std::uint64_t accepted) {
    pool.close();
    pool.join();
    const WorkStatistics at = pool.statistics();
    HEDDLE_CHECK(at.pending == 0 && at.running == 0 && at.workers == 0);
    HEDDLE_CHECK(at.completed == accepted);
    HEDDLE_CHECK(pool.waiting() == 0);
}

/// Two workers post at the same time: both are heard (INV-THR-05). A lost wake-up is a hang, RCT-69.
void wake_up_program() {
    WorkPool pool{{.workers = 2, .queue = 2}};
    const auto first = pool.submit([] { return 1; });
    const auto second = pool.submit([] { return 2; });
    HEDDLE_CHECK(first.await() + second.await() == 3);
    check_over(pool, 2);
}

/// Example 1 of chapter 15: places go to the oldest submitter; one that is cancelled leaves no job (INV-THR-04).
void submit_program() {
    WorkPool pool{{.workers = 1, .queue = 1}};
    std::string order;
    std::uint64_t accepted = 0;
    const auto submits = [&](char name) {
        return [&, name] {
            const auto job = pool.submit([name] { return name; });
            order += name;
            ++accepted;
            HEDDLE_CHECK(job.await() == name);
        };
    };
    pool.submit([] {}).ignore();
    ++accepted;
    auto a = spawn("a", submits('a'));
    auto b = spawn("b", submits('b'));
    auto c = spawn("c", submits('c'));
    sim::anywhere([b] { b.cancel(); });
    join(a, b, c);
    HEDDLE_CHECK(!a.error() && !c.error());
    HEDDLE_CHECK(order.find('a') != std::string::npos && order.find('c') != std::string::npos);
    check_over(pool, accepted);
}

/// The table of 15.1: a future is cancelled at any moment. Examples 2 and 3.
void cancel_job_program() {
    WorkPool pool{{.workers = 1, .queue = 2}};
    int begun = 0;
    bool stopped = false;
    bool was_queued = false;
    bool took_effect = false;
    pool.submit([] {}).ignore();
    const auto job = pool.submit([&](const StopToken& stop) {
        ++begun;
        for (int i = 0; i < 2 && !stopped; ++i) { stopped = stop.requested(); }
        return 5;
    });
    sim::anywhere([&, job] {
        was_queued = pool.statistics().completed + pool.statistics().running < 2 && pool.statistics().pending > 0;
        took_effect = job.cancel();
        HEDDLE_CHECK(!took_effect || job.is_cancelled());
    });
    const End end = end_of([&] { HEDDLE_CHECK(job.await() == 5); });
    check_over(pool, 2);
    HEDDLE_CHECK(begun <= 1);                                             // INV-THR-02
    HEDDLE_CHECK(!(was_queued && took_effect) || begun == 0);             // it had not been taken
    HEDDLE_CHECK(end == (took_effect ? End::cancelled : End::value));     // the first on this thread decides (THR-20)
    HEDDLE_CHECK(took_effect || (begun == 1 && !stopped));                // nobody asked it to stop
}

/// INV-THR-08: a future that somebody awaited and dropped asks its job to stop; one that was ignored does not.
void dropped_program() {
    WorkPool pool{{.workers = 2, .queue = 2}};
    bool ignored_stopped = false;
    bool done = false;
    bool asked = false;
    pool.submit([&](const StopToken& stop) { ignored_stopped = stop.requested(); }).ignore();
    auto waiter = spawn("waiter", [&] {
        pool.submit([&](const StopToken& stop) {
                asked = stop.requested();
                done = true;
            }).await();
    });
    sim::anywhere([waiter] { waiter.cancel(); });
    join(waiter);
    pool.close();
    pool.join();
    HEDDLE_CHECK(!ignored_stopped);
    HEDDLE_CHECK(!asked || waiter.error());
    HEDDLE_CHECK(done || waiter.error());
}

/// INV-THR-07, one half: what was accepted before a close is run, and its outcome seen.
void close_program() {
    WorkPool pool{{.workers = 1, .queue = 1}};
    std::uint64_t accepted = 0;
    std::uint64_t ran = 0;
    const auto submits = [&] {
        std::optional<Future<>> job;
        if (end_of([&] { job = pool.submit([&ran] { ++ran; }); }) != End::value) { return; }
        ++accepted;
        job->await();
    };
    auto a = spawn("a", submits);
    auto b = spawn("b", submits);
    auto c = spawn("c", submits);
    sim::anywhere([&] { pool.close(); });
    join(a, b, c);
    HEDDLE_CHECK(!a.error() && !b.error() && !c.error());
    check_over(pool, accepted);
    HEDDLE_CHECK(ran == accepted);
}

/// INV-THR-07, the other half: of what had not been taken before a cancel nothing runs.
void cancel_pool_program() {
    WorkPool pool{{.workers = 1, .queue = 2}};
    std::uint64_t ran = 0;
    std::optional<std::uint64_t> taken;
    std::vector<Future<int>> jobs;
    for (int i = 0; i < 3; ++i) {
        if (end_of([&] { jobs.push_back(pool.submit([&ran, i] { ++ran; return i; })); }) != End::value) { break; }
        if (i == 0) {
            sim::anywhere([&] {
                const WorkStatistics at = pool.statistics();
                taken = at.running + at.completed;
                pool.cancel();
                HEDDLE_CHECK(pool.statistics().pending == 0);
            });
        }
    }
    std::uint64_t values = 0;
    for (const auto& job : jobs) {
        values += end_of([&] { static_cast<void>(job.await()); }) == End::value ? 1U : 0U;
    }
    check_over(pool, jobs.size());
    HEDDLE_CHECK(ran == values);
    HEDDLE_CHECK(!taken || ran <= *taken);
}

/// THR-15: dropped with jobs queued and running; each future is settled all the same (INV-THR-01).
void drop_pool_program() {
    std::vector<Future<int>> jobs;
    auto pool = std::make_unique<WorkPool>(WorkPool::Options{.workers = 1, .queue = 2});
    for (int i = 0; i < 3; ++i) {
        jobs.push_back(pool->submit([i](const StopToken& stop) { return stop.requested() ? -1 : i; }));
    }
    yield();
    pool.reset();
    for (int i = 0; i < 3; ++i) {
        const End end = end_of([&] {
            const int value = jobs[static_cast<std::size_t>(i)].await();
            HEDDLE_CHECK(value == i || value == -1);
        });
        HEDDLE_CHECK(end != End::error);
    }
}

/// THR-10: a caller of map is cancelled at any point; nothing of the batch is left, and each item is worked on once at most.
void map_program() {
    WorkPool pool{{.workers = 2, .queue = 1}};
    std::vector<int> worked(3, 0);
    auto caller = spawn("caller", [&] {
        const std::vector<int> results = pool.map(std::vector<int>{0, 1, 2}, [&](int item) {
            ++worked[static_cast<std::size_t>(item)];
            return 2 * item;
        });
        HEDDLE_CHECK((results == std::vector<int>{0, 2, 4}));
    });
    sim::anywhere([caller] { caller.cancel(); });
    join(caller);
    pool.close();
    pool.join();
    HEDDLE_CHECK(pool.statistics().pending == 0 && pool.statistics().running == 0);
    for (const int times : worked) { HEDDLE_CHECK(times <= 1 && (times == 1 || caller.error())); }
}

/// THR-28: threads die, init fails, waits end early. Every accepted job settles exactly once (THR-06); nothing hangs.
void faults_program() {
    WorkPool pool{{.workers = 2, .queue = 1, .init = [] {}}};
    std::uint64_t accepted = 0;
    std::uint64_t settled = 0;
    const auto uses = [&] {
        std::optional<Future<int>> job;
        if (end_of([&] { job = pool.submit([](const StopToken& stop) { return stop.requested() ? 1 : 2; }); }) != End::value) { return; }
        ++accepted;
        static_cast<void>(end_of([&] { static_cast<void>(job->await()); }));
        ++settled;
    };
    auto a = spawn("a", uses);
    auto b = spawn("b", uses);
    join(a, b);
    HEDDLE_CHECK(settled == accepted);
    check_over(pool, accepted);
}

/// INV-THR-09: a job sends without waiting, two coroutines receive; closed at any point. Each value is had once, in order.
void channel_program() {
    ThreadChannel<int> channel{{.capacity = 1}};
    WorkPool pool{{.workers = 1, .queue = 1}};
    int sent = 0;
    const auto job = pool.submit([channel, &sent]() mutable {
        try {
            for (int i = 1; i <= 2; ++i) {
                if (channel.try_send(i)) { sent = i; }
            }
            channel.close();
        } catch (const ThreadChannelClosed&) {
            return;
        }
    });
    std::vector<int> had;
    const auto receives = [&] {
        try {
            for (;;) { had.push_back(channel.receive()); }
        } catch (const ThreadChannelClosed&) {
            return;
        }
    };
    auto a = spawn("a", receives);
    auto b = spawn("b", receives);
    sim::anywhere([channel]() mutable { channel.close(); });
    join(a, b);
    job.await();
    HEDDLE_CHECK(!a.error() && !b.error() && channel.waiting() == 0);
    while (const std::optional<int> rest = [&]() -> std::optional<int> {
        try {
            return channel.try_receive();
        } catch (const ThreadChannelClosed&) {
            return std::nullopt;
        }
    }()) {
        had.push_back(*rest);
    }
    for (std::size_t i = 1; i < had.size(); ++i) { HEDDLE_CHECK(had[i] > had[i - 1]); }
    HEDDLE_CHECK(had.empty() ? sent == 0 : had.back() == sent);
    check_over(pool, 1);
}

/// INV-THR-10, RFU-06: the right to settle is a job's; the future is cancelled at any point.
void remote_program() {
    WorkPool pool{{.workers = 1, .queue = 1}};
    FutureState<int> state;
    const auto answer = state.future();
    bool stopped = false;
    auto remote = std::make_shared<RemoteState<int>>(move_to_thread(state));
    const auto job = pool.submit([remote = std::move(remote), &stopped] {
        stopped = remote->stop().requested();
        if (!stopped) { remote->complete(7); }
    });
    bool cancelled = false;
    sim::anywhere([&, answer] { cancelled = answer.cancel(); });
    const End end = end_of([&] { HEDDLE_CHECK(answer.await() == 7); });
    job.await();
    HEDDLE_CHECK(end == (cancelled ? End::cancelled : End::value));
    HEDDLE_CHECK(!stopped || cancelled);
    check_over(pool, 1);
}

sim::Scenario scenario_of(const char* name, const char* about, std::uint32_t depth, void (*program)(), bool faults = false) {
    sim::Scenario scenario;
    scenario.name = name;
    scenario.about = about;
    scenario.depth = depth;
    scenario.program = [program](const sim::Parameters&) { return sim::Program(program); };
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    scenario.world = [faults](sim::WorldOptions& world) {
        using enum ChoiceKind;
        world.mask = {dispatch, arrival, ready, batch, poll, value, fault};
        world.faults = faults;
        world.dispatches_max = 5'000;
    };
    return scenario;
}

}  // namespace

std::vector<sim::Scenario> bridge_scenarios() {
    return {
        scenario_of("bridge/wake-up", "Two workers post at the same time; the runtime hears of both.", 4, wake_up_program),
        scenario_of("bridge/submit", "Three coroutines hand jobs to a full pool; one is cancelled at any point.", 3, submit_program),
        scenario_of("bridge/cancel-job", "A job's future is cancelled at any moment of the job.", 4, cancel_job_program),
        scenario_of("bridge/dropped", "A future that was awaited is dropped at any point, another was ignored.", 3, dropped_program),
        scenario_of("bridge/close", "A pool is closed at any point; what it accepted is run.", 3, close_program),
        scenario_of("bridge/cancel-pool", "A pool is cancelled at any point; what waits never runs.", 4, cancel_pool_program),
        scenario_of("bridge/drop-pool", "A pool is dropped with jobs in it; every future settles.", 4, drop_pool_program),
        scenario_of("bridge/map", "A caller of map is cancelled at any point; nothing of its batch is left.", 3, map_program),
        scenario_of("bridge/faults", "Threads die, init fails, waits end early; every job settles once.", 3, faults_program, true),
        scenario_of("bridge/channel", "A job sends to two coroutines; the channel is closed at any point.", 3, channel_program),
        scenario_of("bridge/remote", "A job settles a future that is cancelled at any point.", 4, remote_program),
    };
}

}  // namespace heddle::prop
