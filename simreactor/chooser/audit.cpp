// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/audit.hpp"

#include <algorithm>
#include <sstream>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

std::uint32_t AuditChooser::choose(const ChoicePoint& point) {
    const std::uint32_t answer = decides_ == nullptr ? 0 : decides_->choose(point);
    HEDDLE_ASSERT(answer < point.count, "an answer is one of the alternatives");
    Row& row = table_.at(static_cast<std::size_t>(point.kind));
    for (std::uint32_t i = 0; i < std::min(point.count, alternatives_max); ++i) { ++row[i].offered; }
    ++row[std::min(answer, alternatives_max - 1)].taken;
    return answer;
}

const AuditChooser::Count& AuditChooser::count(ChoiceKind kind, std::uint32_t alternative) const {
    return table_.at(static_cast<std::size_t>(kind)).at(alternative);
}

std::vector<AuditChooser::EmptyCell> AuditChooser::empty_cells(ChoiceMask kinds) const {
    std::vector<EmptyCell> cells;
    for (std::size_t k = 0; k < table_.size(); ++k) {
        const auto kind = static_cast<ChoiceKind>(k);
        if (!kinds.has(kind)) { continue; }
        const Row& row = table_[k];
        if (row[0].offered == 0) {
            cells.push_back({kind, 0, 0});
            continue;
        }
        for (std::uint32_t i = 0; i < alternatives_max; ++i) {
            if (row[i].offered > 0 && row[i].taken == 0) { cells.push_back({kind, i, row[i].offered}); }
        }
    }
    return cells;
}

std::string AuditChooser::report(ChoiceMask kinds) const {
    std::ostringstream out;
    for (std::size_t k = 0; k < table_.size(); ++k) {
        const Row& row = table_[k];
        if (row[0].offered == 0) { continue; }
        out << to_string(static_cast<ChoiceKind>(k)) << ": asked " << row[0].offered << ", taken";
        for (std::uint32_t i = 0; i < alternatives_max && row[i].offered > 0; ++i) {
            out << ' ' << i << (i + 1 == alternatives_max ? "+" : "") << '=' << row[i].taken << '/' << row[i].offered;
        }
        out << '\n';
    }
    const std::vector<EmptyCell> empty = empty_cells(kinds);
    out << "never taken:";
    if (empty.empty()) { out << " none"; }
    for (const EmptyCell& cell : empty) {
        out << ' ' << to_string(cell.kind);
        if (cell.offered == 0) {
            out << " (never asked)";
        } else {
            out << '=' << cell.alternative << " (offered " << cell.offered << ")";
        }
    }
    out << '\n';
    return out.str();
}

void AuditChooser::merge(const AuditChooser& other) {
    for (std::size_t k = 0; k < table_.size(); ++k) {
        for (std::uint32_t i = 0; i < alternatives_max; ++i) {
            table_[k][i].offered += other.table_[k][i].offered;
            table_[k][i].taken += other.table_[k][i].taken;
        }
    }
}

}  // namespace heddle::sim
