// SPDX-License-Identifier: Apache-2.0
// Progress of a search: one line that renews itself on a terminal, plain lines otherwise.
#include "heddle/tools/simrun/detail/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "heddle/traces/trace_text.hpp"

namespace heddle::detail {
namespace {

constexpr double redraw_seconds = 0.1;
constexpr double line_seconds = 5;
constexpr std::size_t bar_width = 20;

std::string spelled_seconds(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds + 0.5);
    if (whole < 120) { return fmt::format("{}s", whole); }
    if (whole < 7200) { return fmt::format("{}m {:02}s", whole / 60, whole % 60); }
    return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
}

}  // namespace

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_terminal(std::FILE* file) {
    const char* const kind = std::getenv("TERM");
    return ::isatty(::fileno(file)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colours(std::FILE* file) {
    const char* const no_colour = std::getenv("NO_COLOR");  // no-color.org: present and not empty
    return is_terminal(file) && (no_colour == nullptr || *no_colour == '\0');
}

std::size_t width_of(std::FILE* file) {
    constexpr std::size_t elsewhere = 100;
    winsize size{};
    if (::isatty(::fileno(file)) != 1 || ::ioctl(::fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return elsewhere;
    }
    return std::clamp<std::size_t>(size.ws_col, 60, 200);
}

Progress::Progress(std::FILE* to, double seconds_max, std::uint64_t runs_max)
    : to_(to),
      seconds_max_(seconds_max),
      runs_max_(runs_max),
      terminal_(is_terminal(to)),
      colours_(has_colours(to)),
      started_(seconds_now()),
      shown_(started_) {}

std::string Progress::line(const Snapshot& snapshot, double elapsed) const {
    const double rate = elapsed > 0 ? static_cast<double>(snapshot.runs) / elapsed : 0;
    std::string text = fmt::format("{:<9} {} schedules  {:.0f}/s  {} distinct", snapshot.doing, snapshot.runs, rate,
                                   snapshot.distinct);
    if (snapshot.depth > 0) { text += fmt::format("  {} deviation{}", snapshot.depth, snapshot.depth == 1 ? "" : "s"); }
    if (snapshot.schedules > 0) { text += fmt::format("  of about {:.3g}", snapshot.schedules); }
    double left = -1;
    double part = -1;
    if (seconds_max_ > 0) {
        left = std::max(0.0, seconds_max_ - elapsed);
        part = elapsed / seconds_max_;
    } else if (runs_max_ > 0 && rate > 0) {
        left = static_cast<double>(runs_max_ - std::min(runs_max_, snapshot.runs)) / rate;
        part = static_cast<double>(snapshot.runs) / static_cast<double>(runs_max_);
    }
    if (part < 0) { return text; }
    if (terminal_) {
        const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(bar_width));
        text += "  [" + std::string(filled, '#') + std::string(bar_width - filled, '.') + "]";
    }
    return text + "  " + spelled_seconds(left) + " left";
}

void Progress::show(const Snapshot& snapshot) {
    const double now = seconds_now();
    if (now - shown_ < (terminal_ ? redraw_seconds : line_seconds)) { return; }
    shown_ = now;
    const std::string text = line(snapshot, now - started_);
    if (!terminal_) {
        fmt::print(to_, "{}\n", text);
    } else {
        const std::string fitting = trace::cut_to(text, width_of(to_) - 1);
        fmt::print(to_, "\r\x1b[K{}{}{}", colours_ ? "\x1b[36m" : "", fitting, colours_ ? "\x1b[0m" : "");
        drawn_ = true;
    }
    std::fflush(to_);
}

void Progress::done() {
    if (!drawn_) { return; }
    fmt::print(to_, "\r\x1b[K");
    std::fflush(to_);
    drawn_ = false;
}

}  // namespace heddle::detail
