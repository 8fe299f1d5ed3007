// SPDX-License-Identifier: Apache-2.0
// Corpus, area shutdown: the end of a program that is reached too early, too late, or for the wrong reason.
//
//   BUG-136  golang/go#34163, 3redronin/mu-server#166                     a connection is accepted and not yet counted
//   BUG-137  true-async/php-async@c9116d5, true-async/php-async@d566d3b   only parked coroutines are cancelled
//   BUG-138  true-async/php-async#181                                     a hidden timer keeps the loop alive
//   BUG-139  true-async/php-async#177                                     a background loop blocks the drain
//   BUG-140  true-async/php-async#162                                     a worker waits for an owner that has ended
//   BUG-142  scylladb/seastar@510f31487                                   a submit during the stop starts a second loop
//   BUG-145  true-async/php-async#226                                     a helper thread pushes into a freed queue
//   BUG-146  true-async/php-async#302                                     shutdown replaces an earlier reason
//
// Where chance enters: sim::choose, who runs next, when the steps of the helper thread come.
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/corpus/primitives.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void connection_accepted_and_not_yet_counted() {
    struct Connection {
        int& open;
        explicit Connection(int& count) : open(count) { ++open; }
        ~Connection() { --open; }
    };
    int open = 0;
    bool stopping = false;
    CoroutineHandle handler;
    auto listener = spawn("listener", [&] {
        yield();  // the accept
        auto connection = std::make_shared<Connection>(open);
        yield();  // accepted, and nobody knows
        handler = spawn("handler", [&stopping, mine = std::move(connection)] {
            yield();
            HEDDLE_CHECK(!stopping);
            HEDDLE_CHECK(mine->open == 1);
            sleep_for(100ms);
            HEDDLE_CHECK(!stopping);
        });
    });
    for (std::uint32_t round = sim::choose(5, "rounds before the shutdown"); round > 0; --round) { yield(); }
    stopping = true;
    shutdown();
    let_all_run_after_shutdown();
    HEDDLE_CHECK(listener.is_completed());
    HEDDLE_CHECK(!handler || handler.is_completed());
    HEDDLE_CHECK(open == 0);
    HEDDLE_CHECK(statistics().registered == 1);
    join(listener);
}

/// Where a coroutine is when the program shuts down.
enum class Stage : std::uint8_t { ready, unstarted, parked, cleaning_up, count };

void every_stage_is_cancelled() {
    constexpr std::size_t count = 3;
    bool stopping = false;
    const Event value = make_event("value");
    std::array<Stage, count> stages{};
    std::array<int, count> ended{};
    std::array<Coroutine<>, count> coroutines;
    // 0: nothing special; 1: completes `value` when it is cancelled; 2: waits for `value`.
    const auto body = [&](std::size_t i) {
        struct Leaves {
            std::size_t index;
            Stage stage;
            const Event& value;
            int& ended;
            ~Leaves() {
                if (index == 1) { value->complete(); }
                if (stage == Stage::cleaning_up) {
                    cleanup([] { park_for_ever(); });
                }
                ++ended;
            }
        };
        const Leaves leaves{i, stages.at(i), value, ended.at(i)};
        if (stages.at(i) == Stage::ready) {
            yield();
            HEDDLE_CHECK(!stopping);
        }
        if (i == 2) {
            await_event(value);  // completed by another one's end, or cancelled
        } else {
            park_for_ever();
        }
    };
    const auto start = [&](std::size_t i) { coroutines.at(i) = spawn("member", [&body, i] { body(i); }); };
    for (std::size_t i = 0; i < count; ++i) { stages.at(i) = static_cast<Stage>(sim::choose(static_cast<std::uint32_t>(Stage::count), "stage")); }
    for (std::size_t i = 0; i < count; ++i) {
        if (stages.at(i) == Stage::parked || stages.at(i) == Stage::cleaning_up) { start(i); }
    }
    let_all_run();
    for (std::size_t i = 0; i < count; ++i) {
        if (stages.at(i) == Stage::cleaning_up) { coroutines.at(i).cancel(); }
    }
    let_all_run();
    for (std::size_t i = 0; i < count; ++i) {
        if (stages.at(i) == Stage::ready) { start(i); }
    }
    yield();
    for (std::size_t i = 0; i < count; ++i) {
        if (stages.at(i) == Stage::unstarted) { start(i); }
    }
    stopping = true;
    shutdown();
    let_all_run_after_shutdown();
    for (std::size_t i = 0; i < count; ++i) {
        const Coroutine<>& one = coroutines.at(i);
        HEDDLE_CHECK(one.is_completed());
        HEDDLE_CHECK(one.error().is_cancellation() || i == 2);
        HEDDLE_CHECK(ended.at(i) == (one.is_started() ? 1 : 0));
        HEDDLE_CHECK(one.is_started() || one.is_cancelled());
    }
    HEDDLE_CHECK(scheduler().ready_queue().empty());
    HEDDLE_CHECK(statistics().registered == 1);
}

