// SPDX-License-Identifier: Apache-2.0
// AuditChooser: counts, for each kind of choice, how often each alternative was offered and how often it was taken.
//
//   world ── choose ──▶ AuditChooser ── choose ──▶ the chooser that decides
//                            └─ table [kind][alternative] {offered, taken} ──▶ empty cells: never tried (H-FAULTS)
//
// AU1  It never changes an answer.
// AU2  A cell that was offered and never taken, and a kind that was never asked, are reported alike: a weight that is
//      zero by mistake shows as one, a class of behaviour that is never offered as the other.
// Choice points: none of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/simreactor/chooser/choice_mask.hpp"

namespace heddle::sim {

class AuditChooser final : public Chooser {
public:
    /// Alternatives from this one on share the last column: their number depends on the program, not on the kind.
    static constexpr std::uint32_t alternatives_max = 8;

    struct Count {
        std::uint64_t offered = 0;
        std::uint64_t taken = 0;
    };
    struct EmptyCell {
        ChoiceKind kind = ChoiceKind::value;
        std::uint32_t alternative = 0;
        std::uint64_t offered = 0;  ///< 0: the kind was never asked
        friend bool operator==(const EmptyCell&, const EmptyCell&) = default;
    };

    /// @param decides  answers; null is the baseline (always 0)
    explicit AuditChooser(Chooser* decides = nullptr) : decides_(decides) {}

    /// Another chooser answers from now on; the counts go on.
    void set_chooser(Chooser* decides) { decides_ = decides; }

    std::uint32_t choose(const ChoicePoint& point) override;

    [[nodiscard]] const Count& count(ChoiceKind kind, std::uint32_t alternative) const;
    [[nodiscard]] std::uint64_t asked(ChoiceKind kind) const { return count(kind, 0).offered; }

    /// Cells of `kinds` that no run filled, by kind, then alternative. Empty is what H-FAULTS wants.
    [[nodiscard]] std::vector<EmptyCell> empty_cells(ChoiceMask kinds = ChoiceMask::all()) const;
    /// The table as text, one line per kind that was asked, and a line that names the empty cells of `kinds`.
    [[nodiscard]] std::string report(ChoiceMask kinds = ChoiceMask::all()) const;

    /// Adds what another audit counted: campaigns run in parts.
    void merge(const AuditChooser& other);
    void clear() { table_ = {}; }

private:
    using Row = std::array<Count, alternatives_max>;
    std::array<Row, static_cast<std::size_t>(ChoiceKind::count_)> table_{};
    Chooser* decides_;
};

}  // namespace heddle::sim
