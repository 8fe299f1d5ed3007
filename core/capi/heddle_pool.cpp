// SPDX-License-Identifier: Apache-2.0
// The C functions over PoolState: exceptions become statuses here, and nowhere else.
#include "heddle/core/capi/heddle_pool.h"

#include <memory>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/pool_state.hpp"

/// What a heddle_pool* points to: one handle.
struct heddle_pool {
    heddle::PoolState* state;
};

namespace heddle {
namespace {

/// The caller's callbacks; they live as long as the pool's state.
struct Callbacks {
    heddle_pool_options options;

    static heddle_pool_options& of(void* context) { return static_cast<Callbacks*>(context)->options; }
    static void* create(void* context) { return of(context).create(of(context).user_data); }
    static bool before_acquire(void* context, void* resource) {
        return of(context).before_acquire(of(context).user_data, resource) != 0;
    }
    static bool before_release(void* context, void* resource, PoolReturn how) {
        const heddle_pool_return told = how == PoolReturn::abandoned ? HEDDLE_POOL_RETURN_ABANDONED : HEDDLE_POOL_RETURN_RELEASED;
        return of(context).before_release(of(context).user_data, resource, told) != 0;
    }
    static bool healthcheck(void* context, void* resource) { return of(context).healthcheck(of(context).user_data, resource) != 0; }
    static void destroy(void* context, void* resource) { of(context).destroy(of(context).user_data, resource); }
    static void drop(void* context) {
        const std::unique_ptr<Callbacks> self(static_cast<Callbacks*>(context));
        if (self->options.drop != nullptr) { self->options.drop(self->options.user_data); }
    }

    PoolHooks hooks() {
        PoolHooks hooks;
        hooks.context = this;
        if (options.create != nullptr) { hooks.create = &create; }
        if (options.before_acquire != nullptr) { hooks.before_acquire = &before_acquire; }
        if (options.before_release != nullptr) { hooks.before_release = &before_release; }
        if (options.healthcheck != nullptr) { hooks.healthcheck = &healthcheck; }
        if (options.destroy != nullptr) { hooks.destroy = &destroy; }
        hooks.drop = &drop;
        return hooks;
    }
};

heddle_pool_status status_of(const PoolError& error) {
    switch (error.reason()) {
        case PoolError::Reason::closed: return HEDDLE_POOL_CLOSED;
        case PoolError::Reason::creation_failed: return HEDDLE_POOL_CREATION_FAILED;
        case PoolError::Reason::not_leased: return HEDDLE_POOL_NOT_LEASED;
    }
    return HEDDLE_POOL_ERROR;
}

/// Runs `body` and says how it ended. Terminal unwinding is nobody's to answer: it passes through.
template <class Body>
heddle_pool_status answered(Body&& body) {
    try {
        body();
        return HEDDLE_POOL_OK;
    } catch (const PoolError& error) {
        return status_of(error);
    } catch (const TimeoutError&) {
        return HEDDLE_POOL_TIMEOUT;
    } catch (const ServiceUnavailable&) {
        return HEDDLE_POOL_UNAVAILABLE;
    } catch (const AsyncError&) {
        return HEDDLE_POOL_NO_RUNTIME;
    } catch (const ValueError&) {
        return HEDDLE_POOL_BAD_ARGUMENT;
    } catch (const Cancellation&) {
        return HEDDLE_POOL_CANCELLED;
    } catch (const std::exception&) {
        return HEDDLE_POOL_ERROR;
    }
}

/// What the pool's own functions presume: a coroutine runs here.
void require_coroutine() {
    const Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->current() == nullptr) { throw AsyncError("a pool is used inside a coroutine"); }
}

Duration milliseconds(std::int64_t count) {
    constexpr std::int64_t most = Duration::max().count() / Duration(std::chrono::milliseconds(1)).count();
    if (count < 0 || count > most) { throw ValueError("a time in milliseconds"); }
    return std::chrono::milliseconds(count);
}

}  // namespace
}  // namespace heddle

using heddle::answered;

const char* heddle_pool_status_text(heddle_pool_status status) {
    switch (status) {
        case HEDDLE_POOL_OK: return "ok";
        case HEDDLE_POOL_BUSY: return "every place of the pool is taken";
        case HEDDLE_POOL_TIMEOUT: return "the wait for a place took too long";
        case HEDDLE_POOL_CLOSED: return "the pool is closed";
        case HEDDLE_POOL_CREATION_FAILED: return "no resource could be made";
        case HEDDLE_POOL_NOT_LEASED: return "not lent out by this pool";
        case HEDDLE_POOL_UNAVAILABLE: return "the service is unavailable";
        case HEDDLE_POOL_CANCELLED: return "cancelled";
        case HEDDLE_POOL_BAD_ARGUMENT: return "an argument is impossible";
        case HEDDLE_POOL_NO_RUNTIME: return "called outside a coroutine";
        case HEDDLE_POOL_ERROR: return "an error";
    }
    return "an unknown status";
}

