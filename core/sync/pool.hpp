// SPDX-License-Identifier: Apache-2.0
// Pool: up to so many reusable resources, each lent to one holder at a time (docs/spec/10-pool.md).
//
//   heddle::Pool<Connection> pool{{.max = 4, .factory = [] { return Connection("db"); }}};
//   heddle::Lease<Connection> lease = pool.acquire({.timeout = 50ms});   // parks while every place is taken
//   lease->query("…");                                                    // given back by lease.release(), or when it is destroyed
//
// P1  Waiters are served in order of arrival; nobody takes what was promised to one of them (INV-POOL-07, INV-POOL-08, INV-POOL-28).
// P2  Never more than max resources exist, those being made and destroyed included (INV-POOL-02).
// P3  What a callback throws, or a cancellation inside it, loses no place and no resource (POOL-15, INV-POOL-17, INV-POOL-23).
// P4  A lease is released once, whatever becomes of its holder (POOL-34, POOL-42, INV-POOL-19, INV-POOL-26).
// Choice points: none of its own; who runs next is the scheduler's. Books and cells: pool_state.hpp.
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/pool_state.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

struct AcquireOptions {
    Duration timeout = Duration::zero();  ///< bounds the time spent parked; 0: none
    Token token{};                        ///< ends the wait when it fires
};

/// Identity of a lease, for resources that were taken out of theirs.
struct LeaseId {
    std::uint64_t value = 0;
    friend bool operator==(LeaseId, LeaseId) = default;
};

/// What a pool is made from. Every callback may suspend, throw, and call the pool (POOL-13).
template <class T>
struct PoolOptions {
    std::int64_t min = 0;                              ///< made at once, and kept by the health check; 0 ≤ min ≤ max
    std::int64_t max = 10;                             ///< at least 1
    Duration healthcheck_interval = Duration::zero();  ///< 0: no checks
    std::string_view name = "pool";
    UniqueFunction<std::optional<T>()> factory{};           ///< required; may return a T. Empty: none was made
    UniqueFunction<void(T&)> destructor{};                  ///< before ~T; no cancellation cuts it short (POOL-70)
    UniqueFunction<bool(T&)> before_acquire{};              ///< of an idle resource; false: it is destroyed, another one tried
    UniqueFunction<bool(T&, PoolReturn)> before_release{};  ///< false: it is destroyed. Without it a dropped lease's resource is, too (POOL-73)
    UniqueFunction<bool(T&)> healthcheck{};                 ///< false: dead
    std::shared_ptr<CircuitStrategy> strategy{};
};

template <class T>
class Pool;

/// A resource on loan. Movable; anybody may release it. Destroyed without release it goes back in the background (POOL-42).
template <class T>
class Lease {
public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::move(other.pool_)), id_(std::exchange(other.id_, 0)), resource_(std::exchange(other.resource_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
        if (this != &other) {
            drop();
            pool_ = std::move(other.pool_);
            id_ = std::exchange(other.id_, 0);
            resource_ = std::exchange(other.resource_, nullptr);
        }
        return *this;
    }
    ~Lease() { drop(); }

    [[nodiscard]] explicit operator bool() const { return resource_ != nullptr; }
    [[nodiscard]] T& operator*() const {
        HEDDLE_ASSERT(resource_ != nullptr, "a lease that was released holds nothing");
        return *resource_;
    }
    [[nodiscard]] T* operator->() const { return &**this; }
    [[nodiscard]] LeaseId id() const { return {id_}; }

    /// Gives the resource back and serves the oldest waiter. The lease is spent from here on, whatever happens.
    /// Throws: PoolError(not_leased) if it is spent; behind the bookkeeping a cancellation that a callback met, else the destructor's
    /// error. A callback's own error is a rejection, not thrown. Suspends: if a callback does. Source: POOL-34 to POOL-41.
    void release() { give_back(PoolReturn::released); }
    /// The same for a resource that is known to be broken: destroyed without asking before_release (POOL-73).
    void discard() { give_back(PoolReturn::broken); }

    /// Takes the resource out; its place stays taken until Pool::release(id, resource) (POOL-43).
    struct Detached {
        LeaseId id;
        T resource;
    };
    [[nodiscard]] Detached detach() {
        if (!*this) { throw PoolError(PoolError::Reason::not_leased); }
        T taken(std::move(*resource_));
        static_cast<void>(pool_->detach(id_));
        delete std::exchange(resource_, nullptr);
        pool_.reset();
        return {{std::exchange(id_, 0)}, std::move(taken)};
    }

private:
    friend class Pool<T>;
    Lease(PoolState& pool, const PoolLent& lent) : pool_(&pool), id_(lent.id), resource_(static_cast<T*>(lent.resource)) {}

    void give_back(PoolReturn how) {
        const Ref<PoolState> pool = std::move(pool_);
        const std::uint64_t id = std::exchange(id_, 0);
        resource_ = nullptr;
        if (!pool) { throw PoolError(PoolError::Reason::not_leased); }
        pool->release(id, how);
    }
    void drop() noexcept {
        if (const Ref<PoolState> pool = std::move(pool_); pool) { pool->abandon(id_); }
        resource_ = nullptr;
    }

    Ref<PoolState> pool_;
    std::uint64_t id_ = 0;
    T* resource_ = nullptr;
};

