// SPDX-License-Identifier: Apache-2.0
// Workers that end well, die, hang and grow: what was told arrives, and the work goes on where it can.
#include "heddle/simreactor/explore/worker.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "heddle/core/base/assert.hpp"
#include "heddle/simreactor/explore/report_wire.hpp"

namespace heddle::sim {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Answers a fixed number, as often as it is asked.
class Always final : public Chooser {
public:
    std::uint32_t choose(const ChoicePoint&) override { return 1; }
};

const ChoicePoint point{ChoiceKind::value, Label{1}, 3, {}};

/// `runs` runs of five choices each; `die(run, choice)` is called behind each choice.
Worker::Work runs(std::uint64_t count, std::function<void(std::uint64_t, int)> die, double checkpoint_clock = 0) {
    return [=](Seat& seat) {
        double clock = 0;
        if (checkpoint_clock > 0) {
            seat.clock = [&clock, checkpoint_clock] { return clock += checkpoint_clock; };
        }
        Always always;
        std::uint64_t done = 0;
        std::string told;
        for (std::uint64_t run = 1; run <= count; ++run) {
            Chooser& chooser = seat.begin(always, 0);
            bool ended = seat.refuses();
            struct Frozen {};
            class Sink final : public ViolationSink {
                void violated(const Violation&) override { throw Frozen{}; }
            } sink;
            ViolationSink* const outer = exchange_violation_sink(&sink);
            try {
                for (int i = 0; i < 5 && !ended; ++i) {
                    static_cast<void>(chooser.choose(point));
                    die(run, i);
                }
            } catch (const Frozen&) { ended = true; }
            exchange_violation_sink(outer);
            done += ended ? 0 : 1;
            if (run % 100 == 0) { seat.tell("run " + std::to_string(run)); }
            if (!seat.end() || seat.is_stopped()) { break; }
        }
        return std::to_string(done);
    };
}

TEST(Worker, ReturnsItsResultAndWhatItTold) {
    Worker worker(runs(300, [](std::uint64_t, int) {}), {});
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "300");
    EXPECT_EQ(worker.take_messages(), (std::vector<std::string>{"run 100", "run 200", "run 300"}));
    EXPECT_TRUE(worker.take_deaths().empty());
}

TEST(Worker, GoesOnBehindARunThatKillsItsProcess) {
    Worker worker(runs(400,
                       [](std::uint64_t run, int choice) {
                           if (run == 150 && choice == 2) { std::raise(SIGKILL); }
                           if (run == 350 && choice == 0) { ::_exit(9); }
                       }),
                  {});
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "398");
    const std::vector<Death> deaths = worker.take_deaths();
    ASSERT_EQ(deaths.size(), 2U);
    EXPECT_EQ(deaths[0].name(), "SIGKILL");
    EXPECT_EQ(deaths[0].run, 150U);
    EXPECT_EQ(deaths[0].answers, (std::vector<std::uint32_t>{1, 1, 1}));
    EXPECT_EQ(deaths[1].name(), "EXIT");
    EXPECT_EQ(deaths[1].number, 9);
    EXPECT_EQ(deaths[1].run, 350U);
}

TEST(Worker, BeginsAgainAtItsLastCheckpoint) {
    Worker worker(runs(
                      3000,
                      [](std::uint64_t run, int choice) {
                          if (run == 2900 && choice == 4) { std::abort(); }
                      },
                      1.0),
                  {});
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "2999");
    EXPECT_EQ(worker.take_deaths().size(), 1U);
    // The one checkpoint is that of run 512: what was told before it is not told again, what came behind it is.
    const std::vector<std::string> told = worker.take_messages();
    EXPECT_EQ(std::ranges::count(told, "run 500"), 1);
    EXPECT_EQ(std::ranges::count(told, "run 600"), 2);
    EXPECT_EQ(std::ranges::count(told, "run 3000"), 1);
}

TEST(Worker, IsGivenUpWhenItDiesAgainAndAgain) {
    WorkerLimits limits;
    limits.deaths_max = 3;
    Worker worker(runs(100, [](std::uint64_t, int choice) { choice == 1 ? std::abort() : void(); }), limits);
    worker.wait(&now);
    EXPECT_FALSE(worker.result());
    EXPECT_FALSE(worker.failure().empty());
    EXPECT_EQ(worker.take_deaths().size(), 3U);
}

