// SPDX-License-Identifier: Apache-2.0
// Portfolio: several strategies take turns, because none is the best for every bug (docs/explorer.md, "Samplers").
//
//   runs    exhaustive surw pos pos coverage surw pos pct …          a fixed order of twenty turns, again and again
//
// PF1  The first run is the baseline; so is a program without choices complete after it.
// PF2  Shares: pos 35 %, surw 25 %, by deviations 15 %, coverage 10 %, pct 10 % (depths 2 and 3), delay 5 %. The search by deviations is the
//      only one that ends; while it has little left, it gets every turn (`small`).
// PF3  Complete if the search by deviations is. Parts of a portfolio divide that search, and have seeds of their own for the others.
// Chance enters with the seed: each member has its own part of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "heddle/simreactor/chooser/foresight.hpp"
#include "heddle/simreactor/explore/exhaustive.hpp"
#include "heddle/simreactor/explore/strategy.hpp"

namespace heddle::sim {

class Portfolio final : public Schedules, public Observer, public Foresight {
public:
    /// @param options  of the members; `strategy` is not looked at
    explicit Portfolio(const StrategyOptions& options);

    Chooser* next() override;
    void finish(const RunEnd& end) override;
    Observer* observer() override { return this; }
    Foresight* foresight() override { return this; }
    [[nodiscard]] bool wants_watch() const override { return true; }
    [[nodiscard]] bool complete() const override { return members_[deviations]->complete(); }
    [[nodiscard]] std::uint32_t depth() const override { return active_ == deviations ? members_[deviations]->depth() : 0; }
    [[nodiscard]] bool is_sample() const override { return active_ != deviations; }
    /// Runs in which the search by deviations alone decides may be so many.
    static constexpr double small = 24;

    void on_event(const Event& event) override {
        if (watching_ != nullptr) { watching_->on_event(event); }
    }
    void on_touch(Cell cell, TouchMode mode) override {
        if (watching_ != nullptr) { watching_->on_touch(cell, mode); }
    }
    void foresee(Cell cell, TouchMode mode, CellUse use) override {
        if (foreseeing_ != nullptr) { foreseeing_->foresee(cell, mode, use); }
    }
    void foresee_nothing() override {
        if (foreseeing_ != nullptr) { foreseeing_->foresee_nothing(); }
    }

private:
    enum Member : std::uint8_t { deviations, pos, surw, coverage, pct2, pct3, delay, member_count };
    [[nodiscard]] static Member turn(std::uint64_t run);

    std::array<std::unique_ptr<Schedules>, member_count> members_;
    Member active_ = deviations;
    Observer* watching_ = nullptr;       // of the active member
    Foresight* foreseeing_ = nullptr;    // likewise
    std::uint64_t runs_ = 0;
    bool is_small_ = true;
};

}  // namespace heddle::sim
