// SPDX-License-Identifier: Apache-2.0
// Lease: a part of a reduced search's tree as a value, to be explored in another process, or at another time
// (docs/campaigns.md).
//
//   node 0 ─ node 1 ─ … ─ node depth-1 ─┬─ node depth ─ …    before `depth`: of whoever gave the lease, one process each
//                                       └─ …                 behind: the lease's own
//
// LS1  What is explored behind a lease and what is explored elsewhere never overlap: whoever gives away a process of a
//      node lets it sleep there, and lets sleep in the lease what it has explored or is exploring itself.
// LS2  A race whose first step lies before `depth` is sent up to the lease that the node belongs to. That is a union:
//      twice is once.
// LS3  Nobody leaves a node while a process of it is lent.
// LS4  Processes and cells have their labels here: numbers mean nothing in another process.
// Chance: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/result.hpp"
#include "heddle/core/seam/footprint.hpp"
#include "heddle/simreactor/world/shared_memory.hpp"

namespace heddle::sim {

struct Lease {
    struct Sleeper {
        Label pid;
        std::vector<Touch> feet{};
        friend bool operator==(const Sleeper&, const Sleeper&) = default;
    };
    struct Node {
        std::uint32_t question =
            0;  ///< position of its dispatch question among the answers; where its step's answers begin, if none
        bool asked = false;
        Label current;
        std::vector<Label> enabled{};
        std::vector<Sleeper> slept{};
        std::vector<Touch> current_feet{};
        std::vector<Label> source{};
        std::vector<Label> lent{};
        friend bool operator==(const Node&, const Node&) = default;
    };

    std::uint32_t depth = 0;
    std::uint32_t fixed =
        0;  ///< answers that belong to the steps before; others to the same questions are explored elsewhere
    bool fresh = true;          ///< its answers are those of a run that was not run yet
    bool whole_loop = false;    ///< ReducedSearch RS4
    bool orders_shown = false;  ///< RS6
    bool zombies_shown = false;  ///< RS11
    std::vector<SharedMemory::Entry> memory{};  ///< RS8
    std::vector<std::uint32_t> answers{};
    std::vector<std::uint32_t> counts{};
    std::vector<Node> nodes{};

    friend bool operator==(const Lease&, const Lease&) = default;
};

/// What a run behind a lease asks of a node before it: one of these processes, unless one of them is to be tried there
/// anyway.
struct UpwardRace {
    std::uint32_t node = 0;
    std::vector<Label> initials{};  ///< empty: all that are enabled
    friend bool operator==(const UpwardRace&, const UpwardRace&) = default;
};

/// What is known about a process that was lent.
struct LentNews {
    std::uint32_t node = 0;
    Label pid;
    std::vector<Touch> feet{};  ///< of its step at the node
    bool done = false;          ///< all of it is explored
    friend bool operator==(const LentNews&, const LentNews&) = default;
};

}  // namespace heddle::sim
