// SPDX-License-Identifier: Apache-2.0
// AnswerKeeper and AnswersChooser: the answers of a run, kept and given again.
//
//   world ── choose ──▶ AnswerKeeper ── choose ──▶ the chooser that decides        answers: 0 2 1 …, hash
//   world ── choose ──▶ AnswersChooser: 0 2 1 …                                    the same run, whoever watches (WD3)
//
// AN1  By position: good for the run that gave them, and for nothing else.
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class AnswerKeeper final : public Chooser {
public:
    void begin(Chooser& decides) {
        decides_ = &decides;
        answers_.clear();
        hash_ = 0;
    }
    std::uint32_t choose(const ChoicePoint& point) override {
        const std::uint32_t answer = decides_->choose(point);
        answers_.push_back(answer);
        hash_ = hash_mix(hash_, (static_cast<std::uint64_t>(point.count) << 32) | answer);
        return answer;
    }
    [[nodiscard]] std::span<const std::uint32_t> answers() const { return answers_; }
    /// Tells schedules apart.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

private:
    Chooser* decides_ = nullptr;
    std::vector<std::uint32_t> answers_;
    std::uint64_t hash_ = 0;
};

/// Answers 0 behind the end, and where an answer is out of range.
class AnswersChooser final : public Chooser {
public:
    explicit AnswersChooser(std::span<const std::uint32_t> answers) : answers_(answers.begin(), answers.end()) {}
    std::uint32_t choose(const ChoicePoint& point) override {
        if (next_ == answers_.size()) { return 0; }
        const std::uint32_t answer = answers_[next_++];
        return answer < point.count ? answer : 0;
    }

private:
    std::vector<std::uint32_t> answers_;
    std::size_t next_ = 0;
};

}  // namespace heddle::sim
