// SPDX-License-Identifier: Apache-2.0
// Properties with drawn values: one program for each tuple of arguments, each of them searched, and the simplest that fails told.
//
//   draw ──▶ values ──▶ program ──▶ searched ──nothing──▶ the next values
//                                      └─violation─▶ simpler values, searched in turn, as long as the same is violated
//                                                      └─▶ then the schedule is shrunk ──▶ values, timeline, replay command
//
// DV1  Values come from the seed and the number of the case alone. A trace says how they were drawn and how they were made simpler
//      (`drawn` and `values` of its parameters): a replay draws the same, and says so if it cannot.
// DV2  A simpler case is kept only if it violates the same invariant.
// DV3  Every case gets its share of the budget that is left; making values simpler has the budget once more.
// Who draws is behind ValueSource: nothing here knows RapidCheck (rapidcheck.hpp does).
// Chance enters with the seed. The host's clock decides how much is searched, never what is drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "heddle/properties/gtest.hpp"

namespace heddle::prop {

/// How many values are drawn, and of what size.
struct CaseOptions {
    std::uint32_t cases = 50;     ///< at least 1
    std::uint32_t size_max = 10;  ///< of the last case; the first has size 0: elements of a container, bits of a number
};

/// The arguments of one case, and the simpler ones that can be made of them.
class DrawnValues {
public:
    virtual ~DrawnValues() = default;
    /// "clients = 2, sizes = [1, 0]".
    [[nodiscard]] virtual std::string text() const = 0;
    /// The property's body with these arguments; builds them anew in every run.
    [[nodiscard]] virtual sim::Program program() const = 0;
    /// The next of its simpler forms, the boldest first; null behind the last.
    [[nodiscard]] virtual std::unique_ptr<DrawnValues> next_simpler() = 0;
};

/// Which values a case has.
struct Draw {
    std::uint64_t seed = 1;
    std::uint32_t number = 0;  ///< of the case
    std::uint32_t size = 0;
};
/// Null if no values could be drawn: a filter that nothing passes.
using ValueSource = std::function<std::unique_ptr<DrawnValues>(const Draw&)>;

/// Searches, or replays what HEDDLE_REPLAY names, and reports to the present GoogleTest.
void run_drawn_property(const char* suite, const char* name, const PropertyOptions& options, const CaseOptions& cases,
                        const ValueSource& source);

}  // namespace heddle::prop
