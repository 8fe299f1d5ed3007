// SPDX-License-Identifier: Apache-2.0
// Judge: what all oracles have in common: when they look, what they may look at, and how they say "violated".
//
//   event ──▶ follow()                                    properties of the whole trace (kind T)
//   step_end ──▶ look(), behind follow()                  what must be true after every step (S)
//   quiescent ──▶ look(), settled()                       what must be true when nothing can go on by itself (Q)
//   the run has ended ──▶ ended() at `run_ended`, at_end() on the host's stack (E)
//
// J1  An oracle reads and never changes (O1): the scheduler's inspection functions are all that it calls.
// J2  A look costs O(coroutines). In a world of more than `everyone` of them only every n-th step is looked at, so that the price of a
//     step stays the same; what compares two looks is told whether they are neighbours.
// J3  Events of no run - between two runs, or after a violation - are not judged.
// Choice points: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/run/scheduler.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

class Judge : public sim::Oracle {
public:
    /// Coroutines up to which every step is looked at.
    static constexpr std::size_t everyone = 64;

    void begin(sim::World& world) final;
    void on_event(const Event& event) final;

protected:
    /// Forgets the last run.
    virtual void reset() = 0;
    virtual void follow(const Event& event) { (void)event; }
    /// @param neighbours  the step before was looked at, too
    virtual void look(const Scheduler& scheduler, const Event& event, bool neighbours) {
        (void)scheduler, (void)event, (void)neighbours;
    }
    virtual void settled(const Scheduler& scheduler) { (void)scheduler; }
    /// At `run_ended` of one node: its coroutines are gone, its reactor is still up.
    virtual void ended(const Scheduler& scheduler) { (void)scheduler; }

    /// The runtime that the event came from; null in streams that no runtime made.
    [[nodiscard]] static const Scheduler* scheduler() { return ambient_scheduler(); }
    [[nodiscard]] sim::World& world() const { return *world_; }
    [[nodiscard]] std::string name(Label label) const;

    /// Reports a violation; in a world that freezes it.
    [[noreturn]] void fail(std::string_view invariant, const std::string& message) const;
    void expect(bool condition, std::string_view invariant, const char* message) const {
        if (!condition) [[unlikely]] { fail(invariant, message); }
    }
    /// `message` is followed by what `who` names.
    void expect(bool condition, std::string_view invariant, const char* message, Label who) const {
        if (!condition) [[unlikely]] { fail(invariant, std::string(message) + ": " + name(who)); }
    }

private:
    sim::World* world_ = nullptr;
    std::size_t nodes_left_ = 0;
    std::size_t steps_skipped_ = 0;
    bool judging_ = false;
};

/// True for the begin or end of a coroutine's step; those of a delivery have a = 1.
[[nodiscard]] inline bool of_coroutine(const Event& event) { return event.a == 0; }

/// Scopes of a runtime, parents before children, without recursion.
template <class F>
void visit_scopes(const Scheduler& scheduler, F&& visit) {
    for (const ScopeCore* root : scheduler.root_scopes()) {
        for (const ScopeCore* at = root; at != nullptr;) {
            visit(*at);
            if (const ScopeCore* child = at->children().front(); child != nullptr) {
                at = child;
                continue;
            }
            while (at != root && at->parent()->children().next(*at) == nullptr) { at = at->parent(); }
            at = at == root ? nullptr : at->parent()->children().next(*at);
        }
    }
}

/// A record per runtime of a world of several nodes. T has reset().
template <class T>
class PerNode {
public:
    T& operator[](const Scheduler* scheduler) {
        for (Entry& entry : entries_) {
            if (entry.scheduler == scheduler) { return entry.record; }
        }
        entries_.push_back({scheduler, T{}});
        return entries_.back().record;
    }
    void reset() {
        for (Entry& entry : entries_) { entry.record.reset(); }
    }

private:
    struct Entry {
        const Scheduler* scheduler;  // compared, never looked into: it may be of a world that is gone
        T record;
    };
    std::vector<Entry> entries_;
};

template <class F>
void visit_coroutines(const Scheduler& scheduler, F&& visit) {
    const auto& registry = scheduler.registry();
    for (const CoroutineCore* c = registry.front(); c != nullptr; c = registry.next(*c)) { visit(*c); }
}

/// What the program made in this runtime: mutexes, channels, groups.
template <class F>
void visit_objects(const Scheduler& scheduler, F&& visit) {
    const auto& objects = scheduler.objects();
    for (const RuntimeObject* object = objects.front(); object != nullptr; object = objects.next(*object)) { visit(*object); }
}

}  // namespace heddle::prop
