// SPDX-License-Identifier: Apache-2.0
// SurwChooser: the accesses to one cell interleave uniformly (selectively uniform random walk).
//
//   profiling run    a: x x y    b: x z    c: x        counts per process and cell
//   next runs        target x drawn; whose access to x comes next is drawn with weights 2 : 1 : 1, the others wait at theirs
//
// SU1  If the counts are exact and nothing blocks, every interleaving of the accesses to the target is equally likely.
// SU2  A process weighs what it has left, and what its children will have that it has not spawned yet.
// SU3  The target is drawn per run among the cells that at least max(2, half) of the processes use, not all in ways that commute, weighted
//      by the number of accesses; if there is none, among those that two use.
// SU4  Everything else goes by random priorities, drawn anew for whoever has stepped. Where only processes that wait at the target are
//      left, because the drawn one is blocked, one of them is drawn.
// SU5  The counts are those of one run: the first, which goes by priorities alone, and then every eighth, which shows other paths.
// SU6  Questions that no processes compete for are answered at random.
// Chance enters with the seed. Memory: a word per process and cell.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/simreactor/chooser/lookahead.hpp"
#include "heddle/simreactor/chooser/priorities.hpp"

namespace heddle::sim {

/// Attach it as chooser, as observer and as foresight.
class SurwChooser final : public Chooser, public Lookahead {
public:
    struct Options {
        std::uint32_t profile_every = 8;  ///< so many runs rest on the counts of one; at least 1
    };

    explicit SurwChooser(const Options& options) : options_(options) {}
    SurwChooser() : SurwChooser(Options{}) {}

    /// The next run; the first one is a profiling run.
    void begin(std::uint64_t seed);
    /// The run is over. @param cut  before its end; as a profile it is repeated a few times
    void finish(bool cut = false);

    std::uint32_t choose(const ChoicePoint& point) override;

    /// The run at hand counts, and samples nothing.
    [[nodiscard]] bool is_profiling() const { return !profiled_; }
    /// Cells that may be targets, once profiling is over.
    [[nodiscard]] std::size_t target_count() const { return targets_.size(); }

private:
    static constexpr std::uint32_t no_cell = ~std::uint32_t{0};
    static constexpr std::uint32_t cut_profiles_max = 8;

    struct Use {
        Process process = 0;
        std::uint32_t cell = 0;
        TouchMode mode = TouchMode::read;
        std::uint32_t accesses = 0;  // in the profile
        std::uint32_t in_run = 0;    // that counts
    };
    struct Target {
        std::uint32_t cell = 0;
        std::uint64_t accesses = 0;
    };
    struct Share {
        std::uint64_t own = 0;   // accesses to the target that are left
        std::uint64_t kids = 0;  // of those that it has not spawned yet
    };

    void step_over(Process process, std::span<const Access> accesses) override;
    void born(Process child, Process parent) override;
    void ended(Process process) override;

    void find_targets();
    void weigh();
    void draw();
    [[nodiscard]] bool waits(Process process) const;
    [[nodiscard]] std::uint64_t weight(Process process) const {
        return process < shares_.size() ? shares_[process].own + shares_[process].kids : 0;
    }

    Options options_;
    Priorities priorities_;
    bool profiled_ = false;
    bool counts_ = false;              // the present run
    std::uint32_t since_profile_ = 0;  // runs
    std::uint32_t cut_profiles_ = 0;
    GenerationMap use_index_;
    std::vector<Use> uses_;
    std::vector<Process> parents_;  // by process; nobody for the first
    std::vector<Target> targets_;
    std::uint64_t targets_weight_ = 0;
    std::uint32_t target_ = no_cell;
    std::vector<Share> shares_;     // by process, of this run
    Process drawn_ = nobody;        // whose access to the target comes next; nobody: all are free
};

}  // namespace heddle::sim
