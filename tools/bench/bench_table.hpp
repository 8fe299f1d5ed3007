// SPDX-License-Identifier: Apache-2.0
// The table of ratios: which works are measured, what each must reach, and how Google Benchmark's JSON becomes rows.
//
//   heddle_bench ──JSON──▶ read_measurements ──▶ make_rows ──▶ table on the terminal, array for machines
//
// Invariants: (1) a row compares numbers of one run; (2) a number that was not measured is absent, never zero; (3)
// `bar` is the value that `ours` must not exceed (for a rate: must reach), the strictest of what the row asks for unless
// it says `either`; (4) a row without `ours` is not ok.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::bench {

/// What one work must reach. A bound of 0 is not asked for.
struct Demand {
    std::string_view name;
    std::string_view unit;
    std::string_view what;
    double scale = 1;          ///< from `per_op` to the unit
    std::string_view floor{};  ///< measurement that is the floor, if it is another work's
    double floor_ratio_max = 0;
    double floor_ratio_min = 0;  ///< for a rate
    double peer_ratio_min = 0;
    double value_max = 0;
    double value_min = 0;
    bool either = false;      ///< of several upper bounds the largest counts, not the smallest
    bool difference = false;  ///< ours is `ours` minus `without`
};

[[nodiscard]] const std::vector<Demand>& demands();

struct Row {
    const Demand* demand = nullptr;
    std::optional<double> ours;
    std::optional<double> floor;
    std::optional<double> peer;
    std::optional<double> bar;
    bool ok = false;
};

/// Medians of `per_op` by measurement ("switch/floor"); a measurement that ran once counts as its own median.
using Measurements = std::map<std::string, double, std::less<>>;

/// Adds one file of Google Benchmark's. Throws std::runtime_error naming the file and what was expected.
void read_measurements(const std::string& file, Measurements& into);
/// Rows of the demands whose name `pattern` is found in, a regular expression; all for an empty one. Throws
/// std::regex_error.
[[nodiscard]] std::vector<const Demand*> select(const std::string& pattern);
[[nodiscard]] std::vector<Row> make_rows(const std::vector<const Demand*>& selected, const Measurements& measured);
/// For --benchmark_filter: the measurements that these rows need.
[[nodiscard]] std::string filter_of(const std::vector<const Demand*>& selected);

[[nodiscard]] std::string as_table(const std::vector<Row>& rows);
/// An array of {name, ours, unit, floor, peer, bar, ok}; null where a column does not apply.
[[nodiscard]] std::string as_json(const std::vector<Row>& rows);

}  // namespace heddle::bench
