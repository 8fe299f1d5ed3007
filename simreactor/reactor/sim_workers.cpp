// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/reactor/sim_workers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "heddle/core/run/current_worker.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {

class SimWorkers::Thread final : public WorkerThread {
public:
    Thread(SimWorkers& owner, std::shared_ptr<WorkerCode> code, ForeignThread& steps)
        : owner_(owner), code_(std::move(code)), steps_(steps), label_(steps.label()), stack_(owner.stacks_->acquire()) {
        fiber_.create(stack_, &Thread::entry, this);
        touch(cell(label_, "begin"), TouchMode::give);
        schedule(Latency{});
    }

    // ── WorkerThread ──

    void point(const char* action) override {
        if (owner_.finishing_) { return; }
        schedule(std::string_view(action) == "run" ? owner_.reactor_.options().timing.task : Latency{});
        leave();
    }
    void park() override {
        if (!token_) {
            parked_ = true;
            if (fails("spurious-wake")) { schedule(Latency{}); }
            leave();
            parked_ = false;
        }
        if (std::exchange(token_, false)) { touch(cell(label_, "parked"), TouchMode::take); }
    }
    void unpark() override {
        touch(cell(label_, "parked"), TouchMode::give);
        token_ = true;
        if (parked_) { schedule(Latency{}); }
    }
    [[nodiscard]] bool fails(const char*) override {
        return !owner_.finishing_ && owner_.reactor_.options().faults && owner_.reactor_.ask(ChoiceKind::fault, 2, {}, label_) == 1;
    }
    [[nodiscard]] bool observed() const override { return owner_.reactor_.options().observer != nullptr; }
    void touch(Cell where, TouchMode mode) override {
        if (Observer* const observer = owner_.reactor_.options().observer; observer != nullptr) { observer->on_touch(where, mode); }
    }

    // ── its flow ──

    /// One action.
    void resume() {
        scheduled_ = false;
        if (!std::exchange(begun_, true)) { touch(cell(label_, "begin"), TouchMode::take); }
        Fiber here;
        host_ = &here;
        Scheduler* const outer = exchange_ambient_scheduler(nullptr);  // SW3
        Fiber::switch_to(here, fiber_, exception_globals());
        exchange_ambient_scheduler(outer);
        host_ = nullptr;
        if (!ended_) { return; }
        fiber_.destroy();
        owner_.stacks_->release(stack_);
        code_ = nullptr;
    }
    [[nodiscard]] bool has_ended() const { return ended_; }
    [[nodiscard]] bool can_go_on() const { return !ended_ && (!parked_ || token_); }

private:
    static void entry(void* argument) {
        Thread& self = *static_cast<Thread*>(argument);
        self.code_->run(self);
        self.ended_ = true;
        Fiber::switch_away_for_good(self.fiber_, *self.host_, exception_globals());
    }
    void leave() { Fiber::switch_to(fiber_, *host_, exception_globals()); }
    void schedule(const Latency& after) {
        if (owner_.finishing_ || std::exchange(scheduled_, true)) { return; }
        steps_.then(after, [this] { resume(); });
    }

    SimWorkers& owner_;
    std::shared_ptr<WorkerCode> code_;
    ForeignThread& steps_;
    Label label_;
    Stack stack_;
    Fiber fiber_;
    Fiber* host_ = nullptr;  // who resumed it
    bool begun_ = false;
    bool scheduled_ = false;  // a step is queued
    bool parked_ = false;
    bool token_ = false;
    bool ended_ = false;
};

SimWorkers::SimWorkers(SimReactor& reactor) : reactor_(reactor), stacks_(std::make_unique<StackPool>()) {}

SimWorkers::~SimWorkers() { HEDDLE_ASSERT(alive() == 0, "SW4: flows end, or are abandoned"); }

void SimWorkers::start(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name) {
    std::erase_if(codes_, [](const auto& known) { return known.expired(); });
    codes_.emplace_back(code);
    for (std::size_t i = 0; i < count; ++i) { threads_.push_back(std::make_unique<Thread>(*this, code, reactor_.add_thread(name))); }
}

void SimWorkers::shut_down() {
    finishing_ = true;
    const std::vector<std::weak_ptr<WorkerCode>> codes = std::exchange(codes_, {});
    for (const auto& known : codes) {
        if (const auto code = known.lock(); code != nullptr) { code->end(); }
    }
    for (bool any = true; any;) {
        any = false;
        for (const auto& thread : threads_) {
            if (!thread->can_go_on()) { continue; }
            any = true;
            thread->resume();
        }
    }
    HEDDLE_ASSERT(alive() == 0, "THR-15: threads that were told the end leave");
    for (const auto& known : codes) {
        if (const auto code = known.lock(); code != nullptr) { code->over(); }
    }
    threads_.clear();
    finishing_ = false;
}

std::shared_ptr<void> SimWorkers::abandon() {
    exchange_current_worker(nullptr);  // the violation may have been one's own
    stacks_ = std::make_unique<StackPool>();
    codes_.clear();
    return std::make_shared<std::vector<std::unique_ptr<Thread>>>(std::exchange(threads_, {}));
}

std::size_t SimWorkers::alive() const {
    return static_cast<std::size_t>(std::ranges::count_if(threads_, [](const auto& thread) { return !thread->has_ended(); }));
}

}  // namespace heddle::sim
