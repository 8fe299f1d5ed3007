// SPDX-License-Identifier: Apache-2.0
// planted::on: which known bug is switched on in a planted build. Included by the patched copies of core and simreactor alone; the
// sources that are built and installed know nothing of it (docs/decisions/0005-planted-patches.md).
//
// PB1  At most one bug is on at a time; none is on until somebody selects one.
// PB2  Selected before a world runs and not changed while it runs.
#pragma once

#include <string_view>

namespace heddle::planted {

/// True if the bug `id` ("MUT-07") is selected. Cost: a comparison of short texts.
[[nodiscard]] bool on(std::string_view id) noexcept;

/// Switches `id` on and every other bug off; "" switches all off.
void select(std::string_view id);

}  // namespace heddle::planted
