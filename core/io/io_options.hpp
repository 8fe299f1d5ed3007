// SPDX-License-Identifier: Apache-2.0
// IoOptions: what bounds one call that waits for input or output.
#pragma once

#include "heddle/core/base/time.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

struct IoOptions {
    Duration timeout = Duration::zero();  ///< of the wait, from its begin; zero waits without limit
    Token token{};                        ///< ends the wait with OperationCanceled
};

}  // namespace heddle
