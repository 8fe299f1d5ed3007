// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/flight_recorder.hpp"

#include <algorithm>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/traces/trace_file.hpp"

namespace heddle::trace {
namespace {

constexpr int signals_end = 65;

/// Which trigger a signal fires: all that its handler may look at, whole at every moment.
std::array<TriggerPort*, signals_end> fired_by{};
static_assert(__atomic_always_lock_free(sizeof(TriggerPort*), nullptr), "FR3");

TriggerPort*& fired_by_signal(int number) { return fired_by[static_cast<std::size_t>(number)]; }
void let_go_of(int number) { __atomic_store_n(&fired_by_signal(number), nullptr, __ATOMIC_SEQ_CST); }

void on_signal(int number) {
    if (TriggerPort* const port = __atomic_load_n(&fired_by_signal(number), __ATOMIC_SEQ_CST); port != nullptr) { port->fire(); }
}

}  // namespace

FlightRecorder::FlightRecorder(Reactor& reactor, FlightOptions options)
    : ReactorDoor(reactor, options.keep_bytes), options_(std::move(options)) {
    if (options_.crossings_max == 0) { throw ValueError("a flight recorder keeps at least one crossing"); }
    if (options_.recipe.scenario.empty()) { options_.recipe.scenario = "flight/unnamed"; }
    options_.recipe.reactor = "libuv";
}

FlightRecorder::~FlightRecorder() {
    give_signals_back();
    if (std::exchange(watches_, false) && violation_sink() == this) { exchange_violation_sink(outer_); }
}

// ── the ring ──

void FlightRecorder::drop_oldest() {
    bytes_ -= ring_[first_].bytes.size();
    ring_[first_] = {};
    first_ = (first_ + 1) % options_.crossings_max;
    --count_;
    ++lost_;
}

void FlightRecorder::crossed(DoorEntry&& entry) {
    if (entry.kind == DoorKind::poll_due && entry.value == 0 && count_ > 0) {
        DoorEntry& last = ring_[(first_ + count_ - 1) % options_.crossings_max];
        if (last.kind == DoorKind::poll_due && last.value == 0 && last.count != ~std::uint32_t{0}) {
            last.count += entry.count;
            last.at = entry.at;
            return;
        }
    }
    if (count_ == options_.crossings_max) { drop_oldest(); }
    bytes_ += entry.bytes.size();
    const std::size_t at = (first_ + count_) % options_.crossings_max;
    if (at == ring_.size()) {
        ring_.push_back(std::move(entry));
    } else {
        ring_[at] = std::move(entry);
    }
    ++count_;
    while (bytes_ > options_.bytes_max && count_ > 0) { drop_oldest(); }  // FR1
}

Trace FlightRecorder::take(const Outcome& outcome) const {
    Trace trace{.recipe = options_.recipe, .outcome = outcome};
    trace.version = door_format_version;
    trace.outcome.end = since_start();
    trace.door.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) { trace.door.push_back(ring_[(first_ + i) % options_.crossings_max]); }
    trace.door_omitted = lost_;
    if (trace.door.empty() && lost_ == 0) { trace.version = format_version; }
    return trace;
}

// ── files ──

Result<std::uint64_t> FlightRecorder::write(const std::string& path, const Outcome& outcome) const {
    return write_trace(path, take(outcome), Overwrite::yes);
}

void FlightRecorder::write_now(const Outcome& outcome) {
    if (options_.path.empty()) { return; }
    const Result<std::uint64_t> written = write(options_.path, outcome);
    if (written) {
        ++files_written_;
    } else {
        last_error_ = written.error().text();
    }
}

void FlightRecorder::write_on_its_own(const char* why) { write_now({.kind = OutcomeKind::cut, .message = why}); }

void FlightRecorder::violated(const Violation& violation) {
    if (options_.on_violation) {
        write_now({.kind = OutcomeKind::violation,
                   .invariant = violation.invariant,
                   .message = violation.message,
                   .file = violation.file,
                   .line = violation.line,
                   .mode = "faithful"});
    }
    if (outer_ != nullptr) { outer_->violated(violation); }
}

// ── life ──

void FlightRecorder::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    ring_.clear();
    first_ = count_ = bytes_ = 0;
    lost_ = 0;
    ReactorDoor::startup(sink);
    outer_ = exchange_violation_sink(this);
    watches_ = true;
}

void FlightRecorder::shutdown() {
    if (!is_up()) { return; }
    give_signals_back();
    ReactorDoor::shutdown();
    if (std::exchange(watches_, false)) { exchange_violation_sink(outer_); }
}

void FlightRecorder::write_on_signal(int number) {
    if (!is_up()) { throw AsyncError("a signal is watched by a reactor that is up"); }
    if (number <= 0 || number >= signals_end) { throw AsyncError("there is no signal " + std::to_string(number)); }
    if (port_ == nullptr) {
        // Not counted, and none of the run's sources: neither core nor a replay knows of it.
        trigger_ = inner().open_trigger({.owner = &writer_, .label = {}, .hidden = true});
        inner().start(trigger_);
        port_ = inner().trigger_port(trigger_);
    }
    TriggerPort* none = nullptr;
    if (!__atomic_compare_exchange_n(&fired_by_signal(number), &none, port_.get(), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        throw AsyncError("signal " + std::to_string(number) + " belongs to a flight recorder already");
    }
    Taken taken{.number = number};
    struct sigaction action {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_RESTART;
    if (::sigaction(number, &action, &taken.before) != 0) {
        let_go_of(number);
        throw AsyncError("signal " + std::to_string(number) + " cannot be caught");
    }
    taken_.push_back(taken);
}

void FlightRecorder::give_signals_back() {
    for (const Taken& taken : taken_) {
        ::sigaction(taken.number, &taken.before, nullptr);
        let_go_of(taken.number);
    }
    taken_.clear();
    if (trigger_ && is_up()) { inner().close(trigger_); }
    trigger_ = {};
    port_ = nullptr;
}

void FlightRecorder::deliver(const Delivery& delivery) noexcept {
    if (delivery.owner == &writer_) {
        writer_.on_delivery(delivery);
        return;
    }
    ReactorDoor::deliver(delivery);
}

}  // namespace heddle::trace
