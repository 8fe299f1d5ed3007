// SPDX-License-Identifier: Apache-2.0
// SharingAudit: what coroutines share without saying so, looked for in a search that relies on what they declare (docs/explorer.md).
//
//   a trace as it was run    1  2  3  4        other orders of the same     3  1  4  2        equal: outcome, course, state
//                               └──┴─ independent, as far as declared ─────────┘
//
// SA1  Two orders of one trace have the same outcome, take the same steps and leave the same state. If they do not, somebody shares what
//      was not declared: the orders between the two are bisected until one swap of two neighbours makes the difference, and names them.
// SA2  Where the program has hooks, a look at one order is enough: two steps that nothing declared orders and that touch one byte, one of
//      them writing. Then the byte has a name.
// SA3  State is what the program shows (show_state), and what ExploreOptions::state says when a run is over. A program that shows nothing is
//      judged by its outcome and its course alone.
// Chance: none; which traces are audited is counted off.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {

class SharingAudit {
public:
    /// The invariant that a program violates which shares what it does not declare.
    static constexpr std::string_view invariant = "UNDECLARED-SHARING";

    /// @param world  options of the worlds that it runs in, without chooser and observers; any order
    SharingAudit(const Program& program, const WorldOptions& world, std::function<std::uint64_t()> state);
    ~SharingAudit();

    /// Looks at the last run of a search. Requires: it was not redundant, not cut, and `finish` has been called.
    /// @returns what two steps share, in words; none if nothing was found, or if the trace has one order alone
    [[nodiscard]] std::optional<std::string> look(const ReducedSearch& search);
    /// Schedules that it ran.
    [[nodiscard]] std::uint64_t runs() const { return runs_; }

private:
    struct Step {
        Label who;
        std::vector<std::uint32_t> answers{};
        StepIndex at = 0;  // in the graph
    };
    struct Result {
        trace::OutcomeKind kind = trace::OutcomeKind::ok;
        std::string invariant;
        std::uint64_t state = 0;
        bool followed = true;  // it took the steps that were planned, and no other
        std::string message;
        [[nodiscard]] bool same_as(const Result& other) const {
            return kind == other.kind && invariant == other.invariant && state == other.state && followed == other.followed;
        }
    };
    class Follower;

    [[nodiscard]] Result run(const std::vector<Step>& plan);
    [[nodiscard]] std::optional<std::string> shared_bytes(const StepGraph& graph, const std::vector<Step>& plan);
    [[nodiscard]] static std::vector<std::vector<StepIndex>> other_orders(const StepGraph& graph, StepIndex count);
    [[nodiscard]] static std::vector<StepIndex> backwards(const StepGraph& graph, StepIndex count);
    [[nodiscard]] Result run_order(const std::vector<Step>& plan, const std::vector<StepIndex>& order);
    [[nodiscard]] std::string narrowed(const StepGraph& graph, const std::vector<Step>& plan, const std::vector<StepIndex>& other,
                                       const Result& as_run);
    [[nodiscard]] std::optional<std::string> compare(const StepGraph& graph, const std::vector<Step>& plan);
    [[nodiscard]] std::string name(const StepGraph& graph, StepIndex step) const;

    const Program& program_;
    std::function<std::uint64_t()> state_;
    SharedMemory memory_;
    std::unique_ptr<Follower> follower_;
    World world_;
    std::vector<std::pair<std::uint64_t, std::string>> labels_;  // of the coroutines of the last run
    std::uint64_t runs_ = 0;
};

}  // namespace heddle::sim
