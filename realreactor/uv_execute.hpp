// SPDX-License-Identifier: Apache-2.0
// Children: started with posix_spawn, so that libuv's own handling of SIGCHLD and ours never meet; their ends are
// UvProcesses' (RCT-53).
//
//   execute ─▶ pipes, close-on-exec, above 2 ─▶ posix_spawnp ─▶ pid, and the parent's ends as pipe handles
//
// X1  The child begins with every signal at its default and none blocked.
// X2  Whatever fails, no descriptor stays open and no child stays behind.
#pragma once

#include "heddle/realreactor/detail/uv_request.hpp"

namespace heddle::real::detail {

/// Throws: AsyncError for a child without arguments.
Submission execute_child(UvHost& host, const Operation& operation);
/// Sends signal `flags` to the process `amount`.
Submission kill_child(const Operation& operation);

}  // namespace heddle::real::detail
