// SPDX-License-Identifier: Apache-2.0
// UniqueFunction: a callable that is moved, never copied, so that it may own what it needs. Small ones live inside it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heddle/core/base/assert.hpp"

namespace heddle {

template <class Signature>
class UniqueFunction;

template <class Result, class... Args>
class UniqueFunction<Result(Args...)> {
public:
    UniqueFunction() = default;
    UniqueFunction(std::nullptr_t) {}  // NOLINT: null is a value of the type, as for std::function

    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> && std::is_invocable_r_v<Result, F&, Args...>)
    UniqueFunction(F&& callable) {  // NOLINT: a callable converts, as for std::function
        using Callable = std::decay_t<F>;
        if constexpr (sizeof(Callable) <= inline_size && alignof(Callable) <= alignof(std::max_align_t) &&
                      std::is_nothrow_move_constructible_v<Callable>) {
            ::new (static_cast<void*>(storage_)) Callable(std::forward<F>(callable));
            table_ = &inline_table<Callable>;
        } else {
            ::new (static_cast<void*>(storage_)) Callable*(new Callable(std::forward<F>(callable)));
            table_ = &heap_table<Callable>;
        }
    }

    UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
    UniqueFunction& operator=(UniqueFunction&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    UniqueFunction(const UniqueFunction&) = delete;
    UniqueFunction& operator=(const UniqueFunction&) = delete;
    ~UniqueFunction() { reset(); }

    [[nodiscard]] explicit operator bool() const { return table_ != nullptr; }

    Result operator()(Args... args) {
        HEDDLE_ASSERT(table_ != nullptr, "an empty function is not called");
        return table_->call(storage_, std::forward<Args>(args)...);
    }

    void reset() {
        if (const Table* table = std::exchange(table_, nullptr); table != nullptr) { table->destroy(storage_); }
    }

private:
    static constexpr std::size_t inline_size = 3 * sizeof(void*);

    struct Table {
        Result (*call)(void*, Args&&...);
        void (*move)(void* to, void* from) noexcept;
        void (*destroy)(void*) noexcept;
    };

    template <class Callable>
    static constexpr Table inline_table{
        [](void* at, Args&&... args) -> Result { return (*static_cast<Callable*>(at))(std::forward<Args>(args)...); },
        [](void* to, void* from) noexcept {
            ::new (to) Callable(std::move(*static_cast<Callable*>(from)));
            static_cast<Callable*>(from)->~Callable();
        },
        [](void* at) noexcept { static_cast<Callable*>(at)->~Callable(); }};

    template <class Callable>
    static constexpr Table heap_table{
        [](void* at, Args&&... args) -> Result { return (**static_cast<Callable**>(at))(std::forward<Args>(args)...); },
        [](void* to, void* from) noexcept { ::new (to) Callable*(*static_cast<Callable**>(from)); },
        [](void* at) noexcept { delete *static_cast<Callable**>(at); }};

    void take(UniqueFunction& other) noexcept {
        table_ = std::exchange(other.table_, nullptr);
        if (table_ != nullptr) { table_->move(storage_, other.storage_); }
    }

    const Table* table_ = nullptr;
    alignas(std::max_align_t) std::byte storage_[inline_size]{};
};

}  // namespace heddle
