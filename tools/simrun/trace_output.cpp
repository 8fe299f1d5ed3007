// SPDX-License-Identifier: Apache-2.0
// Where traces go: a free name, whole or not at all, never over another file without --force.
#include "heddle/tools/simrun/detail/trace_output.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "heddle/traces/trace_file.hpp"

namespace heddle::detail {
namespace {

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
}

}  // namespace

void prepare_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);  // an error if something else has the name, or a parent's
    if (error) { refuse("--out " + folder, "a folder that traces can be written to", error.message()); }
    if (!std::filesystem::is_directory(folder, error)) { refuse("--out " + folder, "a folder", "something else"); }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        refuse("--out " + folder, "a folder that traces can be written to", std::generic_category().message(errno));
    }
}

void require_free(const Invocation& invocation, const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) { refuse(path, "a file's name", "a folder"); }
    if (!invocation.force && exists(path)) { refuse(path, "no file of that name (or --force)", "one"); }
}

std::string write_free(const Invocation& invocation, const std::string& stem, const trace::Trace& trace) {
    if (!invocation.force) {
        Result<std::string> written = trace::write_trace_under_free_name(stem, trace);
        if (!written) { throw HarnessFailure{"the trace could not be written: " + written.error().text()}; }
        return std::move(*written);
    }
    const std::string path = stem + ".trace.json";
    const Result<std::uint64_t> written = trace::write_trace(path, trace, trace::Overwrite::yes);
    if (!written) { throw HarnessFailure{"the trace could not be written: " + written.error().text()}; }
    return path;
}

std::string write_found(const Invocation& invocation, const std::string& folder, const trace::Trace& trace) {
    const std::string name = trace::as_file_name(trace.recipe.scenario) + "-" + trace::as_file_name(trace.outcome.invariant);
    const std::string before = folder == "." ? "" : folder.ends_with('/') ? folder : folder + "/";
    return write_free(invocation, before + name, trace);
}

void write_named(const Invocation& invocation, const std::string& path, const trace::Trace& trace) {
    const auto overwrite = invocation.force ? trace::Overwrite::yes : trace::Overwrite::no;
    const Result<std::uint64_t> written = trace::write_trace(path, trace, overwrite);
    if (!written) { throw UnusableInput{written.error()}; }
}

std::string shell_quoted(const std::string& text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) { return text; }
    std::string quoted = "'";
    for (const char c : text) { quoted += c == '\'' ? "'\\''" : std::string(1, c); }
    return quoted + "'";
}

std::string command_to_replay(const Invocation& invocation, std::uint64_t seed, const std::string& path,
                              const std::string& more) {
    const std::string file = path.starts_with('-') ? "./" + path : path;
    return invocation.program + " --seed " + std::to_string(seed) + " --replay " + shell_quoted(file) + more;
}

}  // namespace heddle::detail
