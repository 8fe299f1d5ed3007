// SPDX-License-Identifier: Apache-2.0
// Attempts to acquire (A1 to A8 of POOL-22) and releases (R1 to R5 of POOL-34). Closing and the background: pool_life.cpp.
#include "heddle/core/sync/pool_state.hpp"

#include <bit>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

using detail::WaitEntry;

namespace {

const char* text_of(PoolError::Reason reason) {
    switch (reason) {
        case PoolError::Reason::closed: return "the pool is closed";
        case PoolError::Reason::creation_failed: return "the pool's factory made nothing";
        case PoolError::Reason::not_leased: return "the pool has not lent this out";
    }
    return "?";
}

std::size_t ring_capacity(const PoolLimits& limits) {
    constexpr std::size_t least = 8;  // POOL-05
    return limits.min > static_cast<std::int64_t>(least) ? std::bit_ceil(static_cast<std::size_t>(limits.min)) : least;
}

/// Throws for what no pool can be (POOL-01, POOL-20).
const PoolLimits& checked(const Scheduler& scheduler, const PoolLimits& limits, const PoolHooks& hooks) {
    if (limits.min < 0) { throw ValueError("pool: min is negative"); }
    if (limits.max < 1) { throw ValueError("pool: max is less than one"); }
    if (limits.min > limits.max) { throw ValueError("pool: min is above max"); }
    if (limits.check_interval < Duration::zero()) { throw ValueError("pool: the interval of the health check is negative"); }
    if (hooks.create == nullptr) { throw ValueError("pool: the factory is missing"); }
    const bool has_timer = hooks.healthcheck != nullptr && limits.check_interval > Duration::zero();
    if ((limits.min > 0 || has_timer) && scheduler.state() != Scheduler::State::active) {
        throw AsyncError("pool: nothing can be created or checked outside a run");
    }
    return limits;
}

}  // namespace

PoolError::PoolError(Reason reason, ErrorValue cause) : Error(text_of(reason)), cause_(std::move(cause)), reason_(reason) {}

std::string_view to_string(PlaceState state) {
    switch (state) {
        case PlaceState::creating: return "creating";
        case PlaceState::acquiring: return "acquiring";
        case PlaceState::leased: return "leased";
        case PlaceState::releasing: return "releasing";
        case PlaceState::checking: return "checking";
        case PlaceState::destroying: return "destroying";
    }
    return "?";
}

PoolState::PoolState(Scheduler& scheduler, const PoolLimits& limits, const PoolHooks& hooks)
    : RuntimeObject(scheduler, checked(scheduler, limits, hooks).name),
      EventSource(scheduler),
      hooks_(hooks),
      min_(static_cast<std::size_t>(limits.min)),
      max_(static_cast<std::size_t>(limits.max)),
      check_interval_(limits.check_interval),
      circuit_(*this),
      idle_(ring_capacity(limits)) {}

// ── user code ──

PoolState::Answer PoolState::make(void*& resource) {
    Answer answer = ask([&] {
        resource = hooks_.create(hooks_.context);
        return resource != nullptr;
    });
    touch();
    return answer;
}

PoolState::Answer PoolState::ask_destructor(void* resource) {
    return ask([&] {
        hooks_.destroy(hooks_.context, resource);
        return true;
    });
}

/// State DESTROYING until the destructor ended, whatever came of it (POOL-70). The place stays (PL6).
PoolState::Ended PoolState::destroy(PoolPlace& place, bool in_place) {
    HEDDLE_ASSERT(place.resource != nullptr, "INV-POOL-12");
    place.state = PlaceState::destroying;
    touch();
    Ended ended;
    if (hooks_.destroy != nullptr) {
        const auto body = [&] {
            ended.error = ask_destructor(place.resource).error;
        };
        if (!in_place && scheduler().in_coroutine()) {
            const Answer held = ask([&] {
                protect(body);
                return true;
            });
            ended.cancellation = held.error;
        } else {
            body();
        }
        if (ended.error.is_cancellation()) {  // shutdown, or a deadlock, has lifted the protection: it has ended all the same
            if (!ended.cancellation) { ended.cancellation = ended.error; }
            ended.error = {};
        }
    }
    void* const resource = std::exchange(place.resource, nullptr);
    ++destroyed_;
    free(resource);
    touch();
    return ended;
}

void PoolState::free(void* resource) noexcept {
    if (hooks_.free == nullptr) { return; }
    const Scheduler::NoSuspend region(scheduler());
    hooks_.free(hooks_.context, resource);
}

void PoolState::sink(const char* what, const ErrorValue& error) noexcept {
    if (error) { scheduler().report({std::string("pool: ") + what, error}); }
}

