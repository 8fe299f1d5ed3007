// SPDX-License-Identifier: Apache-2.0
// CircuitBreaker: who is let through, what reports change, and whose reports change nothing (docs/spec/10-pool.md, 10.9).
#include <gtest/gtest.h>

#include <functional>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

/// Says what it is asked and told.
class Spy final : public CircuitStrategy {
public:
    void report_success(CircuitBreaker& breaker, const CircuitAdmission& admission) override { told("+", breaker, admission); }
    void report_failure(CircuitBreaker& breaker, const CircuitAdmission& admission, const ErrorValue& error) override {
        told("-" + message(error), breaker, admission);
    }
    bool should_recover(CircuitBreaker&) override {
        words += " recover?";
        return on_recover ? on_recover() : recovers;
    }
    [[nodiscard]] bool limits() const override { return limiting; }
    bool admit(CircuitBreaker&, std::uint64_t permit) override {
        words += " admit?" + std::to_string(permit);
        const std::function<bool()> answer = on_admit;  // it may change it
        return answer ? answer() : true;
    }
    void report_ignored(CircuitBreaker&, const CircuitAdmission& admission) override { words += " ignored" + std::to_string(admission.permit); }

    std::string words;
    bool recovers = false;
    bool limiting = false;
    std::function<bool()> on_recover;
    std::function<bool()> on_admit;
    std::function<void()> on_report;

private:
    void told(const std::string& what, const CircuitBreaker& breaker, const CircuitAdmission& admission) {
        words += " " + what + (admission.permit > 0 ? std::to_string(admission.permit) : "") + (breaker.is_current(admission) ? "" : "(old)");
        if (on_report) { on_report(); }
    }
};

class CircuitBreakerTest : public ::testing::Test, protected PoolWorld {
protected:
    PoolOptions<Thing> watched(std::int64_t max, std::int64_t min = 0) {
        PoolOptions<Thing> options = of(max, min);
        options.strategy = spy_;
        return options;
    }
    std::shared_ptr<Spy> spy_ = std::make_shared<Spy>();
};

TEST_F(CircuitBreakerTest, ChangesStateFromAnyStateAndCountsGenerations) {  // POOL-55, POOL-75
    run([&] {
        const Pool<Thing> pool(of(1));
        CircuitBreaker& circuit = pool.circuit();
        EXPECT_EQ(circuit.state(), CircuitState::active);
        EXPECT_EQ(circuit.generation(), 1U);
        circuit.activate();
        EXPECT_EQ(circuit.generation(), 1U);  // idempotent
        circuit.deactivate();
        circuit.recover();
        circuit.deactivate();
        circuit.activate();
        EXPECT_EQ(circuit.generation(), 5U);
    });
}

TEST_F(CircuitBreakerTest, RefusesWhileItIsOpenButTakesBack) {  // POOL-57, `041`, `042`, INV-POOL-22
    run([&] {
        const Pool<Thing> pool(of(2));
        Lease<Thing> held = pool.acquire();
        pool.circuit().deactivate();
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");
        EXPECT_FALSE(pool.try_acquire());
        held.release();
        EXPECT_EQ(books(pool), "1/0/0");
        pool.circuit().recover();  // nobody limits it: POOL-56
        EXPECT_TRUE(pool.try_acquire());
    });
}

