// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/minimize.hpp"

#include <algorithm>

namespace heddle::sim {

DecisionSize size_of(const std::vector<trace::Decision>& decisions) {
    DecisionSize size{decisions.size(), 0};
    for (const trace::Decision& decision : decisions) { size.sum += decision.choose; }
    return size;
}

MinimizeResult minimize(const trace::Trace& failing, const TryDecisions& attempt, std::uint64_t runs_max) {
    MinimizeResult result{failing, 0, false};
    // True if the candidate reached the violation and is smaller: it is what we go on from.
    const auto accept = [&](const std::vector<trace::Decision>& candidate) {
        if (result.runs >= runs_max) {
            result.budget_spent = true;
            return false;
        }
        ++result.runs;
        std::optional<trace::Trace> left = attempt(candidate);
        if (!left || !(size_of(left->decisions) < size_of(result.trace.decisions))) { return false; }
        result.trace = std::move(*left);
        return true;
    };
    bool smaller = true;
    while (smaller && !result.budget_spent) {
        smaller = false;
        // Leave out stretches, long ones first.
        for (std::size_t length = std::max<std::size_t>(result.trace.decisions.size(), 1); length >= 1 && !result.budget_spent;) {
            bool accepted = false;
            for (std::size_t first = 0; first < result.trace.decisions.size() && !result.budget_spent;) {
                std::vector<trace::Decision> candidate = result.trace.decisions;
                const auto begin = candidate.begin() + static_cast<std::ptrdiff_t>(first);
                const auto count = static_cast<std::ptrdiff_t>(std::min(length, candidate.size() - first));
                candidate.erase(begin, begin + count);
                if (accept(candidate)) {
                    accepted = smaller = true;  // what follows has moved up to `first`
                } else {
                    first += length;
                }
            }
            if (!accepted || length > result.trace.decisions.size()) { length /= 2; }
        }
        // Pull answers towards the baseline.
        for (std::size_t i = 0; i < result.trace.decisions.size() && !result.budget_spent; ++i) {
            for (std::uint32_t answer = 1; i < result.trace.decisions.size() && answer < result.trace.decisions[i].choose; ++answer) {
                std::vector<trace::Decision> candidate = result.trace.decisions;
                candidate[i].choose = answer;
                candidate[i].candidate.clear();
                candidate[i].set = 0;
                if (accept(candidate)) {
                    smaller = true;
                    break;
                }
            }
        }
    }
    return result;
}

}  // namespace heddle::sim
