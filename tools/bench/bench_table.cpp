// SPDX-License-Identifier: Apache-2.0
#include "heddle/tools/bench/bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace heddle::bench {
namespace {

constexpr double nanoseconds = 1e9;
constexpr double microseconds = 1e6;
constexpr double page = 4096;

std::optional<double> find(const Measurements& measured, const std::string& name, double scale) {
    const auto at = measured.find(name);
    if (at == measured.end()) { return std::nullopt; }
    return at->second * scale;
}

std::string number(const std::optional<double>& value) {
    if (!value) { return "-"; }
    if (*value >= 10'000) { return fmt::format("{:.0f}", *value); }
    return fmt::format("{:.{}f}", *value, *value >= 100 ? 0 : 1);
}

std::string ratio(const std::optional<double>& above, const std::optional<double>& below) {
    return above && below && *below > 0 ? fmt::format("{:.2f}", *above / *below) : "-";
}

std::string asked_for(const Demand& demand) {
    std::vector<std::string> parts;
    if (demand.floor_ratio_max > 0) { parts.push_back(fmt::format("at most {} x floor", demand.floor_ratio_max)); }
    if (demand.floor_ratio_min > 0) { parts.push_back(fmt::format("at least {} x floor", demand.floor_ratio_min)); }
    if (demand.peer_ratio_min > 0) {
        parts.push_back(fmt::format("at least {} x faster than peer", demand.peer_ratio_min));
    }
    if (demand.value_max > 0) { parts.push_back(fmt::format("at most {} {}", demand.value_max, demand.unit)); }
    if (demand.value_min > 0) { parts.push_back(fmt::format("at least {:.0f} {}", demand.value_min, demand.unit)); }
    return fmt::format("{}", fmt::join(parts, demand.either ? " or " : ", "));
}

}  // namespace

const std::vector<Demand>& demands() {
    // clang-format off
    static const std::vector<Demand> all{
        {.name = "switch", .unit = "ns", .what = "suspend one coroutine and resume another", .scale = nanoseconds,
         .floor_ratio_max = 2, .peer_ratio_min = 4},
        {.name = "switch_deep", .unit = "ns", .what = "the same, four calls deep", .scale = nanoseconds,
         .floor = "switch/floor", .floor_ratio_max = 2.5, .peer_ratio_min = 4},
        {.name = "yield_1k", .unit = "ns", .what = "yield with 1,000 live coroutines", .scale = nanoseconds,
         .floor_ratio_max = 2, .peer_ratio_min = 4},
        {.name = "yield_100k", .unit = "ns", .what = "yield with 100,000 live coroutines", .scale = nanoseconds,
         .floor_ratio_max = 2.5, .peer_ratio_min = 4},
        {.name = "spawn", .unit = "ns", .what = "spawn and finish, warm stacks", .scale = nanoseconds,
         .floor_ratio_max = 4, .peer_ratio_min = 4},
        {.name = "parked_bytes", .unit = "bytes", .what = "memory of a parked coroutine, 100,000 parked",
         .peer_ratio_min = 1, .value_max = page + 512},
        {.name = "timer", .unit = "ns", .what = "arm and fire a timer, CPU time, 100,000 timers", .scale = nanoseconds,
         .floor_ratio_max = 1.3, .peer_ratio_min = 1},
        {.name = "rendezvous", .unit = "ns", .what = "a message over a channel without a buffer", .scale = nanoseconds,
         .floor_ratio_max = 4, .peer_ratio_min = 4},
        {.name = "buffered", .unit = "ns", .what = "a message over a channel of 64 places", .scale = nanoseconds,
         .floor_ratio_max = 3, .peer_ratio_min = 1},
        {.name = "pool", .unit = "ns", .what = "acquire and release, uncontended", .scale = nanoseconds,
         .floor = "switch/floor", .floor_ratio_max = 6, .value_max = 60, .either = true},
        {.name = "cancel_10k", .unit = "ns", .what = "a cancelled waiter of 10,000, any order; floor: of 100", .scale = nanoseconds,
         .floor_ratio_max = 4},
        {.name = "doors", .unit = "ns", .what = "what a switch pays for Chooser and Observer", .scale = nanoseconds,
         .value_max = 1, .difference = true},
        {.name = "sim_rate", .unit = "schedules/s", .what = "simulated schedules of 3 coroutines of 4 steps",
         .value_min = 300'000},
        {.name = "sim_lock", .unit = "schedules/s", .what = "litmus/lock:n=4, every schedule", .value_min = 500'000},
        {.name = "sim_sampled", .unit = "schedules/s", .what = "litmus/yielders:n=10,k=10, samples with vector clocks",
         .value_min = 100'000},
        {.name = "sim_recorded", .unit = "times", .what = "the same, and every event recorded", .value_max = 2},
        {.name = "world_rate", .unit = "s/s", .what = "virtual seconds of world/registers in a second of CPU time, five machines and their clients",
         .value_min = 1000},
        {.name = "echo_1", .unit = "us", .what = "TCP echo, 1 connection, CPU time per request", .scale = microseconds,
         .floor_ratio_max = 1.05},
        {.name = "echo_64", .unit = "us", .what = "TCP echo, 64 connections, CPU time per request", .scale = microseconds,
         .floor_ratio_max = 1.05},
        {.name = "echo_512", .unit = "us", .what = "TCP echo, 512 connections, CPU time per request", .scale = microseconds,
         .floor_ratio_max = 1.05},
        {.name = "echo_rate_1", .unit = "requests/s", .what = "TCP echo, 1 connection", .floor_ratio_min = 0.95},
        {.name = "echo_rate_64", .unit = "requests/s", .what = "TCP echo, 64 connections", .floor_ratio_min = 0.95},
        {.name = "echo_rate_512", .unit = "requests/s", .what = "TCP echo, 512 connections", .floor_ratio_min = 0.95},
        {.name = "idle_bytes", .unit = "bytes", .what = "memory of an idle connection, 10,000 connections",
         .value_max = 100.0 * 1024 * 1024 / 10'000},
    };
    // clang-format on
    return all;
}

std::vector<const Demand*> select(const std::string& pattern) {
    const std::regex expression(pattern);
    std::vector<const Demand*> selected;
    for (const Demand& demand : demands()) {
        if (std::regex_search(demand.name.begin(), demand.name.end(), expression)) { selected.push_back(&demand); }
    }
    return selected;
}

std::string filter_of(const std::vector<const Demand*>& selected) {
    std::vector<std::string> parts;
    for (const Demand* demand : selected) {
        parts.push_back(fmt::format("{}/", demand->name));
        if (!demand->floor.empty()) { parts.emplace_back(demand->floor); }
    }
    return fmt::format("^({})", fmt::join(parts, "|"));
}

std::vector<Row> make_rows(const std::vector<const Demand*>& selected, const Measurements& measured) {
    std::vector<Row> rows;
    for (const Demand* demand : selected) {
        const std::string name(demand->name);
        Row row{.demand = demand};
        row.ours = find(measured, name + "/ours", demand->scale);
        row.floor = find(measured, demand->floor.empty() ? name + "/floor" : std::string(demand->floor), demand->scale);
        row.peer = find(measured, name + "/peer", demand->scale);
        if (demand->difference && row.ours) {
            const std::optional<double> without = find(measured, name + "/without", demand->scale);
            row.ours = without ? std::optional(*row.ours - *without) : std::nullopt;
        }
        std::vector<double> bars;
        if (demand->floor_ratio_max > 0 && row.floor) { bars.push_back(*row.floor * demand->floor_ratio_max); }
        if (demand->peer_ratio_min > 0 && row.peer) { bars.push_back(*row.peer / demand->peer_ratio_min); }
        if (demand->value_max > 0) { bars.push_back(demand->value_max); }
        if (demand->value_min > 0 || (demand->floor_ratio_min > 0 && row.floor)) {
            row.bar = demand->value_min > 0 ? demand->value_min : *row.floor * demand->floor_ratio_min;
            row.ok = row.ours && *row.ours >= *row.bar;
        } else if (!bars.empty()) {
            row.bar = demand->either ? *std::max_element(bars.begin(), bars.end()) : *std::min_element(bars.begin(), bars.end());
            row.ok = row.ours && *row.ours <= *row.bar;
        }
        rows.push_back(row);
    }
    return rows;
}

std::string as_table(const std::vector<Row>& rows) {
    std::string text = fmt::format("{:<13} {:>9} {:>9} {:>9} {:>9} {:<12} {:>10} {:>9}  {:<4} {}\n", "work", "ours",
                                   "floor", "peer", "bar", "unit", "ours/floor", "peer/ours", "ok", "asked for");
    for (const Row& row : rows) {
        text += fmt::format("{:<13} {:>9} {:>9} {:>9} {:>9} {:<12} {:>10} {:>9}  {:<4} {}\n", row.demand->name,
                            number(row.ours), number(row.floor), number(row.peer), number(row.bar), row.demand->unit,
                            ratio(row.ours, row.floor), ratio(row.peer, row.ours), row.ok ? "yes" : "NO",
                            asked_for(*row.demand));
    }
    return text;
}

}  // namespace heddle::bench
