// SPDX-License-Identifier: Apache-2.0
// Trace: one run as a value, in layers from "enough to run it again" to "everything that happened".
//
//   recipe ─────▶ which program, which world, which seed          the same binary runs it again
//   decisions ──▶ where the run left the baseline, by label       survives rebuilds
//   constraints ▶ "a before b" between labelled steps, values     survives edits of the program
//   events ─────▶ what happened, for people and viewers           optional
//   outcome ────▶ how it ended                                    what a replay has to reach
//   hash ───────▶ rolling, with check-points                      says that two runs are one
//   door ───────▶ what crossed the Reactor door                   leads a simulated world the way that libuv went
//
// T1  A trace names things by label text, never by address, id or line. `outcome.file` and `.line` stand for messages
//     alone and are never compared.
// T2  Equal runs give equal traces, and equal traces equal text (trace_json.hpp).
// T3  Nothing here knows a coroutine, a reactor or JSON: only the values of core/base and core/seam.
// Choice points: none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/label.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/event.hpp"
#include "heddle/traces/door.hpp"

namespace heddle::trace {

inline constexpr std::string_view format_name = "heddle-trace";
/// Of a trace with the crossings of a reactor's door, and of every other one: whoever knows the first version alone reads those still.
inline constexpr std::uint32_t door_format_version = 2;
inline constexpr std::uint32_t format_version = 1;

/// Who may run next (docs/spec/01-scheduler.md): the production ring, or any ready coroutine.
enum class Order : std::uint8_t { faithful, any };

/// How freely simulated time moves: exact; ties in any order; intervals; difference bounds; untimed.
enum class TimeLevel : std::uint8_t { T0, T1, T2, T3, T4 };

enum class OutcomeKind : std::uint8_t {
    ok,         ///< the program ended and nothing was violated
    violation,  ///< an assertion, a check or an oracle failed
    error,      ///< an exception left the program
    cut,        ///< a bound of the recipe ended the run
    crashed,    ///< the process that ran it died
    diverged,   ///< a replay no longer fitted the program
    count_,
};

[[nodiscard]] std::string_view to_string(Order order);
[[nodiscard]] std::string_view to_string(TimeLevel level);
[[nodiscard]] std::string_view to_string(OutcomeKind kind);
/// True for those that say what failed in Outcome::invariant.
[[nodiscard]] constexpr bool is_failure(OutcomeKind kind) { return kind == OutcomeKind::violation || kind == OutcomeKind::crashed; }

/// Enough to run again with the same binary.
struct Recipe {
    std::string scenario;                           ///< "subject/name"
    std::map<std::string, std::string> parameters;  ///< a generated program is one: its JSON as text
    std::string planted;                            ///< planted bug ("MUT-07"), empty for none
    std::uint64_t seed = 0;
    std::string strategy = "fifo";  ///< the sampler or search that found the run
    std::string reactor = "sim";    ///< "sim" or "libuv"
    Order order = Order::faithful;
    TimeLevel time = TimeLevel::T1;
    Duration resolution = std::chrono::milliseconds(1);  ///< of the reactor; deadlines round up to it
    Duration jitter{};                                   ///< a timer may fire this much late (T2 and above)
    Duration slack{};                                    ///< a ready coroutine may wait this long (T2 and above)
    Duration latency_min{};                              ///< of simulated links
    Duration latency_max{};
    std::string bound;                         ///< of the search: "2", "delay:2", "reversal:1"; empty for none
    std::uint64_t steps_max = 0;               ///< 0: no limit
    Duration time_max{};                       ///< virtual time; 0: no limit
    std::map<std::string, std::string> knobs;  ///< further options of the world, as its owner writes them

    friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// One choice that was not answered with 0, in the order in which they were made.
struct Decision {
    std::string at;  ///< label of the choice point; unique together with `kind`
    ChoiceKind kind = ChoiceKind::value;
    std::uint32_t choose = 0;     ///< index of the answer: 1 ≤ choose < count
    std::uint32_t count = 0;      ///< alternatives that there were
    std::string candidate;        ///< label of the chosen one; empty where the index says it all
    std::uint32_t set = 0;        ///< digest of all candidates (candidate_digest); 0 without candidates
    std::uint32_t footprint = 0;  ///< digest of everything touched before; 0 if nothing was

    friend bool operator==(const Decision&, const Decision&) = default;
};

/// "`before` happens before `after`": labels of two conflicting steps.
struct OrderConstraint {
    std::string before;
    std::string after;
    friend bool operator==(const OrderConstraint&, const OrderConstraint&) = default;
};

/// The answer of a data choice that the failure needs.
struct ValueConstraint {
    std::string at;
    ChoiceKind kind = ChoiceKind::value;
    std::uint32_t choose = 0;
    friend bool operator==(const ValueConstraint&, const ValueConstraint&) = default;
};

struct Constraints {
    std::vector<OrderConstraint> order;
    std::vector<ValueConstraint> values;

