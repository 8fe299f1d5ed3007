// SPDX-License-Identifier: Apache-2.0
// Leases as JSON: what workers get and give back, and what a resumable search keeps in its folder. A damaged one is
// refused with the place and what was expected there.
//
// LJ1  Labels and cells are 64-bit numbers, written as strings: readers with doubles would lose digits.
// LJ2  from_json takes nothing on trust: whatever it accepts can be loaded without violating an assertion of the
//      search, up to a lease of another program, which the first run refuses (INV-RCT-14).
// Chance: none.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/base/result.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"

namespace heddle::sim {

[[nodiscard]] std::string to_json(const Lease& lease);
[[nodiscard]] std::string to_json(const SliceInput& input);
[[nodiscard]] std::string to_json(const SliceResult& result);
[[nodiscard]] std::string to_json(const LeaseBook::Snapshot& book);

/// @param where  names the text in messages
[[nodiscard]] Result<Lease> lease_from_json(std::string_view text, const std::string& where);
[[nodiscard]] Result<SliceResult> slice_from_json(std::string_view text, const std::string& where);
[[nodiscard]] Result<LeaseBook::Snapshot> book_from_json(std::string_view text, const std::string& where);

}  // namespace heddle::sim
