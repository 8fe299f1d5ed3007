// SPDX-License-Identifier: Apache-2.0
// ReactorDoor: stands in the Reactor door, hands on whatever crosses it, and says each crossing as a value.
//
//   Runtime ── call ──▶ ReactorDoor ── the same call ──▶ any Reactor
//      ◀── deliver ────── │ ◀────────────── deliver ───────┘
//                         └──▶ about_to(call) before it, crossed(entry) after it
//
// RD1  It decides nothing: every answer is the reactor's, and comes in the reactor's order. `now()`, `resolution()` and the
//      count are the reactor's at every moment in which core can ask.
// RD2  It has no short ways: what a stream does is a request that can be seen, on every backend alike.
// RD3  Sources and handles are numbered in the order in which they were opened (DE1).
// Choice points: none. Cost: a call and a look-up for each crossing; where no door stands there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "heddle/core/seam/reactor.hpp"
#include "heddle/traces/door.hpp"

namespace heddle::trace {

class ReactorDoor : public Reactor, protected ReactorSink {
public:
    /// @param inner  outlives the door, and is nobody else's while the door is up
    /// @param keep_bytes  entries carry what was read
    ReactorDoor(Reactor& inner, bool keep_bytes);
    ~ReactorDoor() override;

    void startup(ReactorSink& sink) override;
    void shutdown() override;
    [[nodiscard]] bool is_up() const override { return inner_.is_up(); }
    void refresh_clock() override;
    bool tick(TickMode mode) override;
    [[nodiscard]] bool has_closing() const override { return inner_.has_closing(); }
    [[nodiscard]] bool poll_due(bool in_place) override;
    void set_anchor(Label host) override { inner_.set_anchor(host); }
    SourceId open_timer(const TimerOptions& timer, const SourceOptions& options) override;
    void rearm(SourceId timer, Duration timeout) override;
    SourceId open_poll(int fd, bool close_fd, Label label) override;
    SourceId open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) override;
    SourceId open_trigger(const SourceOptions& options) override;
    [[nodiscard]] TriggerPortPtr trigger_port(SourceId trigger) override { return inner_.trigger_port(trigger); }
    SourceId open_signal(int number, const SourceOptions& options) override;
    SourceId open_process(int pid, const SourceOptions& options) override;
    SourceId submit_task(UniqueFunction<void()> body, const SourceOptions& options) override;
    bool cancel(SourceId request) override;
    HandleId open_handle(const HandleOptions& options) override;
    void close_handle(HandleId handle) override;
    [[nodiscard]] int descriptor(HandleId handle) const override { return inner_.descriptor(handle); }
    [[nodiscard]] HandleInfo inspect(HandleId handle) override { return inner_.inspect(handle); }
    [[nodiscard]] Submission submit(const Operation& operation, const SourceOptions& options) override;
    void start(SourceId source) override;
    void stop(SourceId source) override;
    void close(SourceId source) override;

protected:
    /// Before the call; what is known of it. A delivery comes before core hears of it, and is complete.
    virtual void about_to(const DoorEntry& call) { (void)call; }
    /// After it, with its answer. A delivery is told before core hears of it, `tick_end` before core goes on.
    virtual void crossed(DoorEntry&& entry) = 0;

    /// A source has its number. @param label  as the program gave it; 0 for none
    virtual void numbered(std::uint64_t number, SourceId id, SourceKind kind, Label label) {
        (void)number, (void)id, (void)kind, (void)label;
    }
    void deliver(const Delivery& delivery) noexcept override;
    [[nodiscard]] bool has_ready_work() const noexcept override { return sink_->has_ready_work(); }

    // ── for those who stand in between and answer, too ──

    [[nodiscard]] Reactor& inner() { return inner_; }
    [[nodiscard]] ReactorSink& sink() { return *sink_; }
    [[nodiscard]] Instant since_start() const { return Instant{now().ns() - start_.ns()}; }
    /// Takes over the reactor's clock, and its count with `extra` more.
    void follow();
    void set_extra(std::size_t extra) { extra_ = extra; }
    /// Tells an entry with the time of now.
    void say(DoorEntry entry);
    std::uint64_t number(SourceId source, SourceKind kind, Label label);
    std::uint64_t number(HandleId handle);
    [[nodiscard]] std::uint64_t number_of(SourceId source) const;
    [[nodiscard]] std::uint64_t number_of(HandleId handle) const;
    [[nodiscard]] DoorEntry entry_of(const Operation& operation) const;
    /// Adds what a submission came to. Numbers what it brings.
    void answered(DoorEntry& entry, const Operation& operation, const SourceOptions& options, const Submission& submission);
    [[nodiscard]] DoorEntry entry_of(const Delivery& delivery);
    void forget_request(SourceId request) { flights_.erase(request.value); }

private:
    /// What has to be known of a request until it is answered.
    struct Flight {
        OperationKind kind = OperationKind::none;
        HandleId handle{};
        std::vector<std::span<std::byte>> buffers;
    };
    [[nodiscard]] Flight flight_of(const Operation& operation) const;
    void tell(DoorEntry& entry, const Completion& completion, const Flight& flight);
    [[nodiscard]] std::string peers(HandleId handle);
    template <class Open>
    SourceId opened(DoorEntry call, SourceKind kind, Label label, Open open);
    template <class Call>
    void called(DoorEntry call, Call run);

    Reactor& inner_;
    ReactorSink* sink_ = nullptr;
    bool keep_bytes_;
    Instant start_{};
    std::uint64_t sources_ = 0;
    std::uint64_t handles_ = 0;
    std::size_t extra_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> source_numbers_;  // look-up only
    std::unordered_map<std::uint64_t, std::uint64_t> handle_numbers_;  // look-up only
    std::unordered_map<std::uint64_t, Flight> flights_;                // look-up only
};

}  // namespace heddle::trace
