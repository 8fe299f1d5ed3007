// SPDX-License-Identifier: Apache-2.0
// Corpus, breaker: permits that do not come back, results that come too late, states without an exit. A call through the breaker is
// a lease of a pool with a Threshold: given back well, or discarded.
//
//   BUG-081  resilience4j/resilience4j#544, App-vNext/Polly#311   a probe without a result keeps its permit
//   BUG-082  svroonland/rezilience#521, monix/monix#1080          so does one that is cancelled
//   BUG-083  diegosouzapw/OmniRoute#13836, pathosDev/actor-ts#457   and one that never ends
//   BUG-084  App-vNext/Polly#223, App-vNext/Polly#254, igmarin/debt-stalker#97, nodeshift/opossum#119   all come at the end of the open time
//   BUG-085  nodeshift/opossum#381, denoland/std#7306, sony/gobreaker#122, telekom/k8s-breakglass#981   an old result decides
//   BUG-086  nodeshift/opossum#385                               a late failure takes the way out away
//   BUG-087  nodeshift/opossum#119                               a failed probe leaves no way out
//   BUG-088  resilience4j/resilience4j#858                       a question uses the permit up
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <memory>
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

enum class Ends : std::uint8_t { well, badly };

/// Something to call, behind a breaker.
class Service {
public:
    explicit Service(const Threshold::Options& options, std::int64_t max = 4) : pool_(make(options, max)) {}

    /// @returns whether the breaker let it through
    bool call(Duration takes, Ends how) {
        try {
            Lease<int> lease = pool_.acquire();
            HEDDLE_CHECK(permits_out() <= 1);
            if (takes > Duration::zero()) { sleep_for(takes); }
            if (how == Ends::well) {
                lease.release();
            } else {
                lease.discard();
            }
        } catch (const ServiceUnavailable&) {
            return false;
        }
        return true;
    }
    /// A failure, at once.
    void fail() { HEDDLE_CHECK(call(Duration::zero(), Ends::badly)); }

    [[nodiscard]] CircuitState state() const { return pool_.circuit().state(); }
    [[nodiscard]] const Pool<int>& pool() const { return pool_; }
    [[nodiscard]] std::size_t permits_out() const {
        return dynamic_cast<const Threshold&>(*pool_.circuit().strategy()).permits_out();
    }
    /// The next resource takes `time` to make; then none comes.
    void next_is_not_made(Duration time) { failing_ = time; }

private:
    PoolOptions<int> make(const Threshold::Options& options, std::int64_t max) {
        PoolOptions<int> pool;
        pool.max = max;
        pool.strategy = std::make_shared<Threshold>(options);
        pool.factory = [this]() -> std::optional<int> {
            if (const std::optional<Duration> time = std::exchange(failing_, std::nullopt); time) {
                sleep_for(*time);
                return std::nullopt;
            }
            return 1;
        };
        return pool;
    }

    std::optional<Duration> failing_{};
    Pool<int> pool_;
};

constexpr Threshold::Options one_probe{.failures = 1, .open = 10ms, .probes = 1, .probe = 1s};

void probe_without_result() {
    Service service(one_probe);
    service.fail();
    HEDDLE_CHECK(service.state() == CircuitState::inactive && !service.call(1ms, Ends::well));
    sleep_for(10ms);
    auto a = spawn("a", [&] {
        service.next_is_not_made(1ms);
        const ErrorValue error = caught([&] { static_cast<void>(service.call(1ms, Ends::well)); });
        HEDDLE_CHECK(!error || holds<PoolError>(error));
    });
    if (sim::choose(2, "B comes during the probe, too") == 1) {
        yield();
        static_cast<void>(service.call(1ms, Ends::well));
    }
    join(a);
    HEDDLE_CHECK(service.call(1ms, Ends::well));
    HEDDLE_CHECK(service.state() == CircuitState::active && service.permits_out() == 0);
}

