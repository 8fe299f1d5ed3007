// SPDX-License-Identifier: Apache-2.0
// The sources of a SimReactor: opening, starting, stopping, closing, and what counts (docs/spec/05-reactor.md sections
// 1 and 2).
#include <algorithm>
#include <cerrno>
#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/port.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {

// ── the table ──

void SimReactor::require_up() const {
    if (!is_up()) { throw AsyncError("the simulated reactor is not started up"); }
}

SourceId SimReactor::add_source(SourceKind kind, const SourceOptions& options, std::uint32_t detail) {
    require_up();
    Source source;
    source.owner = options.owner;
    source.label = options.label;
    source.hidden = options.hidden;
    source.kind = kind;
    source.detail = detail;
    return id_of(sources_.add(source));
}

SimReactor::Source* SimReactor::find(SourceId id) { return sources_.find(id.value); }

/// A name for what has none: equal for equal runs, but not stable against edits.
Label SimReactor::label_of(SourceId id, const Source& source) const {
    return source.label ? source.label : Label{hash_mix(hash_text(to_string(source.kind)), id.value)};
}

void SimReactor::count_started(Source& source) {
    source.started = true;
    if (!source.hidden) { count_up(); }
}

void SimReactor::count_stopped(Source& source) {
    source.started = false;
    if (!source.hidden) { count_down(); }
}

void SimReactor::drop_source(SourceId id) {
    const Source& source = *find(id);
    if (source.kind == SourceKind::process) {
        Child* at = child(static_cast<int>(source.detail));
        if (at != nullptr && --at->watches == 0 && at->waited) { at->reaped = true; }
    }
    sources_.remove(slot_of(id));
}

void SimReactor::refuse_if_faulty(const char* what, Label object) {
    if (!options_.faults || ask(ChoiceKind::fault, 2, {}, object) == 0) { return; }
    throw IoError(std::string(what) + ": injected failure (CP-ERROR)", EMFILE);
}

// ── timers ──

SourceId SimReactor::open_timer(const TimerOptions& timer, const SourceOptions& options) {
    const SourceId id = add_source(SourceKind::timer, options, 0);
    Source& source = sources_[slot_of(id)];
    source.timeout = timer.timeout;
    source.periodic = timer.periodic;
    source.multishot = timer.multishot;
    source.refresh = timer.refresh;
    return id;
}

/// The cell of one arming: what arms, fires or stops it writes it; a stop that comes too late reads it.
Cell SimReactor::armed_cell(SourceId id, const Source& source) const {
    if (options_.observer == nullptr) { return {}; }  // nobody asks: spare the hash
    return cell(label_of(id, source), "armed", source.armings);
}

void SimReactor::arm(SourceId id, Source& source) {
    if (source.refresh) { look_at_clock(); }
    if (source.started) { touch(armed_cell(id, source), TouchMode::write); }  // the old arming ends
    timers_.arm(slot_of(id), now() + round_up(source.timeout, options_.resolution));
    ++source.armings;
    source.overtaken = 0;
    if (!source.started) { count_started(source); }
    touch(armed_cell(id, source), TouchMode::write);
    if (puts_one_question() && options_.timing.level == TimeLevel::T0) {  // equal deadlines fire in the order of their arming
        touch(cell(loop_label(), "deadline", static_cast<std::uint64_t>(timers_.entry(slot_of(id)).deadline.ns())), TouchMode::write);
    }
    enables(label_of(id, source));
}

void SimReactor::rearm(SourceId timer, Duration timeout) {
    Source* source = find(timer);
    if (source == nullptr || source->kind != SourceKind::timer || !source->multishot) {
        throw AsyncError("only an open multishot timer can be armed again");
    }
    source->timeout = timeout;
    arm(timer, *source);
}

// ── descriptors ──

SourceId SimReactor::open_poll(int fd, bool close_fd, Label label) {
    require_up();
    Descriptor* at = descriptor_at(fd);
    if (at == nullptr || !at->open) { throw IoError("descriptor " + std::to_string(fd) + " is not open", EBADF); }
    polls_used_ = true;
    if (at->poll) {
        polls_.add_reference(at->poll, close_fd);
        return at->poll;
    }
    const SourceId id = add_source(SourceKind::poll, {.label = label}, static_cast<std::uint32_t>(fd));
    polls_.add_poll(id, fd, close_fd, label);
    at->poll = id;
    return id;
}

SourceId SimReactor::open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) {
    const Source* source = find(poll);
    if (source == nullptr || source->kind != SourceKind::poll) { throw AsyncError("a proxy needs an open poll"); }
    const std::uint32_t fd = source->detail;
    const SourceId id = add_source(SourceKind::proxy, options, fd);
    polls_.add_proxy(id, poll, mask, options);
    return id;
}

