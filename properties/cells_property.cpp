// SPDX-License-Identifier: Apache-2.0
// Operation cells of core/sync, against brute force (docs/explorer.md): every schedule of a small program is run in any order, and sorted by
// the happens-before that its declared cells give.
//
//   schedule ──▶ steps with their cells ──▶ happens-before, hashed without regard to the order of independent steps ──▶ trace
//
// CL1  Sound: two schedules of one trace give every coroutine the same observations, in number and in content.
// CL2  Exact: mutex, semaphore and channel have the numbers of traces that are known for operation cells.
// Bound: the programs below, all of their schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::prop {
namespace {

struct Seen {
    std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> traces;  // trace → what its coroutines saw, and one telling of it
    std::uint64_t runs = 0;
    std::string mismatch;
};

class TraceHasher final : public sim::Oracle {
public:
    explicit TraceHasher(Seen& seen) : seen_(seen) {}

    void begin(sim::World&) override {
        cells_.clear();
        ordinals_.clear();
        last_of_.clear();
        touches_.clear();
        says_.clear();
        trace_ = digest_ = 0;
        who_ = {};
        telling_.clear();
    }
    void on_event(const Event& event) override {
        if (event.kind == EventKind::step_begin) {
            close_step();
            who_ = event.who;
            touches_.push_back({cell(event.who, "born"), TouchMode::read});
        } else if (event.kind == EventKind::step_end) {
            close_step();
        } else if (event.kind == EventKind::spawned) {
            touches_.push_back({cell(event.who, "born"), TouchMode::write});
        } else if (event.kind == EventKind::user) {
            digest_ += hash_mix(hash_text(event.note, who_.value), ++says_[who_]);
            telling_ += std::string(event.note) + " ";
        }
    }
    void on_touch(Cell where, TouchMode mode) override { touches_.push_back({where, mode}); }
    void at_end(sim::World&) override {
        close_step();
        ++seen_.runs;
        const auto [known, fresh] = seen_.traces.emplace(trace_, std::make_pair(digest_, telling_));
        if (!fresh && known->second.first != digest_ && seen_.mismatch.empty()) {
            seen_.mismatch = "one trace, two outcomes: " + known->second.second + "| " + telling_;
        }
    }

private:
    struct CellState {
        std::uint64_t writer = 0;
        std::map<TouchMode, std::uint64_t> since;  // commuting accesses since the last write, summed up by class
    };

    /// In any order the ready queue is no object: whoever is ready may run.
    [[nodiscard]] static bool is_queue(Cell where) {
        const Label loop = LabelBook::of("loop");
        return where == cell(loop, "ready-tail") || where == cell(loop, "ready-head");
    }

    void close_step() {
        if (!who_) { return; }
        std::ranges::sort(touches_, [](const Touch& a, const Touch& b) {
            return a.cell != b.cell ? a.cell < b.cell : static_cast<int>(a.mode) < static_cast<int>(b.mode);
        });
        touches_.erase(std::unique(touches_.begin(), touches_.end()), touches_.end());
        std::uint64_t hash = hash_mix(who_.value, ++ordinals_[who_]);
        std::uint64_t past = last_of_[who_];
        for (const Touch& touch : touches_) {
            if (is_queue(touch.cell)) { continue; }
            const CellState& state = cells_[touch.cell];
            hash = hash_mix(hash, hash_mix(touch.cell.value, static_cast<std::uint64_t>(touch.mode)));
            past += hash_mix(touch.cell.value, state.writer);
            for (const auto& [mode, sum] : state.since) {
                if (conflicts(mode, touch.mode)) { past += hash_mix(touch.cell.value + static_cast<std::uint64_t>(mode), sum); }
            }
        }
        hash = hash_mix(hash, past);
        for (const Touch& touch : touches_) {
            if (is_queue(touch.cell)) { continue; }
            CellState& state = cells_[touch.cell];
            if (touch.mode == TouchMode::write) {
                state.writer = hash;
                state.since.clear();
            } else {
                state.since[touch.mode] += hash_mix(hash, 1);
            }
        }
        last_of_[who_] = hash;
        trace_ += hash_mix(hash, 2);
        touches_.clear();
        who_ = {};
    }

