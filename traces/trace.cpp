// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace.hpp"

#include <array>

namespace heddle::trace {

std::string_view to_string(Order order) { return order == Order::faithful ? "faithful" : "any"; }

std::string_view to_string(TimeLevel level) {
    constexpr std::array<std::string_view, 5> names{"T0", "T1", "T2", "T3", "T4"};
    return names.at(static_cast<std::size_t>(level));
}

std::string_view to_string(OutcomeKind kind) {
    constexpr std::array<std::string_view, static_cast<std::size_t>(OutcomeKind::count_)> names{
        "ok", "violation", "error", "cut", "crashed", "diverged"};
    return names.at(static_cast<std::size_t>(kind));
}

std::string to_string(RecordKind kind) {
    return kind.is_choice() ? "choose:" + std::string(to_string(kind.choice())) : std::string(to_string(kind.event()));
}

std::uint32_t candidate_digest(std::span<const Label> candidates) {
    // A sum, so that the order does not matter: a replay looks candidates up by label, and two backends may list them
    // differently.
    std::uint64_t sum = 0;
    for (const Label candidate : candidates) { sum += hash_mix(candidate.value, 1); }
    return candidates.empty() ? 0 : digest_of(hash_mix(sum, candidates.size()));
}

std::span<const std::string_view> mode_labels() {
    static constexpr std::array<std::string_view, 6> labels{"faithful", "faithful+jitter", "faithful+untimed",
                                                            "any",      "any+jitter",      "any+untimed"};
    return labels;
}

}  // namespace heddle::trace
