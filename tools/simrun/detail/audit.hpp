// SPDX-License-Identifier: Apache-2.0
// Audit: is a program a function of its choices? Some runs of a search are repeated in two fresh processes that have
// little in common.
//
//   sample (answers, hash) ─┬▶ still:    no address randomisation, this environment ──▶ rolling hash ─┐ equal, and the
//                           └▶ restless: another layout, heap, environment, folder  ──▶ rolling hash ─┘ search's answers
//
// AU1  A difference is a failure of the harness (status 4) and is told with the first event that differs.
// AU2  At most so many runs a second: an audit takes a few percent of the search's time. How many were audited is part
//      of the result.
// The auditors are this program once more, called with the command `audit`, which no help mentions.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/worker.hpp"
#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::detail {

class Audit {
public:
    /// Starts the auditors for the runs of a recipe. Without processes to be had there is no audit.
    /// @param scenario  as text, with parameters
    Audit(const std::string& scenario, const trace::Recipe& recipe);
    Audit(const Audit&) = delete;
    Audit& operator=(const Audit&) = delete;
    ~Audit();

    /// Takes a run if there is time for it. @param now  seconds
    void offer(sim::Sample sample, double now);
    /// Goes on, without waiting. @returns false if it can take no more for now
    bool pump(double now);
    /// Waits for what it has taken, for a few seconds.
    void finish();

    [[nodiscard]] std::uint64_t audited() const { return audited_; }
    /// Not empty: the first difference, in words.
    [[nodiscard]] const std::string& failure() const { return failure_; }

private:
    class Auditor;
    void compare();
    [[nodiscard]] std::string first_difference(const sim::Sample& sample);

    std::vector<std::unique_ptr<Auditor>> auditors_;
    std::deque<sim::Sample> waiting_;
    std::uint64_t audited_ = 0;
    double allowance_ = 64;
    double filled_at_ = 0;
    std::string failure_;
};

}  // namespace heddle::detail
