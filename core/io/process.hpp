// SPDX-License-Identifier: Apache-2.0
// Process: a child process with its pipes (RCT-53, RCT-54).
//
//   Process child{{.arguments = {"sort"}, .input = ChildStream::pipe, .output = ChildStream::pipe}};
//   child.input().write(text);  child.input().close();
//   std::string sorted = child.output().read_all(1 << 20);
//   int code = child.wait();
//
// C1  A child that is still running when its Process goes gets SIGTERM; it is waited for in any case, so that no zombie
//     stays.
// C2  The end of a child and the ends of its pipes come in any order (CP-EXIT).
#pragma once

#include <string>

#include "heddle/core/io/pipe.hpp"
#include "heddle/core/run/reactor_event.hpp"

namespace heddle {

class Process {
public:
    /// Starts the child at once. Throws OperationError: there is no such program, no such directory …
    explicit Process(const ChildOptions& options);
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    ~Process();

    [[nodiscard]] int pid() const { return pid_; }
    /// The parent's ends; closed streams where there is no pipe.
    [[nodiscard]] PipeStream& input() { return input_; }
    [[nodiscard]] PipeStream& output() { return output_; }
    [[nodiscard]] PipeStream& error() { return error_; }

    /// Exit code, or -(signal). Any number of coroutines may wait, before and after the end.
    int wait(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    /// Throws OperationError; nothing happens once the end of the child was waited for.
    void kill(int signal);

private:
    void let_go() noexcept;

    Scheduler* scheduler_ = nullptr;
    int pid_ = 0;
    Ref<ReactorEvent> exit_{};
    PipeStream input_;
    PipeStream output_;
    PipeStream error_;
};

struct CommandResult {
    int code = 0;  ///< exit code, or -(signal)
    std::string output{};
    std::string error{};
};

struct CommandOptions {
    std::string_view input{};                 ///< what the command reads
    std::size_t size_max = 16 * 1024 * 1024;  ///< of output and of error each, in bytes
    Duration timeout = Duration::zero();      ///< of the whole; zero: none
};

/// Runs a command to its end and collects what it writes. Whatever else ends the call terminates the command.
/// Throws: OperationError if it cannot be started, ValueError if it writes too much, TimeoutError, a cancellation.
CommandResult run_command(std::vector<std::string> arguments, const CommandOptions& options = {},
                          SourceLocation at = SourceLocation::current());

}  // namespace heddle
