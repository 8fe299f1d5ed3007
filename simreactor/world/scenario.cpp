// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/scenario.hpp"

#include <algorithm>
#include <charconv>

namespace heddle::sim {
namespace {

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
    return value;
}

std::string quoted(std::string_view text) {
    constexpr std::size_t shown = 60;
    return "'" + std::string(text.substr(0, shown)) + (text.size() > shown ? "…'" : "'");
}

std::string names_of(const Scenario& scenario) {
    std::string names;
    for (const Parameter& parameter : scenario.parameters) { names += (names.empty() ? "" : ", ") + parameter.name; }
    return names.empty() ? "no parameters" : "one of " + names;
}

}  // namespace

std::int64_t Parameters::integer(std::string_view name) const {
    const std::optional<std::int64_t> value = to_integer(text(name));
    HEDDLE_ASSERT(value.has_value(), "SC2");
    return *value;
}

const std::string& Parameters::text(std::string_view name) const {
    const auto at = values_.find(std::string(name));
    HEDDLE_ASSERT(at != values_.end(), "SC2");
    return at->second;
}

std::string ScenarioCall::text() const {
    std::string text = scenario->name;
    char separator = ':';
    for (const Parameter& parameter : scenario->parameters) {
        const std::string& value = parameters.text(parameter.name);
        if (value == parameter.initial) { continue; }
        text += separator + parameter.name + "=" + value;
        separator = ',';
    }
    return text;
}

Result<ScenarioCall> make_call(std::span<const Scenario> scenarios, std::string_view name,
                               const std::map<std::string, std::string>& parameters) {
    const auto found = std::ranges::find_if(scenarios, [&](const Scenario& scenario) { return scenario.name == name; });
    if (found == scenarios.end()) { return InputError{"scenario", "a scenario of this program (see simrun list)", quoted(name)}; }
    ScenarioCall call{&*found, {}};
    for (const Parameter& parameter : found->parameters) { call.parameters.set(parameter.name, parameter.initial); }
    for (const auto& parameter_given : parameters) {
        const std::string& key = parameter_given.first;
        const std::string& value = parameter_given.second;
        const auto known = std::ranges::find_if(found->parameters, [&](const Parameter& parameter) { return parameter.name == key; });
        if (known == found->parameters.end()) {
            return InputError{found->name, names_of(*found), "parameter " + quoted(key)};
        }
        if (!known->is_text) {
            const std::optional<std::int64_t> number = to_integer(value);
            if (!number || *number < known->min || *number > known->max) {
                return InputError{found->name + ":" + key,
                                  "an integer from " + std::to_string(known->min) + " to " + std::to_string(known->max), quoted(value)};
            }
            call.parameters.set(key, std::to_string(*number));
        } else {
            if (!known->words.empty() && std::ranges::find(known->words, value) == known->words.end()) {
                std::string words;
                for (const std::string& word : known->words) { words += (words.empty() ? "" : " or ") + word; }
                return InputError{found->name + ":" + key, words, quoted(value)};
            }
            call.parameters.set(key, value);
        }
    }
    if (found->check) {
        if (std::optional<InputError> wrong = found->check(call.parameters); wrong) { return *std::move(wrong); }
    }
    return call;
}

Result<ScenarioCall> parse_call(std::span<const Scenario> scenarios, std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    std::map<std::string, std::string> parameters;
    std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    const auto scenario = std::ranges::find_if(scenarios, [&](const Scenario& known) { return known.name == name; });
    while (!rest.empty()) {
        const std::size_t equals = rest.find('=');
        if (equals == std::string_view::npos) { return InputError{std::string(name), "key=value", quoted(rest)}; }
        const std::string key(rest.substr(0, equals));
        bool takes_rest = false;
        if (scenario != scenarios.end()) {
            for (const Parameter& parameter : scenario->parameters) {
                takes_rest = takes_rest || (parameter.name == key && parameter.is_text && parameter.words.empty());
            }
        }
        const std::size_t comma = takes_rest ? std::string_view::npos : rest.find(',', equals);
        const std::string value(rest.substr(equals + 1, comma == std::string_view::npos ? comma : comma - equals - 1));
        if (!parameters.emplace(key, value).second) { return InputError{std::string(name), "each key once", quoted(key) + " twice"}; }
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    return make_call(scenarios, name, parameters);
}

}  // namespace heddle::sim
