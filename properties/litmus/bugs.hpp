// SPDX-License-Identifier: Apache-2.0
// Bug programs: the public benchmark programs by which random schedulers are compared, as litmus scenarios (docs/explorer.md, "Samplers").
//
// The originals are SCTBench's, as PERIOD and SURW ran them. Every access is one step; a few repeated reads inside locked sections of the
// originals are merged.
#pragma once

#include "heddle/properties/litmus/litmus.hpp"
#include "heddle/simreactor/explore/known_means.hpp"

namespace heddle::prop {

/// Main's view of a bug program: how it starts and what a lock does, by the parameters `start`, `pad` and `use` that all of them have beside `edit`.
[[nodiscard]] Litmus::Sampling sampling_of(const sim::Parameters& parameters);

/// A scenario with these parameters and the four common ones.
[[nodiscard]] sim::Scenario bug_scenario(std::string name, std::string about, std::vector<sim::Parameter> parameters,
                                         std::function<Litmus(const sim::Parameters&)> build);

[[nodiscard]] std::vector<sim::Scenario> litmus_bugs();          ///< reorder, twostage, stringbuffer, locks and buffers
[[nodiscard]] std::vector<sim::Scenario> litmus_queue_bugs();    ///< work stealing, stacks, queues
[[nodiscard]] std::vector<sim::Scenario> litmus_pointer_bugs();  ///< the small programs after CVE reports

/// What `simrun selfcheck --samplers` compares.
[[nodiscard]] std::vector<sim::KnownMean> known_means();

}  // namespace heddle::prop
