// SPDX-License-Identifier: Apache-2.0
// simrun selfcheck: the search against programs whose number of traces is known.
//
//   litmus/lastzero:n=10     source   3328 of 3328, 16867 redundant   20195 schedules in 0.21s
//   …
//   selfcheck: 250 of 250 counts equal
//
// One line per program and reduction. A count is equal if the search is complete and found exactly as many traces.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/interrupt.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"

namespace heddle::detail {
namespace {

SelfcheckLine check(const sim::ScenarioCall& call, const sim::KnownCount& known, sim::Reduction reduction) {
    sim::CountOptions options;
    options.reduction = reduction;
    options.bound = known.bound;
    SelfcheckLine line;
    line.known = known;
    line.reduction = reduction;
    const double started = seconds_now();
    line.count = sim::count_traces(call.program(), options);
    line.seconds = seconds_now() - started;
    line.equal = line.count.complete && line.count.traces == known.traces;
    return line;
}

std::string text_of(const SelfcheckLine& line) {
    const std::string name = line.known.bound ? fmt::format("{} within {}", line.known.call, *line.known.bound) : line.known.call;
    std::string text = fmt::format("{:<40} {:<8} {:>9} of {:>9}, {} redundant  ({} schedules in {:.2f}s)", name,
                                   sim::to_string(line.reduction), line.count.traces, line.known.traces, line.count.redundant,
                                   line.count.runs, line.seconds);
    if (!line.count.violation.empty()) { text += "  " + line.count.violation; }
    if (!line.known.remark.empty()) { text += "\n    " + line.known.remark; }
    return (line.equal ? "  " : "! ") + text + "\n";
}

}  // namespace

ExitStatus selfcheck_command(const Invocation& invocation, const Arguments& arguments) {
    const Interrupt interrupt;
    SelfcheckResult result;
    for (const sim::KnownCount& known : invocation.options.known_counts) {
        if (known.large && !arguments.all) { continue; }
        if (known.call.find(arguments.only) == std::string::npos) { continue; }
        const Result<sim::ScenarioCall> call = sim::parse_call(invocation.options.scenarios, known.call);
        if (!call) { throw HarnessFailure{"a known count of an unknown program: " + call.error().text()}; }
        for (const sim::Reduction reduction : known.reductions) {
            if (interrupt.asked()) {
                result.interrupted = true;
                break;
            }
            result.lines.push_back(check(*call, known, reduction));
            result.equal += result.lines.back().equal ? 1 : 0;
            if (!invocation.json) {
                fmt::print("{}", text_of(result.lines.back()));
                std::fflush(stdout);
            }
        }
    }
    if (result.lines.empty() && !result.interrupted) {
        if (!arguments.only.empty()) { refuse("--only", "a part of a program's name", "'" + arguments.only + "'"); }
        refuse("selfcheck", "programs with known counts", "none in this program");
    }
    if (invocation.json) {
        fmt::print("{}", selfcheck_json(result));
    } else {
        if (result.interrupted) { fmt::print("interrupted\n"); }
        fmt::print("selfcheck: {} of {} counts equal\n", result.equal, result.lines.size());
    }
    return result.equal == result.lines.size() ? ExitStatus::nothing_violated : ExitStatus::violated;
}

}  // namespace heddle::detail
