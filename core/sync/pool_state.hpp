// SPDX-License-Identifier: Apache-2.0
// PoolState: the untyped half of a pool: which places are taken by what, who waits for one, and what becomes of resources
// (docs/spec/10-pool.md).
//
//                  ┌──────────── before_acquire ◀── acquiring ◀── oldest ── idle (ring) ◀─────── accepted ──────────┐
//   acquire ──▶ place? ──▶ leased ◀────────────── creating ◀── factory                                              │
//                  │         └─ release, drop ─▶ releasing ── before_release, report ──┬────────────────────────────┘
//                  └─none─▶ waiters ──promised a place──▶ runs: spends it, hands it on └─rejected, closed─▶ destroying ─▶ gone
//
// PL1  A place taken is one entry in `places_`, in one state: creating, acquiring, leased, releasing, checking or destroying. What is
//      idle is in the ring and nowhere else (INV-POOL-01).
// PL2  free = max - active - reserved, and is never negative (POOL-03, INV-POOL-03). active + idle never exceed max (INV-POOL-02).
// PL3  A place is promised, not a resource: whoever was promised none takes an idle one only while more than `reserved` are idle (POOL-04).
// PL4  What ends a place grants it to the oldest living waiter in the same step (POOL-23, POOL-36, INV-POOL-05).
// PL5  User code runs between steps: the books balance when it begins, and `closed_` and the rest are read again behind it (POOL-13).
// PL6  A destructor keeps the place of what it destroys, and no cancellation cuts it short (POOL-07, POOL-70).
// PL7  A place that ends keeps its node for the next one: lending allocates nothing once as many were taken before.
//
// Cells: `places` (everything that changes or reads who has which place: W), `circuit` (circuit_breaker.hpp).
// Choice points: none of its own; the check timer asks the reactor's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/base/ring.hpp"
#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/core/run/unwind.hpp"
#include "heddle/core/sync/circuit_breaker.hpp"
#include "heddle/core/sync/detail/wait_entry.hpp"

namespace heddle {

/// The pool's answer. Busy for too long is a TimeoutError instead: the pool is healthy then (POOL-28).
class PoolError : public Error {
public:
    enum class Reason : std::uint8_t {
        closed,           ///< the pool is closed, or was while the caller waited
        creation_failed,  ///< the factory made nothing
        not_leased,       ///< what was to be given back is not lent out by this pool (POOL-34)
    };
    explicit PoolError(Reason reason, ErrorValue cause = {});
    [[nodiscard]] Reason reason() const { return reason_; }
    /// A destructor's error that had to stand back (CV-20); empty mostly.
    [[nodiscard]] const ErrorValue& cause() const { return cause_; }

private:
    ErrorValue cause_;
    Reason reason_;
};

/// How a lease comes back.
enum class PoolReturn : std::uint8_t {
    released,   ///< by its holder
    broken,     ///< by its holder, to be destroyed without asking before_release (POOL-73)
    abandoned,  ///< dropped: nobody vouches for the resource
};

/// The user code of a pool as plain functions, for the typed surface and for extensions alike (POOL-77). Null: there is none, which
/// accepts (POOL-14). All but `free` and `drop` may suspend, throw, and call the pool.
struct PoolHooks {
    void* context = nullptr;
    void* (*create)(void* context) = nullptr;  ///< required; null: none
    bool (*before_acquire)(void* context, void* resource) = nullptr;
    bool (*before_release)(void* context, void* resource, PoolReturn how) = nullptr;
    bool (*healthcheck)(void* context, void* resource) = nullptr;
    void (*destroy)(void* context, void* resource) = nullptr;
    void (*free)(void* context, void* resource) = nullptr;  ///< its memory goes; not for what was detached
    void (*drop)(void* context) = nullptr;                  ///< the pool is gone
};

struct PoolLimits {
    std::int64_t min = 0;
    std::int64_t max = 10;
    Duration check_interval = Duration::zero();  ///< 0: nothing is checked
    std::string_view name = "pool";
};

enum class PlaceState : std::uint8_t { creating, acquiring, leased, releasing, checking, destroying };
[[nodiscard]] std::string_view to_string(PlaceState state);

/// A place that is taken. Its number is the identity of a lease.
struct PoolPlace {
    std::uint64_t id = 0;
    PlaceState state = PlaceState::creating;
    void* resource = nullptr;      ///< null: not made yet, or detached
    std::uint64_t number = 0;      ///< of the resource, in the order of making
    CircuitAdmission admission{};
    bool dropped = false;          ///< its lease is gone; a background coroutine will release it
    bool detached = false;         ///< its holder took the resource out (POOL-43)
};

/// What a holder gets.
struct PoolLent {
    std::uint64_t id = 0;
    void* resource = nullptr;
    [[nodiscard]] explicit operator bool() const { return id != 0; }
};

class PoolState final : public RuntimeObject, public EventSource {
public:
    using RuntimeObject::scheduler;
    /// What its waiters are said to wait for, in labels and events.
    static constexpr const char* side = "lease";

