// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/history.hpp"

namespace heddle::prop {
namespace {

/// What of an event belongs to the history of who it happened to.
struct Told {
    bool told = false;
    bool what = false;
    bool a = false;
    bool b = false;
    bool note = false;
};

Told told_of(EventKind kind) {
    switch (kind) {
        case EventKind::started:
        case EventKind::yielded:
        case EventKind::doomed:
        case EventKind::finalized:
        case EventKind::cancel_delivered:
        case EventKind::cancel_deferred:
        case EventKind::scope_closed:
        case EventKind::scope_terminated: return {.told = true};
        case EventKind::spawned: return {.told = true, .what = true, .b = true};
        case EventKind::parked: return {.told = true, .what = true, .a = true};
        case EventKind::woken: return {.told = true, .what = true, .a = true, .note = true};
        case EventKind::finished: return {.told = true, .a = true, .note = true};
        case EventKind::cancel_requested:
        case EventKind::protect_entered:
        case EventKind::protect_left:
        case EventKind::scope_requested:
        case EventKind::finally_run: return {.told = true, .a = true, .b = true};
        case EventKind::became_zombie: return {.told = true, .what = true, .a = true};
        case EventKind::scope_woken: return {.told = true, .what = true, .a = true, .b = true};
        case EventKind::user: return {.told = true, .note = true};
        default: return {};
    }
}

}  // namespace

void History::on_event(const Event& event) {
    if (event.kind == EventKind::step_begin) { runs_ = event.who; }
    const Told told = told_of(event.kind);
    if (!told.told) { return; }
    // A request that changes nothing is only known to who made it: two of them may come in either order, or around whatever else the
    // coroutine still does.
    const bool ignored = event.kind == EventKind::cancel_requested && event.b == 0;
    const Label subject = event.kind == EventKind::user || ignored ? runs_ : event.who ? event.who : event.what;
    std::uint64_t& hash = hashes_[subject.value];
    hash = hash_mix(hash, static_cast<std::uint64_t>(event.kind) + 1);
    if (ignored) { hash = hash_mix(hash, event.who.value); }
    if (told.what) { hash = hash_mix(hash, event.what.value); }
    if (told.a) { hash = hash_mix(hash, static_cast<std::uint64_t>(event.a)); }
    if (told.b) { hash = hash_mix(hash, static_cast<std::uint64_t>(event.b)); }
    if (told.note) { hash = hash_mix(hash, hash_text(event.note)); }
}

std::uint64_t History::digest() const {
    std::uint64_t sum = 0;
    for (const auto& [label, hash] : hashes_) { sum += hash_mix(label, hash); }
    return sum;
}

}  // namespace heddle::prop
