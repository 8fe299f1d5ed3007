// SPDX-License-Identifier: Apache-2.0
// TraceRecorder: Observer and Chooser decorator that turns a run into a Trace, on either reactor.
//
//   world ── choose(point) ──▶ TraceRecorder ── choose(point) ──▶ the real chooser, or none (then 0, the baseline)
//     └───── on_event, on_touch ──▶   │
//                                     └── take(recipe, outcome) ──▶ Trace
//
// TR1  It never influences the run (the third door): it hands on what the inner chooser answered, and nothing it
//      does can be seen from the world.
// TR2  During the run it keeps labels, not texts. Texts are looked up when the trace is taken, so the book must still
//      know the run's labels then: take the trace before the book is reset.
// TR3  The hash covers events and choices in order, with virtual time; the footprint hash covers touched cells and
//      their modes. Neither sees user memory, files or lines. It is the same whether or not events are kept.
// TR4  Without kept events its memory is a few hundred bytes plus the deviations, however long the run.
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/base/label.hpp"
#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::trace {

struct RecorderOptions {
    bool keep_events = false;
    /// Events and choices kept; later ones are counted in Trace::events_omitted. With labels of usual length the
    /// default stays below the size that read_trace accepts.
    std::uint64_t events_max = 200'000;
};

class TraceRecorder final : public Observer, public Chooser {
public:
    /// @param book   looks labels up in `take`; may be null (texts become "?" and the hash)
    /// @param inner  answers the choices; null answers 0
    explicit TraceRecorder(const LabelBook* book, Chooser* inner = nullptr, RecorderOptions options = {});

    /// One more book, for worlds whose nodes have one each. The first that knows a label gives its text.
    void add_book(const LabelBook& book) { books_.push_back(&book); }
    void set_inner(Chooser* inner) { inner_ = inner; }

    void on_event(const Event& event) override;
    void on_touch(Cell cell, TouchMode mode) override;
    std::uint32_t choose(const ChoicePoint& point) override;

    /// The run so far as a trace; the recorder stays as it is. Fills `outcome.steps`, `.choices` and, unless the caller
    /// did, `.end` and (for anything but ok) `.step` and `.who`: those of the last `violated` event, else of the step
    /// that runs. Cost: O(kept events × label length).
    [[nodiscard]] Trace take(const Recipe& recipe, const Outcome& outcome) const;

    /// Forgets the run, keeps books, options, inner chooser and memory.
    void reset();

    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] std::uint64_t choices() const { return choices_; }
    [[nodiscard]] std::uint64_t events() const { return count_; }
    /// Rolling hash, to compare with another run's at the same number of events.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    /// Rolling hash over all touched cells; digest_of(footprint()) is what a Decision carries.
    [[nodiscard]] std::uint64_t footprint() const { return footprint_; }
    [[nodiscard]] const std::vector<CheckPoint>& check_points() const { return check_points_; }
    [[nodiscard]] std::string text(Label label) const;

private:
    struct Deviation {
        Label at;
        Label candidate;
        ChoiceKind kind;
        std::uint32_t choose;
        std::uint32_t count;
        std::uint32_t set;
        std::uint32_t footprint;
    };
    struct Kept {
        Instant at;
        Label who;
        Label what;
        Label baseline;  // of a choice: candidate 0, where another one was taken
        std::int64_t a;
        std::int64_t b;
        RecordKind kind;
        std::uint32_t footprint;
        std::uint32_t note;  // index into notes_, counted from 1; 0 for none
    };

    void absorb(std::uint64_t first, std::uint64_t second);
    [[nodiscard]] bool keeps() const { return options_.keep_events && kept_.size() < options_.events_max; }

    std::vector<const LabelBook*> books_;
    Chooser* inner_;
    RecorderOptions options_;

    std::uint64_t hash_ = 0;
    std::uint64_t footprint_ = 0;
    std::uint64_t step_footprint_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t choices_ = 0;
    std::uint64_t violated_step_ = 0;
    Label violated_who_;
    Label running_;
    Instant now_;
    std::vector<CheckPoint> check_points_;
    std::vector<Deviation> deviations_;
    std::vector<Kept> kept_;
    std::vector<std::string> notes_;
};

}  // namespace heddle::trace
