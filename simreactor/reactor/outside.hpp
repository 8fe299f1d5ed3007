// SPDX-License-Identifier: Apache-2.0
// What a simulated world's outside is made of: threads that are not ours, and posts.
//
//   ForeignThread  step 1 ──latency──▶ step 2 ──latency──▶ …    each step is one delivery; it fires TriggerPorts
//   post           at once, after a latency, or anywhere        one delivery that runs a function in scheduler phase
//
// O1  Each step and each post reaches core as a Delivery of SourceKind::none whose owner runs it: core's sink begins a
//     step, calls SourceOwner::on_delivery and ends the step, as for every other delivery. It must not suspend.
// O2  Neither is a reason for the loop to turn (RCT-16), unless a post says that it counts.
// O3  The steps of one thread are in order; nothing else is.
// Choice points: those of the poll phase, and `arrival` for a post that may come anywhere (SimReactor).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/core/seam/reactor.hpp"
#include "heddle/simreactor/reactor/timing.hpp"

namespace heddle::sim {

class SimReactor;

class ForeignThread final : public SourceOwner {
public:
    struct Step {
        Latency after;               ///< since the step before, or since the thread was added
        UniqueFunction<void()> run;  ///< in scheduler phase; must not suspend
    };

    ForeignThread(const ForeignThread&) = delete;
    ForeignThread& operator=(const ForeignThread&) = delete;

    /// One more step at the end. A thread whose last step has run goes on with it.
    ForeignThread& then(const Latency& after, UniqueFunction<void()> run);
    ForeignThread& then(UniqueFunction<void()> run) { return then(Latency{}, std::move(run)); }

    [[nodiscard]] Label label() const { return label_; }
    [[nodiscard]] std::size_t steps_run() const { return next_; }
    [[nodiscard]] bool done() const { return next_ == steps_.size(); }

private:
    friend class SimReactor;
    ForeignThread(SimReactor& reactor, std::uint32_t index, Label label)
        : reactor_(reactor), index_(index), label_(label) {}
    void on_delivery(const Delivery& delivery) override;

    SimReactor& reactor_;
    std::uint32_t index_;
    Label label_;
    std::vector<Step> steps_;
    std::size_t next_ = 0;    // step to run
    bool scheduled_ = false;  // the next step is queued or ready
};

/// Number of a post, counted from 1 in its reactor's run; 0 is none.
using PostId = Id<struct PostIdTag>;

struct PostOptions {
    /// When it may come, measured from the call; without it Timing::post. Not used with `anywhere`.
    std::optional<Latency> after{};
    /// It may come at every delivery point from the first one on (CP-CANCEL). The first is what production would do.
    /// It comes at last when the reactor would otherwise block for ever, or when nothing counted is left.
    bool anywhere = false;
    /// It counts as an active event until it has come, so that the loop turns for it.
    bool counted = false;
};

}  // namespace heddle::sim
