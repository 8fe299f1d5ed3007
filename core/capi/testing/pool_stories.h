// SPDX-License-Identifier: Apache-2.0
// Stories of an extension written in C. Each runs inside a coroutine and answers null, or the condition that did not hold.
#ifndef HEDDLE_POOL_STORIES_H
#define HEDDLE_POOL_STORIES_H

#include "heddle/core/capi/heddle_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A connection of the extension, and what its callbacks have counted. */
typedef struct story_books {
    int made;
    int destroyed;
    int dropped;
    int last_return;            /* of before_release; -1: never asked */
    int refuse_acquire;         /* before_acquire says no as many times */
    int make_nothing;           /* create answers null as many times */
    heddle_pool* pool;          /* for callbacks that call it */
    size_t seen_by_destroy;     /* active places when a destructor ran */
} story_books;

heddle_pool_options story_options(story_books* books, int64_t max);

const char* story_lends_and_takes_back(void);
const char* story_refuses_impossible_arguments(void);
const char* story_answers_instead_of_waiting(void);
const char* story_times_out(void);
const char* story_destroys_what_is_broken(void);
const char* story_asks_its_callbacks(void);
const char* story_closes(void);
/* Waits for a place of `pool` until it is cancelled; answers what acquire said. */
heddle_pool_status story_wait(heddle_pool* pool);
heddle_pool_status story_outside(void);

#ifdef __cplusplus
}
#endif

#endif
