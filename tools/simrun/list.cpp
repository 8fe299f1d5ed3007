// SPDX-License-Identifier: Apache-2.0
// simrun, and simrun list: what this is, and what it can run.
#include <fmt/format.h>

#include <algorithm>

#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::detail {
namespace {

std::size_t widest_name(const Invocation& invocation) {
    std::size_t widest = 0;
    for (const sim::Scenario& scenario : invocation.options.scenarios) {
        widest = std::max(widest, trace::columns_of(scenario.name));
    }
    return std::min<std::size_t>(widest, 40);
}

}  // namespace

ExitStatus about_command(const Invocation& invocation) {
    if (invocation.json) { return list_command(invocation); }
    const SimrunOptions& options = invocation.options;
    fmt::print(
        "{}\n\n",
        options.about.empty()
            ? "simrun runs asynchronous programs in a simulated world, searches their schedules for one that breaks "
              "them,\nand replays what it found."
            : options.about);
    fmt::print(
        "  {0} explore SCENARIO             search; a failure is shrunk and written as a trace\n"
        "  {0} --seed 1234 --replay TRACE   run it again\n"
        "  {0} list                         scenarios with their parameters\n"
        "  {0} --help                       everything else\n\n",
        invocation.program);
    if (options.scenarios.empty()) { fmt::print("There are no scenarios.\n"); }
    const std::size_t width = widest_name(invocation);
    for (const sim::Scenario& scenario : options.scenarios) {
        fmt::print("{:<{}}  {}\n", scenario.name, width, scenario.about);
    }
    return ExitStatus::nothing_violated;
}

ExitStatus list_command(const Invocation& invocation) {
    if (invocation.json) {
        fmt::print("{}", list_json(invocation.options.scenarios));
        return ExitStatus::nothing_violated;
    }
    const std::size_t width = widest_name(invocation);
    for (const sim::Scenario& scenario : invocation.options.scenarios) {
        fmt::print("{:<{}}  {}\n", scenario.name, width, scenario.about);
        if (!scenario.source.empty()) { fmt::print("    reported as {}\n", scenario.source); }
        if (!scenario.planted.empty()) { fmt::print("    with the planted bug {}\n", scenario.planted); }
        for (const sim::Parameter& parameter : scenario.parameters) {
            if (parameter.is_text) {
                const std::string initial = trace::cut_to(parameter.initial, 40);
                fmt::print("    {}={}  {} (text, to the end of the argument)\n", parameter.name, initial,
                           parameter.about);
            } else {
                fmt::print("    {}={}  {} ({} to {})\n", parameter.name, parameter.initial, parameter.about,
                           parameter.min, parameter.max);
            }
        }
    }
    return ExitStatus::nothing_violated;
}

}  // namespace heddle::detail
