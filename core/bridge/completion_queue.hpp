// SPDX-License-Identifier: Apache-2.0
// CompletionQueue: what other threads tell a runtime, in the order in which they told it (docs/spec/15-threads.md, 15.2).
//
//   any thread ── push ──▶ {accepted, was_empty} ──was_empty──▶ the wake is fired by whoever pushed
//   runtime    ── wake cleared ──▶ take_all: everything, in order ──▶ settle, one by one
//
// CQ1  Insertion and `was_empty` are one atomic action (SRV-03): of the pushes that follow a take_all, exactly one reports it. To look at
//      the length afterwards is a lost wake-up: two that push before either looks both see two.
// CQ2  The wake is cleared strictly before take_all (SRV-14), which takes everything (SRV-16): the queue is empty behind it.
// CQ3  Detaching and pushing exclude each other (THR-21); behind it a push is dropped, on the thread that made it.
// Chance: none; which thread pushes first is the threads' business.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace heddle {

class CompletionItem {
public:
    virtual ~CompletionItem() = default;
    /// On the runtime's thread, in scheduler phase. Never throws, never suspends.
    virtual void settle() = 0;
};

using CompletionPtr = std::shared_ptr<CompletionItem>;

class CompletionQueue {
public:
    struct Pushed {
        bool accepted = false;   ///< false: the runtime's end is gone
        bool was_empty = false;  ///< the wake is due, and is this caller's to fire
    };

    /// Any thread.
    Pushed push(CompletionPtr item);
    /// The runtime's thread, behind the clearing of the wake.
    [[nodiscard]] std::vector<CompletionPtr> take_all();
    /// The runtime's thread. @returns what nobody will take any more
    std::vector<CompletionPtr> detach();
    /// For reports: it may be another number by the time it is read.
    [[nodiscard]] std::size_t length() const;

private:
    mutable std::mutex mutex_;
    std::vector<CompletionPtr> items_;
    bool detached_ = false;
};

}  // namespace heddle
