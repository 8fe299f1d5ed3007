// SPDX-License-Identifier: Apache-2.0
// The load of the echo benchmarks: a second process, bare system calls, the same for every server.
//
//   LoadProcess ── fork ──▶ connections to 127.0.0.1:port, each: send 64 bytes ─▶ wait for 64 bytes ─▶ again, until `requests` are answered
#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>

namespace heddle::bench {

constexpr std::size_t echo_message_size = 64;

class LoadProcess {
public:
    /// @param requests  of all connections together; 0: the connections are opened, and kept until `stop`
    LoadProcess(std::uint16_t port, std::size_t connections, std::size_t requests);
    /// Waits for its end.
    ~LoadProcess();
    LoadProcess(const LoadProcess&) = delete;
    LoadProcess& operator=(const LoadProcess&) = delete;
    void stop();

private:
    pid_t child_ = -1;
};

}  // namespace heddle::bench
