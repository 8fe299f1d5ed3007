// SPDX-License-Identifier: Apache-2.0
// The audit's two sides: the search asks, the auditors run.
//
//   request:  count of answers, answers, whether the whole trace is wanted
//   answer:   rolling hash, hash of the answers, bytes of the trace, trace
#include "heddle/tools/simrun/detail/audit.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/traces/trace_diff.hpp"
#include "heddle/traces/trace_json.hpp"

extern "C" char** environ;

namespace heddle::detail {
namespace {

constexpr int auditor_fd = 3;
constexpr double runs_per_second = 500;
constexpr std::size_t waiting_max = 256;

std::string request_for(const std::vector<std::uint32_t>& answers, bool whole) {
    std::array<std::uint64_t, 2> head{answers.size(), whole ? 1U : 0U};
    std::string bytes(reinterpret_cast<const char*>(head.data()), sizeof head);
    bytes.append(reinterpret_cast<const char*>(answers.data()), answers.size() * sizeof(std::uint32_t));
    return bytes;
}

bool transfer(int fd, char* bytes, std::size_t size, bool writes) {
    while (size > 0) {
        const ssize_t moved = writes ? ::send(fd, bytes, size, MSG_NOSIGNAL) : ::recv(fd, bytes, size, 0);
        if (moved < 0 && errno == EINTR) { continue; }
        if (moved <= 0) { return false; }
        bytes += moved;
        size -= static_cast<std::size_t>(moved);
    }
    return true;
}

/// The heap as it is after long work: what is free lies in no order, and is filled.
void shuffle_heap() {
    constexpr std::array sizes{24, 40, 56, 72, 104, 136, 200, 296, 424, 680, 1224, 2500};
    sim::Prng prng{0x6865646c65};
    std::vector<void*> kept;
    for (int round = 0; round < 64; ++round) {
        std::vector<void*> pieces;
        for (const int size : sizes) {
            void* const piece = std::malloc(static_cast<std::size_t>(size));
            std::memset(piece, static_cast<int>(0x40 + prng.below(128)), static_cast<std::size_t>(size));
            pieces.push_back(piece);
        }
        for (void* const piece : pieces) { kept.push_back(piece); }
    }
    for (std::size_t i = kept.size(); i > 1; --i) { std::swap(kept[i - 1], kept[prng.below(i)]); }
    for (std::size_t i = 0; i < kept.size(); i += 1 + prng.below(2)) {
        std::free(kept[i]);
    }  // holes; the rest is never given back
}

}  // namespace

/// One process that runs what it is told to.
class Audit::Auditor {
public:
    struct Answer {
        std::uint64_t hash = 0;
        std::uint64_t answers = 0;
        std::string trace{};
    };