// ── places ──

void PoolState::grant() {
    while (!closed_ && free_places() > 0) {
        WaitEntry* const next = oldest_living(waiters_, [](const WaitEntry&) {});
        if (next == nullptr) { return; }
        waiters_.remove(*next);
        ++reserved_;
        next->grant();
    }
}

PoolPlace& PoolState::add_place(PlaceState state) {
    HEDDLE_ASSERT(free_places() > 0, "INV-POOL-02");
    PoolPlace place;
    place.id = last_id_ + 1;
    place.state = state;
    if (spare_.empty()) [[unlikely]] {
        if (spare_.capacity() <= places_.size()) { spare_.reserve(2 * places_.size() + 1); }  // PL7: giving a node back needs no memory
        places_.emplace_hint(places_.end(), place.id, place);
    } else {
        Places::node_type node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = place.id;
        node.mapped() = place;
        places_.insert(places_.end(), std::move(node));
    }
    ++last_id_;
    return places_.rbegin()->second;
}

PoolState::Idle PoolState::take_idle() { return idle_.pop_front(); }

void PoolState::end_place(PoolPlace& place) {
    HEDDLE_ASSERT(place.resource == nullptr, "INV-POOL-01");
    spare_.push_back(places_.extract(place.id));
    touch();
    grant();
}

/// Into the ring first: who is granted the place must find it there (POOL-36).
void PoolState::keep(PoolPlace& place) {
    HEDDLE_ASSERT(!closed_ && place.resource != nullptr, "INV-POOL-13");
    idle_.push_back({place.resource, place.number});
    place.resource = nullptr;
    end_place(place);
}

/// Terminal unwinding came through user code: the books are closed without calling any more of it (CV-09).
void PoolState::lose(PoolPlace& place) noexcept {
    if (void* resource = std::exchange(place.resource, nullptr); resource != nullptr) {
        left_behind_.emplace_back(resource, place.state == PlaceState::destroying);
    }
    end_place(place);
}

// ── acquire ──

/// One call of acquire or try_acquire, and what it holds meanwhile (POOL-22).
class PoolState::Attempt {
public:
    enum class Claim : std::uint8_t {
        none,
        grant,  ///< counted in `reserved`; voided by close
        slot,   ///< counted in active: `place`
    };
    Attempt(PoolState& pool, bool waits) : pool_(pool), waits_(waits) {}
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    ~Attempt() { drop_claim(); }

    [[nodiscard]] bool waits() const { return waits_; }

    /// In one step; the permit is another matter, since its end is user code.
    void drop_claim() {
        const Claim dropped = std::exchange(claim, Claim::none);
        if (dropped == Claim::grant) {
            note(EventKind::handed_on);
            if (pool_.closed_) { return; }
            --pool_.reserved_;
            pool_.touch();
            pool_.grant();
        } else if (PoolPlace* held = std::exchange(place, nullptr); held != nullptr) {
            pool_.lose(*held);
        }
    }
    /// Ends without a lease.
    void end() {
        drop_claim();
        pool_.circuit_.ignore(admission);
    }
    void note(EventKind kind) const {
        if (pool_.scheduler().observer() != nullptr) [[unlikely]] { pool_.scheduler().note(kind, self, pool_.object_label(), 0, 0, side); }
    }

    Claim claim = Claim::none;
    PoolPlace* place = nullptr;
    CircuitAdmission admission{};
    Label self{};             ///< who was granted
    bool asked = false;       ///< should_recover, of this round (POOL-60)
    bool refused = false;     ///< by admit
    bool has_place = false;   ///< it took its place before; the breaker limits it no more (POOL-72)

private:
    PoolState& pool_;
    bool waits_;
};

PoolLent PoolState::acquire(Duration timeout, EventSource* token, SourceLocation at) {
    if (timeout < Duration::zero()) { throw ValueError("pool: a negative timeout"); }
    static_cast<void>(scheduler().require_current("acquire"));
    EventSource* const ends_it = live_token(token);
    const Ref<PoolState> alive(this);
    Attempt mine(*this, true);
    return attempt(mine, timeout, ends_it, at);
}

PoolLent PoolState::try_acquire() {
    const Ref<PoolState> alive(this);
    Attempt mine(*this, false);
    return attempt(mine, Duration::zero(), nullptr, SourceLocation());
}

PoolLent PoolState::answer_closed(Attempt& attempt, const Ended& ended) {
    attempt.end();
    if (ended.cancellation) {
        sink("a destructor failed", ended.error);
        ended.cancellation.rethrow();
    }
    if (attempt.waits()) { throw PoolError(PoolError::Reason::closed, ended.error); }
    sink("a destructor failed", ended.error);  // POOL-32
    return {};
}