TEST_F(CircuitBreakerTest, AnswersEveryWaiterWhenItOpensInTheWindow) {  // POOL-30, POOL-58, `066`
    run([&] {
        const Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto w1 = user(pool, "W1");
        auto w2 = user(pool, "W2");
        yield();
        pool.circuit().deactivate();
        yield();
        EXPECT_EQ(pool.waiting_count(), 2U);  // they stay parked
        held.release();
        w1.await(), w2.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "W1:unavailable W2:unavailable");
}

TEST_F(CircuitBreakerTest, ReportsEachReleaseOnce) {  // POOL-59, `045`, `052`, INV-POOL-16
    run([&] {
        PoolOptions<Thing> options = watched(1);
        options.before_release = [](Thing& thing, PoolReturn) {
            if (thing.number == 3) { throw Failure("bad"); }
            return thing.number != 2;
        };
        const Pool<Thing> pool(std::move(options));
        pool.acquire().release();
        pool.acquire().discard();
        pool.acquire().release();
        pool.acquire().release();
    });
    EXPECT_EQ(spy_->words, " + -the resource was rejected -the resource was rejected -bad");
}

TEST_F(CircuitBreakerTest, ShowsNoPlaceAsFreeWhileAReportRuns) {  // POOL-35, POOL-38: it may suspend, and what it throws is discarded
    run([&] {
        const Pool<Thing> pool(watched(1));
        Lease<Thing> held = pool.acquire();
        spy_->on_report = [&] {
            sleep_for(5ms);
            EXPECT_EQ(books(pool), "0/1/0");
            throw Failure("strategy");
        };
        auto releaser = spawn([&] { log(outcome([&] { held.release(); })); });
        auto newcomer = user(pool, "N");
        newcomer.await();
    });
    EXPECT_EQ(text(), "ok N=1");
}

TEST_F(CircuitBreakerTest, KeepsTheResourceWhenAReportIsCancelled) {  // POOL-15: the cancellation leaves at the end of the release
    run([&] {
        const Pool<Thing> pool(watched(1));
        Lease<Thing> held = pool.acquire();
        spy_->on_report = [&] { sleep_for(5ms); };
        auto releaser = spawn([&] { log(outcome([&] { held.release(); })); });
        yield();
        releaser.cancel("stop");
        releaser.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "stop");
}

TEST_F(CircuitBreakerTest, AsksItsStrategyWhetherToRecoverOnceAnAttempt) {  // POOL-60
    run([&] {
        const Pool<Thing> pool(watched(1));
        pool.circuit().deactivate();
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");
        spy_->on_recover = []() -> bool { throw Failure("counts as false"); };
        EXPECT_FALSE(pool.try_acquire());
        spy_->on_recover = [] {
            yield();  // refused: it must not suspend
            return true;
        };
        EXPECT_FALSE(pool.try_acquire());
        spy_->on_recover = {};
        spy_->recovers = true;
        EXPECT_TRUE(pool.try_acquire());
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
        EXPECT_EQ(spy_->words, " recover? recover? recover? recover?");
    });
}

TEST_F(CircuitBreakerTest, AsksItsStrategyAgainWhenAWaiterIsGranted) {  // POOL-60, POOL-72: a new round
    run([&] {
        const Pool<Thing> pool(watched(1));
        Lease<Thing> held = pool.acquire();
        pool.circuit().deactivate();
        spy_->recovers = true;
        auto waiter = user(pool, "W");
        yield();
        EXPECT_EQ(spy_->words, " recover?");
        pool.circuit().deactivate();
        held.release();
        waiter.await();
    });
    EXPECT_EQ(text(), "W=1");
    EXPECT_EQ(spy_->words, " recover? +(old) recover? +");
}

TEST_F(CircuitBreakerTest, LooksAgainBehindItsStrategy) {  // POOL-60: it is user code, and A2 is repeated
    run([&] {
        const Pool<Thing> pool(watched(1));
        pool.circuit().deactivate();
        spy_->on_recover = [&] {
            pool.close();
            return true;
        };
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "closed");
    });
}

TEST_F(CircuitBreakerTest, EndsEveryPermitOnce) {  // POOL-72, INV-POOL-30
    run([&] {
        PoolOptions<Thing> options = watched(2);
        options.factory = [this]() -> std::optional<Thing> {
            if (made_ == 1) {
                ++made_;
                throw Failure("factory");
            }
            return Thing{++made_};
        };
        const Pool<Thing> pool(std::move(options));
        spy_->limiting = true;
        pool.circuit().recover();
        Lease<Thing> first = pool.acquire();                                                  // 1: by its report
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "factory");            // 2: ignored
        pool.circuit().activate();
        first.release();
        pool.circuit().recover();
        spy_->on_admit = [] { return false; };
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");        // 3: not given
        EXPECT_FALSE(pool.try_acquire());                                                     // 4: not given
        spy_->on_admit = [&] {
            pool.circuit().deactivate();
            return true;
        };
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");        // 5: ignored
    });
    EXPECT_EQ(spy_->words, " admit?1 admit?2 ignored2 +1(old) admit?3 admit?4 admit?5 recover? ignored5");
}

TEST_F(CircuitBreakerTest, AsksAWaiterForAPermitWhenItIsGranted) {  // POOL-72
    run([&] {
        const Pool<Thing> pool(watched(1));
        spy_->limiting = true;
        Lease<Thing> held = pool.acquire();
        pool.circuit().recover();
        auto waiter = user(pool, "W");
        yield();
        EXPECT_EQ(spy_->words, "");  // it takes no place yet
        held.release();
        EXPECT_EQ(spy_->words, " +(old)");
        waiter.await();
    });
    EXPECT_EQ(spy_->words, " +(old) admit?1 +1");
}

