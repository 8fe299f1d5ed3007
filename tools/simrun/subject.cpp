// SPDX-License-Identifier: Apache-2.0
// What is asked for, by name or by trace, and whether this program can run it.
#include "heddle/tools/simrun/detail/subject.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/reactor/timing.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::detail {
namespace {

/// A member's name inside a JSON pointer.
std::string escaped(std::string_view name) {
    std::string text;
    for (const char c : name) { text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c); }
    return text;
}

/// Lets the program that has the planted bugs take over. Returns if there is none.
void hand_over(const Invocation& invocation) {
    if (invocation.options.planted_program.empty()) { return; }
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) { return; }
    const std::filesystem::path other = self.parent_path() / invocation.options.planted_program;
    if (::access(other.c_str(), X_OK) != 0 || std::filesystem::equivalent(self, other, error)) { return; }
    // argv[0] stays: whatever that program prints names the one that was called.
    ::execv(other.c_str(), invocation.argv);
    throw HarnessFailure{"cannot start " + other.string() + ": " + std::generic_category().message(errno)};
}

const sim::Scenario* find(const Invocation& invocation, std::string_view name) {
    const auto found = std::ranges::find(invocation.options.scenarios, name, &sim::Scenario::name);
    return found == invocation.options.scenarios.end() ? nullptr : &*found;
}

void select_planted(const Invocation& invocation, const std::string& id, const std::string& where) {
    const auto& select = invocation.options.select_planted;
    if (select ? select(id) : id.empty()) { return; }
    hand_over(invocation);
    refuse(where, "a planted bug that this program has, or the program that has it beside this one",
           trace::one_line(id));
}

/// Adds what SimrunOptions has for every scenario, and finds out whether its texts are what it expects.
Subject prepared(const Invocation& invocation, sim::ScenarioCall call, std::string planted, const std::string& where) {
    sim::Scenario scenario = *call.scenario;
    scenario.planted = std::move(planted);
    if (invocation.options.oracles) {
        scenario.oracles = [own = std::move(scenario.oracles),
                            more = invocation.options.oracles](const sim::Parameters& values) {
            sim::OracleList judges = own ? own(values) : sim::OracleList{};
            for (auto& judge : more()) { judges.push_back(std::move(judge)); }
            return judges;
        };
    }
    Subject subject{std::make_unique<const sim::Scenario>(std::move(scenario)), std::move(call)};
    subject.call.scenario = subject.scenario.get();
    try {
        // A generated program is a text: whether it is one is known when it is read.
        static_cast<void>(subject.call.program());
        static_cast<void>(subject.call.oracles());
    } catch (const ValueError& error) {
        refuse(where, "parameters that the scenario can read", trace::one_line(error.what()));
    }
    return subject;
}

void check_world(const trace::Recipe& recipe, const std::string& path) {
    const auto at = [&path](const char* member) { return path + ": /recipe/" + member; };
    if (recipe.reactor != "sim" && recipe.reactor != "libuv") {
        refuse(at("reactor"), "\"sim\" or \"libuv\"", trace::one_line(recipe.reactor));
    }
    constexpr Duration longest = std::chrono::hours(24 * 366);
    const auto check_range = [&](const char* member, Duration value, Duration least) {
        if (value < least || value > longest) {
            refuse(at(member), std::to_string(least.count()) + " to " + std::to_string(longest.count()) + " ns",
                   std::to_string(value.count()));
        }
    };
    check_range("resolution_ns", recipe.resolution, Duration(1));
    check_range("jitter_ns", recipe.jitter, Duration(0));
    check_range("latency_min_ns", recipe.latency_min, Duration(0));
    check_range("latency_max_ns", recipe.latency_max, Duration(0));
    const bool bounded_lateness = recipe.time == trace::TimeLevel::T2 || recipe.time == trace::TimeLevel::T3;
    if (recipe.jitter != Duration::zero() && !bounded_lateness) {
        refuse(at("jitter_ns"), "0, as only T2 and T3 have a bounded lateness", std::to_string(recipe.jitter.count()));
    }
    const auto refuse_unbuilt = [&at](const char* member, const std::string& found) {
        refuse(at(member), "the default", found + ", which is not built yet");
    };
    if (recipe.slack != Duration::zero()) { refuse_unbuilt("slack_ns", std::to_string(recipe.slack.count())); }
    if (recipe.time_max != Duration::zero()) { refuse_unbuilt("time_max_ns", std::to_string(recipe.time_max.count())); }
    for (const auto& [name, value] : recipe.knobs) {
        if (name == sim::questions_knob) {
            if (value != "one") { refuse(path + ": /recipe/knobs/" + escaped(name), "one", trace::one_line(value)); }
            continue;
        }
        if (name != sim::sweep_knob) { refuse(path + ": /recipe/knobs/" + escaped(name), "no such option", trace::one_line(value)); }
        if (!sim::sweep_from(value)) { refuse(path + ": /recipe/knobs/" + escaped(name), "cancel, fail, both or shutdown", trace::one_line(value)); }
    }
    constexpr std::uint64_t steps_max = 100'000'000;  // some minutes; more would look like a hang
    if (recipe.steps_max > steps_max) {
        refuse(at("steps_max"), "at most " + std::to_string(steps_max), std::to_string(recipe.steps_max));
    }
}

