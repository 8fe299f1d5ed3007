// SPDX-License-Identifier: Apache-2.0
// The runner behind HEDDLE_PROPERTY_TEST: reads the environment, searches or replays, and says what came out of it.
#include "heddle/properties/gtest.hpp"

#include <errno.h>  // program_invocation_name
#include <gtest/gtest-spi.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/traces/duration_text.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::prop {
namespace {

/// GoogleTest's failures as violations. They are noticed at the next event: GoogleTest holds a lock while it reports one, and a world
/// that froze under it would never let it go.
class GTestOracle final : public Judge {
public:
    explicit GTestOracle(const testing::TestPartResultArray& parts) : parts_(parts) {}
    void at_end(sim::World& world) override {
        static_cast<void>(world);
        look_for_failures();
    }

private:
    void reset() override { seen_ = parts_.size(); }
    void follow(const Event& event) override {
        static_cast<void>(event);
        look_for_failures();
    }
    void look_for_failures() {
        while (seen_ < parts_.size()) {
            const testing::TestPartResult& part = parts_.GetTestPartResult(seen_++);
            if (!part.failed()) { continue; }
            report_violation({"EXPECT", part.message(), part.file_name() != nullptr ? part.file_name() : "", part.line_number()});
        }
    }

    const testing::TestPartResultArray& parts_;
    int seen_ = 0;
};

/// A variable of the environment; empty if it is not set.
std::string_view from_environment(const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): tests change no environment while they run
    return value != nullptr ? value : "";
}

Result<std::uint64_t> number_of(std::string_view name, std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return InputError{std::string(name), "a number of 0..2^64-1", "'" + std::string(text) + "'"};
    }
    return number;
}

/// "2s", "500ms", "1m", or a bare number of seconds.
Result<Duration> duration_of(std::string_view name, std::string_view text) {
    const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    const std::optional<double> seconds = trace::seconds_of(bare ? std::string(text) + "s" : std::string(text));
    if (!seconds) { return InputError{std::string(name), "a time as 2s, 500ms or 1m", "'" + std::string(text) + "'"}; }
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
}

class Property {
public:
    explicit Property(const PropertyTest& test) : options_(test.options), body_(test.body) {
        name_ = std::string(test.suite) + "." + test.name;
    }

    void run() {
        if (!read_environment()) { return; }
        testing::Test::RecordProperty("heddle_seed", std::to_string(options_.seed));
        if (!replay_.empty()) { return replay(); }
        search();
    }

private:
    /// False if a variable could not be read; the test has failed then.
    bool read_environment() {
        if (const std::string_view text = from_environment("HEDDLE_SEED"); !text.empty()) {
            const Result<std::uint64_t> seed = number_of("HEDDLE_SEED", text);
            if (!seed) { return refuse(seed.error()); }
            options_.seed = *seed;
        }
        if (const std::string_view text = from_environment("HEDDLE_BUDGET"); !text.empty()) {
            const Result<Duration> budget = duration_of("HEDDLE_BUDGET", text);
            if (!budget) { return refuse(budget.error()); }
            options_.budget = *budget;
        }
        replay_ = from_environment("HEDDLE_REPLAY");
        folder_ = from_environment("HEDDLE_TRACES");
        if (!folder_.empty() && folder_.back() != '/') { folder_ += '/'; }
        if (options_.budget <= Duration{}) { return refuse({"budget", "a positive time", "none"}); }
        return true;
    }

    static bool refuse(const InputError& error) {
        ADD_FAILURE() << error.text();
        return false;
    }

    [[nodiscard]] std::function<sim::OracleList()> oracles(const testing::TestPartResultArray& parts) const {
        return [&parts] {
            sim::OracleList all = all_oracles();
            all.push_back(std::make_unique<GTestOracle>(parts));
            return all;
        };
    }

