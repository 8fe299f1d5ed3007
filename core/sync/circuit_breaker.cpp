// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/circuit_breaker.hpp"

#include "heddle/core/run/unwind.hpp"

namespace heddle {

std::string_view to_string(CircuitState state) {
    switch (state) {
        case CircuitState::active: return "active";
        case CircuitState::inactive: return "inactive";
        case CircuitState::recovering: return "recovering";
    }
    return "?";
}

void CircuitBreaker::set(CircuitState state) {
    touch(TouchMode::write);
    if (state == state_) { return; }
    state_ = state;
    since_ = now();
    ++generation_;
}

void CircuitBreaker::begin_generation() {
    touch(TouchMode::write);
    ++generation_;
}

namespace {

/// Runs a strategy where it cannot suspend. Its error counts as `false`.
template <class F>
bool in_place(Scheduler& scheduler, F&& call) {
    try {
        const Scheduler::NoSuspend region(scheduler);
        return call();
    } catch (const UnwindToken&) {
        throw;
    } catch (...) {
        return false;
    }
}

}  // namespace

bool CircuitBreaker::ask_recovery() {
    const std::shared_ptr<CircuitStrategy> strategy = strategy_;  // it may be replaced by what it calls
    if (strategy == nullptr) { return false; }
    const bool answer = in_place(owner_.scheduler(), [&] { return strategy->should_recover(*this); });
    if (answer && state() == CircuitState::inactive) { recover(); }
    return true;
}

CircuitAdmission CircuitBreaker::ask_admission() {
    touch(TouchMode::write);  // permits are counted
    const std::shared_ptr<CircuitStrategy> strategy = strategy_;
    const std::uint64_t permit = ++last_permit_;
    const bool answer = in_place(owner_.scheduler(), [&] { return strategy->admit(*this, permit); });
    return {generation_, answer ? permit : 0};
}

void CircuitBreaker::ignore(CircuitAdmission& admission) noexcept {
    if (admission.permit == 0) { return; }
    const CircuitAdmission ended = std::exchange(admission, CircuitAdmission{});
    const std::shared_ptr<CircuitStrategy> strategy = strategy_;
    if (strategy == nullptr) { return; }
    touch(TouchMode::write);
    static_cast<void>(in_place(owner_.scheduler(), [&] {
        strategy->report_ignored(*this, ended);
        return true;
    }));
}

// ── Threshold ──

Threshold::Threshold(const Options& options) : options_(options) {
    if (options.failures == 0 || options.probes == 0) { throw ValueError("threshold: a count of zero"); }
    if (options.open <= Duration::zero() || options.probe <= Duration::zero()) { throw ValueError("threshold: a time that is not positive"); }
}

/// What was counted in an older generation is over (B1).
void Threshold::follow(const CircuitBreaker& breaker) {
    if (generation_ == breaker.generation()) { return; }
    generation_ = breaker.generation();
    failures_ = 0;
    permits_.clear();
}

void Threshold::report_success(CircuitBreaker& breaker, const CircuitAdmission& admission) {
    follow(breaker);
    if (!breaker.is_current(admission)) { return; }
    permits_.erase(admission.permit);
    failures_ = 0;
    if (breaker.state() == CircuitState::recovering) { breaker.activate(); }
}

void Threshold::report_failure(CircuitBreaker& breaker, const CircuitAdmission& admission, const ErrorValue&) {
    follow(breaker);
    if (!breaker.is_current(admission)) { return; }
    permits_.erase(admission.permit);
    ++failures_;
    if (breaker.state() == CircuitState::recovering || failures_ >= options_.failures) { breaker.deactivate(); }
}

bool Threshold::should_recover(CircuitBreaker& breaker) { return breaker.now() >= breaker.since() + options_.open; }

bool Threshold::admit(CircuitBreaker& breaker, std::uint64_t permit) {
    follow(breaker);
    for (const auto& [number, given] : permits_) {
        if (breaker.now() < given + options_.probe) { continue; }
        breaker.begin_generation();  // it was lost, or hangs: its result will come too late to count
        follow(breaker);
        break;
    }
    if (permits_.size() >= options_.probes) { return false; }
    permits_.emplace(permit, breaker.now());
    return true;
}

void Threshold::report_ignored(CircuitBreaker& breaker, const CircuitAdmission& admission) {
    follow(breaker);
    if (breaker.is_current(admission)) { permits_.erase(admission.permit); }
}

}  // namespace heddle
