// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/pct.hpp"

#include <algorithm>

namespace heddle::sim {

void PctChooser::begin(std::uint64_t seed) {
    const Prng prng{seed};
    priorities_.begin(prng.stream("pct"));
    steps_ = 0;
    next_change_ = 0;
    changes_.clear();
    if (is_profiling()) { return; }
    Prng places = prng.stream("pct change points");
    const std::uint64_t length = length_ + length_ / 5;
    for (std::uint32_t i = 1; i < depth_; ++i) { changes_.push_back(places.below(length)); }
    std::ranges::sort(changes_);
}

void PctChooser::finish(bool cut) {
    if (is_profiling()) {
        longest_ = std::max<std::uint64_t>({longest_, steps_, 1});
        if (!cut || ++cut_profiles_ == cut_profiles_max) { length_ = longest_; }
        return;
    }
    if (cut) { return; }
    // Towards the median: a run that spun for a thousand steps must not spread the change points of all later ones.
    const std::uint64_t stride = std::max<std::uint64_t>(length_ / 16, 1);
    if (steps_ > length_) { length_ += std::min(stride, steps_ - length_); }
    if (steps_ < length_) { length_ -= std::min(stride, length_ - steps_); }
}

std::uint32_t PctChooser::process_of(Label label) {
    bool fresh = false;
    const std::uint32_t process = index_.at(label.value, processes_, fresh).value;
    if (fresh) { ++processes_; }
    return process;
}

bool PctChooser::changes_here() { return next_change_ < changes_.size() && changes_[next_change_] <= steps_; }

std::uint32_t PctChooser::choose(const ChoicePoint& point) {
    if (!is_competition(point)) { return static_cast<std::uint32_t>(priorities_.prng().below(point.count)); }
    while (true) {
        const std::uint32_t best =
            priorities_.highest(point.count, [&](std::uint32_t i) { return process_of(point.candidates[i]); });
        if (!changes_here()) { return best; }
        // The first change point has the highest of the low priorities.
        priorities_.lower(process_of(point.candidates[best]), changes_.size() - next_change_++);
    }
}

void PctChooser::on_event(const Event& event) {
    if (event.kind != EventKind::step_begin) { return; }
    const std::uint32_t process = process_of(event.who);
    // A step without a competitor: whoever takes it falls all the same.
    while (changes_here()) { priorities_.lower(process, changes_.size() - next_change_++); }
    if (is_profiling()) { priorities_.redraw(process); }
    priorities_.stepped(process);
    ++steps_;
}

}  // namespace heddle::sim
