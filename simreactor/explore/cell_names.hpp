// SPDX-License-Identifier: Apache-2.0
// CellNames: cells in words, and back. A footprint knows cells as hashes; what people and traces keep names them.
//
//   cell(main/shared, "value")      ⇄  "main/shared.value"
//   cell(main/channel, "slot", 3)   ⇄  "main/channel.slot[3]"
//   one whose object nobody named   ⇄  "cell.5f0c…" (its hash)
//
// CN1  A name is made of an object's label, a field of this list and an index: it means the same cell in every run, edited or not.
// CN2  Only names are made by trying what there is; a name is read back without any of that.
// Chance: none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

class CellNames {
public:
    /// Knows the cells of all objects of the run that `labels` belongs to. Cost: objects × fields × indices hashes.
    void learn(const LabelBook& labels);

    [[nodiscard]] std::string text(Cell cell) const;
    /// None if the text is no name of a cell.
    [[nodiscard]] static std::optional<Cell> cell_of(std::string_view text);

private:
    std::map<std::uint64_t, std::string> names_;
};

}  // namespace heddle::sim
