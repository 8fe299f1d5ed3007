// SPDX-License-Identifier: Apache-2.0
// simrun run: one world, simulated or on libuv, told as a timeline.
#include <fmt/format.h>

#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/libuv_run.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::detail {
namespace {

trace::Trace recorded(const Subject& subject, const Arguments& arguments) {
    const trace::Recipe recipe = recipe_of(subject, arguments);
    if (arguments.on_libuv) { return record_on_libuv(subject.call, recipe); }
    if (!arguments.seed) { return sim::record(subject.call, recipe, nullptr); }
    sim::RandomChooser chooser(*arguments.seed);
    return sim::record(subject.call, recipe, &chooser);
}

}  // namespace

ExitStatus run_command(const Invocation& invocation, const Arguments& arguments) {
    if (!arguments.record.empty()) { require_free(invocation, arguments.record); }
    const Subject subject = subject_of(invocation, arguments.scenario, arguments.planted);
    RunResult result{subject.call.text(), recorded(subject, arguments), arguments.record, {}};
    const trace::Trace& trace = result.trace;
    const bool violated = trace.outcome.kind == trace::OutcomeKind::violation;
    if (!arguments.record.empty()) {
        write_named(invocation, arguments.record, trace);
    } else if (violated) {
        result.file = write_found(invocation, ".", trace);
    }
    if (violated) { result.command = command_to_replay(invocation, trace.recipe.seed, result.file); }
    if (invocation.json) {
        fmt::print("{}", run_json(result));
    } else if (violated) {
        fmt::print("{}\ntrace written to {}; this replays it:\n{}\n",
                   trace::failure_text(trace, "in one run", width_of(stdout)), result.file, result.command);
    } else {
        trace::RenderOptions options;
        options.width = width_of(stdout);
        fmt::print("{}", trace::render(trace, options));
        if (!result.file.empty()) { fmt::print("trace written to {}\n", result.file); }
    }
    return violated ? ExitStatus::violated : ExitStatus::nothing_violated;
}

}  // namespace heddle::detail
