// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/seam/testing/scripted_chooser.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::testing {

void ScriptedChooser::answer(ChoiceKind kind, std::initializer_list<std::uint32_t> answers) {
    std::deque<std::uint32_t>& script = by_kind_[static_cast<std::size_t>(kind)];
    script.insert(script.end(), answers);
}

std::uint32_t ScriptedChooser::choose(const ChoicePoint& point) {
    HEDDLE_ASSERT(point.count >= 2, "C2");
    HEDDLE_ASSERT(point.candidates.empty() || point.candidates.size() == point.count,
                  "a candidate for each alternative");
    std::uint32_t index = 0;
    std::deque<std::uint32_t>& script = by_kind_[static_cast<std::size_t>(point.kind)];
    std::deque<std::uint32_t>& source = script.empty() ? answers_ : script;
    if (!source.empty()) {
        index = source.front();
        source.pop_front();
    }
    HEDDLE_ASSERT(index < point.count, "a script answers below the number of alternatives");
    questions_.push_back({point.kind, point.at, point.count,
                          std::vector<Label>(point.candidates.begin(), point.candidates.end()), index});
    return index;
}

std::size_t ScriptedChooser::asked(ChoiceKind kind) const {
    return static_cast<std::size_t>(std::count_if(questions_.begin(), questions_.end(),
                                                  [kind](const Question& question) { return question.kind == kind; }));
}

}  // namespace heddle::testing
