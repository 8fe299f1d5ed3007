// SPDX-License-Identifier: Apache-2.0
// bench_table: turns Google Benchmark's JSON into the table of ratios. ci/bench runs it; status 0 all reached, 1
// something was not, 2 unusable input.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <regex>

#include "heddle/tools/bench/bench_table.hpp"

namespace {

/// Whole or not at all: a reader never sees half a file.
void write_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".tmp";
    std::ofstream output(temporary, std::ios::binary);
    output << text;
    output.close();
    if (!output || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        throw std::runtime_error(fmt::format("{}: cannot be written", path));
    }
}

int run(int argc, char** argv) {
    std::string only;
    std::string json;
    bool print_filter = false;
    std::vector<std::string> files;
    CLI::App app{"Turns Google Benchmark's JSON into Heddle's table of ratios."};
    app.add_option("--only", only, "regular expression that a work's name must contain");
    app.add_option("--json", json, "also write the rows to this file");
    app.add_flag("--filter", print_filter, "print the --benchmark_filter of these works instead");
    app.add_option("report", files, "reports of heddle_bench");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 2; }

    const std::vector<const heddle::bench::Demand*> selected = heddle::bench::select(only);
    if (selected.empty()) { throw std::runtime_error(fmt::format("--only: no work is named like \"{}\"", only)); }
    if (print_filter) {
        fmt::print("{}\n", heddle::bench::filter_of(selected));
        return 0;
    }
    heddle::bench::Measurements measured;
    for (const std::string& file : files) { heddle::bench::read_measurements(file, measured); }
    const std::vector<heddle::bench::Row> rows = heddle::bench::make_rows(selected, measured);
    fmt::print("{}", heddle::bench::as_table(rows));
    if (!json.empty()) { write_file(json, heddle::bench::as_json(rows)); }
    for (const heddle::bench::Row& row : rows) {
        if (!row.ok) { return 1; }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::regex_error& error) {
        fmt::print(stderr, "bench_table: --only: expected a regular expression: {}\n", error.what());
    } catch (const std::exception& error) { fmt::print(stderr, "bench_table: {}\n", error.what()); }
    return 2;
}
