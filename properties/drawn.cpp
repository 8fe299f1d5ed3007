// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/drawn.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/properties/detail/property_run.hpp"
#include "heddle/traces/failure_text.hpp"

namespace heddle::prop {
namespace {

using detail::PropertyRun;

constexpr std::uint64_t simpler_max = 1'000;    ///< cases that are tried to make the values simpler
constexpr std::uint64_t schedules_least = 500;  ///< of each of them, at least

/// Where values come from: a draw, then which of its simpler forms, which of that one's, and so on.
struct Origin {
    Draw draw{};
    std::vector<std::uint32_t> path{};

    /// "seed 1, case 7, size 3, simpler 0 2 1".
    [[nodiscard]] std::string text() const {
        std::string text =
            "seed " + std::to_string(draw.seed) + ", case " + std::to_string(draw.number) + ", size " + std::to_string(draw.size);
        if (!path.empty()) { text += ", simpler"; }
        for (const std::uint32_t step : path) { text += " " + std::to_string(step); }
        return text;
    }

    static std::optional<Origin> read(const std::string& text) {
        Origin origin;
        std::istringstream words(text);
        const auto number = [&words](const char* name, auto& value) {
            std::string word;
            if (!(words >> word) || word != name || !(words >> word)) { return false; }
            if (word.back() == ',') { word.pop_back(); }
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
            return error == std::errc{} && end == word.data() + word.size();
        };
        if (!number("seed", origin.draw.seed) || !number("case", origin.draw.number) || !number("size", origin.draw.size)) { return {}; }
        if (std::string word; words >> word) {
            if (word != "simpler") { return {}; }
            for (std::uint32_t step = 0; words >> step;) { origin.path.push_back(step); }
            if (!words.eof()) { return {}; }
        }
        return origin;
    }
};

class DrawnRun {
public:
    DrawnRun(PropertyRun& run, const CaseOptions& cases, const ValueSource& source) : run_(run), cases_(cases), source_(source) {}

    void search() {
        const double budget = std::chrono::duration<double>(run_.options().budget).count();
        const double end = detail::host_seconds() + budget;
        std::uint64_t runs = 0;
        std::uint32_t complete = 0;
        std::uint32_t drawn = 0;
        for (std::uint32_t number = 0; number < cases_.cases; ++number) {
            const double left = end - detail::host_seconds();
            if (left <= 0) { break; }
            origin_ = {{run_.options().seed, number, size_of(number)}, {}};
            values_ = source_(origin_.draw);
            if (!values_) { continue; }
            ++drawn;
            const auto [report, broken] = run_.search(values_->program(), {left / (cases_.cases - number), run_.options().schedules, false},
                                                      parameters());
            if (!broken.empty()) { return fail(broken); }
            runs += report.runs;
            if (report.violation) { return tell_simplest(*report.violation, budget); }
            complete += report.complete ? 1 : 0;
        }
        testing::Test::RecordProperty("heddle_cases", std::to_string(drawn));
        testing::Test::RecordProperty("heddle_schedules", std::to_string(runs));
        testing::Test::RecordProperty("heddle_complete", complete == cases_.cases ? "yes" : "no");
        const std::string tried = trace::counted(runs, "schedule") + " of " + trace::counted(drawn, "case");
        const std::string extent = complete == drawn ? "every one of " + tried : tried + ", complete for " + std::to_string(complete);
        std::printf("[  SEARCHED] %s: %s in %.1f s\n", run_.name().c_str(), extent.c_str(), budget + detail::host_seconds() - end);
        if (drawn == 0) { return fail_without_values("no values could be drawn"); }
        if (run_.options().must_complete && complete < cases_.cases) {
            fail_without_values("the search is complete for " + std::to_string(complete) + " of " + trace::counted(cases_.cases, "case") +
                                "; a larger budget (HEDDLE_BUDGET), smaller values or a bound would end it");
        }
    }

