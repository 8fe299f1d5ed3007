// SPDX-License-Identifier: Apache-2.0
// The subcommands: one function each, one file each. Each prints its result and returns the exit status; bad input and
// a broken harness leave by the exceptions of invocation.hpp.
#pragma once

#include "heddle/tools/simrun/detail/arguments.hpp"
#include "heddle/tools/simrun/detail/invocation.hpp"

namespace heddle::detail {

[[nodiscard]] ExitStatus about_command(const Invocation& invocation);
[[nodiscard]] ExitStatus list_command(const Invocation& invocation);
[[nodiscard]] ExitStatus run_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus explore_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus replay_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus shrink_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus diff_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus sweep_command(const Invocation& invocation, const Arguments& arguments);

[[nodiscard]] ExitStatus audit_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus merge_command(const Invocation& invocation, const Arguments& arguments);
[[nodiscard]] ExitStatus selfcheck_command(const Invocation& invocation, const Arguments& arguments);
/// selfcheck --samplers
[[nodiscard]] ExitStatus selfcheck_samplers_command(const Invocation& invocation, const Arguments& arguments);

}  // namespace heddle::detail
