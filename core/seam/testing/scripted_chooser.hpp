// SPDX-License-Identifier: Apache-2.0
// ScriptedChooser: answers choice points from a list that a test wrote, then with the baseline, and remembers what it
// was asked.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <vector>

#include "heddle/core/seam/chooser.hpp"

namespace heddle::testing {

class ScriptedChooser final : public Chooser {
public:
    struct Question {
        ChoiceKind kind = ChoiceKind::value;
        Label at;
        std::uint32_t count = 0;
        std::vector<Label> candidates;
        std::uint32_t answer = 0;
    };

    ScriptedChooser() = default;
    explicit ScriptedChooser(std::initializer_list<std::uint32_t> answers) : answers_(answers) {}

    /// Answers the next question of this kind that is not answered yet. Kinds are answered independently of each other.
    void answer(ChoiceKind kind, std::initializer_list<std::uint32_t> answers);
    /// Answers the next questions of whatever kind, once the answers by kind are used up.
    void answer(std::initializer_list<std::uint32_t> answers) { answers_.insert(answers_.end(), answers); }

    std::uint32_t choose(const ChoicePoint& point) override;

    [[nodiscard]] const std::vector<Question>& questions() const { return questions_; }
    [[nodiscard]] std::size_t asked(ChoiceKind kind) const;

private:
    std::deque<std::uint32_t> answers_;
    std::deque<std::uint32_t> by_kind_[static_cast<std::size_t>(ChoiceKind::count_)];
    std::vector<Question> questions_;
};

}  // namespace heddle::testing
