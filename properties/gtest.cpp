// SPDX-License-Identifier: Apache-2.0
// The plain form of HEDDLE_PROPERTY_TEST: one program, one search, and what is said about it.
#include "heddle/properties/gtest.hpp"

#include <cstdio>
#include <optional>
#include <string>

#include "heddle/properties/detail/property_run.hpp"
#include "heddle/traces/failure_text.hpp"

namespace heddle::prop {
namespace {

void search(const detail::PropertyRun& run, const sim::Program& body) {
    const PropertyOptions& options = run.options();
    const detail::PropertyRun::Limits limits{std::chrono::duration<double>(options.budget).count(), options.schedules, true};
    const auto [report, broken] = run.search(body, limits, {});
    if (!broken.empty()) {
        ADD_FAILURE() << run.name() << ": " << broken;
        return;
    }
    testing::Test::RecordProperty("heddle_schedules", std::to_string(report.runs));
    testing::Test::RecordProperty("heddle_complete", report.complete ? "yes" : "no");
    if (report.violation) { return run.tell_violation(*report.violation); }
    const std::string extent = report.complete && options.reduction ? sim::complete_text(report)
                               : report.complete ? "every one of " + trace::counted(report.runs, "schedule")
                                                 : trace::counted(report.runs, "schedule") + ", not complete";
    std::printf("[  SEARCHED] %s: %s in %.1f s\n", run.name().c_str(), extent.c_str(), report.seconds);
    if (options.must_complete && !report.complete) {
        ADD_FAILURE() << run.name() << ": the search is not complete after " << trace::counted(report.runs, "schedule") << " in "
                      << report.seconds << " s; a larger budget (HEDDLE_BUDGET) or a bound would end it";
    }
}

}  // namespace

void run_property(const PropertyTest& test) {
    detail::PropertyRun run(test.suite, test.name, test.options);
    if (!run.read_environment()) { return; }
    if (!run.replays()) { return search(run, test.body); }
    std::optional<trace::Trace> trace;
    run.read_trace(trace);
    if (trace) { run.replay(test.body, *trace); }
}

}  // namespace heddle::prop