    Auditor(const std::vector<std::string>& arguments, bool restless) {
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) { return; }
        const pid_t above = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != above) { ::_exit(1); }
            become(arguments, restless, ends[1]);
        }
        ::close(ends[1]);
        fd_ = ends[0];
        ::fcntl(fd_, F_SETFL, O_NONBLOCK);
        if (pid_ < 0) { gone_ = true; }
    }
    Auditor(const Auditor&) = delete;
    Auditor& operator=(const Auditor&) = delete;
    ~Auditor() {
        if (fd_ >= 0) { ::close(fd_); }
        if (pid_ <= 0) { return; }
        ::kill(pid_, SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    }

    void ask(const std::string& request) { out_ += request; }
    [[nodiscard]] std::deque<Answer>& answers() { return answers_; }
    [[nodiscard]] bool is_gone() const { return gone_; }
    [[nodiscard]] int fd() const { return fd_; }

    void pump() {
        while (!out_.empty() && !gone_) {
            const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
            if (sent < 0) {
                gone_ = errno != EAGAIN && errno != EINTR;
                break;
            }
            out_.erase(0, static_cast<std::size_t>(sent));
        }
        std::array<char, 65536> chunk{};
        while (!gone_) {
            const ssize_t got = ::recv(fd_, chunk.data(), chunk.size(), 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) { break; }
            if (got <= 0) {
                gone_ = true;
                break;
            }
            in_.append(chunk.data(), static_cast<std::size_t>(got));
        }
        for (;;) {
            std::array<std::uint64_t, 3> head{};
            if (in_.size() < sizeof head) { return; }
            std::memcpy(head.data(), in_.data(), sizeof head);
            if (in_.size() < sizeof head + head[2]) { return; }
            answers_.push_back({head[0], head[1], in_.substr(sizeof head, head[2])});
            in_.erase(0, sizeof head + head[2]);
        }
    }

private:
    [[noreturn]] static void become(const std::vector<std::string>& arguments, bool restless, int fd) {
        const int nowhere = ::open("/dev/null", O_RDWR);
        ::dup2(nowhere, 0);
        ::dup2(nowhere, 1);
        ::dup2(nowhere, 2);
        ::dup2(fd, auditor_fd);
        if (auditor_fd == fd) { ::fcntl(fd, F_SETFD, 0); }
        std::vector<std::string> environment;
        for (char** at = environ; *at != nullptr; ++at) {
            const std::string_view variable = *at;
            const bool changed = variable.starts_with("MALLOC_PERTURB_=") || variable.starts_with("GLIBC_TUNABLES=") ||
                                 (restless && (variable.starts_with("HOME=") || variable.starts_with("LANG=") ||
                                               variable.starts_with("TZ=") || variable.starts_with("ASAN_OPTIONS=")));
            if (!changed) { environment.emplace_back(variable); }
        }
        if (restless) {
            // The address sanitizer has a heap of its own, and fills it with one byte wherever it runs.
            const char* const sanitizer = std::getenv("ASAN_OPTIONS");
            environment.push_back("ASAN_OPTIONS=" + (sanitizer != nullptr ? std::string(sanitizer) + ":" : "") +
                                  "malloc_fill_byte=165:max_malloc_fill_size=65536");
            environment.insert(environment.end(),
                               {"MALLOC_PERTURB_=165", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", "HOME=/", "LANG=C",
                                "TZ=Asia/Tokyo", "HEDDLE_AUDIT=" + std::string(2999, 'x')});
            static_cast<void>(::chdir("/"));
        } else {
            ::personality(ADDR_NO_RANDOMIZE);
        }
        std::vector<char*> words;
        for (const std::string& word : arguments) { words.push_back(const_cast<char*>(word.c_str())); }
        words.push_back(nullptr);
        std::vector<char*> variables;
        for (const std::string& variable : environment) { variables.push_back(const_cast<char*>(variable.c_str())); }
        variables.push_back(nullptr);
        ::execve("/proc/self/exe", words.data(), variables.data());
        ::_exit(1);
    }

    pid_t pid_ = -1;
    int fd_ = -1;
    bool gone_ = false;
    std::string out_;
    std::string in_;
    std::deque<Answer> answers_;
};

Audit::Audit(const std::string& scenario, const trace::Recipe& recipe) {
    const std::vector<std::string> common{"simrun",
                                          "audit",
                                          scenario,
                                          "--seed",
                                          std::to_string(recipe.seed),
                                          "--order",
                                          std::string(trace::to_string(recipe.order)),
                                          "--time",
                                          std::string(trace::to_string(recipe.time)),
                                          "--planted",
                                          recipe.planted};
    for (const bool restless : {false, true}) {
        std::vector<std::string> arguments = common;
        if (restless) { arguments.emplace_back("--restless"); }
        if (sim::asks_one_question(recipe)) { arguments.emplace_back("--one-question"); }
        auditors_.push_back(std::make_unique<Auditor>(arguments, restless));
    }
}

Audit::~Audit() = default;

void Audit::offer(sim::Sample sample, double now) {
    allowance_ = std::min(allowance_ + (now - filled_at_) * runs_per_second, 64.0);
    filled_at_ = now;
    if (allowance_ < 1 || waiting_.size() >= waiting_max || !failure_.empty()) { return; }
    allowance_ -= 1;
    for (const auto& auditor : auditors_) { auditor->ask(request_for(sample.answers, false)); }
    waiting_.push_back(std::move(sample));
}

bool Audit::pump(double now) {
    for (const auto& auditor : auditors_) { auditor->pump(); }
    compare();
    const double allowance = allowance_ + (now - filled_at_) * runs_per_second;
    return allowance >= 1 && waiting_.size() < waiting_max && failure_.empty();
}

