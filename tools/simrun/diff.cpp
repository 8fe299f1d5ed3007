// SPDX-License-Identifier: Apache-2.0
// simrun diff: where two traces stop being one run.
#include "heddle/traces/trace_diff.hpp"

#include <fmt/format.h>

#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/traces/trace_file.hpp"

namespace heddle::detail {
namespace {

/// Only compared, never run: any valid trace will do, also one that this program could not replay.
trace::Trace read(const std::string& path) {
    Result<trace::Trace> trace = trace::read_trace(path);
    if (!trace) { throw UnusableInput{trace.error()}; }
    return *std::move(trace);
}

}  // namespace

ExitStatus diff_command(const Invocation& invocation, const Arguments& arguments) {
    const trace::Trace expected = read(arguments.traces.front());
    const trace::Trace found = read(arguments.traces.back());
    const trace::TraceDiff diff = trace::diff(expected, found);
    fmt::print("{}", invocation.json ? diff_json(diff) : diff.text());
    return diff.same_run() ? ExitStatus::nothing_violated : ExitStatus::diverged;
}

}  // namespace heddle::detail