void SimReactor::release_poll(SourceId poll) {
    PollTable::Poll closing;
    if (!polls_.drop_reference(poll, closing)) { return; }
    if (Descriptor* at = descriptor_at(closing.fd)) { at->poll = {}; }
    closes_.push_back({poll, closing.label, closing.close_fd ? closing.fd : -1});
    enables(closing.label);
    drop_source(poll);
}

// ── triggers, signals, processes ──

SourceId SimReactor::open_trigger(const SourceOptions& options) {
    const SourceId id = add_source(SourceKind::trigger, options, 0);
    const std::uint32_t slot = triggers_.add({});
    triggers_[slot].source = id;
    sources_[slot_of(id)].detail = slot;
    return id;
}

TriggerPortPtr SimReactor::trigger_port(SourceId trigger) {
    const Source* source = find(trigger);
    if (source == nullptr || source->kind != SourceKind::trigger) { throw AsyncError("a port needs an open trigger"); }
    std::shared_ptr<Port>& port = triggers_[source->detail].port;
    if (port == nullptr) { port = std::make_shared<Port>(*this, trigger); }
    return port;
}

void SimReactor::disconnect_ports() {
    for (std::uint32_t slot = 0; slot < triggers_.end(); ++slot) {
        if (triggers_.is_used(slot) && triggers_[slot].port != nullptr) { triggers_[slot].port->disconnect(); }
    }
}

SourceId SimReactor::open_signal(int number, const SourceOptions& options) {
    if (number <= 0 || number > 64) { throw AsyncError("there is no signal " + std::to_string(number)); }
    return add_source(SourceKind::signal, options, static_cast<std::uint32_t>(number));
}

SourceId SimReactor::open_process(int pid, const SourceOptions& options) {
    if (pid <= 0) { throw AsyncError("there is no process " + std::to_string(pid)); }
    if (Child* at = child(pid)) { ++at->watches; }
    return add_source(SourceKind::process, options, static_cast<std::uint32_t>(pid));
}

// ── handles and operations: sim_io.cpp ──

detail::SimIo& SimReactor::io() {
    if (io_ == nullptr) { io_ = std::make_unique<detail::SimIo>(*this, options_.machine); }
    return *io_;
}

Machine& SimReactor::machine() { return io().machine(); }

Machine* SimReactor::machine_if_any() { return io_ != nullptr ? &io_->machine() : nullptr; }

HandleId SimReactor::open_handle(const HandleOptions& options) {
    require_up();
    return io().open_handle(options);
}

void SimReactor::close_handle(HandleId handle) {
    if (is_up() && io_ != nullptr) { io_->close_handle(handle); }
}

int SimReactor::descriptor(HandleId handle) const {
    const detail::SimHandle* const found = io_ == nullptr ? nullptr : io_->find(handle);
    return found == nullptr ? -1 : found->descriptor();
}

HandleInfo SimReactor::inspect(HandleId handle) {
    const detail::SimHandle* const found = io_ == nullptr ? nullptr : io_->find(handle);
    if (found == nullptr) { throw AsyncError("the handle is closed"); }
    return found->info();
}

Submission SimReactor::submit(const Operation& operation, const SourceOptions& options) {
    require_up();
    return io().submit(operation, options);
}

std::int64_t SimReactor::try_write(HandleId handle, std::span<const std::byte> data) {
    detail::SimHandle* const found = io_ == nullptr ? nullptr : io_->find(handle);
    return found == nullptr ? -EAGAIN : found->try_write(data);
}

std::int64_t SimReactor::try_read(HandleId handle, std::span<std::byte> buffer) {
    detail::SimHandle* const found = io_ == nullptr ? nullptr : io_->find(handle);
    return found == nullptr ? -EAGAIN : found->try_read(buffer);
}

SourceId SimReactor::wait_readable(HandleId handle, SourceOwner& owner) {
    const Submission submission = submit({.kind = OperationKind::read, .handle = handle}, {.owner = &owner});
    if (submission.done.error == 0) { return submission.request; }
    return io_->open_deferred(submission.done, {.owner = &owner}, OperationKind::read);
}

// ── start, stop, close ──

