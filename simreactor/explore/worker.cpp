// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/worker.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/error.hpp"
#include "heddle/core/base/label.hpp"
#include "heddle/simreactor/explore/wire.hpp"

// Sanitizers call it before they end the process; without one there is no such function.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace heddle::sim {
namespace {

constexpr std::uint32_t answers_max = std::uint32_t{1} << 20;
constexpr std::size_t dead_max = 64;
enum Frame : std::uint32_t { frame_message = 1, frame_death = 2, frame_result = 3, frame_sample = 4 };

void store(std::atomic<std::uint64_t>& word, std::uint64_t value) { word.store(value, std::memory_order_relaxed); }
void store(std::atomic<std::uint32_t>& word, std::uint32_t value) { word.store(value, std::memory_order_relaxed); }

/// A process id for the killing of what this one started: outside every world.
pid_t own_id() { return ::getpid(); }  // outside every world

/// Dies with its parent, unless that has died already.
void die_with(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) { ::_exit(1); }
}

std::string signal_name(int number) {
    const char* const name = ::sigabbrev_np(number);
    return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(number);
}

}  // namespace

/// What all processes of one worker see.
struct Seat::Shared {
    std::atomic<std::int32_t> keeper{0};
    std::atomic<std::int32_t> worker{0};
    std::atomic<std::int32_t> supervisor{0};
    std::atomic<std::uint64_t> run{0};
    std::atomic<std::uint32_t> tag{0};  // of that run
    std::atomic<std::uint64_t> beat{0};
    std::atomic<std::uint64_t> events{0};
    std::atomic<std::uint32_t> points{0};
    std::atomic<std::uint32_t> recording{0};
    std::atomic<std::uint32_t> killed_for{0};  // Death::Kind + 1
    std::atomic<std::uint32_t> sanitizer{0};
    std::atomic<std::uint32_t> done{0};
    std::atomic<std::uint32_t> given_up{0};
    std::atomic<std::uint32_t> stop{0};
    std::atomic<std::uint32_t> wish{0};
    std::atomic<std::uint32_t> samples{1};
    std::atomic<std::uint64_t> committed{0};  // bytes of the log
    std::atomic<std::uint64_t> progress_runs{0};
    std::atomic<std::uint64_t> progress_distinct{0};
    std::atomic<std::uint32_t> progress_depth{0};
    std::atomic<std::uint32_t> progress_phase{0};
    std::atomic<std::uint64_t> progress_schedules{0};  // a double's bits
    struct Dead {
        std::uint64_t run;
        std::uint32_t points;
        std::uint32_t recording;
    };
    std::uint32_t deaths = 0;  // written by keepers alone, one after another
    std::array<Dead, dead_max> dead{};
    std::array<std::uint32_t, answers_max> answers;  // pages that are never used are never touched
};

// ── deaths in words ──

std::string Death::name() const {
    switch (kind) {
        case Kind::signal: return signal_name(number);
        case Kind::exit: return "EXIT";
        case Kind::sanitizer: return "SANITIZER";
        case Kind::hang: return "HANG";
        case Kind::memory: return "MEMORY";
    }
    return "?";
}

std::string Death::text() const {
    switch (kind) {
        case Kind::signal: return "the process was killed by " + signal_name(number);
        case Kind::exit: return "the program ended its process, with status " + std::to_string(number);
        case Kind::sanitizer: return "a sanitizer ended the process; its report stands on standard error";
        case Kind::hang: return "the run came to no choice and no end any more, and was killed";
        case Kind::memory: return "the process grew beyond its limit of memory, and was killed";
    }
    return "?";
}

// ── the worker ──

Chooser& Seat::begin(Chooser& decides, std::uint32_t tag) {
    decides_ = &decides;
    points_ = 0;
    store(shared_.points, 0);
    store(shared_.events, 0);
    const std::uint64_t run = ++run_;
    store(shared_.run, run);
    store(shared_.tag, tag);
    store(shared_.beat, shared_.beat.load(std::memory_order_relaxed) + 1);
    die_at_ = 0;
    refuses_ = false;
    for (std::uint32_t i = 0; i < shared_.deaths; ++i) {
        const Shared::Dead& dead = shared_.dead[i];
        if (dead.run != run || dead.recording != 0) { continue; }
        if (dead.points == 0) { refuses_ = true; }
        if (die_at_ == 0 || dead.points < die_at_) { die_at_ = dead.points; }
    }
    return *this;
}

