// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/bound_lease.hpp"

#include <algorithm>
#include <vector>

namespace heddle::detail {

LeaseBindings::~LeaseBindings() { HEDDLE_ASSERT(bindings_.empty(), "BL2"); }

LeaseBindings::Binding* LeaseBindings::find(CoroutineId id) const {
    const auto found = bindings_.find(id);
    return found == bindings_.end() ? nullptr : found->second.get();
}

bool LeaseBindings::is_bound() const {
    const Scheduler& scheduler = pool_->scheduler();
    if (!scheduler.in_coroutine()) { return false; }
    const Binding* const binding = find(scheduler.current()->id());
    return binding != nullptr && binding->lent_;
}

Ref<LeaseBindings::Binding> LeaseBindings::bind(const AcquireOptions& options, SourceLocation at) {
    CoroutineCore& self = pool_->scheduler().require_current("bound lease");
    if (closed_) { throw AsyncError("bound lease: its BoundPool is gone"); }
    if (const Ref<Binding> known(find(self.id())); known) {
        if (!known->lent_) { throw AsyncError("bound lease: this coroutine is acquiring it already"); }
        if (!known->broken_) { return known; }
        if (known->pins_ > 0 || known->operations_ > 0) { throw AsyncError("bound lease: the resource is broken, and still in use"); }
        static_cast<void>(give_back());
    }
    const Ref<LeaseBindings> alive(this);
    Ref<Binding> made(new Binding(*this, self));
    bindings_.emplace(self.id(), made);
    self.subscribe(*made);
    PoolLent lent;
    try {
        lent = pool_->acquire(options.timeout, options.token.event(), at);
    } catch (...) {
        forget(*made);
        throw;
    }
    if (closed_) {  // the handle went while this coroutine waited
        pool_->abandon(lent.id, PoolReturn::released);
        throw AsyncError("bound lease: its BoundPool is gone");
    }
    made->lent_ = lent;
    return made;
}

bool LeaseBindings::give_back() {
    const CoroutineCore& self = pool_->scheduler().require_current("bound lease");
    const Ref<Binding> binding(find(self.id()));
    if (!binding || !binding->lent_) { return false; }
    if (binding->pins_ > 0 || binding->operations_ > 0) { throw AsyncError("bound lease: it is in use"); }
    const Ref<PoolState> pool = pool_;
    const PoolLent lent = std::exchange(binding->lent_, {});
    const PoolReturn how = binding->how();
    forget(*binding);  // first: the pool's callbacks may ask for another one
    pool->release(lent.id, how);
    return true;
}

/// Of a binding that is in the book: out of it, and no longer called.
void LeaseBindings::forget(Binding& binding) noexcept {
    const Ref<Binding> alive(&binding);
    bindings_.erase(binding.holder_.id());
    binding.owner_ = nullptr;
    binding.holder_.unsubscribe(binding);
}

void LeaseBindings::close() noexcept {
    closed_ = true;
    while (!bindings_.empty()) {
        const Ref<Binding> binding = bindings_.begin()->second;
        forget(*binding);
        if (const PoolLent lent = std::exchange(binding->lent_, {}); lent) { pool_->abandon(lent.id, binding->how()); }
    }
}

/// The coroutine has ended, normally or not.
void LeaseBindings::Binding::call(EventSource&, const Outcome&) {
    const Ref<LeaseBindings> owner(owner_);
    if (!owner) { return; }
    owner->forget(*this);
    if (const PoolLent lent = std::exchange(lent_, {}); lent) { owner->pool_->abandon(lent.id, how()); }
}

}  // namespace heddle::detail
