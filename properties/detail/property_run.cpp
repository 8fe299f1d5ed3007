// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/detail/property_run.hpp"

#include <errno.h>  // program_invocation_name
#include <gtest/gtest-spi.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/traces/duration_text.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::prop::detail {
namespace {

constexpr std::size_t width = 100;

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

}  // namespace

double host_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

PropertyRun::PropertyRun(const char* suite, const char* name, PropertyOptions options)
    : options_(std::move(options)), name_(std::string(suite) + "." + name) {}

bool PropertyRun::read_environment() {
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
    testing::Test::RecordProperty("heddle_seed", std::to_string(options_.seed));
    return true;
}

bool PropertyRun::refuse(const InputError& error) {
    ADD_FAILURE() << error.text();
    return false;
}

std::function<sim::OracleList()> PropertyRun::oracles(const testing::TestPartResultArray& parts) const {
    return [&parts] {
        sim::OracleList all = all_oracles();
        all.push_back(std::make_unique<GTestOracle>(parts));
        return all;
    };
}

PropertyRun::Search PropertyRun::search(const sim::Program& program, const Limits& limits,
                                        const std::map<std::string, std::string>& drawn) const {
    Search result;
    testing::TestPartResultArray parts;
    const testing::ScopedFakeTestPartResultReporter in_place(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
                                                             &parts);
    sim::ExploreOptions options;
    options.strategy = options_.strategy;
    options.order = options_.order;
    options.time = options_.time;
    options.bound = options_.bound;
    options.reduction = options_.reduction;
    options.audit_sharing = options_.audit_sharing;
    options.runs_max = limits.schedules;
    options.seconds_max = limits.seconds;
    options.clock = host_seconds;
    options.seed = options_.seed;
    options.shrink = limits.shrink;
    options.world = options_.world;
    options.oracles = oracles(parts);
    options.recipe.scenario = name_;
    options.recipe.parameters = drawn;
    try {
        result.report = sim::explore(program, options);
        const std::optional<sim::Found>& found = result.report.violation;
        if (limits.shrink && found && found->invariant != sim::SharingAudit::invariant) {
            result.broken = why_it_does_not_replay(program, found->trace, parts);
        }
    } catch (const std::exception& error) {
        result.broken = error.what();
    }
    return result;
}

/// Empty if the trace leads to the same end again (GT3).
std::string PropertyRun::why_it_does_not_replay(const sim::Program& program, const trace::Trace& trace,
                                                const testing::TestPartResultArray& parts) const {
    sim::ReplayOptions options;
    options.keep_events = false;
    const sim::ReplayResult result = sim::replay(program, oracles(parts), options_.world, trace, options);
    if (result.reproduced) { return {}; }
    return "a violation of " + trace.outcome.invariant + " (" + trace.outcome.message +
           ") was found, but its trace does not replay: the program depends on something that is not one of its choices. " +
           result.divergence_text;
}

void PropertyRun::tell_violation(const sim::Found& found, const std::string& values) const {
    const Result<std::string> file = trace::write_trace_under_free_name(folder_ + trace::as_file_name(name_), found.trace);
    const std::string way = "by schedule " + std::to_string(found.runs) + " of the search; shrunk from " +
                            trace::counted(found.decisions_found, "decision") + " to " + std::to_string(found.trace.decisions.size()) +
                            values;
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

void PropertyRun::read_trace(std::optional<trace::Trace>& trace) const {
    Result<trace::Trace> read = trace::read_trace(replay_);
    if (!read) {
        refuse(read.error());
        return;
    }
    if (read->recipe.scenario != name_) { GTEST_SKIP() << replay_ << " is a trace of " << read->recipe.scenario; }
    trace = std::move(*read);
}

void PropertyRun::replay(const sim::Program& program, const trace::Trace& trace, const std::string& values) const {
    sim::ReplayResult result;
    bool by_constraints = false;
    {
        testing::TestPartResultArray parts;
        const testing::ScopedFakeTestPartResultReporter in_place(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
        result = sim::replay(program, oracles(parts), options_.world, trace, {});
        if (result.divergence) {  // the program is another one; what the failure needs may still come about in it
            Result<sim::AdaptiveResult> again = sim::replay_adaptively({program, oracles(parts), options_.world}, trace);
            by_constraints = again && again->replay.reproduced;
            if (by_constraints) { result.trace = std::move(again->replay.trace); }
        }
    }
    const std::string way = values.empty() ? "" : "by replaying " + replay_ + values;
    if (result.divergence) {
        const std::string still =
            by_constraints ? "\nIts constraints alone bring the same about:\n" + trace::failure_text(result.trace, way, width) : "";
        ADD_FAILURE() << "DIVERGED " << result.divergence_text << still;
        return;
    }
    const trace::Outcome& outcome = result.trace.outcome;
    if (outcome.kind == trace::OutcomeKind::violation) {
        ADD_FAILURE() << trace::failure_text(result.trace, way, width) << (result.reproduced ? "reproduced" : "not reproduced")
                      << (result.same_hash ? ", bit for bit the recorded run" : "");
        return;
    }
    std::printf("[  REPLAYED] %s: %s\n", name_.c_str(), trace::describe(outcome).c_str());
}

}  // namespace heddle::prop::detail
