// SPDX-License-Identifier: Apache-2.0
// Writes sample traces into a folder, for the schema's check: one in which every member stands, the smallest one, one
// trace for each kind of event and choice together, and a recorded run.
#include <cstdio>
#include <string>

#include "heddle/traces/testing/recorded_run.hpp"
#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace {

using namespace heddle;
using namespace heddle::trace;

/// So that a kind which is added to core is missed in the schema, not in the field.
Trace every_kind() {
    Trace trace = trace::testing::small_trace();
    for (int i = 0; i < static_cast<int>(EventKind::count_); ++i) {
        trace.events.push_back({.kind = static_cast<EventKind>(i)});
    }
    for (int i = 0; i < static_cast<int>(ChoiceKind::count_); ++i) {
        const auto kind = static_cast<ChoiceKind>(i);
        trace.events.push_back({.kind = kind, .who = "point", .a = 1, .b = 2});
        trace.decisions.push_back({.at = "point", .kind = kind, .choose = 1, .count = 2});
    }
    trace.hash.events = trace.events.size();
    trace.version = door_format_version;
    for (int i = 0; i < static_cast<int>(DoorKind::count_); ++i) {
        trace.door.push_back({.kind = static_cast<DoorKind>(i)});
    }
    return trace;
}

Trace recorded_run() {
    LabelBook book;
    trace::testing::AlwaysChooser chooser(1);
    TraceRecorder recorder(&book, &chooser, {.keep_events = true});
    trace::testing::RecordedRun(book).play(recorder, recorder);
    return recorder.take({.scenario = "job/taken_once"}, {.kind = OutcomeKind::violation, .invariant = "CHECK"});
}

bool written(const std::string& path, const Trace& trace) {
    const auto result = write_trace(path, trace, Overwrite::no);
    if (!result) { std::fprintf(stderr, "%s\n", result.error().text().c_str()); }
    return static_cast<bool>(result);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: sample_traces FOLDER\n");
        return 2;
    }
    const std::string folder = argv[1];
    const bool all = written(folder + "/full.trace.json", trace::testing::full_trace()) &&
                     written(folder + "/small.trace.json", trace::testing::small_trace()) &&
                     written(folder + "/every_kind.trace.json", every_kind()) &&
                     written(folder + "/recorded_run.trace.json", recorded_run());
    return all ? 0 : 1;
}
