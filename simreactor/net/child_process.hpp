// SPDX-License-Identifier: Apache-2.0
// ChildProcess: a program of the simulated world that somebody has executed, with its standard streams.
//
//   execute ──▶ ChildProgram::run: at its start, whenever a stream of it is ready, when its alarm is due ──▶ … exit(code)
//
// CH1  `run` never waits: what cannot go on now returns, and is run again when it may. Each run is one step of the world, and
//      which of several processes goes on first is a choice.
// CH2  A process that has ended runs no more; its streams are closed with it. A signal that it does not handle ends it.
// How it differs from an operating system: a child has no descriptors but its three, no children and no memory limits; what is
// neither a pipe nor inherited is empty, and swallows what is written; what is inherited swallows it, too.
// Choice points: those of its streams.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/simreactor/net/stream_socket.hpp"

namespace heddle::sim {

class ChildProcess;

class ChildProgram {
public:
    virtual ~ChildProgram() = default;
    virtual void run(ChildProcess& process) = 0;
    /// @returns true if it handles the signal; else the process ends with it
    virtual bool on_signal(ChildProcess& process, int number) {
        static_cast<void>(process), static_cast<void>(number);
        return false;
    }
};

/// Makes a program that has just been executed.
using ChildFactory = std::function<std::unique_ptr<ChildProgram>()>;

class ChildProcess {
public:
    ChildProcess(Machine& machine, std::vector<std::string> arguments) : machine_(machine), arguments_(std::move(arguments)) {}
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    [[nodiscard]] const std::vector<std::string>& arguments() const { return arguments_; }
    [[nodiscard]] Machine& machine() { return machine_; }

    /// From standard input. @returns bytes, 0 at the end, -EAGAIN: it runs again when there is something
    std::int64_t read(std::span<std::byte> buffer);
    /// @param stream  1 or 2 @returns bytes, perhaps not all; -EAGAIN: it runs again when there is room; -EPIPE
    std::int64_t write(int stream, std::span<const std::byte> data);
    void close(int stream);
    /// Runs again after that time, whatever else happens.
    void set_alarm(Duration after);
    void exit(int code);

    [[nodiscard]] bool has_ended() const { return has_ended_; }
    [[nodiscard]] int code() const { return code_; }

    // ── for who drives it ──

    /// Its end of a pipe; the program is run when it is ready.
    void give(int stream, std::shared_ptr<StreamSocket> end);
    void watch(KernelWatcher* watcher);
    [[nodiscard]] bool take_alarm() { return std::exchange(alarm_is_due_, false); }
    /// As `exit`, by a signal.
    void end(int code);

private:
    Machine& machine_;
    std::vector<std::string> arguments_;
    std::shared_ptr<StreamSocket> streams_[3];
    KernelWatcher* watcher_ = nullptr;
    std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);  // an alarm that comes later than the end finds nobody
    bool alarm_is_due_ = false;
    bool has_ended_ = false;
    int code_ = 0;
};

}  // namespace heddle::sim
