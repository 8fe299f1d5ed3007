// SPDX-License-Identifier: Apache-2.0
// Programs that a simulated machine can execute, for tests: named after what they do elsewhere.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "heddle/simreactor/net/child_process.hpp"

namespace heddle::sim::testing {

/// Copies its input to its output and ends with 0, as `cat` does.
class Cat final : public ChildProgram {
public:
    void run(ChildProcess& process) override {
        for (;;) {
            if (size_ == 0) {
                const std::int64_t got = process.read(buffer_);
                if (got == -EAGAIN) { return; }
                if (got <= 0) { return process.exit(0); }
                size_ = static_cast<std::size_t>(got);
                done_ = 0;
            }
            const std::int64_t put = process.write(1, std::span(buffer_).subspan(done_, size_ - done_));
            if (put == -EAGAIN) { return; }
            if (put < 0) { return process.exit(1); }
            done_ += static_cast<std::size_t>(put);
            if (done_ == size_) { size_ = 0; }
        }
    }

private:
    std::vector<std::byte> buffer_ = std::vector<std::byte>(4096);
    std::size_t size_ = 0;
    std::size_t done_ = 0;
};

/// Ends at once with the code that is its first argument.
class End final : public ChildProgram {
public:
    void run(ChildProcess& process) override { process.exit(std::stoi(process.arguments().at(1))); }
};

/// Runs until a signal ends it.
class Sleep final : public ChildProgram {
public:
    void run(ChildProcess&) override {}
};

/// "cat", "end" and "sleep".
inline void install_programs(Machine& machine) {
    machine.add_program("cat", [] { return std::make_unique<Cat>(); });
    machine.add_program("end", [] { return std::make_unique<End>(); });
    machine.add_program("sleep", [] { return std::make_unique<Sleep>(); });
}

}  // namespace heddle::sim::testing
