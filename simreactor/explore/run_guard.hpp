// SPDX-License-Identifier: Apache-2.0
// RunGuard: what a search tells whoever watches over its process, so that a run that kills the process is known to the
// last answer.
//
//   search ── begin(chooser) ──▶ chooser to run with ── world runs ──▶ end() ── false: the search ends
//             refuses()  ──▶ true: known to die before its first question; it counts as cut and is not run
//
// RG1  A guard changes no answer. It may end a run that is known to die (INV-… "CRASHED"), right before it would; such
//      a run counts as cut and is no violation.
// Chance: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

class RunGuard {
public:
    virtual ~RunGuard() = default;

    /// Before each schedule of a search, and before other runs that may end the process.
    /// @param tag  of the run's kind, for what is told of it: a search's is `tag_of`
    /// @returns the chooser to run with, which asks `decides`
    virtual Chooser& begin(Chooser& decides, std::uint32_t tag) = 0;
    /// Between `begin` and the run: it must not be run.
    [[nodiscard]] virtual bool refuses() const { return false; }
    /// A schedule has ended by itself: with these answers, whose hash is AnswerKeeper::hash.
    virtual void ran(std::span<const std::uint32_t> answers, std::uint64_t hash) { (void)answers, (void)hash; }
    /// After the strategy has learned from the run. @returns false if the search should end here
    virtual bool end() { return true; }
    /// A violation is about to be recorded and shrunk: runs begin that are not schedules of the search.
    /// @returns how far it may go: 2 record and shrink, 1 record alone, 0 nothing
    virtual int may_record() { return 2; }
    virtual void recorded() {}
    /// Long work goes on.
    virtual void alive() {}

    /// The tag of a search's schedules: their order, and whether their worlds put one question.
    [[nodiscard]] static constexpr std::uint32_t tag_of(trace::Order order, bool one_question) {
        return static_cast<std::uint32_t>(order) + (one_question ? 2U : 0U);
    }
    [[nodiscard]] static constexpr trace::Order order_of(std::uint32_t tag) { return static_cast<trace::Order>(tag % 2); }
    [[nodiscard]] static constexpr bool asks_one_question(std::uint32_t tag) { return tag >= 2; }
    static constexpr std::size_t tags = 4;

    /// What a run ends with that the guard ended.
    static constexpr std::string_view crashed = "CRASHED";
};

}  // namespace heddle::sim