PoolLent PoolState::attempt(Attempt& attempt, Duration timeout, EventSource* token, SourceLocation at) {
    using Claim = Attempt::Claim;
    while (true) {
        touch();
        if (closed_) { return answer_closed(attempt, {}); }  // A2
        const Gate gate = pass(attempt);                      // A3
        if (gate == Gate::again) { continue; }
        if (gate == Gate::refused) {
            attempt.end();
            if (!attempt.waits()) { return {}; }
            throw ServiceUnavailable("the pool's circuit is open");
        }
        if (attempt.claim == Claim::none && free_places() == 0) {  // A4
            if (attempt.admission.permit != 0) {
                circuit_.ignore(attempt.admission);  // the strategy took the place meanwhile
                continue;
            }
            if (!attempt.waits()) { return {}; }
            park(attempt, timeout, token, at);
            continue;
        }
        take(attempt);
        PoolLent lent;
        const bool ended = attempt.place->state == PlaceState::acquiring ? prepare(attempt, lent) : create(attempt, lent);
        if (ended) { return lent; }
        attempt.claim = Claim::slot;
    }
}

/// A3. User code may have run when it answers `again`: the attempt looks at everything anew (POOL-60).
PoolState::Gate PoolState::pass(Attempt& attempt) {
    if (attempt.refused) { return Gate::refused; }
    if (circuit_.state() == CircuitState::inactive) {
        if (std::exchange(attempt.asked, true)) { return Gate::refused; }
        return circuit_.ask_recovery() ? Gate::again : Gate::refused;
    }
    const bool takes = attempt.claim == Attempt::Claim::grant || (attempt.claim == Attempt::Claim::none && free_places() > 0);
    if (!attempt.has_place && takes && attempt.admission.permit == 0 && circuit_.wants_admission()) {
        attempt.admission = circuit_.ask_admission();
        attempt.refused = attempt.admission.permit == 0;
        return Gate::again;
    }
    return Gate::open;
}

/// A5: the claim becomes a place, with an idle resource if there is one for it (PL3).
void PoolState::take(Attempt& attempt) {
    using Claim = Attempt::Claim;
    const Claim claim = std::exchange(attempt.claim, Claim::none);
    if (claim == Claim::grant) {
        HEDDLE_ASSERT(reserved_ > 0, "INV-POOL-10");
        --reserved_;
        attempt.note(EventKind::grant_spent);
    }
    if (claim != Claim::slot) { attempt.place = &add_place(PlaceState::creating); }
    PoolPlace& place = *attempt.place;
    if (!attempt.has_place) {
        attempt.has_place = true;
        if (attempt.admission.permit == 0) { attempt.admission = circuit_.admission(); }
    }
    if (claim == Claim::grant ? !idle_.empty() : idle_.size() > reserved_) {
        const Idle oldest = take_idle();
        place.resource = oldest.resource;
        place.number = oldest.number;
        place.state = PlaceState::acquiring;
    }
    HEDDLE_ASSERT(active() + idle_.size() <= max_, "INV-POOL-02");
    touch();
}

PoolLent PoolState::lend(Attempt& attempt) {
    PoolPlace& place = *std::exchange(attempt.place, nullptr);
    place.state = PlaceState::leased;
    place.admission = std::exchange(attempt.admission, {});
    return {place.id, place.resource};
}

/// A6. @returns false to try again in the same place (POOL-27)
bool PoolState::prepare(Attempt& attempt, PoolLent& lent) {
    PoolPlace& place = *attempt.place;
    Answer answer{true, {}};
    if (hooks_.before_acquire != nullptr) {
        answer = ask([&] { return hooks_.before_acquire(hooks_.context, place.resource); });
        touch();
    }
    if (answer.yes && !closed_) {
        lent = lend(attempt);
        return true;
    }
    const Ended ended = destroy(place);
    if (answer.yes) {
        lent = answer_closed(attempt, ended);
        return true;
    }
    if (answer.is_cancelled() || ended.cancellation || ended.error) {
        attempt.end();
        const bool by_cancellation = answer.is_cancelled() || ended.cancellation;
        if (by_cancellation) { sink("a destructor failed", ended.error); }
        (answer.is_cancelled() ? answer.error : ended.cancellation ? ended.cancellation : ended.error).rethrow();
    }
    place.state = PlaceState::creating;
    place.number = 0;
    return false;
}

