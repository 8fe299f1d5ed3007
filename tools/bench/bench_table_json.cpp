// SPDX-License-Identifier: Apache-2.0
// The two JSON forms: Google Benchmark's report, read; the table's rows, written.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "heddle/tools/bench/bench_table.hpp"

namespace heddle::bench {
namespace {

/// "switch/floor" of "switch/floor/iterations:9".
std::string measurement_of(const std::string& run_name) {
    const std::size_t second = run_name.find('/', run_name.find('/') + 1);
    return run_name.substr(0, second);
}

nlohmann::ordered_json number(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void read_measurements(const std::string& file, Measurements& into) {
    std::ifstream input(file);
    const nlohmann::json report = nlohmann::json::parse(input, nullptr, false);
    if (!report.is_object() || !report.contains("benchmarks") || !report["benchmarks"].is_array()) {
        throw std::runtime_error(fmt::format("{}: expected Google Benchmark's JSON with an array /benchmarks", file));
    }
    for (const nlohmann::json& run : report["benchmarks"]) {
        const std::string name = measurement_of(run.value("run_name", std::string()));
        if (run.value("error_occurred", false)) {
            throw std::runtime_error(
                fmt::format("{}: {} failed: {}", file, name, run.value("error_message", std::string("?"))));
        }
        if (!run.contains("per_op") || !run["per_op"].is_number()) { continue; }
        const bool is_median = run.value("aggregate_name", std::string()) == "median";
        const bool is_single = run.value("run_type", std::string()) == "iteration" && run.value("repetitions", 1) <= 1;
        if (is_median || is_single) { into[name] = run["per_op"].get<double>(); }
    }
}

std::string as_json(const std::vector<Row>& rows) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
        array.push_back({{"name", row.demand->name},
                         {"ours", number(row.ours)},
                         {"unit", row.demand->unit},
                         {"floor", number(row.floor)},
                         {"peer", number(row.peer)},
                         {"bar", number(row.bar)},
                         {"ok", row.ok}});
    }
    return array.dump(2) + "\n";
}

}  // namespace heddle::bench
