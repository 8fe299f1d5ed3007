// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_execute.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/uv_stream.hpp"

extern char** environ;

namespace heddle::real::detail {
namespace {

class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() {
        if (fd_ >= 0) { ::close(fd_); }
    }
    [[nodiscard]] int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

/// A pipe of which no end is one of the descriptors that the child's own replace. @returns 0 or an errno value
int make_pipe(Descriptor& read_end, Descriptor& write_end) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) { return errno; }
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
    for (Descriptor* end : {&read_end, &write_end}) {
        if (end->get() > STDERR_FILENO) { continue; }
        const int above = ::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (above < 0) { return errno; }
        *end = Descriptor(above);
    }
    return 0;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) { all.push_back(text.data()); }
    all.push_back(nullptr);
    return all;
}

class SpawnPlan {
public:
    SpawnPlan() {
        posix_spawn_file_actions_init(&actions_);
        posix_spawnattr_init(&attributes_);
        sigset_t every{};
        sigset_t none{};
        sigfillset(&every);
        sigemptyset(&none);
        posix_spawnattr_setsigdefault(&attributes_, &every);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    }
    ~SpawnPlan() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;

    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

Completion failure(int error) { return {.transferred = -1, .error = error}; }

}  // namespace

Submission execute_child(UvHost& host, const Operation& operation) {
    if (operation.child == nullptr || operation.child->arguments.empty()) {
        throw AsyncError("execute needs a program");
    }
    const ChildOptions& child = *operation.child;
    SpawnPlan plan;
    Descriptor parents[3];
    Descriptor childs[3];
    const ChildStream streams[3] = {child.input, child.output, child.error};
    for (int number = 0; number < 3; ++number) {
        if (streams[number] == ChildStream::null) {
            posix_spawn_file_actions_addopen(&plan.actions_, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0);
        } else if (streams[number] == ChildStream::pipe) {
            const int error =
                number == 0 ? make_pipe(childs[number], parents[number]) : make_pipe(parents[number], childs[number]);
            if (error != 0) { return {.done = failure(error)}; }
            posix_spawn_file_actions_adddup2(&plan.actions_, childs[number].get(), number);
        }
    }
    if (!child.directory.empty()) { posix_spawn_file_actions_addchdir_np(&plan.actions_, child.directory.c_str()); }

    std::vector<std::string> arguments = child.arguments;
    std::vector<std::string> environment = child.environment.value_or(std::vector<std::string>{});
    const std::vector<char*> argument_pointers = pointers(arguments);
    const std::vector<char*> environment_pointers = pointers(environment);
    pid_t pid = 0;
    const int error =
        ::posix_spawnp(&pid, arguments[0].c_str(), &plan.actions_, &plan.attributes_, argument_pointers.data(),
                       child.environment ? environment_pointers.data() : environ);
    if (error != 0) { return {.done = failure(error)}; }

    Answer& answer = host.requests->scratch();
    try {
        for (int number = 0; number < 3; ++number) {
            if (parents[number].get() < 0) { continue; }
            answer.handles[number] = UvStream::open(host, HandleKind::pipe, parents[number].get());
            parents[number].release();
        }
    } catch (const IoError& refused) {
        for (const HandleId handle : answer.handles) { host.close_handle(handle); }
        ::kill(pid, SIGKILL);
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
        return {.done = failure(refused.code())};
    }
    return {.done = {.transferred = pid, .answer = &answer}};
}

Submission kill_child(const Operation& operation) {
    const auto pid = static_cast<pid_t>(operation.amount);
    if (pid <= 0) { throw AsyncError("there is no process " + std::to_string(pid)); }
    return {.done = ::kill(pid, static_cast<int>(operation.flags)) == 0 ? Completion{} : failure(errno)};
}

}  // namespace heddle::real::detail
