// SPDX-License-Identifier: Apache-2.0
// An extension as a C programmer would write it: nothing here knows C++.
#include "heddle/core/capi/testing/pool_stories.h"

#include <stdlib.h>

#define STRING_OF(text) #text
#define TEXT_OF(line) STRING_OF(line)
#define EXPECT(condition) \
    do { \
        if (!(condition)) { return __FILE__ ":" TEXT_OF(__LINE__) ": expected " #condition; } \
    } while (0)

typedef struct connection {
    int number;
} connection;

static void* make_connection(void* user_data) {
    story_books* books = user_data;
    if (books->make_nothing > 0) {
        books->make_nothing -= 1;
        return NULL;
    }
    connection* made = malloc(sizeof *made);
    if (made != NULL) { made->number = ++books->made; }
    return made;
}

static int check_before_acquire(void* user_data, void* resource) {
    story_books* books = user_data;
    (void)resource;
    if (books->refuse_acquire == 0) { return 1; }
    books->refuse_acquire -= 1;
    return 0;
}

static int note_before_release(void* user_data, void* resource, heddle_pool_return how) {
    story_books* books = user_data;
    (void)resource;
    books->last_return = (int)how;
    return how == HEDDLE_POOL_RETURN_RELEASED;
}

static void destroy_connection(void* user_data, void* resource) {
    story_books* books = user_data;
    books->destroyed += 1;
    books->seen_by_destroy = heddle_pool_active(books->pool);
    free(resource);
}

static void note_drop(void* user_data) { ((story_books*)user_data)->dropped += 1; }

heddle_pool_options story_options(story_books* books, int64_t max) {
    const heddle_pool_options options = {
        .size = sizeof options,
        .max = max,
        .name = "c-pool",
        .user_data = books,
        .create = make_connection,
        .before_acquire = check_before_acquire,
        .before_release = note_before_release,
        .destroy = destroy_connection,
        .drop = note_drop,
    };
    books->last_return = -1;
    return options;
}

/* The books lie on the story's stack: nothing of the pool may be left when it ends. */
static const char* put_away(story_books* books) {
    EXPECT(heddle_pool_active(books->pool) == 0);
    EXPECT(heddle_pool_close(books->pool) == HEDDLE_POOL_OK);
    EXPECT(books->made == books->destroyed);
    heddle_pool_free(books->pool);
    EXPECT(books->dropped == 1);
    return NULL;
}

const char* story_lends_and_takes_back(void) {
    story_books books = {0};
    heddle_pool_options options = story_options(&books, 2);
    options.min = 1;
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    EXPECT(books.made == 1 && heddle_pool_idle(books.pool) == 1);
    heddle_lease one = {0};
    heddle_lease two = {0};
    EXPECT(heddle_pool_acquire(books.pool, 0, &one) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_acquire(books.pool, 0, &two) == HEDDLE_POOL_OK);
    EXPECT(((connection*)one.resource)->number == 1 && ((connection*)two.resource)->number == 2);
    EXPECT(heddle_pool_active(books.pool) == 2);
    heddle_lease copy = one;
    EXPECT(heddle_pool_release(books.pool, &one, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    EXPECT(one.id == 0 && one.resource == NULL && heddle_pool_idle(books.pool) == 1);
    EXPECT(heddle_pool_release(books.pool, &copy, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_NOT_LEASED);
    EXPECT(copy.id != 0 && heddle_pool_idle(books.pool) == 1);
    EXPECT(heddle_pool_release(books.pool, &two, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_close(books.pool) == HEDDLE_POOL_OK);
    EXPECT(books.destroyed == 2 && books.dropped == 0);
    heddle_pool_free(books.pool);
    EXPECT(books.dropped == 1);
    return NULL;
}

const char* story_refuses_impossible_arguments(void) {
    story_books books = {0};
    heddle_pool* pool = NULL;
    heddle_pool_options options = story_options(&books, 0);
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options = story_options(&books, 1);
    options.min = 2;
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options = story_options(&books, 1);
    options.healthcheck_interval_ms = -1;
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options.healthcheck_interval_ms = INT64_MAX;
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options = story_options(&books, 1);
    options.create = NULL;
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options = story_options(&books, 1);
    options.size = 1;
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    options = story_options(&books, 1);
    EXPECT(heddle_pool_create(NULL, &pool) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_create(&options, NULL) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(pool == NULL && books.made == 0 && books.dropped == 0);
    EXPECT(heddle_pool_create(&options, &pool) == HEDDLE_POOL_OK);
    books.pool = pool;
    heddle_lease lease = {0};
    EXPECT(heddle_pool_acquire(pool, -1, &lease) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_acquire(pool, 0, NULL) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_acquire(NULL, 0, &lease) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_release(pool, NULL, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_release(pool, &lease, HEDDLE_POOL_RETURN_ABANDONED) == HEDDLE_POOL_BAD_ARGUMENT);
    EXPECT(heddle_pool_release(pool, &lease, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_NOT_LEASED);
    EXPECT(lease.id == 0 && heddle_pool_active(pool) == 0);
    heddle_pool_free(NULL);
    return put_away(&books);
}

const char* story_answers_instead_of_waiting(void) {
    story_books books = {0};
    const heddle_pool_options options = story_options(&books, 1);
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    heddle_lease one = {0};
    heddle_lease two = {0};
    EXPECT(heddle_pool_try_acquire(books.pool, &one) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_try_acquire(books.pool, &two) == HEDDLE_POOL_BUSY);
    EXPECT(two.id == 0);
    EXPECT(heddle_pool_release(books.pool, &one, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    return put_away(&books);
}

const char* story_times_out(void) {
    story_books books = {0};
    const heddle_pool_options options = story_options(&books, 1);
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    heddle_lease one = {0};
    heddle_lease two = {0};
    EXPECT(heddle_pool_acquire(books.pool, 0, &one) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_acquire(books.pool, 5, &two) == HEDDLE_POOL_TIMEOUT);
    EXPECT(two.id == 0 && heddle_pool_waiting(books.pool) == 0);
    EXPECT(heddle_pool_release(books.pool, &one, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    return put_away(&books);
}

const char* story_destroys_what_is_broken(void) {
    story_books books = {0};
    const heddle_pool_options options = story_options(&books, 1);
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    heddle_lease lease = {0};
    EXPECT(heddle_pool_acquire(books.pool, 0, &lease) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_release(books.pool, &lease, HEDDLE_POOL_RETURN_BROKEN) == HEDDLE_POOL_OK);
    EXPECT(books.destroyed == 1 && books.last_return == -1 && books.seen_by_destroy == 1);
    EXPECT(heddle_pool_active(books.pool) == 0 && heddle_pool_idle(books.pool) == 0);
    return put_away(&books);
}

const char* story_asks_its_callbacks(void) {
    story_books books = {0};
    const heddle_pool_options options = story_options(&books, 1);
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    heddle_lease lease = {0};
    books.make_nothing = 1;
    EXPECT(heddle_pool_acquire(books.pool, 0, &lease) == HEDDLE_POOL_CREATION_FAILED);
    EXPECT(heddle_pool_active(books.pool) == 0);
    EXPECT(heddle_pool_acquire(books.pool, 0, &lease) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_release(books.pool, &lease, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    EXPECT(books.last_return == HEDDLE_POOL_RETURN_RELEASED);
    books.refuse_acquire = 1;
    EXPECT(heddle_pool_acquire(books.pool, 0, &lease) == HEDDLE_POOL_OK);
    EXPECT(books.destroyed == 1 && ((connection*)lease.resource)->number == 2);
    EXPECT(heddle_pool_release(books.pool, &lease, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    return put_away(&books);
}

const char* story_closes(void) {
    story_books books = {0};
    const heddle_pool_options options = story_options(&books, 1);
    EXPECT(heddle_pool_create(&options, &books.pool) == HEDDLE_POOL_OK);
    heddle_lease lease = {0};
    EXPECT(heddle_pool_acquire(books.pool, 0, &lease) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_close(books.pool) == HEDDLE_POOL_OK);
    EXPECT(heddle_pool_close(books.pool) == HEDDLE_POOL_OK);
    heddle_lease other = {0};
    EXPECT(heddle_pool_acquire(books.pool, 0, &other) == HEDDLE_POOL_CLOSED);
    EXPECT(heddle_pool_try_acquire(books.pool, &other) == HEDDLE_POOL_CLOSED);
    EXPECT(books.destroyed == 0);
    EXPECT(heddle_pool_release(books.pool, &lease, HEDDLE_POOL_RETURN_RELEASED) == HEDDLE_POOL_OK);
    EXPECT(books.destroyed == 1 && lease.id == 0);
    return put_away(&books);
}

heddle_pool_status story_wait(heddle_pool* pool) {
    heddle_lease lease = {0};
    const heddle_pool_status status = heddle_pool_acquire(pool, 0, &lease);
    if (status == HEDDLE_POOL_OK) { return heddle_pool_release(pool, &lease, HEDDLE_POOL_RETURN_RELEASED); }
    return lease.id == 0 ? status : HEDDLE_POOL_ERROR;
}

heddle_pool_status story_outside(void) {
    story_books books = {0};
    heddle_pool* pool = NULL;
    const heddle_pool_options options = story_options(&books, 1);
    return heddle_pool_create(&options, &pool);
}
