// SPDX-License-Identifier: Apache-2.0
// Invocation: one call of the command, and the ways in which it can end early. Every subcommand gets one.
#pragma once

#include <string>

#include "heddle/core/base/result.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

namespace heddle::detail {

enum class ExitStatus : int {
    nothing_violated = 0,
    violated = 1,
    unusable_input = 2,
    diverged = 3,
    harness_failed = 4
};

/// Thrown: ends the command with status 2 and one line.
struct UnusableInput {
    InputError error;
};
/// Thrown: ends the command with status 4.
struct HarnessFailure {
    std::string text;
};
/// Thrown by the argument parser: help or version, printed with status 0.
struct TextWanted {
    std::string text;
};

[[noreturn]] inline void refuse(std::string where, std::string expected, std::string found) {
    throw UnusableInput{{std::move(where), std::move(expected), std::move(found)}};
}

struct Invocation {
    const SimrunOptions& options;
    std::string program;  ///< as invoked, quoted for a shell
    char** argv = nullptr;
    bool json = false;
    bool force = false;
};

}  // namespace heddle::detail