bool Seat::refuses() const { return refuses_; }

std::uint32_t Seat::choose(const ChoicePoint& point) {
    const std::uint32_t answer = decides_->choose(point);
    if (points_ < answers_max) [[likely]] { shared_.answers[points_] = answer; }
    ++points_;
    shared_.points.store(points_, std::memory_order_release);
    if (points_ == die_at_) [[unlikely]] {
        report_violation({std::string(crashed), "the process died behind this choice", __FILE__, __LINE__});
    }
    return answer;
}

void Seat::ran(std::span<const std::uint32_t> answers, std::uint64_t hash) {
    constexpr std::uint64_t first_ones = 4;
    if (sample_every == 0 || (run_ > first_ones && hash_mix(run_, sample_every) % sample_every != 0)) [[likely]] {
        return;
    }
    if (shared_.samples.load(std::memory_order_relaxed) == 0) { return; }
    WireWriter out;
    out.number(run_).number(shared_.tag.load(std::memory_order_relaxed)).number(hash).number(answers.size());
    std::string bytes = std::move(out).bytes();
    bytes.append(reinterpret_cast<const char*>(answers.data()), answers.size_bytes());
    append(frame_sample, bytes);
}

bool Seat::end() {
    if (clock) {
        if ((run_ & 255U) == 0) { checkpoint(); }  // asking for the time costs as much as a short schedule
    }
    return !on_end || on_end();
}

int Seat::may_record() {
    int may = 2;
    for (std::uint32_t i = 0; i < shared_.deaths; ++i) {
        if (shared_.dead[i].run == run_ && shared_.dead[i].recording != 0 && may > 0) { --may; }
    }
    store(shared_.recording, 1);
    alive();
    return may;
}

void Seat::recorded() { store(shared_.recording, 0); }
void Seat::alive() { store(shared_.beat, shared_.beat.load(std::memory_order_relaxed) + 1); }
bool Seat::is_stopped() const { return shared_.stop.load(std::memory_order_relaxed) != 0; }
std::uint32_t Seat::wish() const { return shared_.wish.load(std::memory_order_relaxed); }
void Seat::count_event(std::uint64_t count) { shared_.events.store(count, std::memory_order_release); }

void Seat::show(std::uint64_t runs, std::uint64_t distinct, std::uint32_t depth, std::uint32_t phase, double schedules) {
    store(shared_.progress_runs, runs);
    store(shared_.progress_distinct, distinct);
    store(shared_.progress_depth, depth);
    store(shared_.progress_phase, phase);
    store(shared_.progress_schedules, std::bit_cast<std::uint64_t>(schedules));
}

