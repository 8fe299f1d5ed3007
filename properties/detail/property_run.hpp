// SPDX-License-Identifier: Apache-2.0
// PropertyRun: what the forms of HEDDLE_PROPERTY_TEST share. Reads the environment, searches or replays one program, tells GoogleTest.
//
//   read_environment ──HEDDLE_REPLAY──▶ read_trace ──▶ replay
//                     └─▶ search, as often as its owner likes ──▶ tell_violation │ tell_extent
//
// PR1  A search intercepts GoogleTest's failures and makes violations of them; what a user is told is told outside of it.
// PR2  What was drawn for a program stands in its traces (`parameters` of the recipe), so that a trace says what it is a run of.
// Chance enters with the seed; the host's clock ends searches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "heddle/properties/gtest.hpp"

namespace heddle::prop::detail {

class PropertyRun {
public:
    PropertyRun(const char* suite, const char* name, PropertyOptions options);

    /// False if a variable could not be read; the test has failed then.
    [[nodiscard]] bool read_environment();
    [[nodiscard]] const PropertyOptions& options() const { return options_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] bool replays() const { return !replay_.empty(); }

    /// How far one search goes, beside what the options say.
    struct Limits {
        double seconds = 0;           ///< of the host's time; 0: no limit
        std::uint64_t schedules = 0;  ///< at most as many
        bool shrink = true;           ///< and see whether what was found replays
    };
    struct Search {
        sim::Report report{};
        std::string broken{};  ///< why nothing can be said about this program; empty: see the report
    };
    [[nodiscard]] Search search(const sim::Program& program, const Limits& limits, const std::map<std::string, std::string>& drawn) const;

    /// Writes the trace, and fails the test with the whole story.
    /// @param values  further lines for the headline; empty: none
    void tell_violation(const sim::Found& found, const std::string& values = {}) const;

    /// The trace that HEDDLE_REPLAY names, if it is one of this test. Else the test was skipped, or has failed.
    void read_trace(std::optional<trace::Trace>& trace) const;
    void replay(const sim::Program& program, const trace::Trace& trace, const std::string& values = {}) const;

    /// Fails the test with this line. @returns false
    static bool refuse(const InputError& error);

private:
    [[nodiscard]] std::function<sim::OracleList()> oracles(const testing::TestPartResultArray& parts) const;
    [[nodiscard]] std::string why_it_does_not_replay(const sim::Program& program, const trace::Trace& trace,
                                                     const testing::TestPartResultArray& parts) const;

    PropertyOptions options_;
    std::string name_;
    std::string replay_;
    std::string folder_;
};

/// Seconds since anything, of the host.
[[nodiscard]] double host_seconds();

}  // namespace heddle::prop::detail
