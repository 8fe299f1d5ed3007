// SPDX-License-Identifier: Apache-2.0
// Worker: work in a process of its own, which may crash, hang or eat memory without anything being lost.
//
//   supervisor ── fork ──▶ keeper ── fork ──▶ worker: runs schedules, each answer goes into shared memory first
//       │ poll: frames, heartbeat, memory      │ waits                 │ checkpoint(): forks, and is the keeper now
//       │ kills what hangs or grows            │ worker died: tells what of, forks again from where it stands
//       ▼                                      ▼
//   messages, deaths, result ◀── a log in memory, to which the worker, or the keeper of a dead one, appends
//
// WK1  What was told before a death arrives; what was being written when it came does not. The log counts whole frames
//      alone.
// WK2  A death costs what was done since the last checkpoint, and that is done again: its runs are the same, and the
//      run that died is ended right before it would (RunGuard), so that the search behind it goes on.
// WK3  No process outlives its supervisor, whatever happens to either.
// Chance: none. Time is the caller's: `poll` gets it passed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/simreactor/explore/run_guard.hpp"

namespace heddle::sim {

/// How a run ended its process.
struct Death {
    enum class Kind : std::uint8_t { signal, exit, sanitizer, hang, memory };
    Kind kind = Kind::signal;
    int number = 0;            ///< the signal, or the status that it ended with
    std::uint64_t run = 0;     ///< of those that began, from 1: about the schedule of the search; 0: none had begun
    std::uint32_t tag = 0;     ///< of that run (RunGuard::begin)
    std::uint32_t points = 0;  ///< choices that the run had answered
    std::uint64_t events = 0;  ///< what `Seat::count_event` was told in the run
    bool recording = false;    ///< not in a schedule of the search, but while a violation was recorded or shrunk
    std::vector<std::uint32_t> answers{};

    /// "SIGSEGV", "EXIT", "SANITIZER", "HANG", "MEMORY".
    [[nodiscard]] std::string name() const;
    /// "killed by SIGSEGV", "ended by exit, with status 3", …
    [[nodiscard]] std::string text() const;
};

struct WorkerLimits {
    double hang_seconds = 10;  ///< of processor time without an answer; six times as long by the clock. 0: no limit
    std::uint64_t memory_bytes = 0;  ///< resident; 0: no limit
    std::uint32_t deaths_max = 32;   ///< then the work is given up
    double checkpoint_seconds = 1;   ///< at least between two of them; more where they are expensive
};

/// A schedule that a search ran: for somebody who runs it again elsewhere.
struct Sample {
    std::uint64_t run = 0;
    std::uint32_t tag = 0;   ///< RunGuard::begin
    std::uint64_t hash = 0;  ///< AnswerKeeper::hash
    std::vector<std::uint32_t> answers{};
};

class Worker;

/// The worker's side.
class Seat final : public RunGuard, private Chooser {
public:
    // ── RunGuard ──
    Chooser& begin(Chooser& decides, std::uint32_t tag) override;
    [[nodiscard]] bool refuses() const override;
    void ran(std::span<const std::uint32_t> answers, std::uint64_t hash) override;
    bool end() override;
    int may_record() override;
    void recorded() override;
    void alive() override;

    /// To the supervisor, at once.
    void tell(std::string_view message);
    /// True once the supervisor wants the work to end.
    [[nodiscard]] bool is_stopped() const;
    /// A word from the supervisor that may change at any time (Worker::set_wish).
    [[nodiscard]] std::uint32_t wish() const;
    /// How far the work has come, for Worker::progress.
    void show(std::uint64_t runs, std::uint64_t distinct, std::uint32_t depth, std::uint32_t phase, double schedules = 0);
    /// The present run has come to so many events and choices.
    void count_event(std::uint64_t count);
    /// Asked by `end` after each run that the caller cares about; false ends the search.
    std::function<bool()> on_end{};
    /// One run in so many, and the first ones, is told as a sample, as long as the supervisor keeps up; 0: none.
    std::uint64_t sample_every = 0;
    /// For checkpoints: seconds since anything. Without it there are none.
    std::function<double()> clock{};

private:
    friend class Worker;
    struct Shared;
    Seat(Shared& shared, int log, WorkerLimits limits) : shared_(shared), log_(log), limits_(limits) {}
    std::uint32_t choose(const ChoicePoint& point) override;
    void append(std::uint32_t kind, std::string_view bytes);
    void checkpoint();
    void keep();
    void note_death(int status);

    Shared& shared_;
    int log_;
    WorkerLimits limits_;
    Chooser* decides_ = nullptr;
    std::uint64_t run_ = 0;  // of this process's memory: a checkpoint's when it is taken up again
    std::uint32_t points_ = 0;
    std::uint32_t die_at_ = 0;  // the run is ended after so many answers; 0: it is not
    bool refuses_ = false;
    double next_checkpoint_ = -1;
};

/// The supervisor's side.
class Worker {
public:
    /// Runs in the worker; what it returns is the result. An exception that leaves it ends the process, as a crash.
    using Work = std::function<std::string(Seat&)>;

    struct Progress {
        std::uint64_t runs = 0;
        std::uint64_t distinct = 0;
        std::uint32_t depth = 0;
        std::uint32_t phase = 0;
        double schedules = 0;  ///< about so many there are; 0: nobody knows
    };

    /// Starts it. Throws Error if the system has no process or memory left.
    Worker(const Work& work, const WorkerLimits& limits);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();

    /// Looks after it. As often as one likes; a few hundred times a second is enough. @param now  seconds since
    /// anything
    /// @returns true while it works
    bool poll(double now);
    /// The same until it has ended, sleeping in between.
    void wait(const std::function<double()>& clock);

    /// What has come since the last call, in order.
    [[nodiscard]] std::vector<std::string> take_messages() { return std::exchange(messages_, {}); }
    [[nodiscard]] std::vector<Sample> take_samples() { return std::exchange(samples_, {}); }
    /// False: no more samples for now.
    void want_samples(bool wanted);
    [[nodiscard]] std::vector<Death> take_deaths() { return std::exchange(deaths_, {}); }
    /// Once `poll` has said false; none if the work was given up.
    [[nodiscard]] const std::optional<std::string>& result() const { return result_; }
    /// Why there is no result, in words.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    void stop();
    void set_wish(std::uint32_t wish);
    [[nodiscard]] Progress progress() const;

private:
    void read_log();
    void watch(double now);
    void end_all();

    Seat::Shared* shared_ = nullptr;
    int log_ = -1;
    WorkerLimits limits_;
    std::uint64_t read_ = 0;
    std::vector<pid_t> known_;  // keepers that were not reaped yet
    std::vector<std::string> messages_;
    std::vector<Death> deaths_;
    std::vector<Sample> samples_;
    std::optional<std::string> result_;
    std::string failure_;
    bool over_ = false;
    double looked_ = -1;  // of the last look at processor time and memory
    std::uint64_t beat_ = 0;
    double beat_at_ = 0;
    double processor_at_ = 0;  // of the worker, when the beat was new
    pid_t beat_of_ = 0;
};

}  // namespace heddle::sim