    /// Throws ValueError for impossible limits or a missing factory (POOL-01), and then does not drop the context; AsyncError outside a
    /// run if there is something to create or to check (POOL-20).
    PoolState(Scheduler& scheduler, const PoolLimits& limits, const PoolHooks& hooks);
    /// Makes the first `min` resources and starts the check timer. Throws what the factory throws; the pool is closed then (POOL-18).
    void open();

    // ── operations ──

    PoolLent acquire(Duration timeout, EventSource* token, SourceLocation at);
    PoolLent try_acquire();
    void release(std::uint64_t id, PoolReturn how);
    /// A detached resource comes back (POOL-43).
    void hand_back(std::uint64_t id, void* resource, PoolReturn how);
    /// @returns the resource, which the caller owns now. Throws PoolError unless it is lent out
    void* detach(std::uint64_t id);
    [[nodiscard]] bool is_detached(std::uint64_t id) const;
    /// The lease is gone without a release (POOL-42), or its holder is (POOL-44): released in the background. @param how  as what
    void abandon(std::uint64_t id, PoolReturn how = PoolReturn::abandoned) noexcept;
    void close();

    // ── looking ──

    [[nodiscard]] bool has_closed() const { return closed_; }
    [[nodiscard]] std::size_t min() const { return min_; }
    [[nodiscard]] std::size_t max() const { return max_; }
    [[nodiscard]] std::size_t idle() const { return idle_.size(); }
    [[nodiscard]] std::size_t active() const { return places_.size(); }
    [[nodiscard]] std::size_t reserved() const { return reserved_; }
    [[nodiscard]] std::size_t free_places() const {
        HEDDLE_ASSERT(active() + reserved_ <= max_, "INV-POOL-03");
        return max_ - active() - reserved_;
    }
    /// Living ones without a promise.
    [[nodiscard]] std::size_t waiting() const { return detail::living_count(waiters_); }
    [[nodiscard]] const detail::WaitList& waiters() const { return waiters_; }
    /// In the order of their ids.
    template <class F>
    void visit_places(F&& visit) const {
        for (const auto& [id, place] : places_) { visit(place); }
    }
    /// Numbers of the idle resources, oldest first.
    template <class F>
    void visit_idle(F&& visit) const {
        for (std::size_t i = 0; i < idle_.size(); ++i) { visit(idle_[i].number); }
    }
    [[nodiscard]] bool is_checking() const { return checking_; }
    [[nodiscard]] std::uint64_t created() const { return last_number_; }
    [[nodiscard]] std::uint64_t destroyed() const { return destroyed_; }
    /// Resources that terminal unwinding left behind; they go with the state.
    [[nodiscard]] std::size_t left_behind() const { return left_behind_.size(); }
    [[nodiscard]] CircuitBreaker& circuit() { return circuit_; }
    [[nodiscard]] const CircuitBreaker& circuit() const { return circuit_; }
    void touch_looked() const { scheduler().touch(object_label(), "places", TouchMode::read); }
    /// idle, active, reserved and max in one line (POOL-69).
    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] Label label() const override { return object_label(); }

    // ── life (CV-16) ──