TEST(Worker, IsKilledWhereItHangs) {
    WorkerLimits limits;
    limits.hang_seconds = 0.3;
    Worker worker(runs(10,
                       [](std::uint64_t run, int choice) {
                           for (volatile bool forever = run == 5 && choice == 3; forever;) {}
                       }),
                  limits);
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "9");
    const std::vector<Death> deaths = worker.take_deaths();
    ASSERT_EQ(deaths.size(), 1U);
    EXPECT_EQ(deaths[0].name(), "HANG");
    EXPECT_EQ(deaths[0].points, 4U);
}

TEST(Worker, IsKilledWhereItGrows) {
    WorkerLimits limits;
    limits.memory_bytes = std::uint64_t{600} << 20;
    Worker worker(runs(10,
                       [](std::uint64_t run, int choice) {
                           while (run == 5 && choice == 3) {
                               constexpr std::size_t piece = std::size_t{16} << 20;
                               auto* const memory = static_cast<volatile char*>(
                                   ::mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                               for (std::size_t at = 0; at < piece; at += 4096) { memory[at] = 1; }
                           }
                       }),
                  limits);
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "9");
    const std::vector<Death> deaths = worker.take_deaths();
    ASSERT_EQ(deaths.size(), 1U);
    EXPECT_EQ(deaths[0].name(), "MEMORY");
}

TEST(Worker, EndsWhenItIsStopped) {
    Worker worker(runs(~std::uint64_t{0}, [](std::uint64_t, int) {}), {});
    ::usleep(20'000);
    EXPECT_TRUE(worker.poll(now()));
    worker.stop();
    worker.wait(&now);
    EXPECT_TRUE(worker.result());
}

TEST(Worker, LeavesNoProcessBehind) {
    pid_t inside = 0;
    {
        Worker worker(
            [](Seat& seat) {
                seat.tell(std::to_string(::getpid()));
                for (;;) { ::pause(); }
                return std::string();
            },
            {});
        while (inside == 0) {
            EXPECT_TRUE(worker.poll(now()));
            for (const std::string& told : worker.take_messages()) { inside = std::stoi(told); }
            ::usleep(1000);
        }
        EXPECT_EQ(::kill(inside, 0), 0);
    }
    EXPECT_NE(::kill(inside, 0), 0);
}

TEST(Worker, TellsTheTagOfTheRunThatDied) {
    Worker worker(
        [](Seat& seat) {
            Always always;
            for (std::uint32_t tag = 0; tag < 2; ++tag) {
                Chooser& chooser = seat.begin(always, tag);
                if (seat.refuses()) { continue; }
                if (tag == 1) { ::_exit(5); }
                static_cast<void>(chooser.choose(point));
                seat.end();
            }
            return std::string("done");
        },
        {});
    worker.wait(&now);
    EXPECT_EQ(worker.result(), "done");
    const std::vector<Death> deaths = worker.take_deaths();
    ASSERT_EQ(deaths.size(), 1U);
    EXPECT_EQ(deaths[0].tag, 1U);
    EXPECT_EQ(deaths[0].run, 2U);
}

TEST(ReportWire, CarriesWhatMayHaveBeenMissed) {
    Report report;
    report.runs = 7;
    report.sizes.push_back({trace::Order::any, 32, {10, 5, 20}, 7, 1.5});
    report.risks.push_back({trace::Order::faithful, 3, 2, {0.25, 0, 0.5}, 0.75, {{11, 2}, {12, 1}}});
    report.seen = {1, 2};
    const Report back = report_from(to_bytes(report));
    EXPECT_EQ(back.runs, 7U);
    EXPECT_EQ(back.seen, report.seen);
    ASSERT_EQ(back.sizes.size(), 1U);
    EXPECT_EQ(back.sizes[0].order, trace::Order::any);
    EXPECT_EQ(back.sizes[0].probes, 32U);
    EXPECT_EQ(back.sizes[0].schedules.high, 20);
    EXPECT_EQ(back.sizes[0].runs, 7U);
    EXPECT_EQ(back.sizes[0].seconds_left, 1.5);
    ASSERT_EQ(back.risks.size(), 1U);
    EXPECT_EQ(back.risks[0].samples, 3U);
    EXPECT_EQ(back.risks[0].distinct, 2U);
    EXPECT_EQ(back.risks[0].unseen.value, 0.25);
    EXPECT_EQ(back.risks[0].violation_most, 0.75);
    ASSERT_EQ(back.risks[0].drawn.size(), 2U);
    EXPECT_EQ(back.risks[0].drawn[0].trace, 11U);
    EXPECT_EQ(back.risks[0].drawn[0].count, 2U);
}

}  // namespace
}  // namespace heddle::sim
