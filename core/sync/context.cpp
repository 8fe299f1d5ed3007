// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/context.hpp"

#include <utility>
#include <vector>

#include "heddle/core/run/runtime.hpp"

namespace heddle {

ContextKey ContextKey::unique(std::string_view what) {
    ContextKey key(what);
    key.identity_ = std::make_shared<const int>(0);
    return key;
}

std::string ContextKey::describe() const { return is_identity() ? "the token '" + text_ + "'" : "'" + text_ + "'"; }

/// Values in the order of their setting: there are few, and tokens have no order of their own.
class ContextStore {
public:
    ContextStore(Scheduler& scheduler, Label owner, ScopeCore* scope) : scheduler_(scheduler), owner_(owner), scope_(scope) {}

    struct Entry {
        ContextKey key;
        std::any value;
    };

    [[nodiscard]] Entry* entry(const ContextKey& key) {
        for (Entry& one : entries_) {
            if (one.key == key) { return &one; }
        }
        return nullptr;
    }
    void touch(const ContextKey& key, TouchMode mode) const {
        if (scheduler_.observer() != nullptr) [[unlikely]] { scheduler_.touch(owner_, "value", mode, hash_text(key.describe())); }
    }
    void add(const ContextKey& key, std::any value) { entries_.push_back({key, std::move(value)}); }
    [[nodiscard]] std::any take(const ContextKey& key) {
        for (auto at = entries_.begin(); at != entries_.end(); ++at) {
            if (at->key == key) {
                std::any old = std::move(at->value);
                entries_.erase(at);
                return old;
            }
        }
        return {};
    }

    [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }
    /// The scope whose store it is, while that lives; null for a coroutine's.
    [[nodiscard]] ScopeCore* scope() const { return scope_; }
    void forget_scope() { scope_ = nullptr; }

private:
    Scheduler& scheduler_;
    Label owner_;
    ScopeCore* scope_;
    std::vector<Entry> entries_;
};

namespace {

/// Holds a store in a scope's or coroutine's slot, and tells it when that goes (CTX-8).
struct Slot {
    std::shared_ptr<ContextStore> store;
    explicit Slot(std::shared_ptr<ContextStore> of) : store(std::move(of)) {}
    ~Slot() { store->forget_scope(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
};

std::shared_ptr<ContextStore> in_slot(std::shared_ptr<void>& slot, Scheduler& scheduler, Label owner, ScopeCore* scope) {
    if (!slot) { slot = std::make_shared<Slot>(std::make_shared<ContextStore>(scheduler, owner, scope)); }
    return static_cast<Slot*>(slot.get())->store;
}

Scheduler& legal(const char* operation) {
    Scheduler& scheduler = current_runtime(operation).scheduler();
    static_cast<void>(scheduler.require_current(operation));  // CTX-7
    return scheduler;
}

}  // namespace

void ContextValues::set(const ContextKey& key, std::any value, bool replace) const {
    legal("context");
    store_->touch(key, TouchMode::write);
    std::any old;  // destroyed behind the step (CV-19)
    if (ContextStore::Entry* known = store_->entry(key); known != nullptr) {
        if (!replace) { throw AsyncError("context: the key is present: " + key.describe()); }
        old = std::exchange(known->value, std::move(value));
        return;
    }
    store_->add(key, std::move(value));
}

void ContextValues::unset(const ContextKey& key) const {
    legal("context");
    store_->touch(key, TouchMode::write);
    const std::any old = store_->take(key);
}

const std::any* ContextValues::find_local(const ContextKey& key) const {
    legal("context");
    store_->touch(key, TouchMode::read);
    const ContextStore::Entry* known = store_->entry(key);
    return known != nullptr ? &known->value : nullptr;
}

const std::any* ContextValues::find(const ContextKey& key) const {
    if (const std::any* here = find_local(key); here != nullptr) { return here; }
    if (store_->scope() == nullptr) { return nullptr; }
    for (const ScopeCore* at = store_->scope()->parent(); at != nullptr; at = at->parent()) {
        const std::shared_ptr<void>& slot = at->context_slot();
        if (!slot) {
            store_->scheduler().touch(at->label(), "value", TouchMode::read, hash_text(key.describe()));
            continue;
        }
        ContextStore& above = *static_cast<Slot*>(slot.get())->store;
        above.touch(key, TouchMode::read);
        if (const ContextStore::Entry* known = above.entry(key); known != nullptr) { return &known->value; }
    }
    return nullptr;
}

ContextValues current_context() {
    Scheduler& scheduler = legal("current_context");
    ScopeCore& scope = *scheduler.current_scope();
    return ContextValues(in_slot(scope.context_slot(), scheduler, scope.label(), &scope));
}

ContextValues root_context() {
    Scheduler& scheduler = legal("root_context");
    ScopeCore& scope = *scheduler.main_scope();
    return ContextValues(in_slot(scope.context_slot(), scheduler, scope.label(), &scope));
}

ContextValues coroutine_context() {
    Scheduler& scheduler = legal("coroutine_context");
    CoroutineCore& self = *scheduler.current();
    return ContextValues(in_slot(self.context_slot(), scheduler, self.label(), nullptr));
}

}  // namespace heddle
