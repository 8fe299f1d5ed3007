// SPDX-License-Identifier: Apache-2.0
#include "heddle/tools/bench/echo_load.hpp"

#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace heddle::bench {
namespace {

constexpr int failed = 1;

void require(bool holds) {
    if (!holds) { _exit(failed); }
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    require(fd >= 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return fd;
}

void send_one(int fd) {
    const char message[echo_message_size] = {};
    require(::send(fd, message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message));
}

[[noreturn]] void load(std::uint16_t port, std::size_t connections, std::size_t requests) {
    std::vector<int> fds;
    for (std::size_t number = 0; number < connections; ++number) { fds.push_back(connect_to(port)); }
    if (requests == 0) {
        for (;;) { ::pause(); }
    }
    const int epoll = ::epoll_create1(0);
    std::vector<std::size_t> missing(static_cast<std::size_t>(*std::max_element(fds.begin(), fds.end())) + 1,
                                     echo_message_size);
    for (const int fd : fds) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        require(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
        send_one(fd);
    }
    std::vector<epoll_event> events(1024);
    for (std::size_t answered = 0; answered < requests;) {
        const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
        for (int at = 0; at < count; ++at) {
            const int fd = events[static_cast<std::size_t>(at)].data.fd;
            char answer[echo_message_size];
            const ssize_t got = ::recv(fd, answer, missing[static_cast<std::size_t>(fd)], 0);
            require(got > 0);
            missing[static_cast<std::size_t>(fd)] -= static_cast<std::size_t>(got);
            if (missing[static_cast<std::size_t>(fd)] != 0) { continue; }
            missing[static_cast<std::size_t>(fd)] = echo_message_size;
            ++answered;
            send_one(fd);
        }
    }
    _exit(0);
}

}  // namespace

LoadProcess::LoadProcess(std::uint16_t port, std::size_t connections, std::size_t requests) {
    child_ = ::fork();
    if (child_ != 0) { return; }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    load(port, connections, requests);
}

void LoadProcess::stop() { ::kill(child_, SIGKILL); }
LoadProcess::~LoadProcess() { ::waitpid(child_, nullptr, 0); }

}  // namespace heddle::bench
