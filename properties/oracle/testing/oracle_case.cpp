// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/testing/oracle_case.hpp"

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace heddle::prop {
namespace {

/// A violation on the host's stack, as an exception.
struct Violated {
    Violation violation;
};

class Catcher final : public ViolationSink {
public:
    Catcher() : before_(exchange_violation_sink(this)) {}
    Catcher(const Catcher&) = delete;
    Catcher& operator=(const Catcher&) = delete;
    ~Catcher() { exchange_violation_sink(before_); }
    void violated(const Violation& violation) override { throw Violated{violation}; }

private:
    ViolationSink* before_;
};

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(at), text.size());
        if (end > 0) { parts.push_back(text.substr(0, end)); }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

EventKind kind_of(std::string_view text) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(EventKind::count_); ++i) {
        if (to_string(static_cast<EventKind>(i)) == text) { return static_cast<EventKind>(i); }
    }
    throw std::runtime_error("no kind of event: " + std::string(text));
}

Event event_of(std::string_view text) {
    Event event;
    bool first = true;
    for (const std::string_view word : split(text, ' ')) {
        const auto number = [&] { return std::strtoll(std::string(word.substr(2)).c_str(), nullptr, 10); };
        if (std::exchange(first, false)) {
            event.kind = kind_of(word);
        } else if (word.starts_with('/')) {
            event.what = LabelBook::of(word.substr(1));
        } else if (word.starts_with("a=")) {
            event.a = number();
        } else if (word.starts_with("b=")) {
            event.b = number();
        } else if (word.starts_with("t=")) {
            event.at = Instant{} + Duration(number());
        } else if (word.starts_with("n=")) {
            event.note = word.substr(2);
        } else {
            event.who = LabelBook::of(word);
        }
    }
    return event;
}

/// Hears of everything before the oracle does.
class Prompter final : public Observer {
public:
    explicit Prompter(sim::Oracle& oracle) : oracle_(oracle) {}
    void on_event(const Event& event) override {
        if (event.kind == EventKind::run_ended && stage != nullptr && stage->on_end) {
            std::exchange(stage->on_end, {})(Stage::scheduler());
        }
        oracle_.on_event(event);
    }
    Stage* stage = nullptr;

private:
    sim::Oracle& oracle_;
};

}  // namespace

CoroutineHandle Stage::waiting(const Ref<OneShotEvent>& event) {
    auto waiter = spawn("waiter", [event] { await_event(event); });
    yield();
    return waiter;
}

Verdict judge_stream(MakeOracle make, std::string_view stream) {
    sim::World world;
    const std::unique_ptr<sim::Oracle> oracle = make();
    const Catcher catcher;
    oracle->begin(world);
    try {
        for (const std::string_view text : split(stream, ';')) { oracle->on_event(event_of(text)); }
    } catch (const Violated& violated) { return {violated.violation.invariant, violated.violation.message}; }
    return {};
}

Verdict judge_stage(MakeOracle make, const StageCase& test, bool broken) {
    const std::unique_ptr<sim::Oracle> oracle = make();
    Prompter prompter(*oracle);
    sim::WorldOptions options;
    options.observers = {&prompter};
    options.errors_are_violations = false;
    options.dispatches_max = 10'000;
    sim::World world(options);
    Stage stage(broken, world, *oracle);
    prompter.stage = &stage;
    oracle->begin(world);
    const sim::Outcome outcome = world.run([&] { test.program(stage); });
    if (outcome.kind != trace::OutcomeKind::violation) { return {}; }
    return {outcome.invariant, outcome.message};
}

Verdict judge_host(MakeOracle make, const HostCase& test, bool broken) {
    const std::unique_ptr<sim::Oracle> oracle = make();
    auto world = std::make_unique<sim::World>();
    oracle->begin(*world);
    world->run([] { yield(); });
    const Catcher catcher;
    if (broken) { test.breaks(*world); }
    try {
        oracle->at_end(*world);
    } catch (const Violated& violated) {
        static std::vector<sim::World*>& broken_for_good = *new std::vector<sim::World*>;
        broken_for_good.push_back(world.release());  // nothing of it is touched again; leak checkers see that it is kept
        return {violated.violation.invariant, violated.violation.message};
    }
    return {};
}

}  // namespace heddle::prop
