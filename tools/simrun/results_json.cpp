// SPDX-License-Identifier: Apache-2.0
// The results of the subcommands as JSON. Members have the names that documents and traces use for the same things.
#include <nlohmann/json.hpp>

#include "heddle/tools/simrun/detail/results.hpp"

namespace heddle::detail {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes that are no UTF-8 (a file's name) become U+FFFD.
std::string text_of(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json outcome_of(const trace::Outcome& outcome) {
    return {{"kind", to_string(outcome.kind)},
            {"invariant", or_null(outcome.invariant)},
            {"message", outcome.message},
            {"mode", or_null(outcome.mode)},
            {"file", or_null(outcome.file)},
            {"line", outcome.line},
            {"step", outcome.step},
            {"who", outcome.who},
            {"steps", outcome.steps},
            {"choices", outcome.choices},
            {"end_ns", outcome.end.ns()}};
}

Json estimate_of(const sim::Estimate& estimate) {
    return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

Json difference_of(const trace::Divergence& divergence) {
    return {{"kind", to_string(divergence.kind)},   {"where", divergence.where},
            {"expected", divergence.expected},      {"found", divergence.found},
            {"before", divergence.before},          {"after_expected", divergence.after_expected},
            {"after_found", divergence.after_found}};
}

}  // namespace

std::string list_json(std::span<const sim::Scenario> scenarios) {
    Json list = Json::array();
    for (const sim::Scenario& scenario : scenarios) {
        Json parameters = Json::array();
        for (const sim::Parameter& parameter : scenario.parameters) {
            Json entry{{"name", parameter.name},
                       {"about", parameter.about},
                       {"type", parameter.is_text ? "text" : "integer"},
                       {"initial", parameter.initial}};
            if (!parameter.is_text) {
                entry["min"] = parameter.min;
                entry["max"] = parameter.max;
            }
            parameters.push_back(std::move(entry));
        }
        list.push_back({{"name", scenario.name},
                        {"parameters", std::move(parameters)},
                        {"about", scenario.about},
                        {"source", or_null(scenario.source)},
                        {"planted", or_null(scenario.planted)}});
    }
    return text_of(list, 2);
}

std::string run_json(const RunResult& result) {
    const trace::Recipe& recipe = result.trace.recipe;
    return text_of({{"scenario", result.scenario},
                    {"seed", recipe.seed},
                    {"reactor", recipe.reactor},
                    {"order", to_string(recipe.order)},
                    {"time", to_string(recipe.time)},
                    {"outcome", outcome_of(result.trace.outcome)},
                    {"trace", or_null(result.file)},
                    {"replay", or_null(result.command)}});
}

std::string explore_json(const SearchResult& result) {
    const sim::Report& report = result.report;
    Json violations = Json::array();
    for (const SearchResult::Violation& violation : result.violations) {
        violations.push_back({{"invariant", violation.found.invariant},
                              {"message", violation.found.message},
                              {"mode", violation.found.mode},
                              {"constraints", violation.found.trace.constraints.order.size() + violation.found.trace.constraints.values.size()},
                              {"confirmed_on_libuv", violation.on_libuv ? Json(*violation.on_libuv) : Json(nullptr)},
                              {"trace", violation.file},
                              {"replay", violation.command},
                              {"runs", violation.found.runs},
                              {"decisions", violation.found.trace.decisions.size()},
                              {"decisions_found", violation.found.decisions_found},
                              {"shrink_runs", violation.found.shrink_runs}});
    }
    Json sizes = Json::array();
    for (const sim::TreeSize& size : report.sizes) {
        sizes.push_back({{"order", to_string(size.order)},
                         {"schedules", estimate_of(size.schedules)},
                         {"probes", size.probes},
                         {"runs", size.runs},
                         {"seconds_left", size.seconds_left}});
    }
    Json risks = Json::array();
    for (const sim::SampleRisk& risk : report.risks) {
        risks.push_back({{"order", to_string(risk.order)},
                         {"samples", risk.samples},
                         {"distinct", risk.distinct},
                         {"unseen", estimate_of(risk.unseen)},
                         {"violation_at_most", risk.violation_most}});
    }
    Json faults = Json::array();
    for (std::size_t index = 0; index < static_cast<std::size_t>(sim::FaultKind::count_); ++index) {
        const auto kind = static_cast<sim::FaultKind>(index);
        const sim::FaultTotals::Count& count = report.faults.of(kind);
        if (count.opportunities == 0) { continue; }
        faults.push_back({{"kind", sim::to_string(kind)}, {"opportunities", count.opportunities}, {"struck", count.struck}});
    }
    const double rate = report.seconds > 0 ? static_cast<double>(report.runs) / report.seconds : 0;
    return text_of({{"scenario", result.scenario},
                    {"seed", result.seed},
                    {"strategy", to_string(result.strategy)},
                    {"order", result.order},
                    {"time", to_string(result.time)},
                    {"complete", report.complete},
                    {"reduction", or_null(report.reduction)},
                    {"rests_on", report.rests_on},
                    {"bound", or_null(report.bound)},
                    {"runs", report.runs},
                    {"traces", report.traces},
                    {"redundant", report.redundant},
                    {"cut", report.cut},
                    {"deaths", result.deaths},
                    {"audited", result.audited},
                    {"audited_sharing", report.audited},
                    {"seconds", report.seconds},
                    {"schedules_per_second", rate},
                    {"sizes", std::move(sizes)},
                    {"risks", std::move(risks)},
                    {"faults", std::move(faults)},
                    {"interrupted", result.interrupted},
                    {"violations", std::move(violations)}});
}

std::string sweep_json(const SweepResult& result) {
    Json violations = Json::array();
    for (const SweepResult::Violation& violation : result.violations) {
        violations.push_back({{"places", violation.places},
                              {"invariant", violation.invariant},
                              {"message", violation.message},
                              {"trace", or_null(violation.file)},
                              {"replay", or_null(violation.command)}});
    }
    return text_of({{"scenario", result.scenario},
                    {"of", result.of},
                    {"places", result.places},
                    {"singles", result.singles},
                    {"pairs", result.pairs},
                    {"runs", result.runs},
                    {"complete", result.complete},
                    {"interrupted", result.interrupted},
                    {"seconds", result.seconds},
                    {"violations", std::move(violations)}});
}

std::string replay_json(const ReplayReport& report) {
    const sim::ReplayResult& result = report.result;
    Json json{{"trace", report.file},
              {"scenario", result.trace.recipe.scenario},
              {"seed", result.trace.recipe.seed},
              {"outcome", outcome_of(result.trace.outcome)},
              {"reproduced", result.reproduced},
              {"same_run", result.same_hash},
              {"diverged", report.diverged},
              {"divergence", nullptr},
              {"difference", nullptr},
              {"updated", report.updated}};
    if (result.divergence) {
        json["divergence"] = {{"kind", to_string(result.divergence->kind)}, {"text", result.divergence_text}};
    }
    if (report.difference && report.difference->divergence) {
        json["difference"] = difference_of(*report.difference->divergence);
    }
    if (report.adaptive) { json["adaptive"] = {{"unmet", report.unmet}, {"runs", report.runs}}; }
    return text_of(json);
}

std::string shrink_json(const ShrinkResult& result) {
    return text_of({{"trace", result.file},
                    {"from", result.from},
                    {"scenario", result.trace.recipe.scenario},
                    {"outcome", outcome_of(result.trace.outcome)},
                    {"decisions_before", result.decisions_before},
                    {"decisions", result.trace.decisions.size()},
                    {"constraints", result.trace.constraints.order.size() + result.trace.constraints.values.size()},
                    {"edit_proof", result.edit_proof},
                    {"runs", result.runs},
                    {"minimal", !result.budget_spent},
                    {"replay", result.command}});
}

std::string diff_json(const trace::TraceDiff& diff) {
    Json json{{"same", diff.same_run()}, {"notes", diff.notes}, {"divergence", nullptr}};
    if (diff.divergence) { json["divergence"] = difference_of(*diff.divergence); }
    return text_of(json);
}

std::string selfcheck_json(const SelfcheckResult& result) {
    Json counts = Json::array();
    for (const SelfcheckLine& line : result.lines) {
        counts.push_back({{"scenario", line.known.call},
                          {"reduction", sim::to_string(line.reduction)},
                          {"bound", line.known.bound ? Json(*line.known.bound) : Json(nullptr)},
                          {"expected", line.known.traces},
                          {"traces", line.count.traces},
                          {"redundant", line.count.redundant},
                          {"runs", line.count.runs},
                          {"complete", line.count.complete},
                          {"seconds", line.seconds},
                          {"equal", line.equal},
                          {"remark", or_null(line.known.remark)}});
    }
    return text_of({{"equal", result.equal},
                    {"counts", std::move(counts)},
                    {"interrupted", result.interrupted}});
}

std::string samplers_json(const SamplersResult& result) {
    Json means = Json::array();
    for (const SamplerLine& line : result.lines) {
        means.push_back({{"scenario", line.call},
                         {"strategy", sim::to_string(line.strategy)},
                         {"known", line.known},
                         {"mean", line.measured.mean()},
                         {"ratio_max", line.ratio_max},
                         {"within", line.within},
                         {"remark", or_null(line.remark)},
                         {"campaigns", line.measured.campaigns},
                         {"found", line.measured.found},
                         {"runs", line.measured.runs},
                         {"seconds", line.seconds}});
    }
    return text_of({{"within", result.within},
                    {"count", result.count},
                    {"explained", result.explained},
                    {"portfolio_within", result.portfolio_within},
                    {"portfolio_count", result.portfolio_count},
                    {"means", std::move(means)},
                    {"interrupted", result.interrupted}});
}

std::string error_json(ExitStatus status, const std::string& text) {
    return text_of({{"status", static_cast<int>(status)}, {"error", text}});
}

}  // namespace heddle::detail