    void search() {
        sim::Report report;
        std::string broken;
        {
            testing::TestPartResultArray parts;
            const testing::ScopedFakeTestPartResultReporter in_place(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
            sim::ExploreOptions options;
            options.strategy = options_.strategy;
            options.order = options_.order;
            options.time = options_.time;
            options.bound = options_.bound;
            options.reduction = options_.reduction;
            options.audit_sharing = options_.audit_sharing;
            options.runs_max = options_.schedules;
            options.seconds_max = std::chrono::duration<double>(options_.budget).count();
            options.clock = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
            options.seed = options_.seed;
            options.world = options_.world;
            options.oracles = oracles(parts);
            options.recipe.scenario = name_;
            try {
                report = sim::explore(body_, options);
                if (report.violation && report.violation->invariant != sim::SharingAudit::invariant) { broken = why_it_does_not_replay(report.violation->trace, parts); }
            } catch (const std::exception& error) {
                broken = error.what();
            }
        }
        if (!broken.empty()) {
            ADD_FAILURE() << name_ << ": " << broken;
            return;
        }
        testing::Test::RecordProperty("heddle_schedules", std::to_string(report.runs));
        testing::Test::RecordProperty("heddle_complete", report.complete ? "yes" : "no");
        if (report.violation) { return tell_violation(*report.violation); }
        const std::string extent = report.complete && options_.reduction ? sim::complete_text(report)
                                   : report.complete ? "every one of " + trace::counted(report.runs, "schedule")
                                                   : trace::counted(report.runs, "schedule") + ", not complete";
        std::printf("[  SEARCHED] %s: %s in %.1f s\n", name_.c_str(), extent.c_str(), report.seconds);
        if (options_.must_complete && !report.complete) {
            ADD_FAILURE() << name_ << ": the search is not complete after " << trace::counted(report.runs, "schedule") << " in "
                          << report.seconds << " s; a larger budget (HEDDLE_BUDGET) or a bound would end it";
        }
    }

    /// Empty if the trace leads to the same end again (GT3).
    std::string why_it_does_not_replay(const trace::Trace& trace, const testing::TestPartResultArray& parts) const {
        sim::ReplayOptions options;
        options.keep_events = false;
        const sim::ReplayResult result = sim::replay(body_, oracles(parts), options_.world, trace, options);
        if (result.reproduced) { return {}; }
        return "a violation of " + trace.outcome.invariant + " (" + trace.outcome.message +
               ") was found, but its trace does not replay: the program depends on something that is not one of its choices. " +
               result.divergence_text;
    }

    void tell_violation(const sim::Found& found) const {
        const Result<std::string> file = trace::write_trace_under_free_name(folder_ + trace::as_file_name(name_), found.trace);
        const std::string way = "by schedule " + std::to_string(found.runs) + " of the search; shrunk from " +
                                trace::counted(found.decisions_found, "decision") + " to " +
                                std::to_string(found.trace.decisions.size());
        const std::string text = trace::failure_text(found.trace, way, width);
        if (!file) {
            ADD_FAILURE() << text << "the trace could not be written: " << file.error().text();
            return;
        }
        testing::Test::RecordProperty("heddle_trace", *file);
        if (found.invariant == sim::SharingAudit::invariant) {  // it takes two runs to see it
            ADD_FAILURE() << text << "the first of the two orders is written to " << *file;
            return;
        }
        ADD_FAILURE() << text << "trace written to " << *file << "; this replays it:\n"
                      << "HEDDLE_REPLAY=" << *file << " " << program_invocation_name << " --gtest_filter=" << name_;
    }

    void replay() {
        const Result<trace::Trace> read = trace::read_trace(replay_);
        if (!read) {
            refuse(read.error());
            return;
        }
        if (read->recipe.scenario != name_) {
            GTEST_SKIP() << replay_ << " is a trace of " << read->recipe.scenario;
        }
        sim::ReplayResult result;
        bool by_constraints = false;
        {
            testing::TestPartResultArray parts;
            const testing::ScopedFakeTestPartResultReporter in_place(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
            result = sim::replay(body_, oracles(parts), options_.world, *read, {});
            if (result.divergence) {  // the program is another one; what the failure needs may still come about in it
                Result<sim::AdaptiveResult> again = sim::replay_adaptively({body_, oracles(parts), options_.world}, *read);
                by_constraints = again && again->replay.reproduced;
                if (by_constraints) { result.trace = std::move(again->replay.trace); }
            }
        }
        if (result.divergence) {
            const std::string still = by_constraints ? "\nIts constraints alone bring the same about:\n" + trace::failure_text(result.trace, "", width) : "";
            ADD_FAILURE() << "DIVERGED " << result.divergence_text << still;
            return;
        }
        const trace::Outcome& outcome = result.trace.outcome;
        if (outcome.kind == trace::OutcomeKind::violation) {
            ADD_FAILURE() << trace::failure_text(result.trace, "", width) << (result.reproduced ? "reproduced" : "not reproduced")
                          << (result.same_hash ? ", bit for bit the recorded run" : "");
            return;
        }
        std::printf("[  REPLAYED] %s: %s\n", name_.c_str(), trace::describe(outcome).c_str());
    }

    static constexpr std::size_t width = 100;

    PropertyOptions options_;
    sim::Program body_;
    std::string name_;
    std::string replay_;
    std::string folder_;
};

}  // namespace

void run_property(const PropertyTest& test) { Property(test).run(); }

}  // namespace heddle::prop
