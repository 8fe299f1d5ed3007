// SPDX-License-Identifier: Apache-2.0
// Observer: the door through which a world tells what happens. Production has none and pays one predictable branch.
//
// O1  An observer never influences a run: it returns nothing, and a run makes the same decisions with and without it.
// O2  Called in the order in which things happen, on the world's thread, at points where the world's state may be inspected
//     (step_end, quiescent) or only noted (all others).
#pragma once

#include <vector>

#include "heddle/core/seam/event.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle {

class Observer {
public:
    virtual ~Observer() = default;
    virtual void on_event(const Event& event) = 0;
    virtual void on_touch(Cell cell, TouchMode mode) { (void)cell, (void)mode; }
    /// The running step states a cell of its footprint before it touches any: with its other statements, all that others may see of it.
    virtual void on_statement(Cell cell, TouchMode mode) { (void)cell, (void)mode; }
    /// The reactor reports this source next: all deliveries until the next step are its step. Told where a world puts one question only.
    virtual void on_source(Label source, Instant at) { (void)source, (void)at; }
};

/// Several observers as one, called in order of addition.
class ObserverList final : public Observer {
public:
    void add(Observer& observer) { observers_.push_back(&observer); }
    void clear() { observers_.clear(); }
    [[nodiscard]] bool empty() const { return observers_.empty(); }
    /// The one that there is; null if there are more, or none.
    [[nodiscard]] Observer* only() const { return observers_.size() == 1 ? observers_.front() : nullptr; }
    void on_event(const Event& event) override {
        for (Observer* observer : observers_) { observer->on_event(event); }
    }
    void on_touch(Cell cell, TouchMode mode) override {
        for (Observer* observer : observers_) { observer->on_touch(cell, mode); }
    }
    void on_statement(Cell cell, TouchMode mode) override {
        for (Observer* observer : observers_) { observer->on_statement(cell, mode); }
    }
    void on_source(Label source, Instant at) override {
        for (Observer* observer : observers_) { observer->on_source(source, at); }
    }

private:
    std::vector<Observer*> observers_;
};

}  // namespace heddle