void Audit::compare() {
    while (!waiting_.empty() && failure_.empty()) {
        const sim::Sample& sample = waiting_.front();
        std::vector<Auditor::Answer> answers;
        for (const auto& auditor : auditors_) {
            if (!auditor->answers().empty()) {
                answers.push_back(auditor->answers().front());
            } else if (auditor->is_gone()) {
                failure_ = "schedule " + std::to_string(sample.run) +
                           " of the search ended by itself there, and ended its process in an audit";
                return;
            }
        }
        if (answers.size() < auditors_.size()) { return; }
        const bool equal = answers[0].hash == answers[1].hash && answers[0].answers == answers[1].answers &&
                           answers[0].answers == sample.hash;
        if (!equal) {
            failure_ =
                "schedule " + std::to_string(sample.run) +
                " of the search is another run in a fresh process with another address layout, heap and environment: " +
                first_difference(sample) + ". The program depends on something that is not one of its choices";
            return;
        }
        ++audited_;
        for (const auto& auditor : auditors_) { auditor->answers().pop_front(); }
        waiting_.pop_front();
    }
}

/// Both runs again, whole.
std::string Audit::first_difference(const sim::Sample& sample) {
    std::vector<trace::Trace> traces;
    for (const auto& auditor : auditors_) {
        auditor->ask(request_for(sample.answers, true));
        std::string text;
        const double until = seconds_now() + 5;
        while (text.empty() && !auditor->is_gone() && seconds_now() < until) {
            auditor->pump();
            for (const Auditor::Answer& answer : auditor->answers()) {
                if (!answer.trace.empty()) { text = answer.trace; }
            }
            ::usleep(1000);
        }
        Result<trace::Trace> trace = trace::from_json(text, "an auditor's trace");
        if (!trace) { return "one of them could not be recorded"; }
        traces.push_back(*std::move(trace));
    }
    const trace::TraceDiff diff = trace::diff(traces[0], traces[1]);
    if (!diff.divergence) { return "both fresh processes agree this time, and the search's own did not"; }
    const std::string step = traces[1].outcome.steps > 0 ? "first difference at " : "";
    return step + diff.divergence->where + ": " + diff.divergence->expected + " / " + diff.divergence->found;
}

void Audit::finish() {
    const double until = seconds_now() + 10;
    while (!waiting_.empty() && failure_.empty() && seconds_now() < until) {
        pump(seconds_now());
        if (!waiting_.empty()) { ::usleep(500); }
    }
}

// ── the auditor ──

ExitStatus audit_command(const Invocation& invocation, const Arguments& arguments) {
    if (arguments.restless) { shuffle_heap(); }
    const Subject subject = subject_of(invocation, arguments.scenario, arguments.planted);
    trace::Recipe recipe = recipe_of(subject, arguments);
    if (arguments.one_question) { sim::ask_one_question(recipe); }
    const auto judges = [&] { return subject.call.oracles(); };
    sim::World kept;  // a new one for each run would cost more than the run
    for (;;) {
        std::array<std::uint64_t, 2> head{};
        if (!transfer(auditor_fd, reinterpret_cast<char*>(head.data()), sizeof head, false)) {
            return ExitStatus::nothing_violated;
        }
        std::vector<std::uint32_t> answers(head[0]);
        if (!transfer(auditor_fd, reinterpret_cast<char*>(answers.data()), answers.size() * sizeof(std::uint32_t),
                      false)) {
            return ExitStatus::nothing_violated;
        }
        sim::AnswersChooser decides(answers);
        sim::AnswerKeeper keeper;
        keeper.begin(decides);
        const trace::Trace trace = sim::record(subject.call.program(), judges, subject.scenario->world, recipe, &keeper, {.keep_events = head[1] != 0, .world = &kept});
        std::string text = head[1] != 0 ? trace::to_json(trace) : "";
        std::array<std::uint64_t, 3> answer{trace.hash.value, keeper.hash(), text.size()};
        if (!transfer(auditor_fd, reinterpret_cast<char*>(answer.data()), sizeof answer, true) ||
            !transfer(auditor_fd, text.data(), text.size(), true)) {
            return ExitStatus::nothing_violated;
        }
    }
}

}  // namespace heddle::detail
