// SPDX-License-Identifier: Apache-2.0
// Ids: identity, order and key of everything that outlives a call. Counted from 1 per runtime or reactor, never an address,
// so that two runs of one schedule name the same things alike. 0 means "none".
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace heddle {

template <class Tag>
struct Id {
    std::uint64_t value = 0;

    [[nodiscard]] constexpr explicit operator bool() const { return value != 0; }
    friend constexpr auto operator<=>(Id, Id) = default;
};

using CoroutineId = Id<struct CoroutineIdTag>;  ///< increases with creation (SCH-10)
using ScopeId = Id<struct ScopeIdTag>;
using SourceId = Id<struct SourceIdTag>;  ///< a reactor source (timer, poll, …); unique while its reactor lives

}  // namespace heddle

template <class Tag>
struct std::hash<heddle::Id<Tag>> {
    std::size_t operator()(heddle::Id<Tag> id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
