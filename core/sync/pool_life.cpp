// SPDX-License-Identifier: Apache-2.0
// The life of a pool around its users: its first resources, dropped leases, the health check, closing, the end.
//
//   dropped lease, last handle ──▶ background coroutine in the pool's own scope; where none can run: in place (POOL-42, POOL-66)
//   check timer (hidden) ──▶ one pass at a time, a zombie from its birth (POOL-47 to POOL-49)
//
// PF1  What runs in the background holds the state, so that it outlives the last handle (CV-16).
// PF2  In place means the destructor alone, where it cannot suspend; its error goes to the error sink (CV-18, POOL-42).
#include <algorithm>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/unwind.hpp"
#include "heddle/core/sync/pool_state.hpp"

namespace heddle {

/// The check timer's callback. It lives by itself, because the timer's pass may outlive the pool (EVT-4).
class PoolState::Tick final : public EventCallback {
public:
    explicit Tick(PoolState& pool) : pool_(pool) {}
    void call(EventSource&, const Outcome&) override { pool_.tick(); }

private:
    void dispose() override { delete this; }
    PoolState& pool_;
};

PoolState::~PoolState() {
    HEDDLE_ASSERT(waiters_.empty() && reserved_ == 0, "INV-ALL-08");
    stop_timer();
    closed_ = true;
    for (const auto& [resource, destroyed] : std::exchange(left_behind_, {})) {
        if (!destroyed && hooks_.destroy != nullptr) {
            const Scheduler::NoSuspend region(scheduler());
            const Answer answer = ask_destructor(resource);
            sink("a destructor failed", answer.error);
        }
        free(resource);
    }
    HEDDLE_ASSERT(idle_.empty(), "INV-POOL-13");
    if (hooks_.drop != nullptr) {
        const Scheduler::NoSuspend region(scheduler());
        hooks_.drop(hooks_.context);
    }
}

void PoolState::dispose() {
    drop_callbacks();
    delete this;
}

// ── the first resources (POOL-17 to POOL-20) ──

void PoolState::open() {
    const Ref<PoolState> alive(this);
    for (std::size_t i = 0; i < min_; ++i) {
        PoolPlace& place = add_place(PlaceState::creating);
        Hold hold(*this, place);
        void* resource = nullptr;
        const Answer answer = make(resource);
        hold.done();
        if (answer.yes) {
            place.resource = resource;
            place.number = ++last_number_;
            keep(place);
            continue;
        }
        end_place(place);
        if (!answer.error) { continue; }  // POOL-19
        begin_close();
        ErrorValue cancellation;
        for (const ErrorValue& error : destroy_idle(cancellation, false)) { sink("a destructor failed", error); }
        answer.error.rethrow();
    }
    if (hooks_.healthcheck != nullptr && check_interval_ > Duration::zero()) { start_timer(); }
}

// ── closing (POOL-62 to POOL-67) ──

void PoolState::begin_close() {
    HEDDLE_ASSERT(!closed_, "POOL-64");
    touch();
    closed_ = true;
    stop_timer();
    reserved_ = 0;  // a granted waiter that has not run finds the pool closed (A2)
    const ErrorValue error = ErrorValue::make<PoolError>(PoolError::Reason::closed);
    while (detail::WaitEntry* next = waiters_.front()) {
        waiters_.remove(*next);
        next->fail(error);
    }
    scheduler().note(EventKind::object_closed, {}, object_label());
    notify_and_close({0, false, error});  // EVT-16: behind the step, since callbacks are not ours
}

std::vector<ErrorValue> PoolState::destroy_idle(ErrorValue& cancellation, bool in_place) {
    std::vector<ErrorValue> errors;
    while (!idle_.empty()) {
        const Idle oldest = take_idle();
        PoolPlace& place = add_place(PlaceState::destroying);
        place.resource = oldest.resource;
        place.number = oldest.number;
        Hold hold(*this, place);
        const Ended ended = destroy(place, in_place);
        hold.done();
        end_place(place);
        if (ended.error) { errors.push_back(ended.error); }
        if (!cancellation) { cancellation = ended.cancellation; }
    }
    return errors;
}

void PoolState::close() {
    if (closed_) { return; }
    const Ref<PoolState> alive(this);
    begin_close();
    ErrorValue cancellation;
    const std::vector<ErrorValue> errors = destroy_idle(cancellation, false);
    if (cancellation) {
        for (const ErrorValue& error : errors) { sink("a destructor failed", error); }
        cancellation.rethrow();
    }
    if (errors.size() == 1) { errors.front().rethrow(); }
    if (!errors.empty()) { throw CompositeError(errors); }
}

void PoolState::drop_handle() noexcept {
    HEDDLE_ASSERT(handles_ > 0, "CV-16");
    const Ref<PoolState> alive = Ref<PoolState>::adopt(this);  // the handle's own reference
    if (--handles_ > 0 || closed_) { return; }
    begin_close();
    if (idle_.empty()) { return; }
    const auto destroy_all = [this] {
        ErrorValue cancellation;
        for (const ErrorValue& error : destroy_idle(cancellation, false)) { sink("a destructor failed", error); }
        if (cancellation) { cancellation.rethrow(); }
    };
    const auto instead = [this] {
        ErrorValue cancellation;
        for (const ErrorValue& error : destroy_idle(cancellation, true)) { sink("a destructor failed", error); }
    };
    if (!spawn_background("pool-close", home(), destroy_all, instead)) { instead(); }
}

// ── leases that are dropped (POOL-42, POOL-74) ──

void PoolState::abandon(std::uint64_t id, PoolReturn how) noexcept {
    const Ref<PoolState> alive(this);
    const auto found = places_.find(id);
    if (found == places_.end() || found->second.state != PlaceState::leased || found->second.dropped || found->second.detached) { return; }
    PoolPlace& place = found->second;
    touch();
    place.dropped = true;  // it counts as active until its release ended
    const auto release = [this, id, how] {
        protect([&] { give_back(places_.at(id), how); });
    };
    const auto instead = [this, id] { destroy_in_place(places_.at(id)); };
    if (!spawn_background("pool-release", home(), release, instead)) { destroy_in_place(place); }
}

void PoolState::destroy_in_place(PoolPlace& place) noexcept {
    const Ref<PoolState> alive(this);
    {
        const Scheduler::NoSuspend region(scheduler());
        const Ended ended = destroy(place, true);
        sink("a destructor failed", ended.error ? ended.error : ended.cancellation);
    }
    CircuitAdmission admission = place.admission;
    end_place(place);
    circuit_.ignore(admission);
}

/// The pool's own scope below the main scope, made when it is first needed. Empty where nothing may begin any more.
ScopeRef PoolState::home() {
    ScopeCore* const main = scheduler().main_scope();
    if (scheduler().state() != Scheduler::State::active || main == nullptr || !main->is_open()) { return {}; }
    if (!home_ || !home_->core().is_open()) { home_.emplace(ScopeRef(main).inherit()); }
    return *home_;
}

/// @param instead  what happens if the coroutine never begins
/// @returns false if it could not be spawned; nothing has happened then
bool PoolState::spawn_background(Name name, const ScopeRef& scope, UniqueFunction<void()> body, UniqueFunction<void()> instead) noexcept {
    if (!scope) { return false; }
    auto entry = [this, body = std::move(body)]() mutable {
        const Answer answer = ask([&] {
            body();
            return true;
        });
        if (answer.is_cancelled()) { answer.error.rethrow(); }
        sink("a release in the background failed", answer.error);
    };
    auto* const coroutine = new detail::CoroutineFrame<decltype(entry), void>(scheduler(), std::move(entry));
    // The hook holds the state, and not the entry: it goes when the coroutine is no longer running in the scope that the state owns.
    coroutine->set_dispose_hook([alive = Ref<PoolState>(this), instead = std::move(instead)](CoroutineCore& ended) mutable {
        if (!ended.is_started()) { instead(); }
    });
    SpawnOptions options;
    options.name = name;
    options.scope = scope;
    try {
        scheduler().spawn(*coroutine, options, SourceLocation::current(), true);
    } catch (...) {
        return false;  // the scope was cancelled, or the runtime stands still; the frame is gone
    }
    return true;
}

// ── the health check (POOL-47 to POOL-54) ──

void PoolState::start_timer() {
    TimerOptions options;
    options.timeout = check_interval_;
    options.periodic = true;
    timer_ = ReactorEvent::timer(scheduler(), options, true, "pool_check");
    tick_ = new Tick(*this);
    timer_->subscribe(*tick_);
    try {
        timer_->start();
    } catch (...) {
        begin_close();
        ErrorValue cancellation;
        for (const ErrorValue& error : destroy_idle(cancellation, false)) { sink("a destructor failed", error); }
        throw;
    }
}

void PoolState::stop_timer() noexcept {
    const Ref<ReactorEvent> timer = std::exchange(timer_, {});
    if (!timer) { return; }
    timer->unsubscribe(*std::exchange(tick_, nullptr));
    timer->stop();
}

void PoolState::tick() {
    touch();
    if (closed_ || checking_ || scheduler().is_shutting_down()) { return; }  // POOL-48, POOL-49
    const Ref<PoolState> alive(this);
    const ScopeRef base = home();
    if (!base) { return; }
    Scope pass = base.inherit();
    pass.allow_zombies();
    checking_ = true;
    const auto over = [this] {
        checking_ = false;
        touch();
    };
    if (!spawn_background("pool-check", pass, [this] { check(); }, over)) { over(); }
    pass.dispose_safely();
}

void PoolState::check() {
    struct Done {
        PoolState& pool;
        ~Done() {
            pool.checking_ = false;
            pool.touch();
        }
    } done{*this};
    touch();
    bool makes = true;
    for (std::size_t left = idle_.size(); left > 0 && !closed_ && idle_.size() > reserved_; --left) {
        if (check_one() && makes) { makes = replenish(); }
    }
    if (makes) { static_cast<void>(replenish()); }
}

/// @returns whether it was dead. Throws a cancellation, with the resource destroyed (POOL-51).
bool PoolState::check_one() {
    const Idle oldest = take_idle();
    PoolPlace& place = add_place(PlaceState::checking);
    place.resource = oldest.resource;
    place.number = oldest.number;
    Hold hold(*this, place);
    touch();
    const Answer answer = ask([&] { return hooks_.healthcheck(hooks_.context, place.resource); });
    touch();
    if (answer.yes && !closed_) {
        hold.done();
        keep(place);
        return false;
    }
    const Ended ended = destroy(place);
    hold.done();
    end_place(place);
    sink("a destructor failed", ended.error);
    if (answer.is_cancelled()) { answer.error.rethrow(); }
    if (ended.cancellation) { ended.cancellation.rethrow(); }
    return true;
}

/// @returns false if the factory could not, and is left alone until the next tick (POOL-52, POOL-53)
bool PoolState::replenish() {
    while (!closed_ && active() + idle_.size() < min_ && free_places() > 0) {
        PoolPlace& place = add_place(PlaceState::creating);
        Hold hold(*this, place);
        touch();
        void* resource = nullptr;
        const Answer answer = make(resource);
        if (!answer.yes) {
            hold.done();
            end_place(place);
            if (answer.is_cancelled()) { answer.error.rethrow(); }
            sink("the factory failed", answer.error);
            return false;
        }
        place.resource = resource;
        place.number = ++last_number_;
        if (!closed_) {
            hold.done();
            keep(place);
            continue;
        }
        const Ended ended = destroy(place);
        hold.done();
        end_place(place);
        sink("a destructor failed", ended.error);
        if (ended.cancellation) { ended.cancellation.rethrow(); }
    }
    return true;
}

}  // namespace heddle
