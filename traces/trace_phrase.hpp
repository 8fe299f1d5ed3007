// SPDX-License-Identifier: Apache-2.0
// Phrases: what a timeline says about each kind of event, in whose column, and from which level of detail on.
// Choice points: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// How much a timeline tells.
enum class Detail : std::uint8_t {
    steps,       ///< who ran, in which order, and the choices that were not the baseline's
    story,       ///< what a person needs to follow it: spawns, parks, wakes, cancellations, deliveries
    everything,  ///< each event
};

struct Phrase {
    enum class Place : std::uint8_t {
        own,      ///< the column of `who`
        running,  ///< the column of whoever runs
        loop,
        across,  ///< the whole line
    };
    Detail detail = Detail::everything;  ///< the least at which it is told
    Place place = Place::own;
    std::string text;
};

/// @param name  how labels are to be written at the place where the phrase will stand
[[nodiscard]] Phrase phrase(const TraceEvent& event, const std::function<std::string(const std::string&)>& name);

}  // namespace heddle::trace