void probe_that_is_cancelled() {
    Service service(one_probe);
    service.fail();
    sleep_for(10ms);
    auto a = spawn("a", [&] {
        if (sim::choose(2, "the probe has to make its resource") == 1) { service.next_is_not_made(2ms); }
        const ErrorValue error = caught([&] { static_cast<void>(service.call(2ms, Ends::well)); });
        if (error.is_cancellation()) { error.rethrow(); }
    });
    const std::uint32_t when = sim::choose(4, "A is cancelled: never, before it starts, in the probe, as it ends");
    if (when > 1) { yield(); }
    if (when == 3) { sleep_for(2ms); }
    if (when > 0) { a.cancel(); }
    join(a);
    sleep_for(30ms);
    HEDDLE_CHECK(service.call(1ms, Ends::well));
    HEDDLE_CHECK(service.state() == CircuitState::active && service.permits_out() == 0);
}

void probe_that_never_ends() {
    Service service({.failures = 1, .open = 10ms, .probes = 1, .probe = 50ms});
    service.fail();
    sleep_for(10ms);
    const Event answer = make_event("answer");
    auto a = spawn("a", [&] {
        Lease<int> lease = service.pool().acquire();
        await_event(answer);
        lease.release();
    });
    let_all_run();
    HEDDLE_CHECK(!service.call(1ms, Ends::well));
    sleep_for(50ms);
    int admitted = 0;
    const auto caller = [&] { admitted += service.call(5ms, Ends::well) ? 1 : 0; };
    auto b = spawn("b", caller);
    auto c = spawn("c", caller);
    auto d = spawn("d", caller);
    let_all_run();
    HEDDLE_CHECK(service.permits_out() == 1);
    if (sim::choose(2, "the old probe ends behind the new one, or during it") == 1) {
        answer->complete();
        let_all_run();
        HEDDLE_CHECK(service.state() == CircuitState::recovering);
    }
    join(b, c, d);
    HEDDLE_CHECK(admitted == 1 && service.state() == CircuitState::active);
    if (!answer->is_closed()) { answer->complete(); }
    join(a);
    HEDDLE_CHECK(service.state() == CircuitState::active && service.call(1ms, Ends::well));
}

void all_at_once() {
    Service service(one_probe);
    service.fail();
    int admitted = 0;
    const auto caller = [&] {
        sleep_for(10ms);
        if (sim::choose(2, "it comes a turn later") == 1) { yield(); }
        admitted += service.call(5ms, Ends::well) ? 1 : 0;
    };
    auto a = spawn("a", caller);
    auto b = spawn("b", caller);
    auto c = spawn("c", caller);
    join(a, b, c);
    HEDDLE_CHECK(admitted == 1 && service.state() == CircuitState::active);
}

void old_result() {
    Service service(one_probe);
    constexpr Duration durations[] = {12ms, 10ms, 17ms, 16ms};
    const Duration takes = durations[sim::choose(4, "A ends in the probe, before it, behind it, with it")];
    auto a = spawn("a", [&] {
        HEDDLE_CHECK(service.call(takes, Ends::well));
        HEDDLE_CHECK(service.state() != CircuitState::active);
    });
    auto b = spawn("b", [&] {
        sleep_for(1ms);
        service.fail();
    });
    auto c = spawn("c", [&] {
        sleep_for(11ms);
        HEDDLE_CHECK(service.call(5ms, Ends::badly));
        HEDDLE_CHECK(service.state() == CircuitState::inactive);
    });
    join(a, b, c);
    HEDDLE_CHECK(service.state() == CircuitState::inactive && service.permits_out() == 0);
    sleep_for(10ms);
    HEDDLE_CHECK(service.call(1ms, Ends::well) && service.state() == CircuitState::active);
}

