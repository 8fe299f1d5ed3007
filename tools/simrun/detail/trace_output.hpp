// SPDX-License-Identifier: Apache-2.0
// Where traces go: free names, folders that are there before anything runs, and the command that replays what was
// written.
#pragma once

#include <string>

#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::detail {

/// Makes the folder if it is missing. Throws: UnusableInput if nothing can be written into it.
void prepare_folder(const std::string& folder);

/// Refuses a name that is taken, before the work whose result it is for. Throws: UnusableInput.
void require_free(const Invocation& invocation, const std::string& path);

/// Writes "<scenario>-<invariant>.trace.json" into `folder`, with "-2", "-3" … where that is taken; with --force over
/// it.
/// @returns the path. Throws: HarnessFailure if the system does not let us: what was found must not get lost unnoticed.
[[nodiscard]] std::string write_found(const Invocation& invocation, const std::string& folder,
                                      const trace::Trace& trace);

/// Writes to the first of "<stem>.trace.json", "<stem>-2.trace.json" … that is free; with --force over the first.
[[nodiscard]] std::string write_free(const Invocation& invocation, const std::string& stem, const trace::Trace& trace);

/// Writes to this path; over an existing file only with --force. Throws: UnusableInput.
void write_named(const Invocation& invocation, const std::string& path, const trace::Trace& trace);

/// Text as one word of a shell.
[[nodiscard]] std::string shell_quoted(const std::string& text);

/// "simrun --seed 1 --replay found.trace.json". @param more  further options, " --level continue"
[[nodiscard]] std::string command_to_replay(const Invocation& invocation, std::uint64_t seed, const std::string& path,
                                            const std::string& more = "");

}  // namespace heddle::detail
