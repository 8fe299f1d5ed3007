// SPDX-License-Identifier: Apache-2.0
// CircuitBreaker: whether a pool hands anything out at all, and the strategy that decides it (docs/spec/10-pool.md, 10.9).
//
//              deactivate                        recover (a strategy's should_recover, or the user)
//   active ─────────────────▶ inactive ─────────────────────────────────────────────▶ recovering
//      ▲                          ▲                                                        │ a probe failed, deactivate
//      │                          └────────────────────────────────────────────────────────┤
//      └──────────────────────── a probe succeeded, activate ───────────────────────────────┘      (any state from any state)
//
// B1  Each change of state begins a generation; a result of an older one closes, reopens and frees nothing (POOL-75, INV-POOL-30).
// B2  A permit that admit gave ends once: by the report of its lease, or as ignored (POOL-72).
// B3  Setting and reading never suspend and wake nobody; reading changes nothing (POOL-55).
// Cells: `circuit` of the pool (set: W; looked at: R).
// Choice points: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "heddle/core/base/time.hpp"
#include "heddle/core/run/runtime_object.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {

class CircuitBreaker;

enum class CircuitState : std::uint8_t {
    active,      ///< everybody is admitted
    inactive,    ///< acquire throws ServiceUnavailable, try_acquire returns nothing
    recovering,  ///< whom the strategy's admit lets through; everybody without one
};
[[nodiscard]] std::string_view to_string(CircuitState state);

/// When an attempt was let through, and with which permit.
struct CircuitAdmission {
    std::uint64_t generation = 0;
    std::uint64_t permit = 0;  ///< from 1; 0: none was needed
};

/// Decides about one breaker. An object of its own per pool: it counts.
class CircuitStrategy {
public:
    virtual ~CircuitStrategy() = default;

    /// Once per release that before_release accepted, or rejected. May suspend; what it throws is discarded (POOL-38, POOL-59).
    /// @param admission  of the lease; compare with CircuitBreaker::is_current (POOL-75)
    virtual void report_success(CircuitBreaker& breaker, const CircuitAdmission& admission) = 0;
    virtual void report_failure(CircuitBreaker& breaker, const CircuitAdmission& admission, const ErrorValue& error) = 0;
    /// Asked by an attempt that finds the breaker inactive. Must not suspend; an error counts as false (POOL-60).
    virtual bool should_recover(CircuitBreaker& breaker) = 0;

    /// Whether admit is to be asked while the breaker recovers; else everybody is let through.
    [[nodiscard]] virtual bool limits() const { return false; }
    /// Whether this attempt may go on. Must not suspend; an error counts as false. @param permit  its number, from 1 (POOL-72)
    virtual bool admit(CircuitBreaker& breaker, std::uint64_t permit) {
        static_cast<void>(breaker), static_cast<void>(permit);
        return true;
    }
    /// A permit came back without a result. Must not suspend.
    virtual void report_ignored(CircuitBreaker& breaker, const CircuitAdmission& admission) {
        static_cast<void>(breaker), static_cast<void>(admission);
    }
};

class CircuitBreaker {
public:
    /// @param owner  whose circuit it is; outlives it
    explicit CircuitBreaker(const RuntimeObject& owner) : owner_(owner) {}
    CircuitBreaker(const CircuitBreaker&) = delete;
    CircuitBreaker& operator=(const CircuitBreaker&) = delete;

    [[nodiscard]] CircuitState state() const {
        touch(TouchMode::read);
        return state_;
    }
    /// From any state; idempotent. Waiters stay parked (POOL-55, POOL-58).
    void activate() { set(CircuitState::active); }
    void deactivate() { set(CircuitState::inactive); }
    void recover() { set(CircuitState::recovering); }

    /// Counted from 1.
    [[nodiscard]] std::uint64_t generation() const {
        touch(TouchMode::read);
        return generation_;
    }
    /// Whether this is news of the present state. Everything older changes nothing (B1).
    [[nodiscard]] bool is_current(const CircuitAdmission& admission) const { return admission.generation == generation(); }
    /// The same state, but what was admitted so far does not count any more.
    void begin_generation();
    /// When the present state began; the world's begin for the first one.
    [[nodiscard]] Instant since() const { return since_; }
    [[nodiscard]] Instant now() const { return owner_.scheduler().reactor().now(); }

    /// Allowed at any time; affects later calls only (POOL-61). Null: none.
    void set_strategy(std::shared_ptr<CircuitStrategy> strategy) { strategy_ = std::move(strategy); }
    [[nodiscard]] const std::shared_ptr<CircuitStrategy>& strategy() const { return strategy_; }

    // ── what a pool asks; in place: the strategy cannot suspend here (POOL-71) ──

    /// Requires: inactive. Moves to recovering if the strategy says so. @returns whether it was asked at all
    bool ask_recovery();
    [[nodiscard]] bool wants_admission() const { return state() == CircuitState::recovering && strategy_ != nullptr && strategy_->limits(); }
    /// @returns the admission, with a permit; without one if the strategy refused
    CircuitAdmission ask_admission();
    [[nodiscard]] CircuitAdmission admission() const { return {generation(), 0}; }
    /// The permit ends without a result, if there is one.
    void ignore(CircuitAdmission& admission) noexcept;

private:
    void set(CircuitState state);
    void touch(TouchMode mode) const { owner_.scheduler().touch(owner_.object_label(), "circuit", mode); }

    const RuntimeObject& owner_;
    std::shared_ptr<CircuitStrategy> strategy_;
    Instant since_;
    std::uint64_t generation_ = 1;
    std::uint64_t last_permit_ = 0;
    CircuitState state_ = CircuitState::active;
};

/// Opens after so many failures in a row, lets a few probes through after a while, and closes when one succeeds (POOL-76).
class Threshold final : public CircuitStrategy {
public:
    struct Options {
        std::uint32_t failures = 5;                   ///< in a row, until the breaker opens; at least 1
        Duration open = std::chrono::seconds(10);     ///< how long it stays open at least; more than zero
        std::size_t probes = 1;                       ///< permits out at once while it recovers; at least 1
        Duration probe = std::chrono::seconds(30);    ///< a permit older than this is taken back; more than zero
    };
    /// Throws ValueError for options out of their range.
    explicit Threshold(const Options& options);

    void report_success(CircuitBreaker& breaker, const CircuitAdmission& admission) override;
    void report_failure(CircuitBreaker& breaker, const CircuitAdmission& admission, const ErrorValue& error) override;
    bool should_recover(CircuitBreaker& breaker) override;
    [[nodiscard]] bool limits() const override { return true; }
    bool admit(CircuitBreaker& breaker, std::uint64_t permit) override;
    void report_ignored(CircuitBreaker& breaker, const CircuitAdmission& admission) override;

    [[nodiscard]] std::size_t permits_out() const { return permits_.size(); }
    [[nodiscard]] const Options& options() const { return options_; }

private:
    void follow(const CircuitBreaker& breaker);

    Options options_;
    std::map<std::uint64_t, Instant> permits_;  // of this generation: number, and when it was given
    std::uint64_t generation_ = 0;              // that the counts belong to
    std::uint32_t failures_ = 0;                // in a row
};

}  // namespace heddle