void hidden_timer_of_an_idle_pool() {
    const bool slow = sim::choose(2, "the owner cleans up slowly") == 1;
    auto owner = spawn("owner", [slow] {
        const Clock clock;
        int checks = 0;
        const Ref<ReactorEvent> health_check =
            ReactorEvent::timer(scheduler(), {.timeout = 10ms, .periodic = true}, true, "health check");
        const Listener checks_health(*health_check, [&](const Outcome&) { ++checks; });
        health_check->start();
        HEDDLE_CHECK(statistics().active_events == 0);
        struct Leaves {
            const Clock& clock;
            const int& checks;
            bool slow;
            ~Leaves() {
                if (slow) {
                    cleanup([] { yield(); });
                }
                HEDDLE_CHECK(clock.is_at(0ms));
                HEDDLE_CHECK(checks == 0);
            }
        } leaves{clock, checks, slow};
        park_for_ever();
    });
    if (sim::choose(2, "the owner has begun") == 1) { let_all_run(); }
    shutdown();
}

void background_loop_and_the_drain() {
    const std::uint32_t when = sim::choose(4, "the program drains");  // in a delay / at its end / between two / before the first
    bool stopping = false;
    int rounds = 0;
    auto background = spawn("background", [&] {
        for (;;) {
            HEDDLE_CHECK(!stopping);
            sleep_for(10ms);
            HEDDLE_CHECK(!stopping);
            ++rounds;
            yield();
        }
    });
    const Clock clock;
    if (when == 0) { sleep_for(15ms); }
    if (when == 1) { sleep_for(20ms); }
    if (when == 2) {
        while (rounds == 0) { yield(); }
    }
    const Duration begin = clock.elapsed();
    stopping = true;
    shutdown();
    HEDDLE_CHECK(caught([] { yield(); }).is_cancellation());
    join(background);
    HEDDLE_CHECK(clock.elapsed() == begin);
    HEDDLE_CHECK(background.is_cancelled());
}

void worker_whose_owner_has_ended() {
    const auto jobs = std::make_shared<Channel>(1);
    spawn("worker", [jobs] {
        const Clock clock;
        try {
            for (;;) { jobs->receive(); }
        } catch (const Cancellation&) {
            HEDDLE_CHECK(clock.is_at(0ms));
            HEDDLE_CHECK(holds<DeadlockError>(current_runtime("report").exit_error()));
            throw;
        }
    });
    if (sim::choose(2, "the worker parks first") == 1) { yield(); }
    if (sim::choose(2, "there is a job") == 1) { jobs->send(1); }
}

/// One loop at a time works through what was submitted; none begins once it was stopped.
class Retrier {
public:
    bool submit(int& request) {
        requests_.push_back(&request);
        if (running_) { return true; }
        try {
            scope_.spawn("retry", [this] { work(); });
        } catch (const AsyncError&) {
            requests_.pop_back();
            return false;
        }
        running_ = true;
        return true;
    }
    void stop() {
        scope_.dispose_safely();
        scope_.await_after_cancellation();
        HEDDLE_CHECK(requests_.empty());
    }

private:
    void work() {
        HEDDLE_CHECK(++loops_ == 1);
        while (!requests_.empty()) {
            yield();
            int& request = *requests_.front();
            requests_.pop_front();
            ++request;
        }
        --loops_;
        running_ = false;
    }

    Scope scope_;
    std::deque<int*> requests_;
    int loops_ = 0;
    bool running_ = false;
};

void submit_during_the_stop() {
    Retrier retrier;
    std::array<int, 3> done{};
    std::array<bool, 3> accepted{};
    accepted[0] = retrier.submit(done[0]);
    accepted[1] = sim::choose(2, "two requests") == 1 && retrier.submit(done[1]);
    auto late = spawn("late", [&] {
        for (std::uint32_t round = sim::choose(4, "rounds before the submit"); round > 0; --round) { yield(); }
        accepted[2] = retrier.submit(done[2]);
    });
    if (sim::choose(2, "the loop has begun") == 1) { yield(); }
    retrier.stop();
    join(late);
    HEDDLE_CHECK(accepted[0]);
    for (std::size_t i = 0; i < done.size(); ++i) { HEDDLE_CHECK(done.at(i) == (accepted.at(i) ? 1 : 0)); }
}

