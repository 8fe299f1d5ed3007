// SPDX-License-Identifier: Apache-2.0
// FlightFollower: leads a simulated reactor the way that another one went, as a flight recorder wrote it down.
//
//   recording   tick ▸ deliver read #7: 5 bytes ▸ submit write ▸ tick_end ▸ tick …
//                        │ which next?  how much?  by when?
//                        ▼
//   Runtime ──▶ FlightFollower ──▶ SimReactor ──▶ choices: ready, pool, batch, timer_io, merge, read-part, write-part …
//                  │ compares each crossing with the recorded one
//                  └──▶ the first that differs ends the run, with its neighbours
//
// FF1  The recording decides, the simulator acts: what is delivered has happened in its kernel, and its choices are
//      answered so that the next recorded delivery comes next. Virtual time is burnt up to the recorded instants (RCT-25).
// FF2  What the simulator finished before the recording tells it is held back, as a reactor may (operation.hpp, O3; CP-SUBSET):
//      answers and completions, never a timer. Per handle and kind the order stays that of submission (RCT-63); a recording
//      that says otherwise is one that no reactor can give.
// FF3  What came from outside comes from the recording: a connection whose other end is none of the run's (with the bytes
//      that were read, if they were kept), answers about names, signals, triggers fired by other threads.
// FF4  One recorded tick may be several of the simulator, and what was answered at once takes as many as it needs: core cannot tell.
// Chance: none. One node; streams and names from outside, but no files, children or datagrams: those are the simulated machine's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"
#include "heddle/simreactor/world/world.hpp"
#include "heddle/traces/reactor_door.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

/// Why a recording cannot be followed at all; none if it can.
[[nodiscard]] std::optional<std::string> why_not_followed(const trace::Trace& trace);

/// Where the run left the recording.
struct FlightDivergence {
    std::size_t crossing = 0;  ///< index into Trace::door; its size: past the end
    std::string expected;
    std::string found;
    std::vector<std::string> before;  ///< what both have, oldest first
    std::vector<std::string> after;   ///< what the recording goes on with

    /// Several lines, for people.
    [[nodiscard]] std::string text() const;
};

class FlightFollower;

/// A recording, how far a run has come in it, and the answers that the simulator asks for. Of one run.
class FlightGuide final : public Chooser {
public:
    /// @param trace  outlives it. Requires: why_not_followed says nothing.
    FlightGuide(const trace::Trace& trace, const LabelBook& labels);

    /// Options under which a world can be led: everything may be put off, nothing is left to chance.
    void prepare(WorldOptions& options);
    std::uint32_t choose(const ChoicePoint& point) override;

    [[nodiscard]] const std::optional<FlightDivergence>& divergence() const { return divergence_; }
    [[nodiscard]] bool at_end() const { return next_ == door_.size(); }
    /// Crossings met, and completions that were held back on the way (FF2).
    [[nodiscard]] std::size_t met() const { return next_; }
    [[nodiscard]] std::size_t held() const { return held_; }
    /// A run that ended by itself has come to the end of the recording, or this is a divergence.
    void finish();

private:
    friend class FlightFollower;

    [[nodiscard]] const trace::DoorEntry* peek() const { return next_ < door_.size() ? &door_[next_] : nullptr; }
    /// The next delivery of this tick; null if there is none.
    [[nodiscard]] const trace::DoorEntry* next_delivery() const;
    /// The last delivery to a source; null if it never hears of anything.
    [[nodiscard]] const trace::DoorEntry* answer_of(std::uint64_t source) const;
    void meet(const trace::DoorEntry& found);
    [[noreturn]] void diverge(std::string found);
    [[nodiscard]] bool is_outside(std::uint64_t handle) const { return outside_.contains(handle); }
    void find_outside();
    [[nodiscard]] std::uint32_t pick(const ChoicePoint& point) const;
    [[nodiscard]] std::uint32_t part(const ChoicePoint& point) const;

