// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/semaphore.hpp"

namespace heddle {
namespace {

Ref<SemaphoreState> make_state(Scheduler& scheduler, const Semaphore::Options& options) {
    if (options.permits_max == 0 || options.permits_max > Semaphore::unlimited) { throw ValueError("semaphore: permits_max is out of its range"); }
    if (options.permits > options.permits_max) { throw ValueError("semaphore: more permits than permits_max"); }
    return Ref<SemaphoreState>(new SemaphoreState(scheduler, options.name, "the semaphore", "acquire", options.permits, options.permits_max));
}

}  // namespace

Semaphore::Semaphore(const Options& options) : state_(make_state(current_runtime("semaphore").scheduler(), options)) {}
Semaphore::Semaphore(Runtime& runtime, const Options& options) : state_(make_state(runtime.scheduler(), options)) {}

void Semaphore::check(std::size_t count) const {
    if (count == 0) { throw ValueError("semaphore: a count of zero"); }
    if (count > state_->permits_max()) { throw ValueError("semaphore: more than there can ever be"); }
}

void Semaphore::acquire(std::size_t count, const Token& token, SourceLocation at) {
    check(count);
    state_->acquire(count, token.event(), at);
}

bool Semaphore::try_acquire(std::size_t count) {
    check(count);
    return state_->try_acquire(count);
}

void Semaphore::release(std::size_t count) {
    if (count == 0) { throw ValueError("semaphore: a count of zero"); }
    if (count > state_->room()) { throw AsyncError("semaphore: more permits come back than may be free"); }
    state_->release(count);
}

std::size_t Semaphore::available() const {
    state_->touch_looked();
    return state_->available();
}

std::size_t Semaphore::waiting() const {
    state_->touch_looked();
    return detail::living_count(state_->waiters());
}

}  // namespace heddle
