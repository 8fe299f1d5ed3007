// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_recorder.hpp"

#include "heddle/core/base/assert.hpp"

namespace heddle::trace {
namespace {

/// Keeps the words of events and choices apart: a choice's kind never equals an event's.
constexpr std::uint64_t choice_salt = 1'000'003;

constexpr bool is_power_of_two(std::uint64_t value) { return (value & (value - 1)) == 0; }

}  // namespace

TraceRecorder::TraceRecorder(const LabelBook* book, Chooser* inner, RecorderOptions options)
    : inner_(inner), options_(options) {
    if (book != nullptr) { books_.push_back(book); }
}

void TraceRecorder::absorb(std::uint64_t first, std::uint64_t second) {
    // The two words were mixed apart from the rolling value, so that the chain from event to event is two mixes long.
    hash_ = hash_mix(hash_mix(hash_, first), second);
    ++count_;
    if (is_power_of_two(count_)) [[unlikely]] { check_points_.push_back({count_, hash_, footprint_}); }
}

void TraceRecorder::on_event(const Event& event) {
    now_ = event.at;
    std::uint32_t step_digest = 0;
    switch (event.kind) {
        case EventKind::step_begin:
            ++steps_;
            running_ = event.who;
            step_footprint_ = 0;
            break;
        case EventKind::step_end:
            step_digest = digest_of(step_footprint_);
            step_footprint_ = 0;
            break;
        case EventKind::violated:
            violated_step_ = steps_;
            violated_who_ = event.who ? event.who : running_;
            break;
        default: break;
    }
    const auto kind = static_cast<std::uint64_t>(event.kind);
    const auto at = static_cast<std::uint64_t>(event.at.ns());
    std::uint64_t values =
        hash_mix(static_cast<std::uint64_t>(event.a) ^ (at << 1), static_cast<std::uint64_t>(event.b) + kind);
    if (!event.note.empty()) { values = hash_mix(values, hash_text(event.note)); }
    absorb(hash_mix(event.who.value + kind, event.what.value), values);

    if (!keeps()) { return; }
    if (!event.note.empty()) { notes_.emplace_back(event.note); }
    kept_.push_back({event.at,
                     event.who,
                     event.what,
                     {},
                     event.a,
                     event.b,
                     event.kind,
                     step_digest,
                     event.note.empty() ? 0 : static_cast<std::uint32_t>(notes_.size())});
}

void TraceRecorder::on_touch(Cell cell, TouchMode mode) {
    const std::uint64_t touch = cell.value ^ static_cast<std::uint64_t>(mode);
    step_footprint_ = hash_mix(step_footprint_, touch);
    footprint_ = hash_mix(footprint_, touch);
}

std::uint32_t TraceRecorder::choose(const ChoicePoint& point) {
    HEDDLE_ASSERT(point.count >= 2, "C2: asked only if there is more than one alternative");
    const std::uint32_t index = inner_ == nullptr ? 0 : inner_->choose(point);
    HEDDLE_ASSERT(index < point.count, "an answer is an index below the count");
    HEDDLE_ASSERT(point.candidates.empty() || point.candidates.size() == point.count, "candidates are all or none");

    ++choices_;
    const std::uint32_t set = candidate_digest(point.candidates);
    const Label chosen = point.candidates.empty() ? Label{} : point.candidates[index];
    const auto kind = choice_salt + static_cast<std::uint64_t>(point.kind);
    const std::uint64_t answer = (std::uint64_t{index} << 32) | point.count;
    absorb(hash_mix(point.at.value + kind, chosen.value), hash_mix(answer, set + kind));

    if (index != 0) {
        deviations_.push_back({point.at, chosen, point.kind, index, point.count, set, digest_of(footprint_)});
    }
    if (keeps()) {
        const Label baseline = index == 0 || point.candidates.empty() ? Label{} : point.candidates[0];
        kept_.push_back({now_, point.at, chosen, baseline, index, point.count, point.kind, 0, 0});
    }
    return index;
}

std::string TraceRecorder::text(Label label) const {
    if (!label) { return {}; }
    for (const LabelBook* book : books_) {
        if (book->knows(label)) { return book->text(label); }
    }
    return LabelBook{}.text(label);
}

Trace TraceRecorder::take(const Recipe& recipe, const Outcome& outcome) const {
    Trace trace{.recipe = recipe, .outcome = outcome};
    trace.outcome.steps = steps_;
    trace.outcome.choices = choices_;
    if (trace.outcome.end == Instant{}) { trace.outcome.end = now_; }
    if (outcome.kind != OutcomeKind::ok && outcome.step == 0) {
        trace.outcome.step = violated_step_ != 0 ? violated_step_ : steps_;
    }
    if (outcome.kind != OutcomeKind::ok && outcome.who.empty()) {
        trace.outcome.who = text(violated_step_ != 0 ? violated_who_ : running_);
    }
    trace.hash = {.events = count_, .value = hash_, .footprint = footprint_, .check_points = check_points_};
    for (const Deviation& deviation : deviations_) {
        trace.decisions.push_back({.at = deviation.at ? text(deviation.at) : "?",
                                   .kind = deviation.kind,
                                   .choose = deviation.choose,
                                   .count = deviation.count,
                                   .candidate = text(deviation.candidate),
                                   .set = deviation.set,
                                   .footprint = deviation.footprint});
    }
    trace.events.reserve(kept_.size());
    for (const Kept& kept : kept_) {
        trace.events.push_back({.at = kept.at,
                                .kind = kept.kind,
                                .who = text(kept.who),
                                .what = text(kept.what),
                                .a = kept.a,
                                .b = kept.b,
                                .note = kept.note != 0 ? notes_[kept.note - 1] : text(kept.baseline),
                                .footprint = kept.footprint});
    }
    trace.events_omitted = options_.keep_events ? count_ - kept_.size() : 0;
    return trace;
}

void TraceRecorder::reset() {
    hash_ = footprint_ = step_footprint_ = 0;
    count_ = steps_ = choices_ = violated_step_ = 0;
    violated_who_ = running_ = {};
    now_ = {};
    check_points_.clear();
    deviations_.clear();
    kept_.clear();
    notes_.clear();
}

}  // namespace heddle::trace
