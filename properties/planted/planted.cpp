// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/planted/planted.hpp"

#include <cstdlib>
#include <string>

namespace heddle::planted {
namespace {

/// The environment selects a bug for programs that have no other way to be told, such as the harness tests.
std::string& selected() {
    static std::string id = [] {
        const char* text = std::getenv("HEDDLE_PLANTED");
        return std::string(text != nullptr ? text : "");
    }();
    return id;
}

}  // namespace

bool on(std::string_view id) noexcept { return selected() == id; }
void select(std::string_view id) { selected() = id; }

}  // namespace heddle::planted
