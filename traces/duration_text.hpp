// SPDX-License-Identifier: Apache-2.0
// Times that people type: budgets of searches, from a command line or the environment.
// Choice points: none.
#pragma once

#include <optional>
#include <string_view>

namespace heddle::trace {

/// "30s", "1.5m", "500ms", "2h" in seconds; none if the text is no such thing, or not between 0 (exclusive) and a year.
[[nodiscard]] std::optional<double> seconds_of(std::string_view text);

}  // namespace heddle::trace
