// SPDX-License-Identifier: Apache-2.0
// ReplayChooser: answers from a list of deviations, and says where the run is no longer the one that was recorded.
//
//   plan    a ──────── b ─────── c        points of the recorded run whose answer was not 0, in order
//   run     a . . . . . b' . . .          everything else answers 0 (or as `rest` says)
//           met        set differs
//
// RP1  A planned answer is found by (kind, label), never by position: an unrelated new point changes nothing.
// RP2  An answer with a candidate means that candidate; an index alone would silently become another one when the set
//      changes.
// RP3  Strict: after the first divergence the answers are 0, and `on_divergence` has been called, so that the world
//      can stop there. Continue: the answer is the planned candidate if it is still offered, else the planned index
//      if it is still in range, else 0; every divergence is kept, the first one is the one reported.
// Chance: none, unless `rest` brings it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/core/base/label.hpp"
#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

/// One answer of a recorded run. Labels as 64-bit hashes (LB2).
struct PlannedAnswer {
    std::uint64_t at = 0;  ///< label of the point; unique together with `kind`
    ChoiceKind kind = ChoiceKind::value;
    std::uint32_t chosen = 0;      ///< index of the answer
    std::uint64_t candidate = 0;   ///< label of the chosen candidate; 0 where the index says it all
    std::uint32_t count = 0;       ///< alternatives that there were; 0 is not compared
    std::uint32_t set_digest = 0;  ///< trace::candidate_digest of all candidates; 0 is not compared
    std::uint32_t footprint = 0;   ///< digest of everything touched before; 0 is not compared
    friend bool operator==(const PlannedAnswer&, const PlannedAnswer&) = default;
};

enum class DivergenceKind : std::uint8_t {
    label_missing,         ///< the run went on past a planned point that it never came to
    set_differs,           ///< the point came with other candidates
    footprint_differs,     ///< the steps up to the point touched something else
    value_domain_changed,  ///< the point came with another number of alternatives
    early_end,             ///< the run ended before planned points, and before as many points as the recorded run had
};
[[nodiscard]] std::string_view to_string(DivergenceKind kind);

struct Divergence {
    DivergenceKind kind = DivergenceKind::label_missing;
    PlannedAnswer planned;                ///< what was expected
    std::optional<PlannedAnswer> before;  ///< the planned answer that was met last
    std::optional<PlannedAnswer> after;   ///< the one that would have come next in the plan
    std::uint64_t found_at = 0;           ///< the point that the run was at; 0: it had ended
    ChoiceKind found_kind = ChoiceKind::value;
    std::uint32_t found_count = 0;
    std::uint32_t found_digest = 0;  ///< of the candidates, or of the footprint
    std::uint64_t points = 0;        ///< points that the run had come to

    /// One line; labels as the book of this run knows them, else as the recorded run did, else as hashes.
    /// @param recorded  texts of the plan's labels by hash: what this run never came to, its book does not know
    [[nodiscard]] std::string describe(const LabelBook* book = nullptr,
                                       const std::map<std::uint64_t, std::string>& recorded = {}) const;
};

enum class ReplayMode : std::uint8_t { strict, carry_on };

class ReplayChooser final : public Chooser {
public:
    struct Options {
        ReplayMode mode = ReplayMode::strict;
        Chooser* rest = nullptr;            ///< answers what the plan leaves open; null is 0
        std::uint64_t points_expected = 0;  ///< points of the recorded run; 0 if not known
        /// Called once, inside `choose` or `finish`, when the first divergence is found.
        std::function<void(const Divergence&)> on_divergence{};
        /// Digest of everything touched so far, compared where the plan has one.
        std::function<std::uint32_t()> footprint{};
    };

    /// @param plan  in the order of the recorded run; (kind, at) unique. Answers of 0 are allowed and compared like the
    /// others.
    ReplayChooser(std::vector<PlannedAnswer> plan, Options options);
    explicit ReplayChooser(std::vector<PlannedAnswer> plan) : ReplayChooser(std::move(plan), Options{}) {}

    std::uint32_t choose(const ChoicePoint& point) override;

    /// The run has ended: planned points that never came are divergences now. Idempotent.
    void finish();

    [[nodiscard]] bool diverged() const { return !divergences_.empty(); }
    /// The first one in the order of the run; none if it has not diverged (yet).
    [[nodiscard]] const Divergence* divergence() const {
        return divergences_.empty() ? nullptr : &divergences_.front();
    }
    [[nodiscard]] const std::vector<Divergence>& divergences() const { return divergences_; }
    [[nodiscard]] std::size_t met() const { return met_count_; }
    [[nodiscard]] std::uint64_t points() const { return points_; }

private:
    [[nodiscard]] static std::uint64_t key(ChoiceKind kind, std::uint64_t at) {
        return hash_mix(static_cast<std::uint64_t>(kind), at);
    }
    void diverge(DivergenceKind kind, std::size_t planned, const ChoicePoint* point, std::uint32_t digest);
    void skip_to(std::size_t index, const ChoicePoint& point);
    [[nodiscard]] std::uint32_t answer(const PlannedAnswer& planned, const ChoicePoint& point) const;
    [[nodiscard]] std::uint32_t rest(const ChoicePoint& point);

    std::vector<PlannedAnswer> plan_;
    Options options_;
    std::unordered_map<std::uint64_t, std::size_t> index_;  // look-up only
    std::vector<bool> met_;
    std::size_t next_ = 0;  // planned answers before it were met, or reported as missing
    std::optional<std::size_t> last_met_;
    std::size_t met_count_ = 0;
    std::uint64_t points_ = 0;
    bool finished_ = false;
    std::vector<Divergence> divergences_;
};

}  // namespace heddle::sim