TEST_F(CircuitBreakerTest, GivesAPermitBackWhenItHasToParkAfterAll) {  // POOL-72
    run([&] {
        const Pool<Thing> pool(watched(1));
        spy_->limiting = true;
        pool.circuit().recover();
        Lease<Thing> thief;
        spy_->on_admit = [&] {
            spy_->on_admit = {};
            thief = pool.try_acquire();
            return true;
        };
        auto late = user(pool, "L");
        yield();
        EXPECT_EQ(pool.waiting_count(), 1U);
        thief.release();
        late.await();
    });
    EXPECT_EQ(spy_->words, " admit?1 admit?2 ignored1 +2 admit?3 +3");
}

TEST_F(CircuitBreakerTest, IgnoresThePermitOfALeaseThatIsDestroyedInPlace) {  // POOL-72, POOL-42
    std::optional<Pool<Thing>> pool;
    std::optional<Lease<Thing>> lease;
    run([&] {
        pool.emplace(watched(1));
        spy_->limiting = true;
        pool->circuit().recover();
        lease.emplace(pool->acquire());
    });
    lease.reset();
    EXPECT_EQ(spy_->words, " admit?1 ignored1");
    EXPECT_EQ(destroyed_, std::vector<int>({1}));
}

// ── Threshold (POOL-76) ──

TEST_F(CircuitBreakerTest, ChangesByItselfOnlyWhenItsStrategyRecovers) {  // POOL-59, POOL-61
    run([&] {
        PoolOptions<Thing> options = watched(1);
        bool makes = false;
        options.factory = [&, this]() -> std::optional<Thing> {
            if (!makes) { throw Failure("factory"); }
            return Thing{++made_};
        };
        const Pool<Thing> pool(std::move(options));
        for (int i = 0; i < 5; ++i) { static_cast<void>(outcome([&] { static_cast<void>(pool.acquire()); })); }
        makes = true;
        for (int i = 0; i < 5; ++i) { pool.acquire().discard(); }
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
        EXPECT_EQ(pool.circuit().generation(), 1U);
        pool.circuit().deactivate();
        sleep_for(1s);
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");
        EXPECT_EQ(pool.circuit().state(), CircuitState::inactive);
        spy_->recovers = true;
        pool.acquire().release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
    });
}

TEST_F(CircuitBreakerTest, TellsTheStrategyThatItHasWhenALeaseComesBack) {  // POOL-61: replacing it affects later reports only
    const auto second = std::make_shared<Spy>();
    run([&] {
        const Pool<Thing> pool(watched(3));
        Lease<Thing> a = pool.acquire();
        Lease<Thing> b = pool.acquire();
        Lease<Thing> c = pool.acquire();
        a.release();
        pool.circuit().set_strategy(second);
        b.release();
        pool.circuit().set_strategy(nullptr);
        c.release();
        EXPECT_EQ(books(pool), "3/0/0");
    });
    EXPECT_EQ(spy_->words, " +");
    EXPECT_EQ(second->words, " +");
}

class ThresholdTest : public CircuitBreakerTest {
protected:
    PoolOptions<Thing> guarded(std::int64_t max) {
        PoolOptions<Thing> options = of(max);
        options.strategy = threshold_;
        options.before_release = [this](Thing&, PoolReturn) { return good_; };
        return options;
    }
    void use(const Pool<Thing>& pool, bool good) {
        good_ = good;
        pool.acquire().release();
    }
    std::shared_ptr<Threshold> threshold_ =
        std::make_shared<Threshold>(Threshold::Options{.failures = 3, .open = 100ms, .probes = 1, .probe = 50ms});
    bool good_ = true;
};

TEST_F(ThresholdTest, RefusesImpossibleOptions) {
    EXPECT_THROW(Threshold({.failures = 0}), ValueError);
    EXPECT_THROW(Threshold({.open = 0ms}), ValueError);
    EXPECT_THROW(Threshold({.probes = 0}), ValueError);
    EXPECT_THROW(Threshold({.probe = -1ms}), ValueError);
}

