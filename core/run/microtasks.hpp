// SPDX-License-Identifier: Apache-2.0
// Microtasks: small handlers of runtime-level code that run before the next dispatch (docs/spec/01-scheduler.md, section 11).
//
// M1  Strict order of addition, also across a drain that a throw interrupted (INV-TASK-01).
// M2  Removal precedes execution; the reference is dropped and the task disposed of after it, also if it threw (SCH-62).
// M3  A cancelled task keeps its place, and its handler is skipped (INV-TASK-02).
// Choice points: none. A microtask must not suspend.
#pragma once

#include <cstdint>

#include "heddle/core/base/ring.hpp"
#include "heddle/core/base/unique_function.hpp"

namespace heddle {

class Microtask {
public:
    virtual void run() = 0;
    /// The last queue entry and the last holder are gone.
    virtual void dispose() = 0;

    /// Skips the handler of every queue entry, present and future.
    void cancel() { cancelled_ = true; }
    [[nodiscard]] bool is_cancelled() const { return cancelled_; }
    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "INV-TASK-03");
        if (--references_ == 0) { dispose(); }
    }
    [[nodiscard]] std::uint32_t references() const { return references_; }

protected:
    virtual ~Microtask() = default;

private:
    std::uint32_t references_ = 0;
    bool cancelled_ = false;
};

/// A microtask made of a function, owned by its queue entries.
class FunctionMicrotask final : public Microtask {
public:
    explicit FunctionMicrotask(UniqueFunction<void()> body) : body_(std::move(body)) {}
    void run() override { body_(); }
    void dispose() override { delete this; }

private:
    UniqueFunction<void()> body_;
};

class MicrotaskQueue {
public:
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    [[nodiscard]] std::size_t size() const { return queue_.size(); }

    /// False, and nothing is queued, if the task is cancelled already (SCH-60).
    bool add(Microtask& task) {
        if (task.is_cancelled()) { return false; }
        task.add_reference();
        queue_.push_back(&task);
        return true;
    }
    Microtask& pop() { return *queue_.pop_front(); }
    [[nodiscard]] const Microtask& at(std::size_t index) const { return *queue_[index]; }
    void abandon() { queue_.clear(); }

private:
    Ring<Microtask*> queue_;
};

}  // namespace heddle
