// SPDX-License-Identifier: Apache-2.0
// ReactorRig: a simulated reactor with a sink that writes down what it delivers, and a search through everything that
// its choices allow: for tests that say which behaviours there are, all of them and no others.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/simreactor/chooser/audit.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim::testing {

/// Answers as a prefix says, then 0, and knows the next prefix in the order of the tree of answers.
class EnumeratingChooser final : public Chooser {
public:
    std::uint32_t choose(const ChoicePoint& point) override {
        if (at_ == path_.size()) { path_.push_back({0, point.count}); }
        return path_[at_++].first;
    }
    /// Goes to the next leaf. False when all were visited.
    bool next() {
        at_ = 0;
        while (!path_.empty() && path_.back().first + 1 == path_.back().second) { path_.pop_back(); }
        if (path_.empty()) { return false; }
        ++path_.back().first;
        return true;
    }

private:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path_;  // answer, count
    std::size_t at_ = 0;
};

/// A source's owner that is known by a name.
class NamedOwner final : public SourceOwner {
public:
    explicit NamedOwner(std::string name) : name_(std::move(name)) {}
    void on_delivery(const Delivery& delivery) override {
        if (then) { then(delivery); }
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    std::function<void(const Delivery&)> then;

private:
    std::string name_;
};

class ReactorRig final : public ReactorSink {
public:
    explicit ReactorRig(SimReactorOptions options) : reactor(std::move(options)) { reactor.startup(*this); }
    ReactorRig() : ReactorRig(SimReactorOptions{}) {}

    void deliver(const Delivery& delivery) noexcept override {
        footprints.emplace_back(delivery.footprint.begin(), delivery.footprint.end());
        deliveries.push_back(delivery);
        deliveries.back().footprint = {};
        deliveries.back().completion = nullptr;
        if (delivery.closed) {
            write("closed");
            return;
        }
        for (const auto& owner : owners_) {
            if (owner.get() == delivery.owner) { write(owner->name() + (times ? "@" + time() : "")); }
        }
        if (delivery.owner != nullptr) { delivery.owner->on_delivery(delivery); }
    }
    [[nodiscard]] bool has_ready_work() const noexcept override { return ready_work; }

    /// Words of the log are separated by blanks; a bar stands between two ticks that delivered something.
    void write(const std::string& word) {
        if (!log.empty()) { log += last_tick_ == ticks_ ? " " : " | "; }
        last_tick_ = ticks_;
        log += word;
    }
    bool tick(TickMode mode) {
        ++ticks_;
        return reactor.tick(mode);
    }
    void poll() { tick(TickMode::no_wait); }
    /// Ticks, waiting where that is allowed, until nothing counts any more.
    void run() {
        for (int limit = 0; limit < 10'000 && reactor.alive(); ++limit) { tick(TickMode::may_block); }
    }

    NamedOwner& owner(const std::string& name) {
        owners_.push_back(std::make_unique<NamedOwner>(name));
        return *owners_.back();
    }
    [[nodiscard]] SourceOptions named(const std::string& name) {
        return {.owner = &owner(name), .label = LabelBook::of(name)};
    }
    SourceId timer(const std::string& name, Duration timeout) {
        const SourceId id = reactor.open_timer({.timeout = timeout}, named(name));
        reactor.start(id);
        return id;
    }
    TriggerPortPtr trigger(const std::string& name) {
        const SourceId id = reactor.open_trigger(named(name));
        reactor.start(id);
        return reactor.trigger_port(id);
    }
    SourceId reader(const std::string& name, int fd, PollMask mask = PollBits::readable) {
        const SourceId id =
            reactor.open_proxy(reactor.open_poll(fd, false, LabelBook::of("poll " + name)), mask, named(name));
        reactor.start(id);
        return id;
    }
    SourceId task(
        const std::string& name, std::function<void()> body = [] {}) {
        return reactor.submit_task([body] { body(); }, named(name));
    }

    [[nodiscard]] std::string time() const { return std::to_string(reactor.now().ns() / 1'000'000); }

    SimReactor reactor;
    std::string log;
    bool times = false;  ///< names are followed by the time in milliseconds
    bool ready_work = false;
    std::vector<Delivery> deliveries;
    std::vector<std::vector<Touch>> footprints;  // of these

private:
    std::vector<std::unique_ptr<NamedOwner>> owners_;
    int ticks_ = 0;
    int last_tick_ = 0;
};

using RigProgram = std::function<void(ReactorRig&)>;

/// The logs of all behaviours of `program` under `options`, whose chooser it sets.
inline std::set<std::string> behaviours(SimReactorOptions options, const RigProgram& program) {
    std::set<std::string> logs;
    EnumeratingChooser chooser;
    options.chooser = &chooser;
    do {
        ReactorRig rig{options};
        program(rig);
        logs.insert(rig.log);
        if (logs.size() > 10'000) { break; }  // a test's expectation shows what is wrong
    } while (chooser.next());
    return logs;
}

/// The log of the one behaviour in which nothing is asked.
inline std::string baseline(SimReactorOptions options, const RigProgram& program) {
    ReactorRig rig{std::move(options)};
    program(rig);
    return rig.log;
}

}  // namespace heddle::sim::testing
