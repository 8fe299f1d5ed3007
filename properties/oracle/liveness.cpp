// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/liveness.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "heddle/properties/oracle/judge.hpp"

namespace heddle::prop {
namespace {

class LivelockOracle final : public Judge {
public:
    explicit LivelockOracle(const LivelockBounds& bounds) : bounds_(bounds) {}

protected:
    void reset() override {
        states_.clear();
        digest_ = 0;
        begin_instant(Instant{});
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned:
            case EventKind::woken: enter(event.who, State::ready); break;
            case EventKind::parked: enter(event.who, State::parked); break;
            case EventKind::finished: leave(event.who); break;
            case EventKind::step_begin: step(event); break;
            default: break;
        }
    }

private:
    enum class State : std::uint64_t { ready = 1, parked = 2 };
    struct Seen {
        std::uint64_t times = 0;
        std::uint64_t last = 0;  // step at the instant
    };

    void enter(Label who, State state) {
        leave(who);
        states_[who] = state;
        digest_ ^= hash_mix(who.value, static_cast<std::uint64_t>(state));
    }
    void leave(Label who) {
        const auto known = states_.find(who);
        if (known == states_.end()) { return; }
        digest_ ^= hash_mix(who.value, static_cast<std::uint64_t>(known->second));
        states_.erase(known);
    }
    void begin_instant(Instant at) {
        instant_ = at;
        steps_ = 0;
        seen_.clear();
        ran_.clear();
    }

    void step(const Event& event) {
        if (event.at != instant_) { begin_instant(event.at); }
        ++steps_;
        ran_.push_back(event.who);
        if (steps_ > bounds_.steps_per_instant) {
            fail("INV-LIVE-01", "more than " + std::to_string(bounds_.steps_per_instant) + " steps at " +
                                    std::to_string(event.at.ns()) + " ns, and time does not go on: livelock");
        }
        Seen& seen = seen_[hash_mix(digest_, event.who.value)];
        if (++seen.times > bounds_.repeats) {
            const std::uint64_t length = steps_ - seen.last;
            std::set<std::string> names;
            for (std::uint64_t i = 0; i < std::min<std::uint64_t>(length, 64); ++i) {
                names.insert(name(ran_[ran_.size() - 1 - i]));
            }
            std::string who;
            for (const std::string& each : names) { who += (who.empty() ? "" : ", ") + each; }
            fail("INV-LIVE-01", "lasso of " + std::to_string(length) + (length == 1 ? " step, " : " steps, ") +
                                    std::to_string(bounds_.repeats) + " times round at " +
                                    std::to_string(event.at.ns()) + " ns: livelock of " + who);
        }
        seen.last = steps_;
    }

    LivelockBounds bounds_;
    std::map<Label, State> states_;
    std::uint64_t digest_ = 0;
    Instant instant_;
    std::uint64_t steps_ = 0;
    std::map<std::uint64_t, Seen> seen_;
    std::vector<Label> ran_;  // at this instant
};

class DrainOracle final : public Judge {
public:
    explicit DrainOracle(const DrainBounds& bounds) : bounds_(bounds) {}

protected:
    void reset() override {
        asked_.clear();
        steps_ = 0;
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::scope_requested: asked_.emplace(event.what, Asked{steps_, event.at}); break;
            case EventKind::scope_terminated: asked_.erase(event.what); break;
            case EventKind::step_begin: {
                ++steps_;
                for (const auto& [scope, asked] : asked_) {
                    if (steps_ - asked.step > bounds_.steps) {
                        fail("INV-LIVE-08", name(scope) + " was asked to cancel at step " + std::to_string(asked.step) +
                                                " and is not drained " + std::to_string(bounds_.steps) +
                                                " steps later");
                    }
                    if (event.at - asked.at > bounds_.time) {
                        fail("INV-LIVE-08", name(scope) + " was asked to cancel at step " + std::to_string(asked.step) +
                                                " and is not drained " + std::to_string(bounds_.time.count()) +
                                                " ns later");
                    }
                }
                break;
            }
            default: break;
        }
    }

private:
    struct Asked {
        std::uint64_t step = 0;
        Instant at;
    };

    DrainBounds bounds_;
    std::uint64_t steps_ = 0;
    std::map<Label, Asked> asked_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_livelock_oracle(const LivelockBounds& bounds) {
    return std::make_unique<LivelockOracle>(bounds);
}
std::unique_ptr<sim::Oracle> make_drain_oracle(const DrainBounds& bounds) {
    return std::make_unique<DrainOracle>(bounds);
}

}  // namespace heddle::prop
