// SPDX-License-Identifier: Apache-2.0
// The runtime's objects, each in a program that is small enough for brute force and meets what its cells are there for: who comes first,
// who comes too late, who looks, who is the last. What a coroutine observes it says.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

struct Subject {
    std::string_view name;
    sim::Program program;
};

/// Of core/run: coroutines, events, tokens, scopes, errors, the end.
[[nodiscard]] std::vector<Subject> runtime_subjects();
/// Of core/sync: the primitives.
[[nodiscard]] std::vector<Subject> primitive_subjects();

/// Where both lists have it. Requires: it is in one of them.
[[nodiscard]] const sim::Program& subject(std::string_view name);

}  // namespace heddle::prop
