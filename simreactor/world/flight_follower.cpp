// SPDX-License-Identifier: Apache-2.0
// The reactor's side of flight_follower.hpp: calls and deliveries, each at its place in the recording.
#include "heddle/simreactor/world/flight_follower.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "heddle/core/base/error.hpp"

namespace heddle::sim {

using trace::DoorEntry;
using trace::DoorKind;

namespace {

constexpr std::uint64_t own_id = std::uint64_t{1} << 63;  // no id of the simulator has this bit
constexpr int idle_ticks_max = 64;

/// RCT-63: these of one handle are answered in the order in which they were submitted.
int queue_of(OperationKind kind) {
    switch (kind) {
        case OperationKind::write:
        case OperationKind::shutdown: return 1;
        case OperationKind::accept: return 2;
        case OperationKind::udp_receive: return 3;
        default: return 0;
    }
}

}  // namespace

FlightFollower::FlightFollower(SimReactor& reactor, FlightGuide& guide)
    : ReactorDoor(reactor, false), sim_(reactor), guide_(guide) {}

FlightFollower::~FlightFollower() = default;

// ── each crossing at its place ──

void FlightFollower::burn_to(Instant at) {
    const Duration missing = at - Instant{sim_.true_time().ns() - (now().ns() - since_start().ns())};
    if (missing > Duration::zero()) { sim_.burn(missing); }
}

void FlightFollower::about_to(const DoorEntry& call) {
    const DoorEntry* recorded = guide_.peek();
    // Polls that were not due, at opportunities that this run did not come to.
    if (recorded != nullptr && recorded->kind == DoorKind::poll_due && recorded->value == 0) {
        ++guide_.next_;
        recorded = guide_.peek();
    }
    if (recorded == nullptr) {
        if (guide_.trace_.outcome.kind == trace::OutcomeKind::cut) { report_violation({"CUT", "the recording ends here", "", 0}); }
        guide_.diverge(trace::describe(call));
    }
    if (recorded->kind != call.kind) { guide_.diverge(trace::describe(call)); }
    if (call.kind != DoorKind::deliver) { burn_to(recorded->at); }
}

void FlightFollower::crossed(DoorEntry&& entry) { guide_.meet(entry); }

void FlightFollower::numbered(std::uint64_t number, SourceId id, SourceKind kind, Label label) {
    const Label name = label ? label : Label{hash_mix(hash_text(to_string(kind)), id.value)};
    guide_.sources_[name.value] = number;
    if (kind == SourceKind::trigger) { ids_[number] = id; }
}

bool FlightFollower::poll_due(bool in_place) {
    static_cast<void>(in_place);
    const DoorEntry* const recorded = guide_.peek();
    if (recorded == nullptr || recorded->kind != DoorKind::poll_due) { return false; }
    const bool due = recorded->value != 0;
    if (guide_.polls_left_ > 1) {
        --guide_.polls_left_;
    } else {
        guide_.meet({.kind = DoorKind::poll_due, .value = recorded->value, .count = recorded->count});
    }
    return due;
}

bool FlightFollower::has_closing() const {
    const DoorEntry* const recorded = guide_.peek();
    return recorded != nullptr && recorded->kind == DoorKind::tick;
}

// ── the tick ──

bool FlightFollower::tick(TickMode mode) {
    const DoorEntry call{.kind = DoorKind::tick, .value = mode == TickMode::may_block ? 1 : 0};
    about_to(call);
    say(call);
    guide_.tick_is_empty_ = guide_.next_delivery() == nullptr;
    int idle_ticks = 0;
    for (;;) {
        deliver_waiting();
        const DoorEntry* const recorded = guide_.peek();
        if (recorded == nullptr) { about_to({.kind = DoorKind::tick_end}); }
        if (recorded->kind != DoorKind::deliver && !guide_.tick_is_empty_) { break; }
        burn_to(recorded->at);
        if (guide_.tick_is_empty_) {
            sim_.refresh_clock();
            if (sim_.alive()) { sim_.tick(TickMode::no_wait); }
            break;
        }
        const std::size_t before = guide_.next_ + guide_.held_;
        sim_.tick(TickMode::no_wait);
        follow();
        if (guide_.next_ + guide_.held_ != before) {
            idle_ticks = 0;
        } else if (!bring_about(*recorded) || ++idle_ticks > idle_ticks_max) {
            guide_.diverge("nothing that the simulator can bring about now");
        }
    }
    guide_.tick_is_empty_ = false;
    if (const DoorEntry* const recorded = guide_.peek(); recorded != nullptr && recorded->at > since_start()) {
        burn_to(recorded->at);
        sim_.refresh_clock();
    }
    follow();
    const bool is_alive = alive();
    say({.kind = DoorKind::tick_end, .value = is_alive ? 1 : 0});
    return is_alive;
}

/// Outside of the simulated world something has happened (FF3). False if that cannot be.
bool FlightFollower::bring_about(const DoorEntry& wanted) {
    if (wanted.what == "signal") {
        sim_.raise_signal(static_cast<int>(wanted.value));
        return true;
    }
    if (wanted.what == "trigger") {
        const auto id = ids_.find(wanted.source);
        if (id == ids_.end()) { return false; }
        sim_.trigger_port(id->second)->fire();
        return true;
    }
    return true;  // perhaps only a part of a write went: another tick
}

void FlightFollower::deliver(const Delivery& delivery) noexcept {
    if (delivery.kind == SourceKind::none) {
        ReactorDoor::deliver(delivery);
        return;
    }
    follow();
    if (awaited_ && delivery.source == awaited_ && delivery.completion != nullptr) {
        awaited_completion_ = *delivery.completion;
        if (delivery.completion->answer != nullptr) { answer_ = std::make_unique<Answer>(*delivery.completion->answer); }
        awaited_ = {};
        return;
    }
    deliver_waiting();
    const std::uint64_t number = number_of(delivery.source);
    if (closed_.contains(delivery.source.value) && !delivery.closed) { return; }  // RCT-11: what was told before it ended it
    const DoorEntry* const recorded = guide_.peek();
    const bool is_next = recorded != nullptr && recorded->kind == DoorKind::deliver && recorded->source == number;
    const bool can_wait = delivery.kind == SourceKind::operation || delivery.kind == SourceKind::task ||
                          delivery.kind == SourceKind::signal || delivery.kind == SourceKind::process;
    if (!is_next && can_wait) {
        hold(delivery, number);
        follow();
        return;
    }
    submitted_.erase(number);
    ReactorDoor::deliver(delivery);
    // The clock of this tick's timers (RCT-60).
    if (const DoorEntry* const next = guide_.next_delivery(); next != nullptr && next->what == "timer") { burn_to(next->at); }
}

// ── what is told later than it happened, or by the recording alone ──

void FlightFollower::keep(Waiting waiting) {
    waiting_.push_back(std::move(waiting));
    count_waiting();
    follow();
}

/// What is in flight for core counts, though the simulator is done with it (RCT-13). A signal's source goes on being started.
void FlightFollower::count_waiting() {
    set_extra(static_cast<std::size_t>(std::ranges::count_if(waiting_, [this](const Waiting& waiting) {
        return waiting.kind != SourceKind::signal && !guide_.hidden_.contains(waiting.number);
    })));
}

void FlightFollower::hold(const Delivery& delivery, std::uint64_t number) {
    ++guide_.held_;
    Waiting waiting{.source = delivery.source, .number = number, .kind = delivery.kind, .owner = delivery.owner,
                    .label = delivery.label, .value = delivery.value, .error = delivery.error, .is_known = true};
    if (delivery.completion != nullptr) {
        waiting.completion = *delivery.completion;
        if (delivery.completion->answer != nullptr) { waiting.answer = std::make_unique<Answer>(*delivery.completion->answer); }
    }
    keep(std::move(waiting));
}

void FlightFollower::deliver_waiting() {
    for (;;) {
        const DoorEntry* const recorded = guide_.peek();
        if (recorded == nullptr || recorded->kind != DoorKind::deliver) { return; }
        const auto found = std::ranges::find(waiting_, recorded->source, &Waiting::number);
        if (found == waiting_.end()) { return; }
        Waiting waiting = std::move(*found);
        waiting_.erase(found);
        count_waiting();
        tell(std::move(waiting), *recorded);
    }
}

void FlightFollower::tell(Waiting waiting, const DoorEntry& recorded) {
    burn_to(recorded.at);
    sim_.refresh_clock();
    if (const auto own = submitted_.find(waiting.number); own != submitted_.end()) {
        const int queue = queue_of(own->second);
        for (const auto& [number, kind] : submitted_) {
            if (number >= waiting.number || queue == 0) { break; }
            if (queue_of(kind) == queue && handles_[number] == handles_[waiting.number] && recorded.error == 0) {
                guide_.diverge("source " + std::to_string(number) + " was submitted before source " +
                               std::to_string(waiting.number) + ", and is answered before it (RCT-63)");
            }
        }
        submitted_.erase(own);
    }
    Delivery delivery{.source = waiting.source, .kind = waiting.kind, .owner = waiting.owner, .label = waiting.label,
                      .value = waiting.value, .error = waiting.error};
    if (waiting.kind == SourceKind::operation) {
        const bool was_cancelled = (recorded.flags & trace::door_cancelled) != 0;
        if (was_cancelled && waiting.completion.handle) { sim_.close_handle(waiting.completion.handle); }  // RCT-45
        if (was_cancelled || !waiting.is_known) { waiting.completion = recorded_completion(recorded, waiting); }
        if (waiting.answer == nullptr) { waiting.answer = std::move(answer_); }
        waiting.completion.answer = waiting.answer.get();
        delivery.value = waiting.completion.transferred;
        delivery.error = waiting.completion.error;
        delivery.cancelled = waiting.completion.cancelled;
        delivery.completion = &waiting.completion;
    }
    ReactorDoor::deliver(delivery);
}

// ── requests ──

/// FF3
bool FlightFollower::is_served(const DoorEntry& recorded, const Operation& operation) const {
    if (outside_.contains(operation.handle.value) || operation.kind == OperationKind::resolve_name) { return true; }
    const bool is_pending = (recorded.flags & trace::door_pending) != 0;
    const DoorEntry* const end = is_pending ? guide_.answer_of(recorded.source) : &recorded;
    if (end == nullptr) { return false; }
    if (operation.kind == OperationKind::accept) { return end->error == 0 && guide_.is_outside(end->handle); }
    const bool is_unreachable = end->error == ETIMEDOUT || end->error == EHOSTUNREACH;
    return operation.kind == OperationKind::connect && (guide_.is_outside(end->handle) || is_unreachable);
}

Submission FlightFollower::submit(const Operation& operation, const SourceOptions& options) {
    DoorEntry call = entry_of(operation);
    about_to(call);
    const DoorEntry* const recorded = guide_.peek();
    if (recorded->what != call.what) { guide_.diverge(trace::describe(call)); }
    Submission submission;
    if (is_served(*recorded, operation)) {
        submission = serve(*recorded, operation, options);
    } else {
        guide_.call_ = recorded;
        try {
            submission = sim_.submit(operation, options);
        } catch (...) {
            guide_.call_ = nullptr;
            follow();
            call.flags |= trace::door_threw;
            say(std::move(call));
            throw;
        }
        guide_.call_ = nullptr;
        if ((recorded->flags & trace::door_pending) != 0 && !submission.request) {  // O3
            ++guide_.held_;
            Waiting waiting{.source = SourceId{own_id | ++own_ids_}, .number = recorded->source, .owner = options.owner,
                            .label = options.label, .is_known = true, .operation = operation.kind, .handle = operation.handle,
                            .completion = submission.done};
            if (submission.done.answer != nullptr) { waiting.answer = std::make_unique<Answer>(*submission.done.answer); }
            submission = {.request = waiting.source};
            keep(std::move(waiting));
        } else if ((recorded->flags & trace::door_pending) == 0 && submission.request) {
            answer_at_once(submission);
        }
    }
    answered(call, operation, options, submission);
    if (submission.request) {
        submitted_[call.source] = operation.kind;
        handles_[call.source] = operation.handle;
    }
    follow();
    say(std::move(call));
    return submission;
}

/// FF4: one reactor looks at once, another one asks a worker (O3).
void FlightFollower::answer_at_once(Submission& submission) {
    awaited_ = submission.request;
    for (int ticks = 0; awaited_ && ticks < idle_ticks_max; ++ticks) { sim_.tick(TickMode::no_wait); }
    if (std::exchange(awaited_, SourceId{})) { return; }  // it is pending, and the recording says that it was not
    submission = {.done = awaited_completion_};
    submission.done.answer = answer_.get();
}

/// RCT-53: a child that has ended is told of inside the call.
void FlightFollower::start(SourceId source) {
    const DoorEntry* recorded = guide_.peek();
    const std::uint64_t number = number_of(source);
    if (recorded == nullptr || recorded->kind != DoorKind::deliver || recorded->source != number) {
        ReactorDoor::start(source);
        return;
    }
    sim_.start(source);
    for (int ticks = 0; guide_.peek() == recorded && ticks < idle_ticks_max; ++ticks) { sim_.tick(TickMode::no_wait); }
    follow();
    say({.kind = DoorKind::start, .source = number});
}

Submission FlightFollower::serve(const DoorEntry& recorded, const Operation& operation, const SourceOptions& options) {
    Waiting waiting{.source = SourceId{own_id | ++own_ids_}, .number = recorded.source, .owner = options.owner,
                    .label = options.label, .operation = operation.kind, .handle = operation.handle};
    if (!operation.buffer.empty()) { waiting.buffers.push_back(operation.buffer); }
    waiting.buffers.insert(waiting.buffers.end(), operation.buffers.begin(), operation.buffers.end());
    if ((recorded.flags & trace::door_pending) == 0) {
        Submission submission{.done = recorded_completion(recorded, waiting)};
        submission.done.answer = answer_.get();
        return submission;
    }
    const Submission submission{.request = waiting.source};
    keep(std::move(waiting));
    return submission;
}

/// What the recording says of something that only it knows.
Completion FlightFollower::recorded_completion(const DoorEntry& recorded, const Waiting& waiting) {
    Completion completion{.transferred = recorded.value, .error = recorded.error};
    completion.end_of_stream = (recorded.flags & trace::door_end) != 0;
    completion.cancelled = (recorded.flags & trace::door_cancelled) != 0;
    const auto addresses = [&] {
        std::vector<Address> list;
        for (std::size_t at = 0; at < recorded.peers.size();) {
            const std::size_t end = std::min(recorded.peers.find(' ', at), recorded.peers.size());
            if (Result<Address> address = Address::parse(recorded.peers.substr(at, end - at)); address) { list.push_back(*address); }
            at = end + 1;
        }
        return list;
    };
    if (recorded.error == 0 && (waiting.operation == OperationKind::accept || waiting.operation == OperationKind::connect)) {
        const std::vector<Address> ends = addresses();
        HandleInfo info{.kind = HandleKind::tcp, .descriptor = 10'000 + static_cast<int>(recorded.handle)};
        if (ends.size() == 2) {
            info.local = ends[0];
            info.peer = ends[1];
        }
        HandleId handle = waiting.handle;
        if (waiting.operation == OperationKind::accept) {
            handle = HandleId{own_id | ++own_ids_};
            completion.handle = handle;
        }
        outside_[handle.value] = info;
    }
    if (waiting.operation == OperationKind::resolve_name) {
        answer_ = std::make_unique<Answer>();
        answer_->addresses = addresses();
        if (recorded.error != 0 || answer_->addresses.empty()) { completion.resolver = ResolverError::unknown_name; }
    }
    std::size_t at = 0;
    for (const std::span<std::byte> buffer : waiting.buffers) {
        const std::size_t some = std::min(buffer.size(), recorded.bytes.size() - at);
        std::memcpy(buffer.data(), recorded.bytes.data() + at, some);
        at += some;
    }
    return completion;
}

bool FlightFollower::cancel(SourceId request) {
    const auto found = std::ranges::find(waiting_, request, &Waiting::source);
    if (found == waiting_.end()) {
        guide_.call_ = guide_.peek();
        const bool won = ReactorDoor::cancel(request);
        guide_.call_ = nullptr;
        return won;
    }
    DoorEntry call{.kind = DoorKind::cancel, .source = found->number};
    about_to(call);
    // How it ended stands in the recording.
    const DoorEntry* const recorded = guide_.peek();
    call.value = recorded->kind == DoorKind::cancel ? recorded->value : 0;
    say(call);
    return call.value != 0;
}

void FlightFollower::close(SourceId source) {
    closed_.insert(source.value);
    submitted_.erase(number_of(source));
    const auto found = std::ranges::find(waiting_, source, &Waiting::source);
    if (found == waiting_.end()) {
        ReactorDoor::close(source);
        return;
    }
    const DoorEntry call{.kind = DoorKind::close, .source = found->number};
    about_to(call);
    if (found->is_known && found->completion.handle) { sim_.close_handle(found->completion.handle); }  // RCT-45
    waiting_.erase(found);
    count_waiting();
    forget_request(source);
    sim_.close(source);
    follow();
    say(call);
}

// ── handles that only the recording knows ──

void FlightFollower::close_handle(HandleId handle) {
    outside_.erase(handle.value);  // the simulated one of a connect stays behind it
    ReactorDoor::close_handle(handle);
}

int FlightFollower::descriptor(HandleId handle) const {
    const auto found = outside_.find(handle.value);
    return found == outside_.end() ? ReactorDoor::descriptor(handle) : found->second.descriptor;
}

HandleInfo FlightFollower::inspect(HandleId handle) {
    const auto found = outside_.find(handle.value);
    return found == outside_.end() ? ReactorDoor::inspect(handle) : found->second;
}

}  // namespace heddle::sim
