// SPDX-License-Identifier: Apache-2.0
// Context values: what coroutines of a scope share by name, and what one coroutine keeps for itself (docs/spec/13-task-group.md, 13.8).
//
//   heddle::current_context().set("user", User{…});                    // of the running coroutine's scope
//   heddle::current_context().get<User>("user");                       // here, else in the scopes above: the nearest holder wins
//   heddle::coroutine_context().set(key, 7);                            // of this coroutine alone
//
// X1  find and get look here and then upwards by parent links; the _local forms look here only (CTX-3, CTX-4, INV-CTX-01).
// X2  A store belongs to one scope or coroutine and is made when first asked for; a reference to it may outlive both (CTX-8).
// X3  No operation suspends; all are refused in a scheduler phase (CTX-7).
// Cells: `value[key]` of the store's owner (set, unset: W; find: R, of every store looked at).
// Choice points: none.
#pragma once

#include <any>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/core/base/label.hpp"
#include "heddle/core/run/event_source.hpp"

namespace heddle {

class ScopeCore;

/// A name, or a token that is compared by identity and kept alive by the stores that use it (CTX-6).
class ContextKey {
public:
    ContextKey(std::string_view text) : text_(text) {}  // NOLINT: a text is a key
    ContextKey(const char* text) : text_(text) {}       // NOLINT
    /// A key that equals only its copies. @param what  for messages
    [[nodiscard]] static ContextKey unique(std::string_view what = "key");

    [[nodiscard]] std::string describe() const;
    [[nodiscard]] bool is_identity() const { return static_cast<bool>(identity_); }
    friend bool operator==(const ContextKey& a, const ContextKey& b) { return a.identity_ == b.identity_ && a.text_ == b.text_; }

private:
    std::string text_;
    std::shared_ptr<const int> identity_;
};

class ContextStore;

/// A reference to a store. Cheap to copy; keeps it alive.
class ContextValues {
public:
    explicit ContextValues(std::shared_ptr<ContextStore> store) : store_(std::move(store)) {}

    /// Throws AsyncError if this store holds the key already and `replace` is off; an inherited one does not count (CTX-5).
    void set(const ContextKey& key, std::any value, bool replace = false) const;
    /// From this store only; an absent key is no error.
    void unset(const ContextKey& key) const;

    /// The nearest holder's value; null if there is none. Valid until that store changes the key.
    [[nodiscard]] const std::any* find(const ContextKey& key) const;
    [[nodiscard]] const std::any* find_local(const ContextKey& key) const;
    [[nodiscard]] bool has(const ContextKey& key) const { return find(key) != nullptr; }
    [[nodiscard]] bool has_local(const ContextKey& key) const { return find_local(key) != nullptr; }

    /// Throws ContextError if the key is missing or holds another type.
    template <class T>
    [[nodiscard]] const T& get(const ContextKey& key) const {
        return typed<T>(key, find(key));
    }
    template <class T>
    [[nodiscard]] const T& get_local(const ContextKey& key) const {
        return typed<T>(key, find_local(key));
    }

    friend bool operator==(const ContextValues&, const ContextValues&) = default;

private:
    template <class T>
    static const T& typed(const ContextKey& key, const std::any* value) {
        if (value == nullptr) { throw ContextError("context: no value for " + key.describe()); }
        const T* typed = std::any_cast<T>(value);
        if (typed == nullptr) { throw ContextError("context: the value has another type: " + key.describe()); }
        return *typed;
    }

    std::shared_ptr<ContextStore> store_;
};

/// Of the running coroutine's scope (CTX-1). Throws AsyncError outside a coroutine and in a scheduler phase.
[[nodiscard]] ContextValues current_context();
/// Of the main scope.
[[nodiscard]] ContextValues root_context();
/// Private to the running coroutine, without a parent (CTX-2).
[[nodiscard]] ContextValues coroutine_context();

}  // namespace heddle
