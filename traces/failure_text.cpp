// SPDX-License-Identifier: Apache-2.0
// What a failure prints: the invariant, the place, the timeline, the decisions in words, the command that replays it.
#include "heddle/traces/failure_text.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "heddle/traces/deadlock_text.hpp"
#include "heddle/traces/trace_render.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::trace {
namespace {

constexpr std::size_t reasons_max = 12;

std::string_view meaning_of(std::string_view mode) {
    if (mode == "faithful") { return "production can do this today"; }
    if (mode == "faithful+jitter") { return "production can do this, given the right timing"; }
    if (mode == "faithful+untimed") { return "production's order of coroutines, but times that no clock has"; }
    if (mode == "any") { return "coroutines that are ready together run in another order than production's"; }
    if (mode == "any+jitter") { return "another order of ready coroutines than production's, and the right timing"; }
    if (mode == "any+untimed") { return "another order of ready coroutines, and times that no clock has"; }
    return "";
}

/// Text from a trace in one line without control characters.
std::string clean(std::string_view text) {
    std::string line;
    for (const char c : text) { line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c; }
    return line;
}

/// The same, line by line.
std::string clean_lines(std::string_view text) {
    std::string lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines += clean(text.substr(begin, end - begin)) + "\n";
        begin = end + 1;
    }
    return lines;
}

/// A choice point's label without the count of its visits: "loop:arrival(post)#3" is "loop:arrival(post)".
std::string without_ordinal(const std::string& label) {
    const std::size_t mark = label.rfind('#');
    const bool counts =
        mark != std::string::npos && label.find_first_not_of("0123456789", mark + 1) == std::string::npos;
    return counts ? label.substr(0, mark) : label;
}

}  // namespace

std::string counted(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string in_words(const Decision& decision, bool again) {
    const std::string who =
        decision.candidate.empty() ? "number " + std::to_string(decision.choose) : clean(decision.candidate);
    switch (decision.kind) {
        case ChoiceKind::dispatch: return who + " runs next, although another coroutine stands before it in the queue";
        case ChoiceKind::poll: return "the loop looks for events now, earlier than it has to";
        case ChoiceKind::ready: return who + " is reported next, before another one that is ready as well";
        case ChoiceKind::batch: return "the loop reports no more for now; what else is ready comes with the next look";
        case ChoiceKind::timer: return who + " fires next, before another timer that may fire as well";
        case ChoiceKind::timer_io: return "timers that are due wait for the next turn of the loop";
        case ChoiceKind::time: return "time moves on while there is other work";
        case ChoiceKind::pool: return who + " completes next, before another request of the worker pool";
        case ChoiceKind::late: return "it comes as late as it may";
        case ChoiceKind::merge:
            return "the next callback stands for " + counted(decision.choose, "fire") +
                   ", and another one for the rest";
        case ChoiceKind::close: return who + " is closed next, before another one that is closing";
        case ChoiceKind::spurious: return "the loop turns once without reporting anything";
        case ChoiceKind::req_cancel: return "the request is cancelled too late";
        case ChoiceKind::fault: return "the operation fails (fault " + std::to_string(decision.choose) + ")";
        // The first answer puts it off, the next one calls it.
        case ChoiceKind::arrival:
            return again ? "what comes from outside arrives here" : "what comes from outside does not come yet";
        case ChoiceKind::value:
            return "the program's own choice is " + std::to_string(decision.choose) + " of 0.." +
                   std::to_string(decision.count - 1);
        case ChoiceKind::node: return "node " + who + " goes on, before another one that could";
        case ChoiceKind::count_: break;
    }
    return "another answer than the baseline's";
}

std::string failure_text(const Trace& trace, std::string_view found, std::size_t width) {
    const Outcome& outcome = trace.outcome;
    std::string text = (outcome.kind == OutcomeKind::crashed ? "CRASHED " : "VIOLATED ") + clean(outcome.invariant);
    if (!outcome.message.empty()) { text += ": " + clean(outcome.message); }
    text += "\n  where    ";
    text += outcome.step != 0 ? "step " + std::to_string(outcome.step) : "after the last step";
    if (!outcome.who.empty()) { text += " in " + clean(outcome.who); }
    if (!outcome.file.empty()) { text += ", " + clean(outcome.file) + ":" + std::to_string(outcome.line); }
    text += ", at " + spelled(outcome.end) + "\n";
    if (!outcome.mode.empty()) {
        text += "  assumes  " + outcome.mode + ": " + std::string(meaning_of(outcome.mode)) + "\n";
    }
    if (!found.empty()) { text += "  found    " + std::string(found) + "\n"; }
    RenderOptions options;
    options.width = width;
    text += "\n" + render(trace, options) + "\n";
    if (const std::string deadlock = deadlock_text(trace); outcome.invariant == "DEADLOCK" && !deadlock.empty()) { text += clean_lines(deadlock) + "\n"; }
    if (trace.recipe.reactor == "libuv") {
        return text +
               "What makes it happen was up to the operating system: a run on libuv takes no decisions of its own.\n";
    }
    if (trace.decisions.empty()) {
        return text +
               "What makes it happen: nothing special. It is the baseline run, what production does by itself.\n";
    }
    text += "What makes it happen (" + counted(trace.decisions.size(), "decision") +
            "; everything else is what production does by itself):\n";
    const std::size_t shown = std::min(trace.decisions.size(), reasons_max);
    std::set<std::pair<ChoiceKind, std::string>> met;
    for (std::size_t i = 0; i < shown; ++i) {
        const Decision& decision = trace.decisions[i];
        const bool again = !met.emplace(decision.kind, without_ordinal(decision.at)).second;
        text += "  " + std::to_string(i + 1) + ". " + in_words(decision, again) + "   (" +
                std::string(to_string(decision.kind)) + " at " + clean(decision.at) + ", " +
                std::to_string(decision.choose) + " of 0.." + std::to_string(decision.count - 1) + ")\n";
    }
    if (shown < trace.decisions.size()) {
        text +=
            "  … and " + std::to_string(trace.decisions.size() - shown) + " more; simrun shrink may leave some out\n";
    }
    return text;
}

}  // namespace heddle::trace
