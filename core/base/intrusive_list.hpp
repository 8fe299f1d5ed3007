// SPDX-License-Identifier: Apache-2.0
// IntrusiveList: a doubly linked list whose links live in its elements, so that membership costs no allocation, leaving is O(1)
// and the order is the order of insertion. An element type may be in several lists through hooks with different tags.
//
// L1  A hook is in at most one list; inserting a linked one is an assertion, removing an unlinked one too.
// L2  Destroying an element that is still linked is an assertion: a list never reaches freed memory.
#pragma once

#include <cstddef>

#include "heddle/core/base/assert.hpp"

namespace heddle {

template <class Tag>
class ListHook {
public:
    ListHook() = default;
    ListHook(const ListHook&) = delete;
    ListHook& operator=(const ListHook&) = delete;
    ~ListHook() { HEDDLE_ASSERT(!is_linked(), "L2"); }

    [[nodiscard]] bool is_linked() const { return next_ != nullptr; }

private:
    template <class T, class U>
    friend class IntrusiveList;
    ListHook* next_ = nullptr;
    ListHook* previous_ = nullptr;
};

/// T derives from ListHook<Tag>.
template <class T, class Tag>
class IntrusiveList {
public:
    using Hook = ListHook<Tag>;

    IntrusiveList() { head_.next_ = head_.previous_ = &head_; }
    IntrusiveList(const IntrusiveList&) = delete;
    IntrusiveList& operator=(const IntrusiveList&) = delete;
    ~IntrusiveList() {
        HEDDLE_ASSERT(empty(), "L2");
        head_.next_ = head_.previous_ = nullptr;
    }

    [[nodiscard]] bool empty() const { return head_.next_ == &head_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] T* front() const { return empty() ? nullptr : element(head_.next_); }
    [[nodiscard]] T* back() const { return empty() ? nullptr : element(head_.previous_); }

    /// The neighbour, or null at the end.
    [[nodiscard]] T* next(const T& at) const {
        Hook* hook = static_cast<const Hook&>(at).next_;
        return hook == &head_ ? nullptr : element(hook);
    }
    [[nodiscard]] T* previous(const T& at) const {
        Hook* hook = static_cast<const Hook&>(at).previous_;
        return hook == &head_ ? nullptr : element(hook);
    }

    void push_back(T& item) { link_before(&head_, item); }
    void push_front(T& item) { link_before(head_.next_, item); }
    void insert_after(T& at, T& item) { link_before(static_cast<Hook&>(at).next_, item); }

    void remove(T& item) {
        Hook& hook = item;
        HEDDLE_ASSERT(hook.is_linked(), "L1");
        hook.previous_->next_ = hook.next_;
        hook.next_->previous_ = hook.previous_;
        hook.next_ = hook.previous_ = nullptr;
        --size_;
    }

    T* pop_front() {
        T* item = front();
        if (item != nullptr) { remove(*item); }
        return item;
    }

    /// Forgets every element without visiting it: for a world whose memory goes away as a whole.
    void abandon() {
        head_.next_ = head_.previous_ = &head_;
        size_ = 0;
    }

private:
    static T* element(Hook* hook) { return static_cast<T*>(hook); }

    void link_before(Hook* at, T& item) {
        Hook& hook = item;
        HEDDLE_ASSERT(!hook.is_linked(), "L1");
        hook.previous_ = at->previous_;
        hook.next_ = at;
        at->previous_->next_ = &hook;
        at->previous_ = &hook;
        ++size_;
    }

    Hook head_;
    std::size_t size_ = 0;
};

}  // namespace heddle
