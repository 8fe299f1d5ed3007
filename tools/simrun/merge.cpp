// SPDX-License-Identifier: Apache-2.0
// simrun merge: the results of the shards of one search, added up.
//
//   shard-0-of-4.json … shard-3-of-4.json ──▶ same search? every shard once? ──▶ counts: sums, or sizes of unions where shards may meet
//                                                                            └▶ violations: each set of decisions once
//
// A result that comes twice is taken once: array jobs are repeated where a machine was lost.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "heddle/tools/simrun/detail/campaign_store.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/tools/simrun/detail/worker_search.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::detail {
namespace {

std::vector<std::string> result_files(const std::vector<std::string>& given) {
    std::vector<std::string> files;
    for (const std::string& path : given) {
        std::error_code error;
        if (!std::filesystem::is_directory(path, error)) {
            files.push_back(path);
            continue;
        }
        std::vector<std::string> found;
        // In no order of the file system's: sorted below.
        for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("shard-") && name.ends_with(".json") && !name.ends_with(".trace.json")) {
                found.push_back(entry.path().string());
            }
        }
        if (error) { refuse(path, "a folder that can be read", error.message()); }
        if (found.empty()) { refuse(path, "results of shards (shard-i-of-n.json)", "none"); }
        std::ranges::sort(found);
        files.insert(files.end(), found.begin(), found.end());
    }
    return files;
}

/// What makes two traces of a violation the same finding.
std::string identity(const trace::Trace& trace) {
    std::string text = trace.outcome.invariant;
    for (const trace::Decision& decision : trace.decisions) {
        text +=
            fmt::format("\n{} {} {} {}", to_string(decision.kind), decision.at, decision.choose, decision.candidate);
    }
    return text;
}

class Merge {
public:
    void add(const std::string& path) {
        std::vector<std::uint64_t> seen;
        CampaignFile file = read_campaign(path, seen);
        if (first_.empty()) {
            first_ = path;
            search_ = file.search;
            count_ = file.shard.count;
        }
        const std::string other = difference(search_, file.search);
        if (!other.empty()) {
            refuse(path, "a shard of the search of " + first_, "one of another search, whose " + other);
        }
        if (file.shard.count != count_) {
            refuse(path, fmt::format("one of {} shards, as {} is", count_, first_),
                   fmt::format("one of {}", file.shard.count));
        }
        if (!shards_.emplace(file.shard.index, path).second) { return; }
        seen_.insert(seen_.end(), seen.begin(), seen.end());
        for (const CampaignFile::Order& order : file.orders) {
            CampaignFile::Order& all = orders_[order.name];
            if (all.name.empty()) {
                all = order;
                all.report.complete = true;
                all.report.runs = all.report.traces = all.report.redundant = all.report.cut = 0;
                all.report.seconds = 0;
                all.report.faults = {};
                all.deaths = 0;
            }
            add_report(all.report, order.report);
            all.report.seconds += order.report.seconds;
            all.deaths += order.deaths;
            ++shards_of_[order.name];
        }
        const std::size_t slash = path.rfind('/');
        for (const CampaignFile::Violation& violation : file.violations) {
            const std::string trace_path =
                (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + violation.trace;
            Result<trace::Trace> trace = trace::read_trace(trace_path);
            if (!trace) { throw UnusableInput{trace.error()}; }
            if (!known_.insert(identity(*trace)).second) { continue; }
            SearchResult::Violation found;
            found.file = trace_path;
            found.found.invariant = violation.invariant;
            found.found.message = violation.message;
            found.found.mode = violation.mode;
            found.found.decisions_found = trace->decisions.size();
            found.found.trace = *std::move(trace);
            result_.violations.push_back(std::move(found));
        }
    }

    SearchResult result(std::vector<std::uint64_t>& missing) {
        for (std::uint64_t i = 0; i < count_; ++i) {
            if (!shards_.contains(i)) { missing.push_back(i); }
        }
        std::ranges::sort(seen_);
        seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
        result_.scenario = search_["scenario"];
        result_.seed = std::strtoull(search_["seed"].c_str(), nullptr, 10);
        result_.strategy = sim::strategy_from(search_["strategy"]).value_or(sim::Strategy::exhaustive);
        result_.order = search_["order"];
        using trace::TimeLevel;
        for (const TimeLevel level : {TimeLevel::T0, TimeLevel::T1, TimeLevel::T2, TimeLevel::T3, TimeLevel::T4}) {
            if (search_["time"] == trace::to_string(level)) { result_.time = level; }
        }
        sim::Report& all = result_.report;
        all.complete = missing.empty() && orders_.size() == (result_.order == "both" ? 2U : 1U);
        bool again = false;
        for (auto& [name, order] : orders_) {
            sim::Report& report = order.report;
            if (!seen_.empty()) {
                const std::uint64_t bit = name == "any" ? 1 : 0;
                report.traces = static_cast<std::uint64_t>(
                    std::ranges::count_if(seen_, [bit](std::uint64_t hash) { return (hash & 1) == bit; }));
            }
            if (again && report.traces > 0) { --report.traces; }  // the baseline run, in both orders
            again = true;
            all.complete = all.complete && shards_of_[name] == count_;
            add_report(all, report);
            all.seconds += report.seconds;
            result_.deaths += order.deaths;
        }
        all.complete = all.complete && result_.violations.empty();
        return std::move(result_);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    std::string first_;
    std::map<std::string, std::string> search_;
    std::uint64_t count_ = 1;
    std::map<std::uint64_t, std::string> shards_;
    std::map<std::string, CampaignFile::Order> orders_;
    std::map<std::string, std::uint64_t> shards_of_;
    std::vector<std::uint64_t> seen_;
    std::set<std::string> known_;
    SearchResult result_;
};

}  // namespace

ExitStatus merge_command(const Invocation& invocation, const Arguments& arguments) {
    Merge merge;
    for (const std::string& path : result_files(arguments.traces)) { merge.add(path); }
    std::vector<std::uint64_t> missing;
    SearchResult result = merge.result(missing);
    for (SearchResult::Violation& violation : result.violations) {
        violation.command = command_to_replay(invocation, violation.found.trace.recipe.seed, violation.file);
    }
    const ExitStatus status = result.violations.empty() ? ExitStatus::nothing_violated : ExitStatus::violated;
    if (invocation.json) {
        fmt::print("{}", explore_json(result));
        return status;
    }
    std::string lost;
    for (std::size_t i = 0; i < missing.size() && i < 20; ++i) {
        lost += fmt::format("{}{}", i == 0 ? "" : ", ", missing[i]);
    }
    const sim::Report& report = result.report;
    fmt::print("{}: {}\n  {} of {} shards, {} in {:.1f}s of work\n", result.scenario,
               report.complete ? sim::complete_text(report)
                               : fmt::format("not complete: {} traces, {} redundant", report.traces, report.redundant),
               merge.count() - missing.size(), merge.count(), trace::counted(report.runs, "schedule"), report.seconds);
    if (!missing.empty()) { fmt::print("  missing: {}{}\n", lost, missing.size() > 20 ? ", …" : ""); }
    if (result.violations.empty()) { fmt::print("  nothing violated\n"); }
    for (const SearchResult::Violation& violation : result.violations) {
        fmt::print("{} {}: {}\n{}\n",
                   violation.found.trace.outcome.kind == trace::OutcomeKind::crashed ? "CRASHED" : "VIOLATED",
                   violation.found.invariant, violation.found.message, violation.command);
    }
    return status;
}

}  // namespace heddle::detail
