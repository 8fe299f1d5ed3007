// SPDX-License-Identifier: Apache-2.0
// What the events of a run say about a deadlock.
//
//   parked(who, point)  ──▶ who waits, since which step          woken, resumed, finished ──▶ it does not
//   wait_begun(who, X)  ──▶ for X                                point "main:await(main/b)" ──▶ for main/b
//   granted, notified, value_in … (X) ──▶ steps that touched X: those before the wait came too early, there is none behind it
#include "heddle/traces/deadlock_text.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "heddle/traces/failure_text.hpp"

namespace heddle::trace {
namespace {

constexpr std::size_t steps_shown = 6;

struct Wait {
    std::string at;
    std::string object;
    std::uint64_t since = 0;
};

struct Deed {
    std::uint64_t step = 0;
    std::string actor;
    std::string what;
};

/// "main:await(main/b)#2" is about main/b.
std::string object_of(const std::string& point) {
    const std::size_t open = point.find('(');
    const std::size_t close = point.rfind(')');
    return open == std::string::npos || close == std::string::npos || close < open
               ? ""
               : point.substr(open + 1, close - open - 1);
}

class Story {
public:
    /// False once the deadlock is reached.
    bool add(const TraceEvent& event) {
        if (event.kind.is_choice()) { return true; }
        switch (event.kind.event()) {
            case EventKind::deadlock: return false;
            case EventKind::step_begin:
                ++step_;
                running_ = event.who;
                break;
            case EventKind::parked: waits_[event.who] = {event.what, object_of(event.what), step_}; break;
            case EventKind::woken:
            case EventKind::finished:
            case EventKind::doomed: waits_.erase(event.who); break;
            case EventKind::wait_begun: joined_[event.who] = event.what; break;
            case EventKind::wait_left: joined_.erase(event.who); break;
            case EventKind::granted:
                joined_.erase(event.who);
                holders_[event.what].push_back(event.who);
                deed(event.what, "granted to " + event.who);
                break;
            case EventKind::handed_on:
                std::erase(holders_[event.what], event.who);
                deed(event.what, "handed on");
                break;
            case EventKind::value_in: deed(event.what, "a value came in"); break;
            case EventKind::value_out: deed(event.what, "a value went out"); break;
            case EventKind::object_closed: deed(event.what, "closed"); break;
            case EventKind::notified: deed(event.what, "notified"); break;
            default: break;
        }
        return true;
    }

    [[nodiscard]] std::string text() {
        std::string text = "Who waits for whom (" + counted(waits_.size(), "coroutine") + "):\n";
        for (auto& [who, wait] : waits_) {
            if (const auto joined = joined_.find(who); joined != joined_.end()) { wait.object = joined->second; }
            text += "  " + who + " waits at " + wait.at + " since step " + std::to_string(wait.since);
            for (const std::string& other : awaited(wait)) { text += ", for " + other + ", which waits as well"; }
            text += "\n    " + wakers(wait) + "\n";
        }
        if (const std::string circle = find_circle(); !circle.empty()) { text += "  circle: " + circle + "\n"; }
        return text;
    }

private:
    void deed(const std::string& object, std::string what) {
        deeds_[object].push_back({step_, running_, std::move(what)});
    }

    /// Those that it waits for and that wait themselves.
    [[nodiscard]] std::vector<std::string> awaited(const Wait& wait) const {
        std::vector<std::string> others;
        if (waits_.contains(wait.object)) { others.push_back(wait.object); }
        if (const auto holders = holders_.find(wait.object); holders != holders_.end()) {
            for (const std::string& holder : holders->second) {
                if (waits_.contains(holder)) { others.push_back(holder); }
            }
        }
        return others;
    }

    [[nodiscard]] std::string wakers(const Wait& wait) const {
        if (waits_.contains(wait.object)) { return "the end of " + wait.object + " would wake it"; }
        const auto deeds = deeds_.find(wait.object);
        if (wait.object.empty() || deeds == deeds_.end()) {
            return wait.object.empty() ? "nothing in this run could have woken it"
                                       : "no step of this run gave up, filled or notified " + wait.object;
        }
        std::string text = "steps that could have woken it, and came before it waited:";
        const std::size_t first = deeds->second.size() > steps_shown ? deeds->second.size() - steps_shown : 0;
        for (std::size_t i = first; i < deeds->second.size(); ++i) {
            const Deed& deed = deeds->second[i];
            text += (i == first ? " step " : "; step ") + std::to_string(deed.step) + " (" + deed.actor + ": " +
                    wait.object + " " + deed.what + ")";
        }
        return text;
    }

    [[nodiscard]] std::string find_circle() const {
        for (const auto& [start, wait] : waits_) {
            std::vector<std::string> path{start};
            for (;;) {
                const std::vector<std::string> others = awaited(waits_.at(path.back()));
                if (others.empty()) { break; }
                const bool met = std::ranges::find(path, others.front()) != path.end();
                path.push_back(others.front());
                if (!met) { continue; }
                std::string text;
                const auto begin = std::ranges::find(path, others.front());
                for (auto at = begin; at != path.end(); ++at) { text += (at == begin ? "" : " waits for ") + *at; }
                return text;
            }
        }
        return "";
    }

    std::uint64_t step_ = 0;
    std::string running_;
    std::map<std::string, Wait> waits_;
    std::map<std::string, std::string> joined_;
    std::map<std::string, std::vector<std::string>> holders_;
    std::map<std::string, std::vector<Deed>> deeds_;
};

}  // namespace

std::string deadlock_text(const Trace& trace) {
    Story story;
    for (const TraceEvent& event : trace.events) {
        if (!story.add(event)) { return story.text(); }
    }
    return "";
}

}  // namespace heddle::trace