void check_decisions(const trace::Trace& trace, const std::string& path) {
    std::set<std::pair<ChoiceKind, std::string_view>> points;
    for (std::size_t i = 0; i < trace.decisions.size(); ++i) {
        const trace::Decision& decision = trace.decisions[i];
        if (!points.emplace(decision.kind, decision.at).second) {
            refuse(path + ": /decisions/" + std::to_string(i) + "/at", "each choice point once",
                   trace::one_line(decision.at) + " again");
        }
    }
}

/// "program/any:program: /0/1", as a scenario says it, inside a trace: "file: /recipe/parameters/program: /0/1".
std::string place_of(const std::string& where, const trace::Recipe& recipe, const std::string& path) {
    const std::string before = recipe.scenario + ":";
    return path + ": /recipe/parameters" + (where.starts_with(before) ? "/" + where.substr(before.size()) : "");
}

/// Every parameter has to be there: what a default stands for may have changed since.
void check_parameters(const sim::Scenario& scenario, const trace::Recipe& recipe, const std::string& path) {
    std::string names;
    for (const sim::Parameter& parameter : scenario.parameters) {
        names += (names.empty() ? "" : ", ") + parameter.name;
        if (!recipe.parameters.contains(parameter.name)) {
            refuse(path + ": /recipe/parameters", "the parameter " + parameter.name + " of " + scenario.name,
                   "none of that name");
        }
    }
    for (const auto& [name, value] : recipe.parameters) {
        const auto known = std::ranges::find(scenario.parameters, name, &sim::Parameter::name);
        if (known == scenario.parameters.end()) {
            refuse(path + ": /recipe/parameters/" + escaped(name),
                   names.empty() ? "no parameter, as " + scenario.name + " has none"
                                 : "a parameter of " + scenario.name + " (" + names + ")",
                   "an unknown one");
        }
    }
}

}  // namespace

Subject subject_of(const Invocation& invocation, const std::string& text, const std::optional<std::string>& planted) {
    const std::string name = text.substr(0, text.find(':'));
    if (find(invocation, name) == nullptr) {
        if (name.starts_with("planted/")) { hand_over(invocation); }
        refuse("scenario", "one of those that `simrun list` shows", trace::one_line(name));
    }
    Result<sim::ScenarioCall> call = sim::parse_call(invocation.options.scenarios, text);
    if (!call) { throw UnusableInput{call.error()}; }
    const std::string id = planted.value_or(call->scenario->planted);
    select_planted(invocation, id, planted ? "--planted" : name);
    return prepared(invocation, *std::move(call), id, name);
}

Subject subject_of(const Invocation& invocation, const trace::Trace& trace, const std::string& path) {
    const trace::Recipe& recipe = trace.recipe;
    const sim::Scenario* scenario = find(invocation, recipe.scenario);
    if (scenario == nullptr) {
        if (!recipe.planted.empty() || recipe.scenario.starts_with("planted/")) { hand_over(invocation); }
        refuse(path + ": /recipe/scenario", "a scenario of this program", trace::one_line(recipe.scenario));
    }
    check_parameters(*scenario, recipe, path);
    select_planted(invocation, recipe.planted, path + ": /recipe/planted");
    Result<sim::ScenarioCall> call = sim::make_call(invocation.options.scenarios, recipe.scenario, recipe.parameters);
    if (!call) { refuse(place_of(call.error().where, recipe, path), call.error().expected, call.error().found); }
    Subject subject = prepared(invocation, *std::move(call), recipe.planted, path + ": /recipe/parameters");
    const auto swept = recipe.knobs.find(std::string(sim::sweep_knob));
    if (swept != recipe.knobs.end()) { make_swept(subject, *sim::sweep_from(swept->second)); }
    return subject;
}

void make_swept(Subject& subject, sim::SweepOf of) {
    subject.scenario = std::make_unique<const sim::Scenario>(sim::swept(*subject.scenario, of));
    subject.call.scenario = subject.scenario.get();
}

trace::Trace read_input(const std::string& path) {
    Result<trace::Trace> trace = trace::read_trace(path);
    if (!trace) { throw UnusableInput{trace.error()}; }
    check_world(trace->recipe, path);
    check_decisions(*trace, path);
    return *std::move(trace);
}

trace::Recipe recipe_of(const Subject& subject, const Arguments& arguments) {
    trace::Recipe recipe;
    sim::WorldOptions world;
    world.seed = arguments.seed.value_or(1);
    world.order = arguments.order.value_or(trace::Order::faithful);
    world.timing = sim::Timing::at(arguments.time.value_or(trace::TimeLevel::T1));
    if (subject.scenario->world) { subject.scenario->world(world); }
    sim::describe_world(world, recipe);
    recipe.scenario = subject.scenario->name;
    recipe.parameters = subject.call.parameters.values();
    recipe.planted = subject.scenario->planted;
    recipe.strategy = arguments.seed && !arguments.on_libuv ? "random" : "fifo";
    return recipe;
}

}  // namespace heddle::detail