    void replay() {
        std::optional<trace::Trace> trace;
        run_.read_trace(trace);
        if (!trace) { return; }
        const std::map<std::string, std::string>& parameters = trace->recipe.parameters;
        const auto drawn = parameters.find("drawn");
        const auto values = parameters.find("values");
        if (drawn == parameters.end() || values == parameters.end()) {
            PropertyRun::refuse({"HEDDLE_REPLAY", "a trace that says how its values were drawn",
                                 "a trace without 'drawn' and 'values'"});
            return;
        }
        const std::optional<Origin> origin = Origin::read(drawn->second);
        if (!origin) {
            PropertyRun::refuse({"HEDDLE_REPLAY, drawn", "'seed N, case N, size N', and 'simpler N …' behind it",
                                 "'" + drawn->second + "'"});
            return;
        }
        origin_ = *origin;
        const std::string gone = "the values of the trace (" + values->second + ") are no longer drawn: ";
        if (!draw_again()) { return fail_without_values(gone + "it has none now"); }
        if (values_->text() != values->second) { return fail_without_values(gone + "they are " + values_->text() + " now"); }
        run_.replay(values_->program(), *trace, "\n  values   " + values_->text());
    }

private:
    [[nodiscard]] std::uint32_t size_of(std::uint32_t number) const {
        if (cases_.cases == 1) { return cases_.size_max; }
        return static_cast<std::uint32_t>(std::uint64_t{number} * cases_.size_max / (cases_.cases - 1));
    }

    [[nodiscard]] std::map<std::string, std::string> parameters() const {
        return {{"values", values_->text()}, {"drawn", origin_.text()}};
    }

    bool draw_again() {
        values_ = source_(origin_.draw);
        for (const std::uint32_t step : origin_.path) {
            std::unique_ptr<DrawnValues> simpler;
            for (std::uint32_t i = 0; values_ && i <= step; ++i) {
                simpler = values_->next_simpler();
                if (!simpler) { break; }
            }
            values_ = std::move(simpler);
        }
        return values_ != nullptr;
    }

    /// The values of the first failure are made simpler as long as they still fail (DV2), then its schedule.
    void tell_simplest(const sim::Found& first, double budget) {
        const std::string before = values_->text();
        const double end = detail::host_seconds() + budget;
        std::uint64_t runs = first.runs;
        std::uint64_t within = run_.options().schedules;  // of the search that found it: it shares them out between the orders
        std::uint64_t tried = 0;
        std::uint32_t position = 0;
        while (tried < simpler_max) {
            const double left = end - detail::host_seconds();
            std::unique_ptr<DrawnValues> simpler = left > 0 ? values_->next_simpler() : nullptr;
            if (!simpler) { break; }
            ++tried;
            const std::uint64_t most = std::min(run_.options().schedules, std::max(schedules_least, 8 * runs));
            const PropertyRun::Search at = run_.search(simpler->program(), {left, most, false}, {});
            const std::optional<sim::Found>& found = at.report.violation;
            if (!at.broken.empty() || !found || found->invariant != first.invariant) {
                ++position;
                continue;
            }
            runs = found->runs;
            within = most;
            origin_.path.push_back(std::exchange(position, 0));
            values_ = std::move(simpler);
        }
        // The same search once more: a schedule is shrunk only now, and its trace says with which values.
        const auto [report, broken] = run_.search(values_->program(), {0, within, true}, parameters());
        if (!broken.empty()) { return fail(broken); }
        if (!report.violation) {
            return fail("a violation of " + first.invariant +
                        " was found, and not again in the same schedules: the program depends on something that is not one of its choices");
        }
        testing::Test::RecordProperty("heddle_values", values_->text());
        std::string text = "\n  values   " + values_->text() + "\n           drawn as case " + std::to_string(origin_.draw.number);
        if (!origin_.path.empty()) {
            const std::size_t times = origin_.path.size();
            text += ", then made simpler " + (times == 1 ? "once" : std::to_string(times) + " times") + "; at first: " + before;
        }
        run_.tell_violation(*report.violation, text);
    }

    void fail(const std::string& why) const { ADD_FAILURE() << run_.name() << " with " << values_->text() << ": " << why; }
    void fail_without_values(const std::string& why) const { ADD_FAILURE() << run_.name() << ": " << why; }

    PropertyRun& run_;
    const CaseOptions& cases_;
    const ValueSource& source_;
    Origin origin_{};
    std::unique_ptr<DrawnValues> values_{};
};

}  // namespace

void run_drawn_property(const char* suite, const char* name, const PropertyOptions& options, const CaseOptions& cases,
                        const ValueSource& source) {
    PropertyRun run(suite, name, options);
    if (!run.read_environment()) { return; }
    if (cases.cases == 0) {
        PropertyRun::refuse({"cases", "at least 1", "none"});
        return;
    }
    DrawnRun drawn(run, cases, source);
    if (run.replays()) { return drawn.replay(); }
    drawn.search();
}

}  // namespace heddle::prop
