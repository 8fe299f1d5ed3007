// SPDX-License-Identifier: Apache-2.0
// FifoChooser: the baseline run. Every answer is 0, which is what production does (C1).
#pragma once

#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class FifoChooser final : public Chooser {
public:
    std::uint32_t choose(const ChoicePoint&) override { return 0; }
};

}  // namespace heddle::sim
