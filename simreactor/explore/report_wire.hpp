// SPDX-License-Identifier: Apache-2.0
// Reports and what was found as bytes, on their way from a worker process to the one that started it (wire.hpp).
//
// Chance: none.
#pragma once

#include <string>
#include <string_view>

#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::sim {

[[nodiscard]] std::string to_bytes(const Found& found);
[[nodiscard]] std::string to_bytes(const Report& report);
/// Requires: `bytes` are those of the functions above, of this program.
[[nodiscard]] Found found_from(std::string_view bytes);
[[nodiscard]] Report report_from(std::string_view bytes);

}  // namespace heddle::sim