void helper_thread_and_a_queue_that_goes() {
    struct Inbox {
        explicit Inbox(std::shared_ptr<int> count) : destroyed(std::move(count)) {}
        ~Inbox() { ++*destroyed; }
        std::shared_ptr<int> destroyed;
        std::vector<int> values;
    };
    const auto destroyed = std::make_shared<int>(0);
    const auto running = std::make_shared<bool>(true);
    auto inbox = std::make_shared<Inbox>(destroyed);
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "inbox");
    const auto saw = std::make_shared<bool>(false);
    outside()
        .add_thread("helper")
        .then(sim::Latency::exactly(1ms), [saw, running] { *saw = *running; })
        .then(sim::Latency::exactly(1ms), [saw, destroyed, mine = inbox, port = bell->port()]() mutable {
            HEDDLE_CHECK(*destroyed == 0);
            if (*saw) {
                mine->values.push_back(1);
                port->fire();  // on a closed trigger: nothing
            }
            mine.reset();  // the last one out frees
        });
    int rung = 0;
    auto consumer = spawn("consumer", [&] {
        const ErrorValue closed = caught([&] {
            await_event(*bell);
            ++rung;
        });
        HEDDLE_CHECK(rung == 1 || holds<AsyncError>(closed));
    });
    sleep_for(1ms * sim::choose(4, "stopped at"));
    *running = false;
    bell->close();
    inbox.reset();
    join(consumer);
    sleep_for(5ms);
    HEDDLE_CHECK(*destroyed == 1);
    HEDDLE_CHECK(bell->subscriber_count() == 0);
}

void shutdown_and_an_earlier_reason() {
    const ErrorValue first = ErrorValue::make<AsyncCancellation>("r1");
    const ErrorValue second = ErrorValue::make<AsyncCancellation>("r2");
    const bool in_window = sim::choose(2, "a is woken before") == 1;
    const Event work = make_event("work");
    auto a = spawn("a", [&] {
        await_event(work);
        park_for_ever();
    });
    auto b = spawn("b", [] { park_for_ever(); });
    let_all_run();
    if (in_window) { work->complete(); }
    a.cancel(first);
    if (sim::choose(2, "a runs between") == 1) { let_all_run(); }
    shutdown(second);
    const ErrorValue mine = caught([] { yield(); });
    join(a, b);
    HEDDLE_CHECK(mine.same_error(second));
    HEDDLE_CHECK(a.error().same_error(first));
    HEDDLE_CHECK(b.error().same_error(second));
}

}  // namespace

std::vector<sim::Scenario> shutdown_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-136", "golang/go#34163, 3redronin/mu-server#166",
                     "A connection that is accepted when the program shuts down is closed by its end.", 2, {value, dispatch}},
                    connection_accepted_and_not_yet_counted),
        scenario_of({"corpus/BUG-137", "true-async/php-async@c9116d5, true-async/php-async@d566d3b",
                     "A shutdown cancels coroutines that are ready, unstarted, parked or cleaning up, and all of them end.", 2,
                     {value, dispatch}},
                    every_stage_is_cancelled),
        ends_by(scenario_of({"corpus/BUG-138", "true-async/php-async#181",
                             "A hidden periodic timer does not keep a program that shuts down.", 2, {value, dispatch, poll}},
                            hidden_timer_of_an_idle_pool),
                0ms),
        scenario_of({"corpus/BUG-139", "true-async/php-async#177",
                     "A background loop in the main scope is ended by the drain, wherever it is.", 2, {value, dispatch, timer, poll, time}},
                    background_loop_and_the_drain),
        ends_with_an_error(scenario_of({"corpus/BUG-140", "true-async/php-async#162",
                                        "A worker that waits for an owner that has ended is reported at once, not waited for.", 2,
                                        {value, dispatch}},
                                       worker_whose_owner_has_ended)),
        scenario_of({"corpus/BUG-142", "scylladb/seastar@510f31487",
                     "A submit that comes while the service stops is done once, by the loop that exists, or refused.", 3,
                     {value, dispatch}},
                    submit_during_the_stop),
        scenario_of({"corpus/BUG-145", "true-async/php-async#226",
                     "A helper thread that is between its check and its push when the loop stops touches nothing that is gone.", 3,
                     {value, dispatch, ready, batch, timer_io, poll}},
                    helper_thread_and_a_queue_that_goes),
        scenario_of({"corpus/BUG-146", "true-async/php-async#302",
                     "A shutdown leaves the reason of an earlier cancellation as it is.", 2, {value, dispatch}},
                    shutdown_and_an_earlier_reason),
    };
}

}  // namespace heddle::prop::corpus
