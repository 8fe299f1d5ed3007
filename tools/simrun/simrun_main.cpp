// SPDX-License-Identifier: Apache-2.0
#include "heddle/tools/simrun/simrun_main.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/error.hpp"
#include "heddle/tools/simrun/detail/arguments.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"

namespace heddle {
namespace {

using detail::Command;
using detail::ExitStatus;

/// An assertion that fails outside of every world is a fault of the harness: it ends the command, not the process.
class HarnessSink final : public ViolationSink {
public:
    HarnessSink() : outer_(exchange_violation_sink(this)) {}
    HarnessSink(const HarnessSink&) = delete;
    HarnessSink& operator=(const HarnessSink&) = delete;
    ~HarnessSink() { exchange_violation_sink(outer_); }

    void violated(const Violation& violation) override {
        throw detail::HarnessFailure{violation.invariant + ": " + violation.message + " (" + violation.file + ":" +
                                     std::to_string(violation.line) + ")"};
    }

private:
    ViolationSink* outer_;
};

ExitStatus dispatch(int argc, char** argv, const SimrunOptions& options) {
    const detail::Arguments arguments = detail::parse_arguments(argc, argv, options.about);
    const std::string name = argc > 0 && argv[0] != nullptr && *argv[0] != '\0' ? argv[0] : "simrun";
    const detail::Invocation invocation{options, detail::shell_quoted(name), argv, arguments.json, arguments.force};
    switch (arguments.command) {
        case Command::about: return detail::about_command(invocation);
        case Command::list: return detail::list_command(invocation);
        case Command::run: return detail::run_command(invocation, arguments);
        case Command::explore: return detail::explore_command(invocation, arguments);
        case Command::replay: return detail::replay_command(invocation, arguments);
        case Command::shrink: return detail::shrink_command(invocation, arguments);
        case Command::diff: return detail::diff_command(invocation, arguments);
        case Command::sweep: return detail::sweep_command(invocation, arguments);
        case Command::audit: return detail::audit_command(invocation, arguments);
        case Command::merge: return detail::merge_command(invocation, arguments);
        case Command::selfcheck:
            return arguments.samplers ? detail::selfcheck_samplers_command(invocation, arguments)
                                      : detail::selfcheck_command(invocation, arguments);
    }
    throw detail::HarnessFailure{"no such command"};
}

/// One line, whatever the text holds: names of files come from outside.
std::string single_line(std::string_view text) {
    std::string line;
    for (const char c : text) { line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c; }
    return line;
}

ExitStatus fail(ExitStatus status, bool json, const std::string& text) {
    const std::string line = single_line(text);
    std::fflush(stdout);
    fmt::print(stderr, "simrun: {}{}\n", status == ExitStatus::harness_failed ? "the harness failed: " : "", line);
    if (json) { fmt::print("{}", detail::error_json(status, line)); }
    return status;
}

ExitStatus guarded(int argc, char** argv, const SimrunOptions& options) {
    const bool json = detail::asks_for_json(argc, argv);
    try {
        return dispatch(argc, argv, options);
    } catch (const detail::TextWanted& wanted) {
        fmt::print("{}", wanted.text);
        return ExitStatus::nothing_violated;
    } catch (const detail::UnusableInput& input) {
        return fail(ExitStatus::unusable_input, json, input.error.text());
    } catch (const detail::HarnessFailure& failure) {
        return fail(ExitStatus::harness_failed, json, failure.text);
    } catch (const std::exception& error) {
        return fail(ExitStatus::harness_failed, json, error.what());
    } catch (const Cancellation& cancellation) {
        return fail(ExitStatus::harness_failed, json,
                    std::string("a cancellation left its world: ") + cancellation.what());
    } catch (...) { return fail(ExitStatus::harness_failed, json, "an unknown exception"); }
}

}  // namespace

int simrun_main(int argc, char** argv, const SimrunOptions& options) {
    const HarnessSink sink;
    ExitStatus status = guarded(argc, argv, options);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        std::fputs("simrun: the harness failed: standard output cannot be written\n", stderr);
        status = ExitStatus::harness_failed;
    }
    return static_cast<int>(status);
}

int simrun_main(int argc, char** argv, std::span<const sim::Scenario> scenarios) {
    SimrunOptions options;
    options.scenarios = scenarios;
    return simrun_main(argc, argv, options);
}

}  // namespace heddle
