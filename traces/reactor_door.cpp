// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/reactor_door.hpp"

#include <algorithm>
#include <utility>

#include "heddle/core/base/error.hpp"

namespace heddle::trace {
namespace {

bool is_internet(const Address& address) {
    return address.family == AddressFamily::ip4 || address.family == AddressFamily::ip6;
}

std::uint32_t hidden_flag(const SourceOptions& options) { return options.hidden ? door_hidden : 0U; }

}  // namespace

ReactorDoor::ReactorDoor(Reactor& inner, bool keep_bytes) : inner_(inner), keep_bytes_(keep_bytes) {
    set_resolution(inner.resolution());
}

ReactorDoor::~ReactorDoor() = default;

// ── what is the reactor's is the door's (RD1) ──

void ReactorDoor::follow() {
    if (inner_.now() != now()) { set_now(inner_.now()); }
    const std::size_t count = inner_.active_events() + extra_;
    while (active_events() < count) { count_up(); }
    while (active_events() > count) { count_down(); }
}

void ReactorDoor::say(DoorEntry entry) {
    entry.at = since_start();
    crossed(std::move(entry));
}

template <class Call>
void ReactorDoor::called(DoorEntry call, Call run) {
    about_to(call);
    try {
        run(call);
    } catch (...) {
        follow();
        call.flags |= door_threw;
        say(std::move(call));
        throw;
    }
    follow();
    say(std::move(call));
}

template <class Open>
SourceId ReactorDoor::opened(DoorEntry call, SourceKind kind, Label label, Open open) {
    SourceId id{};
    call.kind = DoorKind::open;
    call.what = to_string(kind);
    called(std::move(call), [&](DoorEntry& entry) {
        id = open();
        entry.source = number(id, kind, label);
    });
    return id;
}

// ── numbers ──

std::uint64_t ReactorDoor::number(SourceId source, SourceKind kind, Label label) {
    const auto [at, fresh] = source_numbers_.try_emplace(source.value, sources_ + 1);
    if (fresh) {
        ++sources_;
        numbered(sources_, source, kind, label);
    }
    return at->second;
}

std::uint64_t ReactorDoor::number(HandleId handle) {
    const auto [at, fresh] = handle_numbers_.try_emplace(handle.value, handles_ + 1);
    if (fresh) { ++handles_; }
    return at->second;
}

std::uint64_t ReactorDoor::number_of(SourceId source) const {
    const auto found = source_numbers_.find(source.value);
    return found == source_numbers_.end() ? 0 : found->second;
}

std::uint64_t ReactorDoor::number_of(HandleId handle) const {
    const auto found = handle_numbers_.find(handle.value);
    return found == handle_numbers_.end() ? 0 : found->second;
}

// ── life, clock, loop ──

void ReactorDoor::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    sink_ = &sink;
    sources_ = handles_ = 0;
    source_numbers_.clear();
    handle_numbers_.clear();
    flights_.clear();
    reset_counts();
    set_resolution(inner_.resolution());
    about_to({.kind = DoorKind::startup});
    inner_.startup(*this);
    start_ = inner_.now();
    restart_clock(start_);
    follow();
    say({.kind = DoorKind::startup});
}

void ReactorDoor::shutdown() {
    if (!is_up()) { return; }
    called({.kind = DoorKind::shutdown}, [this](DoorEntry&) { inner_.shutdown(); });
    sink_ = nullptr;
}

void ReactorDoor::refresh_clock() {
    called({.kind = DoorKind::refresh_clock}, [this](DoorEntry&) { inner_.refresh_clock(); });
}

bool ReactorDoor::tick(TickMode mode) {
    const DoorEntry call{.kind = DoorKind::tick, .value = mode == TickMode::may_block ? 1 : 0};
    about_to(call);
    say(call);
    const bool alive_after = inner_.tick(mode);
    follow();
    say({.kind = DoorKind::tick_end, .value = alive_after ? 1 : 0});
    return alive_after;
}

