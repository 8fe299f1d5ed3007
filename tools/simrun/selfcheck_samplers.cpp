// SPDX-License-Identifier: Apache-2.0
// simrun selfcheck --samplers: how many schedules each sampler needs to a known bug, against what is known.
//
//   litmus/reorder:n=10    surw      19.4 of 20   (200 of 200 campaigns, 3889 schedules in 0.1s)
//   …
//   samplers: 96 of 97 within 1.5 times the known mean, 1 beyond it for a reason that is given; portfolio: …
//
// A line per program and sampler. What lies beyond its bar is marked, and a reason that is known stands below it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/interrupt.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"

namespace heddle::detail {
namespace {

constexpr double ratio_max = 1.5;
constexpr double portfolio_ratio_max = 5;
/// Means that the model never reached are worth a look, not minutes.
constexpr std::uint64_t unknown_runs_max = 50;

class Check {
public:
    Check(const Invocation& invocation, const Arguments& arguments, const Interrupt& interrupt)
        : invocation_(invocation), arguments_(arguments), interrupt_(interrupt) {}

    SamplersResult run() {
        for (const sim::KnownMean& known : invocation_.options.known_means) {
            if (known.large && !arguments_.all) { continue; }
            if (known.call.find(arguments_.only) == std::string::npos) { continue; }
            const Result<sim::ScenarioCall> call = sim::parse_call(invocation_.options.scenarios, known.call);
            if (!call) { throw HarnessFailure{"a known mean of an unknown program: " + call.error().text()}; }
            double best = 0;
            for (const auto& [strategy, mean] : {std::pair{sim::Strategy::surw, known.surw}, std::pair{sim::Strategy::pos, known.pos},
                                                 std::pair{sim::Strategy::pct, known.pct}}) {
                if (mean == 0) { continue; }
                const SamplerLine& line = measure(*call, known, strategy, mean, ratio_max);
                if (line.measured.found > 0 && (best == 0 || line.measured.mean() < best)) { best = line.measured.mean(); }
            }
            if (best > 0) { measure(*call, known, sim::Strategy::portfolio, best, portfolio_ratio_max); }
            if (best == 0 && !invocation_.json) { fmt::print("- {:<26} {}\n", known.call, known.remark); }
            if (interrupt_.asked()) {
                result_.interrupted = true;
                break;
            }
        }
        return std::move(result_);
    }

private:
    const SamplerLine& measure(const sim::ScenarioCall& call, const sim::KnownMean& known, sim::Strategy strategy, double mean,
                               double ratio) {
        sim::MeasureOptions options;
        options.strategy = strategy;
        options.seed = arguments_.seed.value_or(1);
        options.campaigns = 200;
        // A campaign of a geometric law is longer than that once in e^50; what cannot find the bug ends.
        options.runs_max = static_cast<std::uint64_t>(std::max(1.0, mean)) * unknown_runs_max;
        options.stop = [this] { return interrupt_.asked(); };
        SamplerLine line;
        line.call = known.call;
        line.strategy = strategy;
        line.known = mean;
        line.ratio_max = ratio;
        const double started = seconds_now();
        line.measured = sim::measure_mean(call.program(), options);
        line.seconds = seconds_now() - started;
        line.within = line.measured.found > 0 && line.measured.mean() <= ratio * mean;
        if (!line.within && known.unreached == strategy) { line.remark = known.remark; }
        if (strategy == sim::Strategy::portfolio) {
            result_.portfolio_within += line.within ? 1 : 0;
            ++result_.portfolio_count;
        } else {
            result_.within += line.within ? 1 : 0;
            ++result_.count;
        }
        if (!line.within && !line.remark.empty()) { ++result_.explained; }
        if (!invocation_.json) {
            fmt::print("{} {:<26} {:<9} {:>8.4g} of {:<6.4g} ({} of {} campaigns, {} schedules in {:.1f}s)\n", line.within ? " " : "!",
                       line.call, sim::to_string(strategy), line.measured.mean(), mean, line.measured.found, line.measured.campaigns,
                       line.measured.runs, line.seconds);
            if (!line.remark.empty()) { fmt::print("    {}\n", line.remark); }
            std::fflush(stdout);
        }
        result_.lines.push_back(std::move(line));
        return result_.lines.back();
    }

    const Invocation& invocation_;
    const Arguments& arguments_;
    const Interrupt& interrupt_;
    SamplersResult result_;
};

}  // namespace

ExitStatus selfcheck_samplers_command(const Invocation& invocation, const Arguments& arguments) {
    const Interrupt interrupt;
    const SamplersResult result = Check(invocation, arguments, interrupt).run();
    if (result.lines.empty() && !result.interrupted) {
        if (!arguments.only.empty()) { refuse("--only", "a part of a program's name", "'" + arguments.only + "'"); }
        refuse("selfcheck --samplers", "programs with known means", "none in this program");
    }
    if (invocation.json) {
        fmt::print("{}", samplers_json(result));
    } else {
        if (result.interrupted) { fmt::print("interrupted\n"); }
        fmt::print("samplers: {} of {} within {} times the known mean, {} beyond it for a reason that is given; "
                   "portfolio: {} of {} within {} times the best sampler\n",
                   result.within, result.count, ratio_max, result.explained, result.portfolio_within, result.portfolio_count,
                   portfolio_ratio_max);
    }
    const bool all = result.within + result.explained == result.count && result.portfolio_within == result.portfolio_count;
    return all ? ExitStatus::nothing_violated : ExitStatus::violated;
}

}  // namespace heddle::detail
