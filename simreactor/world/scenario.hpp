// SPDX-License-Identifier: Apache-2.0
// Scenario: a named program with parameters and the oracles that judge it. What simrun runs, explores, replays and lists.
//
//   "litmus/readers:n=8,k=2"  ──parse──▶ ScenarioCall {name, parameters} ──find──▶ Scenario ──program(parameters)──▶ Program
//
// SC1  A scenario is a value and builds its program anew for every run: no state survives from one run to the next (BUG-168).
// SC2  Parameters are checked against their bounds before anything runs; what is wrong is said in one line.
// There is no registration: lists of scenarios are written out by hand and passed along.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/result.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {

/// Values of a call, by name; each parameter of the scenario has one.
class Parameters {
public:
    [[nodiscard]] std::int64_t integer(std::string_view name) const;
    [[nodiscard]] const std::string& text(std::string_view name) const;
    [[nodiscard]] const std::map<std::string, std::string>& values() const { return values_; }
    void set(std::string name, std::string value) { values_[std::move(name)] = std::move(value); }

private:
    std::map<std::string, std::string> values_;
};

struct Parameter {
    std::string name;
    std::string about;
    std::string initial;  ///< used where a call gives none
    bool is_text = false; ///< any text, as a generated program; else an integer
    std::int64_t min = 0;
    std::int64_t max = 0;
    std::vector<std::string> words{};  ///< of a text that is one of a few words; empty: any text, up to the end of the call
};

using OracleList = std::vector<std::unique_ptr<Oracle>>;

struct Scenario {
    std::string name;   ///< "subject/name"
    std::string about;  ///< one line
    std::string source; ///< public report that it comes from ("owner/name#number"), or empty
    std::vector<Parameter> parameters{};
    std::function<Program(const Parameters&)> program;
    /// What is wrong with a text parameter, beyond the bounds above; none if nothing is. Asked before anything is built.
    std::function<std::optional<InputError>(const Parameters&)> check{};
    /// Judges of one world; may be empty, then assertions, checks, deadlock and hangs are all that is looked for.
    std::function<OracleList(const Parameters&)> oracles{};
    /// Changes the options of its worlds: what it needs to be reached, or declares irrelevant.
    std::function<void(WorldOptions&)> world{};
    /// Planted bug that it is meant for ("MUT-07"); empty for scenarios that a correct runtime passes.
    std::string planted{};
    /// Deviations within which a search of it is complete or finds its bug; for tests. 0 is the baseline run.
    std::uint32_t depth = 1;
};

/// A scenario with its parameters filled in.
struct ScenarioCall {
    const Scenario* scenario = nullptr;
    Parameters parameters;

    /// "subject/name:key=value,…" with the parameters that differ from their initial values.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] Program program() const { return scenario->program(parameters); }
    [[nodiscard]] OracleList oracles() const { return scenario->oracles ? scenario->oracles(parameters) : OracleList{}; }
};

/// Finds and checks "subject/name:key=value,key=value". A text parameter takes the rest of the text.
[[nodiscard]] Result<ScenarioCall> parse_call(std::span<const Scenario> scenarios, std::string_view text);
/// The same from a trace's recipe.
[[nodiscard]] Result<ScenarioCall> make_call(std::span<const Scenario> scenarios, std::string_view name,
                                             const std::map<std::string, std::string>& parameters);

}  // namespace heddle::sim