/// A7. Always the end of the attempt.
bool PoolState::create(Attempt& attempt, PoolLent& lent) {
    PoolPlace& place = *attempt.place;
    void* resource = nullptr;
    const Answer answer = make(resource);
    if (answer.yes) {
        place.resource = resource;
        place.number = ++last_number_;
        lent = closed_ ? answer_closed(attempt, destroy(place)) : lend(attempt);
        return true;
    }
    attempt.end();  // POOL-26: the oldest waiter has its turn in this very step
    if (answer.error) { answer.error.rethrow(); }
    if (attempt.waits()) { throw PoolError(PoolError::Reason::creation_failed); }
    return true;
}

/// A8.
void PoolState::park(Attempt& attempt, Duration timeout, EventSource* token, SourceLocation at) {
    CoroutineCore& self = scheduler().require_suspendable("acquire");
    WaitEntry entry(*this, self, side);
    waiters_.push_back(entry);
    try {
        entry.park(token, at, timeout);
    } catch (...) {
        touch();
        if (entry.is_granted()) {
            entry.note(EventKind::handed_on);  // POOL-29
            if (!closed_) {
                --reserved_;
                grant();
            }
        } else {
            entry.note(EventKind::wait_left);
            if (entry.ListHook<WaitEntry>::is_linked()) { waiters_.remove(entry); }
        }
        throw;
    }
    HEDDLE_ASSERT(entry.is_granted(), "INV-POOL-09");
    attempt.self = self.label();
    attempt.claim = Attempt::Claim::grant;  // on a pool closed meanwhile it is void, and A2 says so
    attempt.asked = attempt.refused = false;
}

// ── release ──

PoolPlace& PoolState::leased(std::uint64_t id, bool detached) {
    const auto found = places_.find(id);
    if (found == places_.end() || found->second.state != PlaceState::leased || found->second.dropped || found->second.detached != detached) {
        throw PoolError(PoolError::Reason::not_leased);
    }
    return found->second;
}

void PoolState::release(std::uint64_t id, PoolReturn how) {
    const Ref<PoolState> alive(this);
    touch();
    give_back(leased(id, false), how);
}

void PoolState::hand_back(std::uint64_t id, void* resource, PoolReturn how) {
    HEDDLE_ASSERT(resource != nullptr, "a resource comes back, not nothing");
    const Ref<PoolState> alive(this);
    touch();
    PoolPlace& place = leased(id, true);
    place.resource = resource;
    place.detached = false;
    give_back(place, how);
}

void* PoolState::detach(std::uint64_t id) {
    touch();
    PoolPlace& place = leased(id, false);
    place.detached = true;
    return std::exchange(place.resource, nullptr);
}

bool PoolState::is_detached(std::uint64_t id) const {
    const auto found = places_.find(id);
    return found != places_.end() && found->second.detached;
}

/// R3. Whatever the strategy throws is discarded, a cancellation excepted (POOL-38).
void PoolState::report(PoolPlace& place, const Answer& answer, ErrorValue& cancellation) {
    const std::shared_ptr<CircuitStrategy> strategy = circuit_.strategy();
    const CircuitAdmission admission = std::exchange(place.admission, {});
    if (strategy == nullptr) { return; }
    const Answer told = ask([&] {
        if (answer.yes) {
            strategy->report_success(circuit_, admission);
        } else {
            strategy->report_failure(circuit_, admission, answer.error ? answer.error : ErrorValue::make<Error>("the resource was rejected"));
        }
        return true;
    });
    if (told.is_cancelled() && !cancellation) { cancellation = told.error; }
    touch();
}

void PoolState::give_back(PoolPlace& place, PoolReturn how) {
    Hold hold(*this, place);
    place.state = PlaceState::releasing;
    Answer answer{how == PoolReturn::released, {}};
    if (how != PoolReturn::broken && hooks_.before_release != nullptr) {
        answer = ask([&] { return hooks_.before_release(hooks_.context, place.resource, how); });
        touch();
    }
    ErrorValue cancellation;
    if (answer.is_cancelled()) { cancellation = answer.error; }
    report(place, answer, cancellation);
    Ended ended;
    if (answer.yes && !closed_) {
        hold.done();
        keep(place);
    } else {
        ended = destroy(place);
        hold.done();
        end_place(place);
    }
    if (!cancellation) { cancellation = ended.cancellation; }
    if (cancellation) {
        sink("a destructor failed", ended.error);
        cancellation.rethrow();
    }
    if (ended.error) { ended.error.rethrow(); }
}

std::string PoolState::describe() const {
    return "pool of " + std::to_string(max_) + ", " + std::to_string(idle()) + " idle, " + std::to_string(active()) + " active, " +
           std::to_string(reserved_) + " reserved, " + std::to_string(waiters_.size()) + " waiting" + (closed_ ? ", closed" : "");
}

}  // namespace heddle