    void add_handle() {
        ++handles_;
        add_reference();
    }
    void drop_handle() noexcept;

private:
    struct Idle {
        void* resource;
        std::uint64_t number;
    };
    /// What a call of user code came to. Terminal unwinding is no answer: it passes through.
    struct Answer {
        bool yes = false;
        ErrorValue error{};
        [[nodiscard]] bool is_cancelled() const { return error.is_cancellation(); }
    };
    /// What came out of a destructor, and the cancellation that was held back meanwhile.
    struct Ended {
        ErrorValue error{};
        ErrorValue cancellation{};
    };
    /// A place on its way through user code. Left by terminal unwinding only.
    class Hold {
    public:
        Hold(PoolState& pool, PoolPlace& place) : pool_(pool), place_(&place) {}
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        ~Hold() {
            if (place_ != nullptr) { pool_.lose(*place_); }
        }
        void done() { place_ = nullptr; }

    private:
        PoolState& pool_;
        PoolPlace* place_;
    };
    class Attempt;
    class Tick;
    enum class Gate : std::uint8_t { open, refused, again };

    ~PoolState() override;
    void dispose() override;

    // pool_state.cpp: attempts and releases
    PoolLent attempt(Attempt& attempt, Duration timeout, EventSource* token, SourceLocation at);
    Gate pass(Attempt& attempt);
    void park(Attempt& attempt, Duration timeout, EventSource* token, SourceLocation at);
    void take(Attempt& attempt);
    bool prepare(Attempt& attempt, PoolLent& lent);
    bool create(Attempt& attempt, PoolLent& lent);
    PoolLent lend(Attempt& attempt);
    PoolLent answer_closed(Attempt& attempt, const Ended& ended);
    void give_back(PoolPlace& place, PoolReturn how);
    void report(PoolPlace& place, const Answer& answer, ErrorValue& cancellation);
    [[nodiscard]] PoolPlace& leased(std::uint64_t id, bool detached);

    void grant();
    PoolPlace& add_place(PlaceState state);
    Idle take_idle();
    void end_place(PoolPlace& place);
    void keep(PoolPlace& place);
    void lose(PoolPlace& place) noexcept;
    Ended destroy(PoolPlace& place, bool in_place = false);
    void free(void* resource) noexcept;
    void sink(const char* what, const ErrorValue& error) noexcept;
    void touch() const { scheduler().touch(object_label(), "places", TouchMode::write); }
    template <class F>
    static Answer ask(F&& call) {
        try {
            return {call(), {}};
        } catch (const UnwindToken&) {
            throw;
        } catch (...) {
            return {false, ErrorValue(std::current_exception())};
        }
    }
    Answer make(void*& resource);
    Answer ask_destructor(void* resource);

    // pool_life.cpp: what happens behind the program's back
    void begin_close();
    std::vector<ErrorValue> destroy_idle(ErrorValue& cancellation, bool in_place);
    void destroy_in_place(PoolPlace& place) noexcept;
    bool spawn_background(Name name, const ScopeRef& scope, UniqueFunction<void()> body, UniqueFunction<void()> instead) noexcept;
    [[nodiscard]] ScopeRef home();
    void start_timer();
    void stop_timer() noexcept;
    void tick();
    void check();
    bool check_one();
    bool replenish();

    PoolHooks hooks_;
    std::size_t min_ = 0;
    std::size_t max_ = 0;
    Duration check_interval_;
    CircuitBreaker circuit_;
    Ring<Idle> idle_;
    using Places = std::map<std::uint64_t, PoolPlace>;
    Places places_;
    std::vector<Places::node_type> spare_;  // PL7
    detail::WaitList waiters_;  // without a promise
    std::vector<std::pair<void*, bool>> left_behind_;  // by terminal unwinding; true: its destructor has begun
    std::optional<Scope> home_;
    Ref<ReactorEvent> timer_;
    EventCallback* tick_ = nullptr;
    std::size_t reserved_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t destroyed_ = 0;
    std::uint32_t handles_ = 0;
    bool checking_ = false;
    bool closed_ = false;
};

}  // namespace heddle
