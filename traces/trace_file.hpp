// SPDX-License-Identifier: Apache-2.0
// Traces and other results as files.
//
//   text ──▶ out.json.part-<pid>-<n> ── fsync ── rename ──▶ out.json        a reader sees the whole file or none
//   out.json ── size below a bound? ──▶ text ── from_json ──▶ Trace
//
// W1  A file is written whole or not at all: whatever fails, the destination is what it was, and no part is left behind
//     (unless the process dies in between).
// W2  An existing file is replaced only with Overwrite::yes. The check is part of the rename, so that of two writers
//     one fails.
// W3  Reading takes no more memory than the bound allows, whatever the file's size: 1 GiB, or a device without an end.
// Choice points: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/base/result.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::trace {

enum class Overwrite : std::uint8_t { no, yes };

/// Largest trace that is read: 64 MiB, about half a million events.
inline constexpr std::uint64_t trace_bytes_max = std::uint64_t{64} << 20;

/// Writes a file (W1, W2). A symbolic link is followed; a device, a pipe or a folder is refused.
/// @returns the number of bytes, or an error that names the path
[[nodiscard]] Result<std::uint64_t> write_whole_file(const std::string& path, std::string_view content,
                                                     Overwrite overwrite);

/// Reads a file of at most `bytes_max` bytes (W3).
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path, std::uint64_t bytes_max);

/// Writes the canonical text of a trace (trace_json.hpp).
[[nodiscard]] Result<std::uint64_t> write_trace(const std::string& path, const Trace& trace, Overwrite overwrite);

/// Writes a trace under a name that is still free: `stem`.trace.json, `stem`-2.trace.json, …
/// @returns the path taken, or an error that names the first one
[[nodiscard]] Result<std::string> write_trace_under_free_name(const std::string& stem, const Trace& trace);

/// Any text as part of a file's name: letters, digits, '.', '_' and '-' stay, at most 100 characters; never hidden, never an option.
[[nodiscard]] std::string as_file_name(std::string_view text);

/// Reads a trace of at most `trace_bytes_max` bytes. The error is one line: file, JSON pointer, expected, found.
[[nodiscard]] Result<Trace> read_trace(const std::string& path);

}  // namespace heddle::trace
