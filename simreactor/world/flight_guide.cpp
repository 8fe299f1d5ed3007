// SPDX-License-Identifier: Apache-2.0
// The recording's side of flight_follower.hpp: where the run is in it, and what that answers.
#include <algorithm>
#include <limits>

#include "heddle/core/base/assert.hpp"
#include "heddle/simreactor/world/flight_follower.hpp"

namespace heddle::sim {

using trace::DoorEntry;
using trace::DoorKind;

namespace {

constexpr std::size_t neighbours = 4;

/// Requests of the worker pool, which a poll reports as one source.
bool is_of_pool(std::string_view kind) {
    static constexpr std::string_view kinds[] = {"open", "stat", "seek", "flush", "truncate", "task", "resolve_name", "resolve_address"};
    return std::ranges::find(kinds, kind) != std::end(kinds);
}

/// What both worlds have to agree on. A read without bytes is the end, whoever says so in which words.
bool is_same(const DoorEntry& recorded, const DoorEntry& found) {
    constexpr std::uint32_t compared = ~static_cast<std::uint32_t>(trace::door_end);
    if (recorded.kind != found.kind || recorded.what != found.what) { return false; }
    if (recorded.kind == DoorKind::tick_end) { return true; }
    return recorded.source == found.source && recorded.handle == found.handle && recorded.value == found.value &&
           recorded.error == found.error && (recorded.flags & compared) == (found.flags & compared);
}

std::string told(const DoorEntry& entry) { return std::to_string(entry.at.ns() / 1'000'000) + "ms  " + trace::describe(entry); }

}  // namespace

std::optional<std::string> why_not_followed(const trace::Trace& trace) {
    if (trace.door.empty() && trace.door_omitted == 0) { return "it has no crossings of a reactor's door"; }
    if (trace.door_omitted != 0) {
        return "the recorder's ring has lost its first " + std::to_string(trace.door_omitted) +
               " crossings: what is left shows how the run ended, and cannot be replayed";
    }
    if (trace.door.front().kind != DoorKind::startup) { return "it does not begin with the start of the reactor"; }
    return std::nullopt;
}

std::string FlightDivergence::text() const {
    std::string lines = "crossing " + std::to_string(crossing) + " of the recording\n";
    for (const std::string& line : before) { lines += "    " + line + "\n"; }
    lines += "  expected  " + expected + "\n  found     " + found + "\n";
    for (const std::string& line : after) { lines += "    then would come  " + line + "\n"; }
    return lines;
}

FlightGuide::FlightGuide(const trace::Trace& trace, const LabelBook& labels)
    : trace_(trace), door_(trace.door), labels_(labels) {
    HEDDLE_ASSERT(!why_not_followed(trace), "a recording is followed from its beginning");
    for (std::size_t i = 0; i < door_.size(); ++i) {
        const DoorEntry& entry = door_[i];
        if (entry.kind == DoorKind::deliver) { answers_[entry.source] = i; }
        if (entry.kind == DoorKind::open || entry.kind == DoorKind::submit) { kinds_[entry.source] = entry.what; }
        if ((entry.flags & trace::door_hidden) != 0) { hidden_.insert(entry.source); }
    }
    find_outside();
}

/// A connection is the run's own if both its ends are. Ports tell: they are those of one machine at one time.
void FlightGuide::find_outside() {
    const auto port_of = [](std::string_view address) { return std::string(address.substr(address.rfind(':') + 1)); };
    const auto split = [](const DoorEntry& entry) {
        const std::size_t blank = entry.peers.find(' ');
        return std::pair{entry.peers.substr(0, blank), entry.peers.substr(std::min(blank, entry.peers.size() - 1) + 1)};
    };
    std::set<std::string> listening;             // ports
    std::set<std::pair<std::string, std::string>> connecting;  // from, to
    for (const DoorEntry& entry : door_) {
        if (entry.peers.empty()) { continue; }
        if (entry.what == "listen") { listening.insert(port_of(split(entry).first)); }
        if (entry.what == "connect") { connecting.insert({port_of(split(entry).first), port_of(split(entry).second)}); }
    }
    for (const DoorEntry& entry : door_) {
        if (entry.peers.empty()) { continue; }
        const auto [own, other] = split(entry);
        if (entry.what == "connect" && !listening.contains(port_of(other))) { outside_.insert(entry.handle); }
        if (entry.what == "accept" && !connecting.contains({port_of(other), port_of(own)})) { outside_.insert(entry.handle); }
    }
}

void FlightGuide::prepare(WorldOptions& options) {
    constexpr std::uint32_t ever = std::numeric_limits<std::uint32_t>::max();
    options.fairness = {ever, ever, ever, ever, ever, ever, ever, ever, ever};
    options.timing = Timing::at(trace::TimeLevel::T0);
    options.mask = ChoiceMask::all();
    options.faults = false;
    options.resolution = trace_.recipe.resolution;
    options.network.splits = ever;
    // What the kernel takes is said by the recording; no buffer of the simulated one stands in its way.
    options.network.stream_buffer = options.network.pipe_buffer = std::size_t{1} << 30;
    options.network.datagram_buffer = std::size_t{1} << 30;
    options.network.descriptors_max = 1'000'000;
}

// ── where it is ──

const DoorEntry* FlightGuide::next_delivery() const {
    for (std::size_t at = next_; at < door_.size() && door_[at].kind != DoorKind::tick_end; ++at) {
        if (door_[at].kind == DoorKind::deliver) { return &door_[at]; }
    }
    return nullptr;
}

const DoorEntry* FlightGuide::answer_of(std::uint64_t source) const {
    const auto found = answers_.find(source);
    return found == answers_.end() ? nullptr : &door_[found->second];
}

void FlightGuide::meet(const DoorEntry& found) {
    const DoorEntry* const recorded = peek();
    if (recorded == nullptr || !is_same(*recorded, found)) { diverge(trace::describe(found)); }
    ++next_;
    polls_left_ = next_ < door_.size() && door_[next_].kind == DoorKind::poll_due ? door_[next_].count : 0;
}

void FlightGuide::diverge(std::string found) {
    if (divergence_) { report_violation({"REPLAY", divergence_->text(), "", 0}); }
    FlightDivergence divergence;
    divergence.crossing = next_;
    divergence.found = std::move(found);
    if (const DoorEntry* const recorded = peek(); recorded != nullptr) {
        divergence.expected = told(*recorded);
    } else {
        divergence.expected = "the end of the recording: " + std::string(trace::to_string(trace_.outcome.kind)) +
                              (trace_.outcome.invariant.empty() ? "" : " of " + trace_.outcome.invariant);
    }
    for (std::size_t at = next_ - std::min(next_, neighbours); at < next_; ++at) { divergence.before.push_back(told(door_[at])); }
    for (std::size_t at = next_ + 1; at < std::min(next_ + 1 + neighbours, door_.size()); ++at) {
        divergence.after.push_back(told(door_[at]));
    }
    divergence_ = std::move(divergence);
    report_violation({"REPLAY", divergence_->text(), "", 0});
}

void FlightGuide::finish() {
    if (divergence_ || at_end()) { return; }
    FlightDivergence divergence;
    divergence.crossing = next_;
    divergence.expected = told(door_[next_]);
    divergence.found = "the end of the run";
    divergence_ = std::move(divergence);
}

// ── what it answers ──

std::uint32_t FlightGuide::choose(const ChoicePoint& point) {
    const DoorEntry* const delivery = next_delivery();
    const bool is_polled = delivery != nullptr && delivery->what != "timer" && (delivery->flags & trace::door_closed) == 0;
    switch (point.kind) {
        case ChoiceKind::ready:
        case ChoiceKind::pool: return pick(point);
        case ChoiceKind::batch: return is_polled ? 0 : 1;
        case ChoiceKind::timer_io: return delivery != nullptr && delivery->what == "timer" ? 0 : 1;
        case ChoiceKind::close:
            if (!point.candidates.empty()) { return pick(point); }
            return delivery != nullptr && (delivery->flags & trace::door_closed) != 0 ? 0 : 1;
        case ChoiceKind::spurious: return tick_is_empty_ ? 1 : 0;
        case ChoiceKind::merge: {
            // Signals that were told one by one are told one by one.
            const bool is_last = delivery == nullptr || delivery->what != "signal" || answer_of(delivery->source) == delivery;
            return is_last ? 0 : 1;
        }
        case ChoiceKind::req_cancel: {
            const DoorEntry* const end = call_ == nullptr ? nullptr : answer_of(call_->source);
            return end != nullptr && (end->flags & trace::door_cancelled) != 0 ? 0 : 1;
        }
        case ChoiceKind::value: return part(point);
        default: return 0;
    }
}

std::uint32_t FlightGuide::pick(const ChoicePoint& point) const {
    const DoorEntry* const delivery = next_delivery();
    if (delivery == nullptr) { return 0; }
    std::uint32_t of_pool = point.count;
    for (std::uint32_t i = 0; i < point.candidates.size(); ++i) {
        const auto source = sources_.find(point.candidates[i].value);
        if (source == sources_.end()) { continue; }
        if (source->second == delivery->source) { return i; }
        if (of_pool == point.count && is_of_pool(kinds_.at(source->second))) { of_pool = i; }
    }
    return of_pool == point.count || !is_of_pool(delivery->what) ? 0 : of_pool;
}

/// CP-PARTIAL: as much as was recorded. A program's own choices were nobody's to answer on libuv: 0.
std::uint32_t FlightGuide::part(const ChoicePoint& point) const {
    const std::string name = labels_.text(point.at);
    const bool is_submission = call_ != nullptr && call_->kind == DoorKind::submit;
    const bool is_pending = is_submission && (call_->flags & trace::door_pending) != 0;
    const DoorEntry* const end = is_pending ? answer_of(call_->source) : is_submission ? call_ : next_delivery();
    if (name.find(":read-part") != std::string::npos) {
        if (is_pending) { return point.count - 1; }  // nothing has come yet, as far as anybody knows
        if (end == nullptr || (end->what != "read" && end->what != "udp_receive")) { return 0; }
        const std::uint32_t whole = is_submission ? point.count - 1 : point.count;
        return end->value <= 0 || end->value >= static_cast<std::int64_t>(whole) ? 0 : static_cast<std::uint32_t>(end->value);
    }
    if (name.find(":write-part") != std::string::npos) {
        // One that fails later never went as a whole.
        const bool fails = end != nullptr && end->what == "write" && end->error != 0;
        const auto is_failed_write = [](const DoorEntry& entry) { return entry.what == "write" && entry.error != 0; };
        const bool any_fails =
            !is_submission && std::ranges::any_of(door_.begin() + static_cast<std::ptrdiff_t>(next_), door_.end(), is_failed_write);
        return fails || any_fails ? point.count / 2 : 0;
    }
    return 0;
}

}  // namespace heddle::sim
