// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: a bounded ring of what crossed a reactor's door, in production, written as a trace when somebody asks.
//
//   Runtime ──▶ FlightRecorder ──▶ UvReactor
//                 │ ring: the last crossings           on demand ── write(path)
//                 └──────────────────▶ Trace ◀──────── a violation
//                                                      a signal ─▶ trigger ─▶ the loop
//
//   real::UvReactor reactor;
//   trace::FlightRecorder recorder{reactor, {.recipe = {.scenario = "shop/orders"}, .path = "orders.trace.json"}};
//   Runtime runtime{recorder};
//
// FR1  The ring's memory is bounded: `crossings_max` entries and `bytes_max` bytes of what was read. What no longer fits is
//      the oldest, and the trace says how many it has lost: such a trace shows what led to a failure, and cannot be replayed.
// FR2  A file is written whole or not at all (trace_file.hpp).
// FR3  A signal's handler does one thing: it fires a trigger (RCT-1). Writing is done by the loop, in its next tick; a
//      program that never comes back to its loop is not written by a signal.
// FR4  What is recorded is what a simulated world is led by: times, orders, sizes, results. Bytes only where asked for.
// Choice points: none. Cost: none where there is no recorder; with one, a copy of each crossing into the ring, and streams
// take no short ways (RD2).
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/result.hpp"
#include "heddle/traces/reactor_door.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::trace {

struct FlightOptions {
    std::size_t crossings_max = 65'536;              ///< 1 or more; about 150 bytes each
    std::size_t bytes_max = std::size_t{16} << 20;  ///< of all that entries carry
    bool keep_bytes = false;                        ///< what is read from streams, datagrams and files is kept, too
    Recipe recipe{};  ///< of the traces: the scenario under which a simrun knows the program, and its parameters
    /// Where a violation or a signal writes to; a file that is there is replaced. Empty: they write nothing.
    std::string path{};
    bool on_violation = true;
};

class FlightRecorder final : public ReactorDoor, private ViolationSink {
public:
    explicit FlightRecorder(Reactor& reactor, FlightOptions options = {});
    ~FlightRecorder() override;

    /// What the ring holds, with an end. Cost: O(crossings).
    [[nodiscard]] Trace take(const Outcome& outcome) const;
    /// Writes it, in place of what is there. @returns the number of bytes, or an error that names the path
    [[nodiscard]] Result<std::uint64_t> write(const std::string& path, const Outcome& outcome) const;

    /// From now until shutdown the signal writes the ring to FlightOptions::path: its handler is replaced for so long.
    /// Throws: AsyncError before startup, for a number that is none, or that another recorder has taken.
    void write_on_signal(int number);

    [[nodiscard]] std::uint64_t crossings() const { return lost_ + count_; }  ///< since the start
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    /// Files that violations and signals have written, or could not write.
    [[nodiscard]] std::uint64_t files_written() const { return files_written_; }
    [[nodiscard]] const std::string& last_error() const { return last_error_; }

    void startup(ReactorSink& sink) override;
    void shutdown() override;

private:
    class Writer final : public SourceOwner {
    public:
        explicit Writer(FlightRecorder& recorder) : recorder_(recorder) {}
        void on_delivery(const Delivery&) override { recorder_.write_on_its_own("written on a signal"); }

    private:
        FlightRecorder& recorder_;
    };
    struct Taken {
        int number = 0;
        struct sigaction before {};
    };

    void crossed(DoorEntry&& entry) override;
    void deliver(const Delivery& delivery) noexcept override;
    void violated(const Violation& violation) override;
    void write_on_its_own(const char* why);
    void write_now(const Outcome& outcome);
    void give_signals_back();
    void drop_oldest();

    FlightOptions options_;
    std::vector<DoorEntry> ring_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t files_written_ = 0;
    std::string last_error_;
    Writer writer_{*this};
    SourceId trigger_{};
    TriggerPortPtr port_;
    std::vector<Taken> taken_;
    ViolationSink* outer_ = nullptr;
    bool watches_ = false;
};

}  // namespace heddle::trace