    Seen& seen_;
    std::map<Cell, CellState> cells_;
    std::map<Label, std::uint64_t> ordinals_;
    std::map<Label, std::uint64_t> last_of_;
    std::map<Label, std::uint64_t> says_;
    std::vector<Touch> touches_;
    std::uint64_t trace_ = 0;
    std::uint64_t digest_ = 0;
    Label who_;
    std::string telling_;
};

/// Every schedule of `program` in any order; fails the test if one trace has two outcomes (CL1).
Seen all_schedules(const char* name, const sim::Program& program) {
    Seen seen;
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::exhaustive;
    options.order = trace::Order::any;
    options.runs_max = 400'000;
    options.shrink = false;
    options.oracles = [&seen] {
        sim::OracleList list;
        list.push_back(std::make_unique<TraceHasher>(seen));
        return list;
    };
    options.world = [](sim::WorldOptions& world) { world.mask = {ChoiceKind::dispatch}; };
    const sim::Report report = sim::explore(program, options);
    EXPECT_FALSE(report.violation) << (report.violation ? report.violation->message : "");
    EXPECT_FALSE(report.stopped);
    EXPECT_EQ(seen.mismatch, "") << name;
    std::printf("%s: %llu schedules, %zu traces\n", name, static_cast<unsigned long long>(seen.runs), seen.traces.size());
    return seen;
}

/// A step ends here unless the operation before it waited, and so ended one itself.
template <class Operation>
void one_step(Operation&& operation) {
    const Runtime& runtime = current_runtime("a test of cells");
    const std::uint64_t switches = runtime.statistics().switches;
    operation();
    if (runtime.statistics().switches == switches) { yield(); }
}

sim::Program mutex_program(int n) {
    return [n] {
        auto mutex = std::make_shared<Mutex>();
        for (int i = 0; i < n; ++i) {
            spawn("w", [mutex] {
                one_step([&] { mutex->lock(); });
                say("in");
                mutex->unlock();
            });
        }
    };
}

sim::Program semaphore_program(int n, std::size_t permits) {
    return [n, permits] {
        auto semaphore = std::make_shared<Semaphore>(permits);
        for (int i = 0; i < n; ++i) {
            spawn("w", [semaphore] {
                one_step([&] { semaphore->acquire(); });
                semaphore->release();
            });
        }
    };
}

TEST(Cells, OfAMutexGiveTheKnownNumberOfTraces) {
    EXPECT_EQ(all_schedules("mutex(2)", mutex_program(2)).traces.size(), 4U);
    EXPECT_EQ(all_schedules("mutex(3)", mutex_program(3)).traces.size(), 24U);
    EXPECT_EQ(all_schedules("mutex(4)", mutex_program(4)).traces.size(), 192U);
}

TEST(Cells, OfASemaphoreGiveTheKnownNumberOfTraces) {
    EXPECT_EQ(all_schedules("pool(3,2)", semaphore_program(3, 2)).traces.size(), 48U);
    EXPECT_EQ(all_schedules("pool(4,2)", semaphore_program(4, 2)).traces.size(), 768U);
    EXPECT_EQ(all_schedules("pool(4,3)", semaphore_program(4, 3)).traces.size(), 864U);
}

TEST(Cells, OfAChannelGiveTheKnownNumberOfTraces) {
    const auto program = [](int producers, int pushes) -> sim::Program {
        return [producers, pushes] {
            auto channel = std::make_shared<Channel<int>>(ChannelOptions{.capacity = Channel<int>::unbounded});
            for (int p = 0; p < producers; ++p) {
                spawn("p", [channel, p, pushes] {
                    for (int i = 0; i < pushes; ++i) {
                        channel->send(10 * p + i);
                        if (i + 1 < pushes) { yield(); }
                    }
                });
            }
            spawn("c", [channel, total = producers * pushes] {
                for (int i = 0; i < total; ++i) {
                    int value = 0;
                    one_step([&] { value = channel->receive(); });
                    say(std::to_string(value));
                }
            });
        };
    };
    EXPECT_EQ(all_schedules("chan(2,1)", program(2, 1)).traces.size(), 8U);
    EXPECT_EQ(all_schedules("chan(2,2)", program(2, 2)).traces.size(), 96U);
}

TEST(Cells, OfCancellationsAndClosesAreSound) {  // CL1 alone
    all_schedules("mutex, one cancelled", [] {
        auto mutex = std::make_shared<Mutex>();
        std::vector<Coroutine<>> all;
        for (int i = 0; i < 3; ++i) {
            all.push_back(spawn("w", [mutex] {
                const Lock lock(*mutex);
                say("in");
                yield();
            }));
        }
        spawn("x", [target = all[1]] { target.cancel(); });
    });
    all_schedules("semaphore, a big one cancelled", [] {
        auto semaphore = std::make_shared<Semaphore>(2);
        std::vector<Coroutine<>> all;
        for (const std::size_t count : {1U, 2U, 1U}) {
            all.push_back(spawn("w", [semaphore, count] {
                const Permit permit(*semaphore, count);
                say("in");
                yield();
            }));
        }
        spawn("x", [target = all[1]] { target.cancel(); });
    });
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
        all_schedules("channel, a receiver cancelled", [capacity] {
            auto channel = std::make_shared<Channel<int>>(ChannelOptions{.capacity = capacity});
            const auto receives = [channel] {
                try {
                    say(std::to_string(channel->receive()));
                } catch (const ChannelError&) { say("closed"); }
            };
            auto a = spawn("r", receives);
            spawn("r", receives);
            spawn("s", [channel] {
                try {
                    channel->send(1);
                    say("sent");
                } catch (const ChannelError&) { say("closed"); }
                channel->close();
            });
            spawn("x", [a] { a.cancel(); });
        });
    }
    all_schedules("future, cancelled or completed", [] {
        auto state = std::make_shared<FutureState<int>>();
        const Future<int> future = state->future();
        for (int i = 0; i < 2; ++i) {
            spawn("a", [future] {
                try {
                    say(std::to_string(future.await()));
                } catch (const Cancellation&) { say("cancelled"); }
            });
        }
        spawn("p", [state] { say(state->try_complete(1) ? "won" : "lost"); });
        spawn("x", [future] { say(future.cancel() ? "won" : "lost"); });
    });
}

}  // namespace
}  // namespace heddle::prop
