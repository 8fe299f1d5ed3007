// SPDX-License-Identifier: Apache-2.0
// BoundPool: at most one lease of a pool per coroutine, taken on first use and given back when that coroutine ends (POOL-44 to POOL-46).
//
//   heddle::BoundPool<Connection> db{pool};
//   db.get().query("…");                              // this coroutine's connection, whoever calls
//   auto transaction = db.pin();                      // until it goes, the connection is not given back early
//   auto request = db.begin();                        // an operation: cut short before done(), it leaves the resource broken
//   request->write("…"); request->read(); request.done();
//
//   none ──get──▶ bound ──give_back, no pin──▶ none
//                   └── its coroutine ends ──▶ a background release: broken in mid-operation, abandoned under a pin, else released
//
// BL1  A coroutine has at most one binding to one BoundPool, keyed by its identity; outside a run there is no coroutine and no binding.
// BL2  Whatever ends the coroutine, its lease goes back once. The callback at its end cannot suspend: it only starts the release (POOL-42).
// BL3  A resource that was left in mid-operation is destroyed, and lent to nobody before (POOL-45).
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "heddle/core/sync/pool.hpp"

namespace heddle {

namespace detail {

/// The untyped half: who holds which lease.
class LeaseBindings {
public:
    class Binding;

    explicit LeaseBindings(PoolState& pool) : pool_(&pool) {}
    LeaseBindings(const LeaseBindings&) = delete;
    LeaseBindings& operator=(const LeaseBindings&) = delete;

    /// The running coroutine's binding, its lease acquired if it has none.
    Ref<Binding> bind(const AcquireOptions& options, SourceLocation at);
    bool give_back();
    [[nodiscard]] bool is_bound() const;
    [[nodiscard]] std::size_t size() const { return bindings_.size(); }
    /// The handle goes: every lease is released in the background.
    void close() noexcept;

    void add_reference() { ++references_; }
    void drop_reference() {
        if (--references_ == 0) { delete this; }
    }

private:
    friend class Binding;
    ~LeaseBindings();
    Binding* find(CoroutineId id) const;
    void forget(Binding& binding) noexcept;

    Ref<PoolState> pool_;
    std::map<CoroutineId, Ref<Binding>> bindings_;
    std::uint32_t references_ = 0;
    bool closed_ = false;
};

/// One coroutine's lease; called when that coroutine ends.
class LeaseBindings::Binding final : public EventCallback {
public:
    Binding(LeaseBindings& owner, CoroutineCore& holder) : owner_(&owner), holder_(holder) {}

    [[nodiscard]] void* resource() const {
        HEDDLE_ASSERT(lent_, "a binding that was given back holds nothing");
        return lent_.resource;
    }
    void pin() { ++pins_; }
    void unpin() { --pins_; }
    void begin() { ++operations_; }
    void end(bool done) {
        --operations_;
        broken_ = broken_ || !done;
    }

private:
    friend class LeaseBindings;
    void call(EventSource& event, const Outcome& outcome) override;
    void dispose() override { delete this; }
    [[nodiscard]] PoolReturn how() const {
        if (broken_ || operations_ > 0) { return PoolReturn::broken; }
        return pins_ > 0 ? PoolReturn::abandoned : PoolReturn::released;
    }

    LeaseBindings* owner_;
    CoroutineCore& holder_;  // subscribed to, so that it outlives this
    PoolLent lent_{};
    std::uint32_t pins_ = 0;
    std::uint32_t operations_ = 0;
    bool broken_ = false;
};

}  // namespace detail

template <class T>
class BoundPool {
    using Bindings = detail::LeaseBindings;
    using Binding = Bindings::Binding;

public:
    /// Keeps the pool open as long as it lives.
    explicit BoundPool(Pool<T> pool) : pool_(std::move(pool)), bindings_(new Bindings(pool_.state())) {}
    BoundPool(const BoundPool&) = delete;
    BoundPool& operator=(const BoundPool&) = delete;
    /// Bound leases are released in the background; their resources must not be used any more.
    ~BoundPool() { bindings_->close(); }

    /// The running coroutine's resource: the same at every call until it is given back. One that an operation left broken is destroyed
    /// first, and another one acquired.
    /// Throws: as Pool::acquire; AsyncError outside a coroutine, while the same coroutine acquires one already (from a callback of the
    /// pool), and if the resource is broken and pinned. Suspends: at first use, if acquire does. Source: POOL-44, POOL-46.
    T& get(const AcquireOptions& options = {}, SourceLocation at = SourceLocation::current()) const {
        return *static_cast<T*>(bindings_->bind(options, at)->resource());
    }

    /// While one lives, the resource is not given back early (POOL-45). Belongs to the coroutine that made it.
    class Pin {
    public:
        ~Pin() { binding_->unpin(); }
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;
        [[nodiscard]] T& operator*() const { return *static_cast<T*>(binding_->resource()); }
        [[nodiscard]] T* operator->() const { return &**this; }

    private:
        friend class BoundPool;
        explicit Pin(Ref<Binding> binding) : binding_(std::move(binding)) { binding_->pin(); }
        Ref<Binding> binding_;
    };
    [[nodiscard]] Pin pin(const AcquireOptions& options = {}, SourceLocation at = SourceLocation::current()) const {
        return Pin(bindings_->bind(options, at));
    }

    /// Something that must not be cut short: a request and its reply. Destroyed without done(), by an exception or a cancellation, it
    /// leaves the resource broken.
    class Operation {
    public:
        ~Operation() { binding_->end(done_); }
        Operation(const Operation&) = delete;
        Operation& operator=(const Operation&) = delete;
        void done() { done_ = true; }
        [[nodiscard]] T& operator*() const { return *static_cast<T*>(binding_->resource()); }
        [[nodiscard]] T* operator->() const { return &**this; }

    private:
        friend class BoundPool;
        explicit Operation(Ref<Binding> binding) : binding_(std::move(binding)) { binding_->begin(); }
        Ref<Binding> binding_;
        bool done_ = false;
    };
    [[nodiscard]] Operation begin(const AcquireOptions& options = {}, SourceLocation at = SourceLocation::current()) const {
        return Operation(bindings_->bind(options, at));
    }

    /// Gives the running coroutine's resource back before it ends. @returns false if it has none
    /// Throws: AsyncError, with nothing changed, while it is pinned or an operation goes on; as Lease::release. Suspends: as that.
    bool give_back() const { return bindings_->give_back(); }

    /// Whether the running coroutine has one.
    [[nodiscard]] bool is_bound() const { return bindings_->is_bound(); }
    [[nodiscard]] std::size_t bound_count() const { return bindings_->size(); }
    [[nodiscard]] const Pool<T>& pool() const { return pool_; }

private:
    Pool<T> pool_;
    Ref<Bindings> bindings_;
};

}  // namespace heddle
