// SPDX-License-Identifier: Apache-2.0
// OrderGate: runs the baseline, but lets nobody take a step before the ones that a plan puts in front of it.
//
//   touches ──▶ "b's coroutine was about to touch the cell for the 2nd time, and a had not yet": b came too early ──▶ learned
//   dispatch ──▶ first candidate in baseline order that is not held at what was learned
//
// OG1  Anchors name steps (who, cell, n-th of its steps on that cell); a step is only known by having run, so what one run learns, the next
//      one uses (begin, learned).
// OG2  A coroutine is held at a step while some unmet order has that step behind and its first step can still come: its coroutine has not
//      ended, or may still be spawned.
// OG3  If all candidates are held, the first goes. An order that has held somebody `patience` times in one run holds nobody any more: whoever
//      goes on in place of the held one may be waiting for it in a loop.
// Choice points: answers `dispatch`, and those that the plan has a value for; 0 to all others.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/footprint.hpp"
#include "heddle/core/seam/observer.hpp"

namespace heddle::sim {

/// A step by what it does: the `nth` (from 1) of the steps of `who` that touch `cell`.
struct Anchor {
    Label who;
    Cell cell;
    std::uint32_t nth = 0;
    friend constexpr auto operator<=>(const Anchor&, const Anchor&) = default;
};

/// Attach it as chooser and as observer.
class OrderGate final : public Chooser, public Observer {
public:
    struct Order {
        Anchor before;
        Anchor after;
    };
    struct Value {
        Label at;
        ChoiceKind kind = ChoiceKind::value;
        std::uint32_t choose = 0;
    };
    struct Plan {
        std::vector<Order> orders{};
        std::vector<Value> values{};
    };

    explicit OrderGate(Plan plan);

    /// A new run. What earlier ones taught stays.
    void begin();
    /// The run since `begin` met a step too early that was not known to hold it: another run may do better.
    [[nodiscard]] bool learned() const { return learned_; }

    std::uint32_t choose(const ChoicePoint& point) override;
    void on_event(const Event& event) override;
    void on_touch(Cell cell, TouchMode mode) override;

    /// Indices of the orders that did not come about in this run, and of the values that nobody asked for, ascending.
    [[nodiscard]] std::vector<std::size_t> unmet_orders() const;
    [[nodiscard]] std::vector<std::size_t> unmet_values() const;

private:
    /// Steps of one coroutine on one cell.
    struct Count {
        std::uint32_t steps = 0;
        std::uint32_t newest = 0;  // ordinal of the last of them
    };
    struct State {
        bool before = false;  // has happened
        bool after = false;
        bool kept = false;    // in this order
        std::uint32_t held = 0;  // so many times
    };

    void happened(const Anchor& anchor);
    [[nodiscard]] bool can_come(const Anchor& anchor) const { return !ended_.contains(anchor.who.value); }
    [[nodiscard]] bool is_held(Label who);

    static constexpr std::uint32_t patience = 1'000;

    Plan plan_;
    std::set<std::pair<std::size_t, std::uint32_t>> holds_;  // order, ordinal of the step that has its second anchor
    std::map<std::pair<std::uint64_t, std::uint64_t>, Count> counts_;  // by (who, cell) of the anchors
    std::map<std::uint64_t, std::uint32_t> steps_;           // begun, by coroutine
    std::set<std::uint64_t> ended_;
    std::vector<State> states_;
    std::vector<bool> answered_;
    Label running_{};
    bool learned_ = false;
};

}  // namespace heddle::sim
