// SPDX-License-Identifier: Apache-2.0
// Sample traces for tests and for the schema's check: one in which every member of the format stands, and a small one.
#pragma once

#include <limits>

#include "heddle/traces/trace.hpp"

namespace heddle::trace::testing {

/// Every member differs from its default, every vector has elements, and texts hold what JSON has to escape.
[[nodiscard]] inline Trace full_trace() {
    Trace trace;
    trace.recipe = {.scenario = "pool/lease_returns",
                    .parameters = {{"clients", "3"}, {"program", R"({"steps": ["yield", "await"]})"}},
                    .planted = "MUT-07",
                    .seed = std::numeric_limits<std::uint64_t>::max(),
                    .strategy = "exhaustive",
                    .reactor = "sim",
                    .order = Order::any,
                    .time = TimeLevel::T2,
                    .resolution = std::chrono::milliseconds(1),
                    .jitter = std::chrono::microseconds(250),
                    .slack = std::chrono::microseconds(10),
                    .latency_min = std::chrono::microseconds(50),
                    .latency_max = std::chrono::milliseconds(2),
                    .bound = "delay:2",
                    .steps_max = 10'000,
                    .time_max = std::chrono::hours(1),
                    .knobs = {{"pool_workers", "4"}}};
    trace.decisions = {
        {.at = "loop:dispatch",
         .kind = ChoiceKind::dispatch,
         .choose = 1,
         .count = 2,
         .candidate = "main/b",
         .set = 0x89abcdef,
         .footprint = 0x00000f00},
        {.at = "main/a:fault(connection#2)", .kind = ChoiceKind::fault, .choose = 3, .count = 4},
    };
    trace.constraints = {.order = {{"main/b:acquire", "main/a:release"}},
                         .values = {{"main/a:fault", ChoiceKind::fault, 3}}};
    trace.outcome = {.kind = OutcomeKind::violation,
                     .invariant = "INV-WAKE-03",
                     .message = "expected a parked coroutine, found \"running\"\n\ttwice \\ \x01 \xe2\x80\xa8 done",
                     .file = "core/run/waker.cpp",
                     .line = 120,
                     .step = 2,
                     .who = "main/b",
                     .mode = "any+jitter",
                     .steps = 2,
                     .choices = 17,
                     .end = Instant{5'000'000}};
    trace.hash = {.events = 8,
                  .value = 0x0123456789abcdef,
                  .footprint = 0xfedcba9876543210,
                  .check_points = {{1, 1, 0}, {2, 2, 7}, {4, 3, 7}, {8, 0x0123456789abcdef, 0xfedcba9876543210}}};
    trace.events = {
        {.at = Instant{0}, .kind = EventKind::step_begin, .who = "main"},
        {.at = Instant{0}, .kind = EventKind::spawned, .who = "main/a", .what = "main", .a = 2},
        {.at = Instant{0}, .kind = EventKind::step_end, .who = "main", .footprint = 0xabcd},
        {.at = Instant{5'000'000},
         .kind = ChoiceKind::dispatch,
         .who = "loop:dispatch",
         .what = "main/b",
         .a = 1,
         .b = 2,
         .note = "main/a"},
        {.at = Instant{5'000'000}, .kind = EventKind::step_begin, .who = "main/b"},
        {.at = Instant{5'000'000},
         .kind = EventKind::delivered,
         .what = "main:timer",
         .a = std::numeric_limits<std::int64_t>::min(),
         .b = -1},
    };
    trace.events_omitted = 2;
    trace.version = door_format_version;
    trace.door = {
        {.at = Instant{1'000'000},
         .kind = DoorKind::submit,
         .what = "read",
         .source = 3,
         .handle = 2,
         .value = -1,
         .error = 104,
         .flags = door_pending | door_hidden,
         .count = 7,
         .peers = "127.0.0.1:80 127.0.0.1:4711",
         .bytes = std::string("\0\xff\x61", 3)},
        {.at = Instant{2'000'000}, .kind = DoorKind::tick_end},
    };
    trace.door_omitted = 5;
    return trace;
}

/// Nothing but what has to be there.
[[nodiscard]] inline Trace small_trace() {
    Trace trace;
    trace.recipe.scenario = "waker/baseline";
    return trace;
}

}  // namespace heddle::trace::testing
