// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/replay.hpp"

#include <algorithm>
#include <sstream>

#include "heddle/core/base/assert.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

std::string_view to_string(DivergenceKind kind) {
    switch (kind) {
        case DivergenceKind::label_missing: return "label-missing";
        case DivergenceKind::set_differs: return "set-differs";
        case DivergenceKind::footprint_differs: return "footprint-differs";
        case DivergenceKind::value_domain_changed: return "value-domain-changed";
        case DivergenceKind::early_end: return "early-end";
    }
    return "?";
}

std::string Divergence::describe(const LabelBook* book, const std::map<std::uint64_t, std::string>& recorded) const {
    const LabelBook none;
    const LabelBook& names = book == nullptr ? none : *book;
    const auto text = [&](std::uint64_t label) {
        const auto known = recorded.find(label);
        return known == recorded.end() || names.knows(Label{label}) ? names.text(Label{label}) : known->second;
    };
    const auto name = [&](const PlannedAnswer& answer) {
        return std::string(heddle::to_string(answer.kind)) + " at " + text(answer.at);
    };
    std::ostringstream out;
    out << to_string(kind) << ": expected " << name(planned) << " (answer " << planned.chosen << " of "
        << planned.count;
    if (planned.candidate != 0) { out << ", " << text(planned.candidate); }
    out << "), found ";
    if (found_at == 0) {
        out << "the end of the run after " << points << " points";
    } else {
        out << heddle::to_string(found_kind) << " at " << text(found_at) << " with " << found_count
            << " alternatives";
    }
    out << "; before it " << (before ? name(*before) : "the begin of the run");
    out << ", after it " << (after ? name(*after) : "the end of the plan");
    return out.str();
}

ReplayChooser::ReplayChooser(std::vector<PlannedAnswer> plan, Options options)
    : plan_(std::move(plan)), options_(std::move(options)), met_(plan_.size(), false) {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
        const bool fresh = index_.emplace(key(plan_[i].kind, plan_[i].at), i).second;
        HEDDLE_ASSERT(fresh, "C3: (kind, at) is unique within a run");
    }
}

std::uint32_t ReplayChooser::choose(const ChoicePoint& point) {
    ++points_;
    const auto found = index_.find(key(point.kind, point.at.value));
    if (found == index_.end() || met_[found->second]) { return rest(point); }
    const std::size_t index = found->second;
    const PlannedAnswer& planned = plan_[index];
    skip_to(index, point);
    met_[index] = true;
    ++met_count_;

    if (planned.footprint != 0 && options_.footprint) {
        const std::uint32_t touched = options_.footprint();
        if (touched != planned.footprint) { diverge(DivergenceKind::footprint_differs, index, &point, touched); }
    }
    const std::uint32_t digest = trace::candidate_digest(point.candidates);
    if (planned.set_digest != 0 && digest != planned.set_digest) {
        diverge(DivergenceKind::set_differs, index, &point, digest);
    } else if (planned.count != 0 && planned.count != point.count) {
        // With candidates the set says more than its size; without, the number of alternatives is all there is to
        // compare.
        diverge(DivergenceKind::value_domain_changed, index, &point, digest);
    }
    last_met_ = index;
    next_ = std::max(next_, index + 1);
    if (options_.mode == ReplayMode::strict && diverged()) { return 0; }
    return answer(planned, point);
}

/// The run came to `index`: whatever the plan has before it was passed by.
void ReplayChooser::skip_to(std::size_t index, const ChoicePoint& point) {
    for (; next_ < index; ++next_) {
        if (!met_[next_]) { diverge(DivergenceKind::label_missing, next_, &point, 0); }
    }
}

std::uint32_t ReplayChooser::answer(const PlannedAnswer& planned, const ChoicePoint& point) const {
    if (planned.candidate != 0) {
        for (std::uint32_t i = 0; i < point.candidates.size(); ++i) {
            if (point.candidates[i].value == planned.candidate) { return i; }
        }
    }
    return planned.chosen < point.count ? planned.chosen : 0;
}

std::uint32_t ReplayChooser::rest(const ChoicePoint& point) {
    if (options_.rest == nullptr || (options_.mode == ReplayMode::strict && diverged())) { return 0; }
    return options_.rest->choose(point);
}

void ReplayChooser::finish() {
    if (finished_) { return; }
    finished_ = true;
    const bool shorter = options_.points_expected == 0 || points_ < options_.points_expected;
    for (; next_ < plan_.size(); ++next_) {
        if (met_[next_]) { continue; }
        diverge(shorter ? DivergenceKind::early_end : DivergenceKind::label_missing, next_, nullptr, 0);
    }
}

void ReplayChooser::diverge(DivergenceKind kind, std::size_t planned, const ChoicePoint* point, std::uint32_t digest) {
    Divergence divergence{.kind = kind, .planned = plan_[planned], .before = {}, .after = {}, .points = points_};
    if (last_met_) { divergence.before = plan_[*last_met_]; }
    if (planned + 1 < plan_.size()) { divergence.after = plan_[planned + 1]; }
    if (point != nullptr) {
        divergence.found_at = point->at.value;
        divergence.found_kind = point->kind;
        divergence.found_count = point->count;
        divergence.found_digest = digest;
    }
    divergences_.push_back(divergence);
    if (divergences_.size() == 1 && options_.on_divergence) { options_.on_divergence(divergences_.front()); }
}

}  // namespace heddle::sim
