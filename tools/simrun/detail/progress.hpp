// SPDX-License-Identifier: Apache-2.0
// Progress: how far long work has come. A line that is drawn again and again on a terminal, a plain line every few
// seconds elsewhere.
//
//   faithful   12345 schedules  41000/s  12345 distinct  2 deviations  [#######.............]  18s left
//
// P1  Nothing is left behind on a terminal; what is not a terminal gets whole lines only.
// P2  Colours only on a terminal, and not with NO_COLOR. A terminal that calls itself dumb is none.
// What it shows is measured, so it goes to standard error and never into a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace heddle::detail {

/// Seconds since some moment before the process began.
[[nodiscard]] double seconds_now();

/// True if `file` is a terminal that understands more than text.
[[nodiscard]] bool is_terminal(std::FILE* file);
/// True if colours are welcome there.
[[nodiscard]] bool has_colours(std::FILE* file);
/// Columns of a terminal, 60 to 200; 100 for everything else, so that output is the same wherever it is redirected to.
[[nodiscard]] std::size_t width_of(std::FILE* file);

struct Snapshot {
    std::string_view doing;  ///< "faithful", "any", "shrinking"
    std::uint64_t runs = 0;
    std::uint64_t distinct = 0;
    std::uint32_t depth = 0;  ///< deviations of the present schedule; 0 is not shown
    double schedules = 0;     ///< about so many there are; 0 is not shown
};

class Progress {
public:
    /// @param seconds_max, runs_max  what the work may take, for the time that is left; 0: no limit
    Progress(std::FILE* to, double seconds_max, std::uint64_t runs_max);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() { done(); }

    /// As often as one likes; shows something ten times a second on a terminal, else every five seconds.
    void show(const Snapshot& snapshot);
    /// The work is over. Idempotent.
    void done();

private:
    [[nodiscard]] std::string line(const Snapshot& snapshot, double elapsed) const;

    std::FILE* to_;
    double seconds_max_;
    std::uint64_t runs_max_;
    bool terminal_;
    bool colours_;
    double started_;
    double shown_;
    bool drawn_ = false;
};

}  // namespace heddle::detail