    const trace::Trace& trace_;
    const std::vector<trace::DoorEntry>& door_;
    const LabelBook& labels_;
    std::map<std::uint64_t, std::size_t> answers_;         // source → index of its last delivery
    std::map<std::uint64_t, std::uint64_t> sources_;       // label → source
    std::map<std::uint64_t, std::string> kinds_;           // source → what it is
    std::set<std::uint64_t> hidden_;                       // sources that never count
    std::set<std::uint64_t> outside_;                      // handles whose other end is not the run's
    std::size_t next_ = 0;
    std::uint32_t polls_left_ = 0;  // of the poll_due that is next
    std::size_t held_ = 0;
    const trace::DoorEntry* call_ = nullptr;  // the recorded call that is being made
    bool tick_is_empty_ = false;
    std::optional<FlightDivergence> divergence_;
};

class FlightFollower final : public trace::ReactorDoor {
public:
    FlightFollower(SimReactor& reactor, FlightGuide& guide);
    ~FlightFollower() override;

    bool tick(TickMode mode) override;
    [[nodiscard]] bool has_closing() const override;
    [[nodiscard]] bool poll_due(bool in_place) override;
    bool cancel(SourceId request) override;
    void start(SourceId source) override;
    void close(SourceId source) override;
    void close_handle(HandleId handle) override;
    [[nodiscard]] int descriptor(HandleId handle) const override;
    [[nodiscard]] HandleInfo inspect(HandleId handle) override;
    [[nodiscard]] Submission submit(const Operation& operation, const SourceOptions& options) override;

private:
    /// Something that this reactor delivers itself, when the recording says so.
    struct Waiting {
        SourceId source;
        std::uint64_t number = 0;
        SourceKind kind = SourceKind::operation;
        SourceOwner* owner = nullptr;
        Label label;
        std::int64_t value = 0;
        std::int32_t error = 0;
        bool is_known = false;  ///< the simulator has answered; else the recording does
        OperationKind operation = OperationKind::none;
        HandleId handle{};
        std::vector<std::span<std::byte>> buffers{};
        Completion completion{};
        std::unique_ptr<Answer> answer{};
    };

    void about_to(const trace::DoorEntry& call) override;
    void crossed(trace::DoorEntry&& entry) override;
    void numbered(std::uint64_t number, SourceId id, SourceKind kind, Label label) override;
    void deliver(const Delivery& delivery) noexcept override;
    void burn_to(Instant at);
    void deliver_waiting();
    void tell(Waiting waiting, const trace::DoorEntry& recorded);
    void hold(const Delivery& delivery, std::uint64_t number);
    bool bring_about(const trace::DoorEntry& wanted);
    void answer_at_once(Submission& submission);
    [[nodiscard]] bool is_served(const trace::DoorEntry& recorded, const Operation& operation) const;
    Submission serve(const trace::DoorEntry& recorded, const Operation& operation, const SourceOptions& options);
    [[nodiscard]] Completion recorded_completion(const trace::DoorEntry& recorded, const Waiting& waiting);
    void keep(Waiting waiting);
    void count_waiting();

    SimReactor& sim_;
    FlightGuide& guide_;
    std::vector<Waiting> waiting_;
    std::map<std::uint64_t, HandleInfo> outside_;       // handles that only the recording knows
    std::map<std::uint64_t, SourceId> ids_;             // source → id, of triggers
    std::map<std::uint64_t, OperationKind> submitted_;  // source → what was asked
    std::map<std::uint64_t, HandleId> handles_;         // source → on which handle
    std::set<std::uint64_t> closed_;                    // ids that core has closed
    std::unique_ptr<Answer> answer_;                    // of the submission answered last
    SourceId awaited_{};                                // its completion is the answer of the running call
    Completion awaited_completion_{};
    std::uint64_t own_ids_ = 0;
};

}  // namespace heddle::sim
