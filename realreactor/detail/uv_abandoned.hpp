// SPDX-License-Identifier: Apache-2.0
// What foreign workers may still touch when its reactor is gone (RCT-2): kept for the rest of the process, within reach
// of leak checkers.
#pragma once

#include <cstddef>
#include <memory>

namespace heddle::real::detail {

void abandon(std::shared_ptr<void> memory);
/// How many blocks were abandoned so far in this process.
[[nodiscard]] std::size_t abandoned_count();

}  // namespace heddle::real::detail