bool ReactorDoor::poll_due(bool in_place) {
    const bool due = inner_.poll_due(in_place);
    say({.kind = DoorKind::poll_due, .value = due ? 1 : 0, .count = 1});
    return due;
}

// ── sources ──

SourceId ReactorDoor::open_timer(const TimerOptions& timer, const SourceOptions& options) {
    return opened({.value = timer.timeout.count(), .flags = hidden_flag(options)}, SourceKind::timer, options.label,
                  [&] { return inner_.open_timer(timer, options); });
}

void ReactorDoor::rearm(SourceId timer, Duration timeout) {
    called({.kind = DoorKind::rearm, .source = number_of(timer), .value = timeout.count()},
           [&](DoorEntry&) { inner_.rearm(timer, timeout); });
}

SourceId ReactorDoor::open_poll(int fd, bool close_fd, Label label) {
    return opened({}, SourceKind::poll, label, [&] { return inner_.open_poll(fd, close_fd, label); });
}

SourceId ReactorDoor::open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) {
    return opened({.value = mask, .flags = hidden_flag(options)}, SourceKind::proxy, options.label,
                  [&] { return inner_.open_proxy(poll, mask, options); });
}

SourceId ReactorDoor::open_trigger(const SourceOptions& options) {
    return opened({.flags = hidden_flag(options)}, SourceKind::trigger, options.label,
                  [&] { return inner_.open_trigger(options); });
}

SourceId ReactorDoor::open_signal(int number, const SourceOptions& options) {
    return opened({.value = number, .flags = hidden_flag(options)}, SourceKind::signal, options.label,
                  [&] { return inner_.open_signal(number, options); });
}

SourceId ReactorDoor::open_process(int pid, const SourceOptions& options) {
    return opened({.flags = hidden_flag(options)}, SourceKind::process, options.label,
                  [&] { return inner_.open_process(pid, options); });
}

SourceId ReactorDoor::submit_task(UniqueFunction<void()> body, const SourceOptions& options) {
    return opened({.flags = hidden_flag(options)}, SourceKind::task, options.label,
                  [&] { return inner_.submit_task(std::move(body), options); });
}

bool ReactorDoor::cancel(SourceId request) {
    bool won = false;
    called({.kind = DoorKind::cancel, .source = number_of(request)}, [&](DoorEntry& entry) {
        won = inner_.cancel(request);
        entry.value = won ? 1 : 0;
    });
    return won;
}

void ReactorDoor::start(SourceId source) {
    called({.kind = DoorKind::start, .source = number_of(source)}, [&](DoorEntry&) { inner_.start(source); });
}

void ReactorDoor::stop(SourceId source) {
    called({.kind = DoorKind::stop, .source = number_of(source)}, [&](DoorEntry&) { inner_.stop(source); });
}

void ReactorDoor::close(SourceId source) {
    called({.kind = DoorKind::close, .source = number_of(source)}, [&](DoorEntry&) { inner_.close(source); });
    forget_request(source);
}

// ── handles and operations ──

HandleId ReactorDoor::open_handle(const HandleOptions& options) {
    HandleId id{};
    called({.kind = DoorKind::open_handle, .what = std::string(to_string(options.kind))}, [&](DoorEntry& entry) {
        id = inner_.open_handle(options);
        entry.handle = number(id);
    });
    return id;
}

void ReactorDoor::close_handle(HandleId handle) {
    if (!is_up()) { return; }
    called({.kind = DoorKind::close_handle, .handle = number_of(handle)},
           [&](DoorEntry&) { inner_.close_handle(handle); });
}

DoorEntry ReactorDoor::entry_of(const Operation& operation) const {
    return {.kind = DoorKind::submit, .what = std::string(to_string(operation.kind)), .handle = number_of(operation.handle)};
}

Submission ReactorDoor::submit(const Operation& operation, const SourceOptions& options) {
    Submission submission;
    called(entry_of(operation), [&](DoorEntry& entry) {
        submission = inner_.submit(operation, options);
        answered(entry, operation, options, submission);
    });
    return submission;
}