namespace detail {

/// The callbacks of one pool, and the plain functions that lead to them (POOL-77).
template <class T>
struct PoolCallbacks {
    PoolOptions<T> options;

    static PoolCallbacks& of(void* context) { return *static_cast<PoolCallbacks*>(context); }
    static T& as(void* resource) { return *static_cast<T*>(resource); }

    static void* create(void* context) {
        std::optional<T> made = of(context).options.factory();
        return made ? new T(std::move(*made)) : nullptr;
    }
    static bool before_acquire(void* context, void* resource) { return of(context).options.before_acquire(as(resource)); }
    static bool before_release(void* context, void* resource, PoolReturn how) { return of(context).options.before_release(as(resource), how); }
    static bool healthcheck(void* context, void* resource) { return of(context).options.healthcheck(as(resource)); }
    static void destroy(void* context, void* resource) { of(context).options.destructor(as(resource)); }
    static void free(void*, void* resource) { delete static_cast<T*>(resource); }
    static void drop(void* context) { delete static_cast<PoolCallbacks*>(context); }

    PoolHooks hooks() {
        PoolHooks hooks;
        hooks.context = this;
        if (options.factory) { hooks.create = &create; }
        if (options.before_acquire) { hooks.before_acquire = &before_acquire; }
        if (options.before_release) { hooks.before_release = &before_release; }
        if (options.healthcheck) { hooks.healthcheck = &healthcheck; }
        if (options.destructor) { hooks.destroy = &destroy; }
        hooks.free = &free;
        hooks.drop = &drop;
        return hooks;
    }
};

}  // namespace detail

/// A handle; copies share one pool. Dropping the last one closes it (POOL-66).
template <class T>
class Pool {
    static_assert(std::is_move_constructible_v<T> && std::is_object_v<T>, "a pool holds objects");

public:
    using Options = PoolOptions<T>;

