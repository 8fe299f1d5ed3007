// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_phrase.hpp"

namespace heddle::trace {
namespace {

using Place = Phrase::Place;

/// Kind and values as they are, for what needs no words of its own.
std::string plain(const TraceEvent& event, const std::string& what) {
    std::string text = to_string(event.kind);
    if (!what.empty()) { text += " " + what; }
    if (event.a != 0) { text += " a=" + std::to_string(event.a); }
    if (event.b != 0) { text += " b=" + std::to_string(event.b); }
    return event.note.empty() ? text : text + " " + event.note;
}

Phrase choice(const TraceEvent& event, const std::string& at, const std::string& what, const std::string& instead) {
    std::string text = "== " + std::string(to_string(event.kind.choice()));
    if (what.empty()) {
        text += " answers " + std::to_string(event.a);
    } else {
        text += " takes " + what;
        if (!instead.empty()) { text += " instead of " + instead; }
    }
    text += "   (" + std::to_string(event.a) + " of 0.." + std::to_string(event.b - 1) + " at " + at + ")";
    return {event.a != 0 ? Detail::steps : Detail::everything, Place::across, text};
}

}  // namespace

Phrase phrase(const TraceEvent& event, const std::function<std::string(const std::string&)>& name) {
    const std::string what = event.what.empty() ? "" : name(event.what);
    if (event.kind.is_choice()) {
        return choice(event, name(event.who), what, event.note.empty() ? "" : name(event.note));
    }
    const auto of_what = [&](const char* words) { return what.empty() ? std::string(words) : words + (" " + what); };
    // "<-" marks what happens to a coroutine while another one runs.
    switch (event.kind.event()) {
        case EventKind::spawned: return {Detail::story, Place::running, "spawns " + name(event.who)};
        case EventKind::started: return {Detail::story, Place::own, "starts"};
        case EventKind::parked: return {Detail::story, Place::own, of_what("parks:")};
        case EventKind::woken:
            return {Detail::story, Place::own, of_what("<- woken:") + (event.a == 1 ? " (with an error)" : "")};
        case EventKind::resumed: return {Detail::story, Place::own, "resumes"};
        case EventKind::yielded: return {Detail::story, Place::own, "yields"};
        case EventKind::doomed: return {Detail::story, Place::own, "<- doomed: will not run"};
        case EventKind::finished:
            return {Detail::story, Place::own,
                    event.a == 0   ? "finishes"
                    : event.a == 1 ? "finishes with an error"
                                   : "finishes, cancelled"};
        case EventKind::cancel_requested:
            return {Detail::story, Place::own, event.b != 0 ? "<- cancel requested" : "<- cancel requested, refused"};
        case EventKind::cancel_delivered: return {Detail::story, Place::own, "cancellation is thrown"};
        case EventKind::cancel_deferred: return {Detail::story, Place::own, "cancellation held back"};
        case EventKind::protect_entered: return {Detail::story, Place::own, "protected {"};
        case EventKind::protect_left: return {Detail::story, Place::own, "} protected"};
        case EventKind::became_zombie: return {Detail::story, Place::own, of_what("<- becomes a zombie of")};
        case EventKind::scope_requested: return {Detail::story, Place::running, of_what("requests the end of scope")};
        case EventKind::scope_terminated: return {Detail::story, Place::running, of_what("terminates scope")};
        case EventKind::scope_woken: return {Detail::story, Place::own, of_what("<- woken: the end of scope")};
        case EventKind::granted: return {Detail::story, Place::own, of_what(("<- granted: " + event.note + " of").c_str())};
        case EventKind::handed_on: return {Detail::story, Place::own, of_what(("hands on: " + event.note + " of").c_str())};
        case EventKind::object_closed: return {Detail::story, Place::running, of_what("closes")};
        case EventKind::reported: return {Detail::story, Place::running, "reports: " + event.note};
        case EventKind::delivered:
            return {Detail::story, Place::loop,
                    of_what("delivers") + (event.b != 0 ? " (error " + std::to_string(event.b) + ")" : "")};
        case EventKind::microtask_run: return {Detail::story, Place::running, "runs a microtask"};
        case EventKind::finally_run: return {Detail::story, Place::own, "runs a finally handler"};
        case EventKind::unhandled: return {Detail::story, Place::own, "leaves an error that nobody took"};
        case EventKind::shutdown_begun: return {Detail::story, Place::loop, "shutdown begins"};
        case EventKind::second_phase: return {Detail::story, Place::loop, "shutdown: second phase"};
        case EventKind::deadlock:
            return {Detail::story, Place::loop, "deadlock: " + std::to_string(event.a) + " wait for ever"};
        case EventKind::unwound: return {Detail::story, Place::own, "<- unwound"};
        case EventKind::epilogue_entered: return {Detail::story, Place::own, "epilogue {"};
        case EventKind::epilogue_left: return {Detail::story, Place::own, "} epilogue"};
        case EventKind::epilogue_expired: return {Detail::story, Place::own, "epilogue: its time is up"};
        case EventKind::run_ended: return {Detail::story, Place::loop, "the run ends"};
        case EventKind::user:
            return {Detail::story, Place::running, event.note.empty() ? plain(event, what) : event.note};
        case EventKind::violated: return {Detail::steps, Place::across, ">>> VIOLATED " + event.note};
        default: return {Detail::everything, event.who.empty() ? Place::running : Place::own, plain(event, what)};
    }
}

}  // namespace heddle::trace