TEST_F(ThresholdTest, OpensAfterFailuresInARowOnly) {
    run([&] {
        const Pool<Thing> pool(guarded(1));
        use(pool, false), use(pool, false), use(pool, true), use(pool, false), use(pool, false);
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
        use(pool, false);
        EXPECT_EQ(pool.circuit().state(), CircuitState::inactive);
        EXPECT_EQ(outcome([&] { use(pool, true); }), "unavailable");
    });
}

TEST_F(ThresholdTest, ProbesAfterAWhileAndClosesOnSuccess) {
    run([&] {
        const Pool<Thing> pool(guarded(2));
        for (int i = 0; i < 3; ++i) { use(pool, false); }
        sleep_for(99ms);
        EXPECT_FALSE(pool.try_acquire());
        sleep_for(1ms);
        Lease<Thing> probe = pool.acquire();
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "unavailable");  // one probe at a time
        good_ = true;
        probe.release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
        EXPECT_EQ(threshold_->permits_out(), 0U);
        use(pool, true);
    });
}

TEST_F(ThresholdTest, OpensAgainWhenItsProbeFails) {
    run([&] {
        const Pool<Thing> pool(guarded(1));
        for (int i = 0; i < 3; ++i) { use(pool, false); }
        sleep_for(100ms);
        use(pool, false);
        EXPECT_EQ(pool.circuit().state(), CircuitState::inactive);
        sleep_for(99ms);
        EXPECT_FALSE(pool.try_acquire());  // a new time
        sleep_for(1ms);
        use(pool, true);
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
    });
}

TEST_F(ThresholdTest, TakesNoNewsFromAnOlderGeneration) {  // POOL-75, INV-POOL-30
    run([&] {
        const Pool<Thing> pool(guarded(3));
        Lease<Thing> old_good = pool.acquire();
        Lease<Thing> old_bad = pool.acquire();
        for (int i = 0; i < 3; ++i) { use(pool, false); }
        sleep_for(100ms);
        Lease<Thing> probe = pool.acquire();
        good_ = true;
        old_good.release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
        good_ = false;
        old_bad.release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
        EXPECT_EQ(threshold_->permits_out(), 1U);
        good_ = true;
        probe.release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
    });
}

TEST_F(ThresholdTest, BeginsToCountAgainInEachGeneration) {  // POOL-75
    run([&] {
        const Pool<Thing> pool(guarded(3));
        use(pool, false), use(pool, false);
        pool.circuit().recover();
        Lease<Thing> hanging = pool.acquire();
        pool.circuit().activate();
        use(pool, false), use(pool, false);
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
        pool.circuit().recover();
        Lease<Thing> probe = pool.try_acquire();  // the permit of the earlier generation does not count
        EXPECT_TRUE(probe);
        EXPECT_EQ(threshold_->permits_out(), 1U);
        good_ = true;
        probe.release(), hanging.release();
    });
}

TEST_F(ThresholdTest, TakesBackAPermitThatHangs) {  // every state has an exit
    run([&] {
        const Pool<Thing> pool(guarded(2));
        pool.circuit().recover();
        Lease<Thing> hanging = pool.acquire();
        sleep_for(49ms);
        EXPECT_FALSE(pool.try_acquire());
        sleep_for(1ms);
        const std::uint64_t before = pool.circuit().generation();
        Lease<Thing> probe = pool.acquire();
        EXPECT_EQ(pool.circuit().generation(), before + 1);
        good_ = false;
        hanging.release();  // too late to count
        EXPECT_EQ(pool.circuit().state(), CircuitState::recovering);
        good_ = true;
        probe.release();
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
    });
}

TEST_F(ThresholdTest, GetsThePermitOfACancelledProbeBack) {  // POOL-72
    run([&] {
        PoolOptions<Thing> options = guarded(1);
        options.factory = [this]() -> std::optional<Thing> {
            sleep_for(5ms);
            return Thing{++made_};
        };
        const Pool<Thing> pool(std::move(options));
        pool.circuit().recover();
        auto probe = user(pool, "P");
        yield();
        EXPECT_EQ(threshold_->permits_out(), 1U);
        probe.cancel("gone");
        yield();
        EXPECT_EQ(threshold_->permits_out(), 0U);
        use(pool, true);
        EXPECT_EQ(pool.circuit().state(), CircuitState::active);
    });
    EXPECT_EQ(text(), "P:gone");
}

}  // namespace
}  // namespace heddle