void SimReactor::start(SourceId id) {
    Source* source = find(id);
    if (source == nullptr || source->started) { return; }
    require_up();
    switch (source->kind) {
        case SourceKind::timer: arm(id, *source); return;
        case SourceKind::proxy: {
            refuse_if_faulty("poll", label_of(id, *source));
            takes_back(step_label(id, *source), true);  // what was reported so far was reported to others
            polls_.start_proxy(id);
            count_started(*source);
            const auto index = static_cast<std::uint32_t>(static_cast<int>(source->detail) - first_fd);
            touch_descriptor(index, polls_.find_proxy(id)->mask, TouchMode::read);
            check_descriptor(index);
            return;
        }
        case SourceKind::trigger: {
            count_started(*source);
            const Trigger& trigger = triggers_[source->detail];
            takes_back(label_of(id, *source), true);
            touch(cell(label_of(id, *source), "flag"), TouchMode::read);
            if (trigger.fired > 0) { enables(label_of(id, *source)); }
            if (trigger.fired > 0 && !trigger.queued) { enqueue(Happening::trigger, source->detail, clock_->now()); }
            return;
        }
        case SourceKind::signal:
            refuse_if_faulty("signal", label_of(id, *source));
            takes_back(step_label(id, *source), true);
            if (puts_one_question()) { touch(cell(step_label(id, *source), "pending"), TouchMode::read); }
            count_started(*source);
            signals_[signal_index(static_cast<int>(source->detail))].watchers.push_back(id);
            return;
        case SourceKind::process: start_process(id, *source); return;
        case SourceKind::none:
        case SourceKind::poll:  // its proxies are started
        case SourceKind::task:  // its work began when it was submitted (RCT-12)
        case SourceKind::operation: return;
    }
}

void SimReactor::start_process(SourceId id, Source& source) {
    refuse_if_faulty("process", label_of(id, source));
    const int pid = static_cast<int>(source.detail);
    Child* at = child(pid);
    if (at != nullptr && at->timed && events_.entry(at->ticket).window.latest <= clock_->now()) {
        events_.remove(at->ticket);  // it ended while the program computed; no tick has looked yet
        at->timed = false;
        child_ended(static_cast<std::uint32_t>(pid - first_pid));
    }
    touch(exit_cell(pid), TouchMode::read);
    takes_back(process_label(pid), true);
    if (at != nullptr && !at->ended && !at->reaped) {
        enables(process_label(pid));
        count_started(source);
        at->watchers.push_back(id);
        return;
    }
    // The one delivery outside a tick: the condition holds already (RCT-53).
    const bool ours = at != nullptr && !at->reaped;
    const Delivery delivery{.source = id,
                            .kind = SourceKind::process,
                            .owner = source.owner,
                            .label = source.label,
                            .value = ours ? at->value : -1};
    if (ours) { at->waited = true; }
    drop_source(id);
    deliver(delivery, {});
}

void SimReactor::stop(SourceId id) {
    Source* source = find(id);
    if (source == nullptr) { return; }
    if (!source->started) {
        // A stop that finds nothing still saw that: it would have found something, had it come earlier.
        if (source->kind == SourceKind::timer && source->armings > 0) {
            touch(armed_cell(id, *source), TouchMode::read);
        }
        takes_back(step_label(id, *source), false);
        return;
    }
    takes_back(step_label(id, *source), true);
    count_stopped(*source);
    switch (source->kind) {
        case SourceKind::timer:
            timers_.disarm(slot_of(id));
            touch(armed_cell(id, *source), TouchMode::write);
            return;
        case SourceKind::proxy: polls_.stop_proxy(id); return;
        case SourceKind::signal: {
            SignalNumber& signal = signals_[signal_index(static_cast<int>(source->detail))];
            std::erase(signal.watchers, id);
            if (signal.watchers.empty()) { signal.pending = 0; }
            return;
        }
        case SourceKind::process: std::erase(child(static_cast<int>(source->detail))->watchers, id); return;
        case SourceKind::trigger:
        case SourceKind::none:
        case SourceKind::poll:
        case SourceKind::task:
        case SourceKind::operation: return;
    }
}

void SimReactor::close(SourceId id) {
    Source* source = find(id);
    if (source == nullptr) { return; }
    const bool is_request = source->kind == SourceKind::task || source->kind == SourceKind::operation;
    if (source->kind != SourceKind::poll && !is_request) { stop(id); }
    switch (source->kind) {
        case SourceKind::poll: release_poll(id); return;
        case SourceKind::operation: io_->close_request(id); return;
        case SourceKind::task: close_task(id); return;
        case SourceKind::proxy: {
            const SourceId poll = polls_.remove_proxy(id);
            drop_source(id);
            release_poll(poll);
            return;
        }
        case SourceKind::trigger: {
            Trigger& trigger = triggers_[source->detail];
            if (trigger.port != nullptr) { trigger.port->disconnect(); }
            triggers_.remove(source->detail);
            break;
        }
        case SourceKind::timer:  // only a descriptor's poll is a handle that takes time to close
        case SourceKind::signal:
        case SourceKind::process:
        case SourceKind::none: break;
    }
    drop_source(id);
}

}  // namespace heddle::sim