void Seat::append(std::uint32_t kind, std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    std::string frame(sizeof kind + sizeof size, '\0');
    std::memcpy(frame.data(), &kind, sizeof kind);
    std::memcpy(frame.data() + sizeof kind, &size, sizeof size);
    frame += bytes;
    std::uint64_t at = shared_.committed.load(std::memory_order_relaxed);
    std::string_view left = frame;
    while (!left.empty()) {
        const ssize_t written = ::pwrite(log_, left.data(), left.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) { continue; }
        if (written < 0) { std::abort(); }  // no memory: the keeper tells that the worker died
        left.remove_prefix(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
    shared_.committed.store(at, std::memory_order_release);
}

void Seat::tell(std::string_view message) { append(frame_message, message); }

/// From here on this process keeps what the search knows, and a new one goes on with it.
void Seat::checkpoint() {
    const double now = clock();
    if (now < next_checkpoint_) { return; }
    if (next_checkpoint_ < 0) {  // the keeper of the beginning is young enough
        next_checkpoint_ = now + limits_.checkpoint_seconds;
        return;
    }
    const pid_t self = own_id();
    const pid_t forked = ::fork();
    if (forked < 0) { return; }  // no process to be had: the old keeper will do
    if (forked == 0) {
        die_with(self);
        shared_.worker.store(own_id());
        const double after = clock();
        next_checkpoint_ = after + std::max(limits_.checkpoint_seconds, 40 * (after - now));
        return;
    }
    // Named here as well as by itself: it may not have come to that before it is waited for.
    pid_t child = forked;
    shared_.worker.store(child);
    const pid_t before = shared_.keeper.exchange(self);
    const pid_t supervisor = shared_.supervisor.load();
    ::prctl(PR_SET_PDEATHSIG, 0);
    ::kill(before, SIGKILL);
    // The supervisor adopts the children of what dies below it.
    for (int i = 0; i < 5000 && ::getppid() == before; ++i) { ::usleep(200); }
    die_with(supervisor);
    // It waits for the child that it has already, and forks the next ones from here.
    for (;;) {
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        note_death(status);
        child = ::fork();
        if (child == 0) {
            die_with(self);
            shared_.worker.store(own_id());
            next_checkpoint_ = clock() + limits_.checkpoint_seconds;
            return;
        }
        if (child < 0) { ::_exit(1); }
        shared_.worker.store(child);
    }
}

/// A worker has ended. Does not return if that was the end of the work.
void Seat::note_death(int status) {
    if (shared_.done.load() != 0 || shared_.stop.load() == 2) { ::_exit(0); }
    Death death;
    const std::uint32_t killed_for = shared_.killed_for.exchange(0);
    if (killed_for != 0) {
        death.kind = static_cast<Death::Kind>(killed_for - 1);
    } else if (shared_.sanitizer.exchange(0) != 0) {
        death.kind = Death::Kind::sanitizer;
    } else if (WIFSIGNALED(status)) {
        death.number = WTERMSIG(status);
    } else {
        death.kind = Death::Kind::exit;
        death.number = WEXITSTATUS(status);
    }
    death.run = shared_.run.load();
    death.tag = shared_.tag.load();
    death.points = shared_.points.load();
    death.events = shared_.events.load();
    death.recording = shared_.recording.exchange(0) != 0;
    const std::uint32_t kept = std::min(death.points, answers_max);
    std::array<std::uint64_t, 8> head{static_cast<std::uint64_t>(death.kind),
                                      static_cast<std::uint64_t>(death.number),
                                      death.run,
                                      death.tag,
                                      death.points,
                                      death.events,
                                      death.recording ? 1U : 0U,
                                      kept};
    std::string bytes(sizeof head + std::size_t{kept} * sizeof(std::uint32_t), '\0');
    std::memcpy(bytes.data(), head.data(), sizeof head);
    std::memcpy(bytes.data() + sizeof head, shared_.answers.data(), std::size_t{kept} * sizeof(std::uint32_t));
    append(frame_death, bytes);
    if (shared_.deaths == dead_max || shared_.deaths + 1 >= limits_.deaths_max || death.run == 0) {
        shared_.given_up.store(1);
        ::_exit(1);
    }
    shared_.dead[shared_.deaths++] = {death.run, death.points, death.recording ? 1U : 0U};
}

/// The first keeper: forks a worker, and another one when that has died. Returns in the worker alone.
void Seat::keep() {
    const pid_t self = own_id();
    for (;;) {
        const pid_t next = ::fork();
        if (next == 0) {
            die_with(self);
            shared_.worker.store(own_id());
            return;
        }
        if (next < 0) { ::_exit(1); }
        shared_.worker.store(next);
        int status = 0;
        while (::waitpid(next, &status, 0) < 0 && errno == EINTR) {}
        note_death(status);
    }
}

// ── the supervisor ──

namespace {

Seat* seat_of_process = nullptr;

}  // namespace

Worker::Worker(const Work& work, const WorkerLimits& limits) : limits_(limits) {
    void* const memory =
        ::mmap(nullptr, sizeof(Seat::Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) { throw Error("worker: no shared memory: " + std::generic_category().message(errno)); }
    shared_ = ::new (memory) Seat::Shared;
    log_ = ::memfd_create("heddle-worker", MFD_CLOEXEC);
    const pid_t self = own_id();
    std::fflush(nullptr);  // what waits there is not to be written twice
    shared_->supervisor.store(self);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t keeper = log_ < 0 ? -1 : ::fork();
    if (keeper < 0) {
        const std::string reason = std::generic_category().message(errno);
        if (log_ >= 0) { ::close(log_); }
        ::munmap(memory, sizeof(Seat::Shared));
        throw Error("worker: no process: " + reason);
    }
    if (keeper == 0) {
        die_with(self);
        // Ctrl-C reaches every process of the terminal; it is the supervisor's to answer.
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGTERM, SIG_IGN);
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        shared_->keeper.store(own_id());
        Seat seat(*shared_, log_, limits);
        seat.keep();
        seat_of_process = &seat;
        if (__sanitizer_set_death_callback != nullptr) {
            __sanitizer_set_death_callback([] { seat_of_process->shared_.sanitizer.store(1); });
        }
        seat.append(frame_result, work(seat));
        shared_->done.store(1);
        std::fflush(nullptr);
        ::_exit(0);
    }
    known_.push_back(keeper);
}

Worker::~Worker() {
    if (!over_) { end_all(); }
    ::close(log_);
    ::munmap(shared_, sizeof(Seat::Shared));
}

/// Kills what is left of it.
void Worker::end_all() {
    shared_->stop.store(2);  // a keeper that sees its worker die is not to start another
    for (int attempt = 0; attempt < 3; ++attempt) {
        // The keeper may change while we look; the worker dies with its keeper.
        const pid_t keeper = shared_->keeper.load();
        const pid_t worker = shared_->worker.load();
        if (worker > 0) { ::kill(worker, SIGKILL); }
        if (keeper > 0) { ::kill(keeper, SIGKILL); }
        for (const pid_t pid : known_) { ::kill(pid, SIGKILL); }
        int status = 0;
        if (keeper > 0) { ::waitpid(keeper, &status, 0); }
        for (const pid_t pid : known_) { ::waitpid(pid, &status, 0); }
        known_.clear();
        if (worker > 0) { ::waitpid(worker, &status, 0); }
        if (shared_->keeper.load() == keeper) { break; }
    }
    over_ = true;
}

void Worker::stop() {
    std::uint32_t running = 0;
    shared_->stop.compare_exchange_strong(running, 1);
}
void Worker::set_wish(std::uint32_t wish) { store(shared_->wish, wish); }

void Worker::want_samples(bool wanted) { store(shared_->samples, wanted ? 1 : 0); }

Worker::Progress Worker::progress() const {
    return {shared_->progress_runs.load(), shared_->progress_distinct.load(), shared_->progress_depth.load(),
            shared_->progress_phase.load(), std::bit_cast<double>(shared_->progress_schedules.load())};
}

void Worker::read_log() {
    const std::uint64_t until = shared_->committed.load(std::memory_order_acquire);
    while (read_ < until) {
        std::uint32_t kind = 0;
        std::uint64_t size = 0;
        std::array<char, sizeof kind + sizeof size> head{};
        const auto read_at = [this](char* to, std::uint64_t bytes, std::uint64_t at) {
            while (bytes > 0) {
                const ssize_t got = ::pread(log_, to, bytes, static_cast<off_t>(at));
                if (got <= 0 && errno == EINTR) { continue; }
                if (got <= 0) { return; }
                to += got;
                bytes -= static_cast<std::uint64_t>(got);
                at += static_cast<std::uint64_t>(got);
            }
        };
        read_at(head.data(), head.size(), read_);
        std::memcpy(&kind, head.data(), sizeof kind);
        std::memcpy(&size, head.data() + sizeof kind, sizeof size);
        std::string bytes(size, '\0');
        read_at(bytes.data(), size, read_ + head.size());
        read_ += head.size() + size;
        if (kind == frame_message) { messages_.push_back(std::move(bytes)); }
        if (kind == frame_sample) {
            WireReader in(bytes);
            Sample sample;
            sample.run = in.number();
            sample.tag = static_cast<std::uint32_t>(in.number());
            sample.hash = in.number();
            sample.answers.resize(in.number());
            std::memcpy(sample.answers.data(), bytes.data() + 4 * sizeof(std::uint64_t),
                        sample.answers.size() * sizeof(std::uint32_t));
            samples_.push_back(std::move(sample));
        }
        if (kind == frame_result) { result_ = std::move(bytes); }
        if (kind == frame_death) {
            std::array<std::uint64_t, 8> values{};
            std::memcpy(values.data(), bytes.data(), sizeof values);
            Death death;
            death.kind = static_cast<Death::Kind>(values[0]);
            death.number = static_cast<int>(values[1]);
            death.run = values[2];
            death.tag = static_cast<std::uint32_t>(values[3]);
            death.points = static_cast<std::uint32_t>(values[4]);
            death.events = values[5];
            death.recording = values[6] != 0;
            death.answers.resize(values[7]);
            if (!death.answers.empty()) {
                std::memcpy(death.answers.data(), bytes.data() + sizeof values, death.answers.size() * sizeof(std::uint32_t));
            }
            deaths_.push_back(std::move(death));
        }
    }
    // What was read is given back; a long search tells a lot.
    if (read_ > (std::uint64_t{1} << 20)) {
        ::fallocate(log_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                    static_cast<off_t>(read_ & ~std::uint64_t{4095}));
    }
}

namespace {

/// The n-th word of a line of /proc, counted behind the name in brackets; 0 if there is none.
std::uint64_t word_of(const std::string& path, std::size_t index) {
    std::array<char, 1024> text{};
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) { return 0; }
    const ssize_t got = ::read(fd, text.data(), text.size());
    ::close(fd);
    if (got <= 0) { return 0; }
    std::string_view line(text.data(), static_cast<std::size_t>(got));
    if (const std::size_t bracket = line.rfind(')'); bracket != std::string_view::npos) {
        line.remove_prefix(bracket + 2);
    }
    for (std::size_t i = 0; i < index; ++i) {
        const std::size_t space = line.find(' ');
        if (space == std::string_view::npos) { return 0; }
        line.remove_prefix(space + 1);
    }
    std::uint64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
}

}  // namespace

/// Kills a worker that has hung or grown too large; its keeper tells.
void Worker::watch(double now) {
    constexpr double between = 0.05;
    if (looked_ >= 0 && now - looked_ < between) { return; }
    looked_ = now;
    const pid_t worker = shared_->worker.load();
    if (worker <= 0) { return; }
    const auto kill_for = [&](Death::Kind kind) {
        shared_->killed_for.store(static_cast<std::uint32_t>(kind) + 1);
        ::kill(worker, SIGKILL);
        beat_of_ = 0;
    };
    const std::string folder = "/proc/" + std::to_string(worker);
    if (limits_.memory_bytes > 0) {
        static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        if (word_of(folder + "/statm", 1) * page > limits_.memory_bytes) {
            kill_for(Death::Kind::memory);
            return;
        }
    }
    if (limits_.hang_seconds <= 0) { return; }
    static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto processor = [&] {
        return static_cast<double>(word_of(folder + "/stat", 11) + word_of(folder + "/stat", 12)) / ticks;
    };
    const std::uint64_t beat = shared_->beat.load() + shared_->points.load() + shared_->events.load();
    if (beat != beat_ || worker != beat_of_) {
        beat_ = beat;
        beat_of_ = worker;
        beat_at_ = now;
        processor_at_ = processor();
        return;
    }
    if (now - beat_at_ < limits_.hang_seconds) { return; }
    if (processor() - processor_at_ >= limits_.hang_seconds || now - beat_at_ >= 6 * limits_.hang_seconds) {
        kill_for(Death::Kind::hang);
    }
}

bool Worker::poll(double now) {
    if (over_) { return false; }
    const pid_t keeper = shared_->keeper.load();
    if (keeper > 0 && std::ranges::find(known_, keeper) == known_.end()) { known_.push_back(keeper); }
    read_log();
    bool last_gone = false;
    for (std::size_t i = 0; i < known_.size();) {
        int status = 0;
        const pid_t reaped = ::waitpid(known_[i], &status, WNOHANG);
        // A keeper of a later checkpoint is no child before the one above it has died.
        if (reaped == 0 || (reaped < 0 && errno == EINTR) || (reaped < 0 && ::kill(known_[i], 0) == 0)) {
            ++i;
            continue;
        }
        last_gone = last_gone || known_[i] == shared_->keeper.load() || shared_->keeper.load() == 0;
        known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!last_gone) {
        watch(now);
        return true;
    }
    read_log();
    if (!result_) {
        failure_ = shared_->given_up.load() == 0                ? "its processes ended without a word"
                   : deaths_.empty() || deaths_.back().run != 0 ? "its processes died again and again"
                                                                : "its process died before the first schedule";
    }
    end_all();
    return false;
}

void Worker::wait(const std::function<double()>& clock) {
    useconds_t pause = 100;
    while (poll(clock())) {
        ::usleep(pause);
        pause = std::min<useconds_t>(pause * 2, 5000);
    }
}

}  // namespace heddle::sim
