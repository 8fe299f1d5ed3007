// SPDX-License-Identifier: Apache-2.0
// heddle_pool.h: the pool for extensions written in C (docs/spec/10-pool.md, POOL-77).
//
//   heddle_pool_create ──▶ heddle_pool_acquire ──▶ lease.resource … ──▶ heddle_pool_release
//                                                                       └▶ heddle_pool_close, heddle_pool_free
//
// C1  Everything is called inside a coroutine of a running runtime, on its thread. Elsewhere the answer is HEDDLE_POOL_NO_RUNTIME.
// C2  No C++ exception reaches C as an answer: errors and cancellations are statuses. A cancellation that is answered has been delivered:
//     return soon. Only the unwinding of a coroutine that outlives its run passes through C frames; compile them with -fexceptions.
// C3  Callbacks may call everything here, also for the same pool, and may suspend in it (POOL-13). They throw nothing.
// C4  A status other than HEDDLE_POOL_OK leaves outputs untouched, with the exceptions that are named.
#ifndef HEDDLE_POOL_H
#define HEDDLE_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heddle_pool heddle_pool;

typedef enum heddle_pool_status {
    HEDDLE_POOL_OK = 0,
    HEDDLE_POOL_BUSY,            /* try_acquire: every place is taken or promised */
    HEDDLE_POOL_TIMEOUT,         /* the wait for a place took too long; the pool is healthy */
    HEDDLE_POOL_CLOSED,          /* the pool is closed, or was while the caller waited */
    HEDDLE_POOL_CREATION_FAILED, /* `create` made nothing */
    HEDDLE_POOL_NOT_LEASED,      /* what was to be given back is not lent out by this pool */
    HEDDLE_POOL_UNAVAILABLE,     /* the circuit is open */
    HEDDLE_POOL_CANCELLED,       /* the coroutine was cancelled while it waited or in a callback */
    HEDDLE_POOL_BAD_ARGUMENT,    /* impossible limits, no `create`, a negative time, a null pointer */
    HEDDLE_POOL_NO_RUNTIME,      /* called outside a coroutine */
    HEDDLE_POOL_ERROR            /* anything else, as no memory */
} heddle_pool_status;

/* In words, for messages. Never null. */
const char* heddle_pool_status_text(heddle_pool_status status);

/* How a resource comes back, as before_release is told. */
typedef enum heddle_pool_return {
    HEDDLE_POOL_RETURN_RELEASED = 0,
    HEDDLE_POOL_RETURN_BROKEN = 1,   /* not passed to before_release: it is destroyed at once (POOL-73) */
    HEDDLE_POOL_RETURN_ABANDONED = 2 /* passed to before_release only: its holder ended without giving it back */
} heddle_pool_return;

typedef struct heddle_pool_options {
    size_t size;                      /* sizeof(heddle_pool_options): tells later versions what the caller knows */
    int64_t min;                      /* made at once and kept by the health check; 0 <= min <= max */
    int64_t max;                      /* at least 1 */
    int64_t healthcheck_interval_ms;  /* 0: no checks */
    const char* name;                 /* for labels and messages; null: "pool" */
    void* user_data;                  /* passed to every callback */
    void* (*create)(void* user_data); /* required; null: none was made */
    /* Null accepts. Zero is "no": the resource is destroyed. */
    int (*before_acquire)(void* user_data, void* resource);
    int (*before_release)(void* user_data, void* resource, heddle_pool_return how);
    int (*healthcheck)(void* user_data, void* resource);
    void (*destroy)(void* user_data, void* resource); /* a resource ends; frees its memory, too */
    void (*drop)(void* user_data);                    /* the pool is gone, and nothing of it is called any more; may be null */
} heddle_pool_options;

/* A resource on loan. `id` is 0 for none. */
typedef struct heddle_lease {
    uint64_t id;
    void* resource;
} heddle_lease;

/* Makes a pool and its first `min` resources. On failure nothing is made and `drop` is not called. Suspends: if `create` does. */
heddle_pool_status heddle_pool_create(const heddle_pool_options* options, heddle_pool** pool);

/* Lends the oldest idle resource or a new one; parks while every place is taken. timeout_ms: of the wait; 0: for ever. Suspends. */
heddle_pool_status heddle_pool_acquire(heddle_pool* pool, int64_t timeout_ms, heddle_lease* lease);

/* The same without waiting: HEDDLE_POOL_BUSY where acquire would park. Suspends: if a callback does. */
heddle_pool_status heddle_pool_try_acquire(heddle_pool* pool, heddle_lease* lease);

/* Gives it back and serves the oldest waiter. The lease is spent whatever the answer is: *lease is {0, NULL} then, except for
 * HEDDLE_POOL_NOT_LEASED and HEDDLE_POOL_BAD_ARGUMENT, which change nothing. Suspends: if a callback does. */
heddle_pool_status heddle_pool_release(heddle_pool* pool, heddle_lease* lease, heddle_pool_return how);

/* Fails every waiter and destroys what is idle; what is lent out is destroyed when it comes back. A no-op on a closed pool. */
heddle_pool_status heddle_pool_close(heddle_pool* pool);

/* Counts. 0 for a null pool. */
size_t heddle_pool_idle(const heddle_pool* pool);
size_t heddle_pool_active(const heddle_pool* pool);
size_t heddle_pool_waiting(const heddle_pool* pool);

/* Lets go of the pool; it is closed in the background if it was open. Leases may still be out and are lost: release them first.
 * The pointer is gone, also for callbacks that run later. Null is allowed. Suspends: no. */
void heddle_pool_free(heddle_pool* pool);

#ifdef __cplusplus
}
#endif

#endif
