// SPDX-License-Identifier: Apache-2.0
// StopToken: how a job on a worker learns that nobody wants its result any more.
//
//   pool.submit([](const heddle::StopToken& stop) {
//       while (more() && !stop.requested()) { step(); }
//   });
//
// ST1  A request is a flag and stays: it is asked for, never enforced (docs/spec/15-threads.md: a job is never killed).
// ST2  Registering to run and looking at the flag are one atomic action: a job that was asked to stop before that never runs, one that
//      was asked later sees it. One word holds both bits.
// Choice points: each look is a point on a worker: whether a request came before it or comes behind it (THR-25).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "heddle/core/base/label.hpp"

namespace heddle {

/// Shared by the runtime, which asks, and the thread that is asked.
class StopState {
public:
    StopState(Label object, std::uint64_t number) : object_(object), number_(number) {}

    /// The thread is about to run what this stands for. @returns false if it was asked to stop before, and then it must not
    [[nodiscard]] bool begin();
    /// @returns false if it was asked before
    bool request();
    /// Without a point or a footprint: for who knows already.
    [[nodiscard]] bool is_requested() const { return (bits_.load(std::memory_order_acquire) & asked) != 0; }
    [[nodiscard]] Label object() const { return object_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }

private:
    static constexpr std::uint8_t asked = 1;
    static constexpr std::uint8_t begun = 2;

    std::atomic<std::uint8_t> bits_{0};
    Label object_;  // with the number, names its cell
    std::uint64_t number_;
};

class StopToken {
public:
    StopToken() = default;  ///< nobody asks
    explicit StopToken(std::shared_ptr<const StopState> state) : state_(std::move(state)) {}

    /// Any thread. Cost: a load.
    [[nodiscard]] bool requested() const;
    /// Throws AsyncCancellation if it was requested.
    void throw_if_requested() const;

private:
    std::shared_ptr<const StopState> state_;
};

}  // namespace heddle
