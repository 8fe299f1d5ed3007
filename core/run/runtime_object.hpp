// SPDX-License-Identifier: Apache-2.0
// RuntimeObject: what a program makes besides coroutines and scopes - mutexes, channels, groups - as the runtime knows it.
//
//   Scheduler ── objects, in the order of their making ──▶ asked at a deadlock, before anybody speaks of one (CHAN-42)
//                                                     └──▶ walked by those who check books after every step
//
// RO1  An object is in the list of its runtime from its construction to its destruction, or to the end of that runtime.
// Choice points: none. Suspends: never.
#pragma once

#include "heddle/core/base/intrusive_list.hpp"
#include "heddle/core/base/label.hpp"

namespace heddle {

class Scheduler;

class RuntimeObject : public ListHook<RuntimeObject> {
public:
    RuntimeObject(const RuntimeObject&) = delete;
    RuntimeObject& operator=(const RuntimeObject&) = delete;

    [[nodiscard]] Label object_label() const { return object_label_; }
    [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }

    /// Nothing is ready and no counted event is left. Called in a scheduler phase. @returns true if it made somebody ready
    virtual bool resolve_deadlock() { return false; }

protected:
    /// @param kind  the name in its label: what the program gives, else the type's ("mutex")
    RuntimeObject(Scheduler& scheduler, std::string_view kind);
    virtual ~RuntimeObject();

private:
    Scheduler& scheduler_;
    Label object_label_;
};

}  // namespace heddle
