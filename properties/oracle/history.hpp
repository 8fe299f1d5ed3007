// SPDX-License-Identifier: Apache-2.0
// History: what each coroutine, scope and event of a run went through, told by itself, as one number.
//
//   events of a run ──by who they happened to──▶ one hash per coroutine and object, in its own order ──sum──▶ digest
//
// HI1  Two linearisations of one trace have equal digests, if the footprints say all: nobody can tell who came first of two independent
//      steps. Two that differ name a footprint that is too small.
// HI2  What shows the order of independent steps by its nature is left out: ids, the clock, switches, contexts, the length of queues.
// HI3  What a program says (event `user`) belongs to whoever runs: what it observed is part of its history.
// Chance: none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "heddle/core/seam/observer.hpp"

namespace heddle::prop {

class History final : public Observer {
public:
    /// Forgets the run.
    void begin() {
        hashes_.clear();
        runs_ = {};
    }
    void on_event(const Event& event) override;

    [[nodiscard]] std::uint64_t digest() const;
    /// By label, for the comparison of two runs.
    [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& hashes() const { return hashes_; }

private:
    std::map<std::uint64_t, std::uint64_t> hashes_;
    Label runs_;  // whose step it is
};

}  // namespace heddle::prop