heddle_pool_status heddle_pool_create(const heddle_pool_options* options, heddle_pool** pool) {
    if (options == nullptr || pool == nullptr || options->size != sizeof(heddle_pool_options)) { return HEDDLE_POOL_BAD_ARGUMENT; }
    return answered([&] {
        heddle::require_coroutine();
        auto callbacks = std::make_unique<heddle::Callbacks>(heddle::Callbacks{*options});
        auto handle = std::make_unique<heddle_pool>();
        const heddle::PoolLimits limits{options->min, options->max, heddle::milliseconds(options->healthcheck_interval_ms),
                                        options->name != nullptr ? options->name : "pool"};
        auto* const state = new heddle::PoolState(*heddle::ambient_scheduler(), limits, callbacks->hooks());
        state->add_handle();
        heddle::Callbacks* const owned = callbacks.release();  // the state drops it
        try {
            state->open();
        } catch (...) {
            owned->options.drop = nullptr;
            state->drop_handle();
            throw;
        }
        handle->state = state;
        *pool = handle.release();
    });
}

heddle_pool_status heddle_pool_acquire(heddle_pool* pool, int64_t timeout_ms, heddle_lease* lease) {
    if (pool == nullptr || lease == nullptr) { return HEDDLE_POOL_BAD_ARGUMENT; }
    return answered([&] {
        heddle::require_coroutine();
        const heddle::Ref<heddle::PoolState> alive(pool->state);
        const heddle::PoolLent lent =
            alive->acquire(heddle::milliseconds(timeout_ms), nullptr, heddle::SourceLocation::current());
        *lease = {lent.id, lent.resource};
    });
}

heddle_pool_status heddle_pool_try_acquire(heddle_pool* pool, heddle_lease* lease) {
    if (pool == nullptr || lease == nullptr) { return HEDDLE_POOL_BAD_ARGUMENT; }
    bool busy = false;
    const heddle_pool_status status = answered([&] {
        heddle::require_coroutine();
        const heddle::Ref<heddle::PoolState> alive(pool->state);
        if (alive->has_closed()) { throw heddle::PoolError(heddle::PoolError::Reason::closed); }
        const heddle::PoolLent lent = alive->try_acquire();
        busy = !lent;
        if (lent) { *lease = {lent.id, lent.resource}; }
    });
    return status == HEDDLE_POOL_OK && busy ? HEDDLE_POOL_BUSY : status;
}

heddle_pool_status heddle_pool_release(heddle_pool* pool, heddle_lease* lease, heddle_pool_return how) {
    const bool known = how == HEDDLE_POOL_RETURN_RELEASED || how == HEDDLE_POOL_RETURN_BROKEN;
    if (pool == nullptr || lease == nullptr || !known) { return HEDDLE_POOL_BAD_ARGUMENT; }
    const heddle_lease spent = *lease;
    const heddle_pool_status status = answered([&] {
        heddle::require_coroutine();
        const heddle::Ref<heddle::PoolState> alive(pool->state);
        alive->release(spent.id, how == HEDDLE_POOL_RETURN_BROKEN ? heddle::PoolReturn::broken : heddle::PoolReturn::released);
    });
    if (status != HEDDLE_POOL_NOT_LEASED && status != HEDDLE_POOL_NO_RUNTIME) { *lease = {0, nullptr}; }
    return status;
}

heddle_pool_status heddle_pool_close(heddle_pool* pool) {
    if (pool == nullptr) { return HEDDLE_POOL_BAD_ARGUMENT; }
    return answered([&] {
        heddle::require_coroutine();
        const heddle::Ref<heddle::PoolState> alive(pool->state);
        alive->close();
    });
}

size_t heddle_pool_idle(const heddle_pool* pool) { return pool != nullptr ? pool->state->idle() : 0; }
size_t heddle_pool_active(const heddle_pool* pool) { return pool != nullptr ? pool->state->active() : 0; }
size_t heddle_pool_waiting(const heddle_pool* pool) { return pool != nullptr ? pool->state->waiting() : 0; }

void heddle_pool_free(heddle_pool* pool) {
    if (const std::unique_ptr<heddle_pool> handle(pool); handle) { handle->state->drop_handle(); }
}