    [[nodiscard]] bool empty() const { return order.empty() && values.empty(); }
    friend bool operator==(const Constraints&, const Constraints&) = default;
};

/// Kind of a recorded event: what an Observer saw, or a choice. Written "parked" or "choose:dispatch".
class RecordKind {
public:
    constexpr RecordKind() = default;
    constexpr RecordKind(EventKind kind) : index_(static_cast<std::uint16_t>(kind)) {}  // NOLINT: either is one
    constexpr RecordKind(ChoiceKind kind)
        : index_(static_cast<std::uint16_t>(first_choice + static_cast<int>(kind))) {}  // NOLINT

    [[nodiscard]] constexpr bool is_choice() const { return index_ >= first_choice; }
    [[nodiscard]] constexpr bool is(EventKind kind) const { return index_ == static_cast<std::uint16_t>(kind); }
    /// Requires: !is_choice().
    [[nodiscard]] constexpr EventKind event() const { return static_cast<EventKind>(index_); }
    /// Requires: is_choice().
    [[nodiscard]] constexpr ChoiceKind choice() const { return static_cast<ChoiceKind>(index_ - first_choice); }
    friend constexpr bool operator==(RecordKind, RecordKind) = default;

private:
    static constexpr int first_choice = 256;
    static_assert(static_cast<int>(EventKind::count_) <= first_choice);
    std::uint16_t index_ = static_cast<std::uint16_t>(EventKind::user);
};

[[nodiscard]] std::string to_string(RecordKind kind);

/// One event or choice. For a choice: who = the point, what = the chosen candidate, a = its index, b = the number of
/// alternatives, note = the candidate that production would have taken, where that is another one.
struct TraceEvent {
    Instant at;
    RecordKind kind;
    std::string who;
    std::string what;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::string note;
    std::uint32_t footprint = 0;  ///< step_end: digest of the cells that the step touched, with their modes

    friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

struct Outcome {
    OutcomeKind kind = OutcomeKind::ok;
    /// Violated number ("INV-WAKE-03", "CHECK"), or what the process died of ("SIGSEGV", "HANG"); empty unless is_failure(kind).
    std::string invariant;
    std::string message;
    std::string file;  ///< for messages only (T1)
    std::int32_t line = 0;
    std::uint64_t step = 0;  ///< step at which it happened, counted from 1; 0 for none
    std::string who;         ///< label of what ran then
    std::string mode;  ///< weakest assumption that reaches it: "faithful", "any+jitter", …; empty unless violated
    std::uint64_t steps = 0;
    std::uint64_t choices = 0;  ///< asked, deviating or not
    Instant end;                ///< virtual time at the end

    /// Same end, whatever the counts, the place in the source and the words: what a replay has to reproduce.
    [[nodiscard]] bool same_end(const Outcome& other) const {
        return kind == other.kind && invariant == other.invariant;
    }
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct CheckPoint {
    std::uint64_t events = 0;     ///< events and choices so far: a power of two
    std::uint64_t hash = 0;       ///< rolling hash after that many
    std::uint64_t footprint = 0;  ///< rolling hash over all touched cells by then
    friend bool operator==(const CheckPoint&, const CheckPoint&) = default;
};

/// Rolling hash over labels, choices and events. Never over user memory, never over files and lines.
struct RunHash {
    std::uint64_t events = 0;  ///< events and choices of the whole run
    std::uint64_t value = 0;
    std::uint64_t footprint = 0;
    std::vector<CheckPoint> check_points;  ///< ascending
    friend bool operator==(const RunHash&, const RunHash&) = default;
};

struct Trace {
    std::uint32_t version = format_version;  ///< door_format_version if, and only if, it has crossings of the door, or lost them
    Recipe recipe;
    std::vector<Decision> decisions;
    Constraints constraints;
    Outcome outcome;
    RunHash hash;
    std::vector<TraceEvent> events;    ///< empty where none were kept
    std::uint64_t events_omitted = 0;  ///< later ones that a limit kept out of `events`
    std::vector<DoorEntry> door{};     ///< of a flight recorder; empty where none stood at the door
    std::uint64_t door_omitted = 0;    ///< earlier ones that the ring has lost: it cannot be replayed then

    friend bool operator==(const Trace&, const Trace&) = default;
};

/// Digest of a set of candidates, whatever their order; 0 for an empty one. A replay compares it with what it finds at
/// the point.
[[nodiscard]] std::uint32_t candidate_digest(std::span<const Label> candidates);

/// A 64-bit hash as the 32-bit digest that traces carry; 0 only for 0, which stands for "nothing".
[[nodiscard]] constexpr std::uint32_t digest_of(std::uint64_t hash) {
    const auto folded = static_cast<std::uint32_t>(hash ^ (hash >> 32));
    return hash != 0 && folded == 0 ? 1 : folded;
}

/// Every mode label that a failure may carry, weakest assumption first.
[[nodiscard]] std::span<const std::string_view> mode_labels();

}  // namespace heddle::trace