void late_failure() {
    Service service(one_probe);
    const Duration late = sim::choose(2, "B fails soon, or when the open time is over") == 1 ? 11ms : 2ms;
    auto a = spawn("a", [&] { HEDDLE_CHECK(service.call(1ms, Ends::badly)); });
    auto b = spawn("b", [&] { HEDDLE_CHECK(service.call(late, Ends::badly)); });
    join(a, b);
    HEDDLE_CHECK(service.state() == CircuitState::inactive);
    sleep_for(20ms);
    HEDDLE_CHECK(service.call(1ms, Ends::well) && service.state() == CircuitState::active);
}

void failed_probe() {
    Service service({.failures = 3, .open = 20ms, .probes = 1, .probe = 1s});
    for (int i = 0; i < 3; ++i) {
        service.fail();
        sleep_for(1ms);
    }
    HEDDLE_CHECK(service.state() == CircuitState::inactive);
    sleep_for(20ms);
    auto a = spawn("a", [&] { HEDDLE_CHECK(service.call(sim::choose(2, "the probe takes time") == 1 ? 2ms : 0ms, Ends::badly)); });
    join(a);
    HEDDLE_CHECK(service.state() == CircuitState::inactive && !service.call(1ms, Ends::well));
    sleep_for(sim::choose(2, "B comes late, or as soon as it may") == 1 ? 20ms : 38ms);
    HEDDLE_CHECK(service.call(1ms, Ends::well) && service.state() == CircuitState::active);
}

void question_takes_no_permit() {
    Service service(one_probe);
    service.fail();
    sleep_for(10ms);
    const std::uint32_t questions = 1 + sim::choose(3, "how often somebody asks");
    auto m = spawn("m", [&] {
        for (std::uint32_t i = 0; i < questions; ++i) {  // time does not move meanwhile
            HEDDLE_CHECK(service.state() != CircuitState::active);
            yield();
        }
    });
    auto a = spawn("a", [&] {
        yield();
        HEDDLE_CHECK(service.call(1ms, Ends::well));
    });
    join(m, a);
    HEDDLE_CHECK(service.state() == CircuitState::active);
}

}  // namespace

std::vector<sim::Scenario> breaker_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-081", "resilience4j/resilience4j#544, App-vNext/Polly#311",
                     "A probe that ends without a result gives its permit back.", 2, {value, dispatch}},
                    probe_without_result),
        scenario_of({"corpus/BUG-082", "svroonland/rezilience#521, monix/monix#1080",
                     "A probe that is cancelled, at whatever moment, leaves a way for the next one.", 2, {value, dispatch, timer}},
                    probe_that_is_cancelled),
        scenario_of({"corpus/BUG-083", "diegosouzapw/OmniRoute#13836, pathosDev/actor-ts#457",
                     "The permit of a probe that does not end is taken back, and its result does not count.", 2, {value, dispatch}},
                    probe_that_never_ends),
        scenario_of({"corpus/BUG-084", "App-vNext/Polly#223, App-vNext/Polly#254, igmarin/debt-stalker#97, nodeshift/opossum#119",
                     "Of all who come when the open time is over, one is let through.", 3, {value, dispatch, timer}},
                    all_at_once),
        scenario_of({"corpus/BUG-085", "nodeshift/opossum#381, denoland/std#7306, sony/gobreaker#122, telekom/k8s-breakglass#981",
                     "The result of a call that was let through in another state decides nothing.", 3, {value, dispatch, timer}},
                    old_result),
        scenario_of({"corpus/BUG-086", "nodeshift/opossum#385",
                     "A failure that comes when the breaker is open already does not keep it open.", 3, {value, dispatch, timer}},
                    late_failure),
        scenario_of({"corpus/BUG-087", "nodeshift/opossum#119",
                     "A failed probe opens the breaker anew, and the next one comes in time.", 2, {value, dispatch, timer}},
                    failed_probe),
        scenario_of({"corpus/BUG-088", "resilience4j/resilience4j#858",
                     "Asking for the state takes no permit.", 2, {value, dispatch}},
                    question_takes_no_permit),
    };
}

}  // namespace heddle::prop::corpus