void ReactorDoor::answered(DoorEntry& entry, const Operation& operation, const SourceOptions& options,
                           const Submission& submission) {
    Flight flight = flight_of(operation);
    if (!submission.request) {
        tell(entry, submission.done, flight);
        return;
    }
    entry.source = number(submission.request, SourceKind::operation, options.label);
    entry.flags |= door_pending | hidden_flag(options);
    flights_[submission.request.value] = std::move(flight);
}

ReactorDoor::Flight ReactorDoor::flight_of(const Operation& operation) const {
    Flight flight{operation.kind, operation.handle, {}};
    if (!keep_bytes_) { return flight; }
    if (!operation.buffer.empty()) { flight.buffers.push_back(operation.buffer); }
    flight.buffers.insert(flight.buffers.end(), operation.buffers.begin(), operation.buffers.end());
    return flight;
}

std::string ReactorDoor::peers(HandleId handle) {
    try {
        const HandleInfo info = inner_.inspect(handle);
        if (!is_internet(info.local)) { return {}; }
        return info.local.text() + " " + (is_internet(info.peer) ? info.peer.text() : "-");
    } catch (const Error&) { return {}; }
}

void ReactorDoor::tell(DoorEntry& entry, const Completion& completion, const Flight& flight) {
    // The numbers of processes, and of a name's answer, are the world's own.
    entry.value = flight.kind == OperationKind::execute ? 0 : completion.transferred;
    entry.error = completion.error;
    if (completion.cancelled) { entry.flags |= door_cancelled; }
    if (completion.end_of_stream) { entry.flags |= door_end; }
    if (completion.more) { entry.flags |= door_more; }
    if (completion.truncated) { entry.flags |= door_truncated; }
    entry.handle = completion.handle ? number(completion.handle) : number_of(flight.handle);
    const Answer* const answer = completion.answer;
    if (answer != nullptr) {
        for (const HandleId handle : answer->handles) {
            if (handle) { number(handle); }
        }
        for (const Address& address : answer->addresses) { entry.peers += (entry.peers.empty() ? "" : " ") + address.text(); }
    }
    if (completion.error == 0) {
        if (flight.kind == OperationKind::accept) { entry.peers = peers(completion.handle); }
        if (flight.kind == OperationKind::connect || flight.kind == OperationKind::listen) { entry.peers = peers(flight.handle); }
    }
    std::size_t left = completion.transferred > 0 ? static_cast<std::size_t>(completion.transferred) : 0;
    if (flight.kind != OperationKind::read && flight.kind != OperationKind::udp_receive) { return; }
    for (const std::span<std::byte> buffer : flight.buffers) {
        const std::size_t some = std::min(left, buffer.size());
        entry.bytes.append(reinterpret_cast<const char*>(buffer.data()), some);
        left -= some;
    }
}

// ── deliveries ──

DoorEntry ReactorDoor::entry_of(const Delivery& delivery) {
    DoorEntry entry{.kind = DoorKind::deliver, .what = std::string(to_string(delivery.kind)), .source = number_of(delivery.source)};
    const auto flight = flights_.find(delivery.source.value);
    if (delivery.completion != nullptr && flight != flights_.end()) {
        entry.what = to_string(flight->second.kind);
        tell(entry, *delivery.completion, flight->second);
        if (!delivery.completion->more) { flights_.erase(flight); }
    } else {
        entry.value = delivery.kind == SourceKind::timer ? 0 : delivery.value;
        entry.error = delivery.error;
        if (delivery.cancelled) { entry.flags |= door_cancelled; }
    }
    if (delivery.closed) { entry.flags |= door_closed; }
    return entry;
}

void ReactorDoor::deliver(const Delivery& delivery) noexcept {
    follow();
    if (delivery.kind != SourceKind::none) {  // a part of a write on its way is nobody's to hear of
        DoorEntry entry = entry_of(delivery);
        entry.at = since_start();
        about_to(entry);
        crossed(std::move(entry));
    }
    sink_->deliver(delivery);
    follow();
}

}  // namespace heddle::trace