    /// Makes the first `min` resources. In the running coroutine's runtime.
    /// Throws: ValueError for impossible options (POOL-01); AsyncError outside a run; what the factory throws, with no pool made
    /// (POOL-18). Suspends: if the factory does.
    explicit Pool(Options options) : Pool(current_runtime("pool"), std::move(options)) {}
    /// Outside a run, too, if there is nothing to make and nothing to check (POOL-20).
    Pool(Runtime& runtime, Options options) {
        auto callbacks = std::make_unique<detail::PoolCallbacks<T>>(detail::PoolCallbacks<T>{std::move(options)});
        const Options& given = callbacks->options;
        const PoolLimits limits{given.min, given.max, given.healthcheck_interval, given.name};
        state_ = new PoolState(runtime.scheduler(), limits, callbacks->hooks());
        state_->add_handle();
        state_->circuit().set_strategy(given.strategy);
        callbacks.release();
        try {
            state_->open();
        } catch (...) {
            state_->drop_handle();
            throw;
        }
    }
    Pool(const Pool& other) : state_(other.state_) {
        if (state_ != nullptr) { state_->add_handle(); }
    }
    Pool(Pool&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Pool& operator=(Pool other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~Pool() {
        if (PoolState* state = std::exchange(state_, nullptr); state != nullptr) { state->drop_handle(); }
    }

    /// Lends the oldest idle resource, or a new one; parks while every place is taken or promised.
    /// @param options  timeout ≥ 0, counted while parked; callbacks are not bounded by it (POOL-21)
    /// Throws: TimeoutError; PoolError once it is closed, or if the factory made nothing; ServiceUnavailable while the circuit is open;
    /// OperationCanceled, also if the token has fired already; a cancellation; what the factory throws, or the destructor of a resource
    /// that before_acquire rejected. It holds nothing then. ValueError for a negative timeout. Suspends: if it waits, or a callback does.
    /// Cost: O(log places). Source: POOL-21 to POOL-30.
    [[nodiscard]] Lease<T> acquire(const AcquireOptions& options = {}, SourceLocation at = SourceLocation::current()) const {
        return Lease<T>(state(), state().acquire(options.timeout, options.token.event(), at));
    }
    /// The same without waiting for a place: an empty lease where acquire would park, on a closed pool, and while the circuit refuses
    /// (POOL-31 to POOL-33). A throwing factory comes through.
    [[nodiscard]] Lease<T> try_acquire() const {
        const PoolLent lent = state().try_acquire();
        return lent ? Lease<T>(state(), lent) : Lease<T>();
    }
    /// As Lease::release. Throws PoolError(not_leased), and changes nothing, for a lease of another pool.
    void release(Lease<T>& lease) const {
        if (lease.pool_.get() != &state()) { throw PoolError(PoolError::Reason::not_leased); }
        lease.release();
    }
    /// Gives back what was detached. Throws PoolError(not_leased), with the resource untouched, if it is not.
    void release(LeaseId id, T&& resource, PoolReturn how = PoolReturn::released) const {
        if (!state().is_detached(id.value)) { throw PoolError(PoolError::Reason::not_leased); }
        state().hand_back(id.value, new T(std::move(resource)), how);
    }

    /// Fails every waiter and destroys what is idle; leases live on, and what they hold is destroyed when it comes back.
    /// A no-op on a closed pool. Throws a destructor's error, or several as a CompositeError, when all are destroyed. Suspends: if a
    /// destructor does. Source: POOL-62 to POOL-67.
    void close() const { state().close(); }

    [[nodiscard]] bool is_closed() const { return looked().has_closed(); }
    [[nodiscard]] std::size_t idle_count() const { return looked().idle(); }
    /// Lent out, or on the way in or out.
    [[nodiscard]] std::size_t active_count() const { return looked().active(); }
    [[nodiscard]] std::size_t count() const { return looked().idle() + looked().active(); }
    /// Places promised to waiters that have not run yet.
    [[nodiscard]] std::size_t reserved_count() const { return looked().reserved(); }
    [[nodiscard]] std::size_t waiting_count() const { return looked().waiting(); }
    [[nodiscard]] CircuitBreaker& circuit() const { return state().circuit(); }
    [[nodiscard]] std::string describe() const { return looked().describe(); }
    /// Ends when the pool is closed (POOL-78).
    [[nodiscard]] EventSource& event() const { return state(); }

    [[nodiscard]] PoolState& state() const {
        HEDDLE_ASSERT(state_ != nullptr, "a handle that was moved from names no pool");
        return *state_;
    }

private:
    [[nodiscard]] PoolState& looked() const {
        state().touch_looked();
        return *state_;
    }
    PoolState* state_ = nullptr;
};

}  // namespace heddle
