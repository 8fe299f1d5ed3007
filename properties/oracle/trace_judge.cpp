// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/trace_judge.hpp"

#include <array>
#include <map>
#include <set>

#include "heddle/properties/oracle/history.hpp"

namespace heddle::prop {
namespace {

using sim::Reduction;

/// Passes everything on, some touches aside.
class HidingObserver final : public Observer {
public:
    HidingObserver(Observer& inner, const std::function<bool(Cell, TouchMode)>& hidden) : inner_(inner), hidden_(hidden) {}
    void on_event(const Event& event) override { inner_.on_event(event); }
    void on_touch(Cell cell, TouchMode mode) override {
        if (!hidden_ || !hidden_(cell, mode)) { inner_.on_touch(cell, mode); }
    }
    void on_statement(Cell cell, TouchMode mode) override { inner_.on_statement(cell, mode); }
    void on_source(Label source, Instant at) override { inner_.on_source(source, at); }

private:
    Observer& inner_;
    const std::function<bool(Cell, TouchMode)>& hidden_;
};

/// All that one search saw.
struct Seen {
    bool complete = false;
    bool reduced = true;
    std::uint64_t runs = 0;
    std::map<std::uint64_t, std::uint64_t> histories{};  // by trace
    std::map<std::uint64_t, std::string> tellings{};      // by trace: who ran, and what was touched
    std::set<std::string> ends{};
    std::string complaint{};  // a violation, or a trace with two histories
};

/// Cells by name, as far as they belong to what a run named.
constexpr std::array fields{"wait", "state", "flag", "live", "settings", "children", "order", "handles", "value", "user", "tail",
                            "released", "release", "skips", "sends", "receives", "closed", "head", "slot", "credit", "tasks", "queue",
                            "places", "circuit", "unhandled", "armed"};
constexpr std::array modes{'R', 'W', 'a', 's', 'm', 'g', 't'};

class Watch {
public:
    Watch(const sim::Program& program, Reduction reduction, const JudgeOptions& options, bool one_question = true)
        : program_(program), search_(search_options(reduction, options, one_question)), hiding_(search_, options.hidden) {
        sim::WorldOptions world;
        world.order = options.order;
        world.timing = options.timing;
        world.errors_are_violations = false;
        world.name_points = false;
        world.chooser = &search_;
        world.observers = {&hiding_, &history_};
        world.at_end = [this](const sim::Outcome&) {
            for (const auto& [label, hash] : history_.hashes()) { names_.try_emplace(label, world_.labels().text(Label{label})); }
        };
        tells_ = reduction == Reduction::none;
        world_.configure(world);
    }

    Seen all(std::uint64_t runs_max) {
        while (seen_.runs < runs_max && seen_.complaint.empty() && search_.next()) { one(); }
        seen_.complete = search_.complete();
        seen_.reduced = !search_.whole_loop();
        return std::move(seen_);
    }

private:
    static sim::ReducedSearch::Options search_options(Reduction reduction, const JudgeOptions& judged, bool one_question) {
        sim::ReducedSearch::Options options;
        options.reduction = reduction;
        options.one_question = one_question;
        options.faithful = judged.order == trace::Order::faithful;
        return options;
    }

    void one() {
        history_.begin();
        world_.mutable_options().one_question = search_.puts_one_question();
        const sim::Outcome outcome = world_.run(program_);
        ++seen_.runs;
        const bool violated = outcome.kind == trace::OutcomeKind::violation;
        search_.finish(!violated);
        if (tells_) { telling_ = tell(); }
        if (violated) {
            seen_.complaint = "violated " + outcome.invariant + ": " + outcome.message;
            return;
        }
        if (search_.runs() == 0) {  // it begins anew, with more that counts as dependent
            seen_.histories.clear();
            seen_.ends.clear();
            first_.clear();
            return;
        }
        if (search_.was_redundant()) { return; }
        seen_.ends.insert(outcome.message);
        const std::uint64_t trace = search_.trace_digest();
        const auto [known, fresh] = seen_.histories.emplace(trace, history_.digest());
        if (fresh) {
            first_.emplace(trace, history_.hashes());
            if (tells_) { seen_.tellings.emplace(trace, telling_); }
        } else if (known->second != history_.digest()) {
            seen_.complaint = "one trace, two histories:" + differing(first_[trace]);
        }
    }

    std::string differing(const std::map<std::uint64_t, std::uint64_t>& before) {
        std::string text;
        std::map<std::uint64_t, std::uint64_t> all = before;
        all.insert(history_.hashes().begin(), history_.hashes().end());
        for (const auto& [label, any] : all) {
            const auto one = before.find(label);
            const auto other = history_.hashes().find(label);
            const bool equal = one != before.end() && other != history_.hashes().end() && one->second == other->second;
            if (!equal) { text += " " + names_[label]; }
        }
        return text;
    }

    /// The steps of the last run: who, and the cells that are known by name.
    std::string tell() {
        const sim::StepGraph& graph = search_.graph();
        std::string text;
        for (sim::StepIndex step = 0; step < graph.size(); ++step) {
            const std::uint64_t who = graph.label_of(graph.pid(step)).value;
            const auto name = names_.find(who);
            text += "\n  " + (name == names_.end() ? "?" : name->second);
            for (const std::uint32_t answer : search_.answers_at(step)) { text += "=" + std::to_string(answer); }
            for (const sim::Foot& foot : graph.feet(step).feet) {
                text += std::string(" ") + modes[static_cast<std::size_t>(foot.mode)] + ":" + name_of(foot.cell);
            }
        }
        return text;
    }

    const std::string& name_of(std::uint32_t cell) {
        if (cells_.size() <= cell) { cells_.resize(cell + 1); }
        std::string& name = cells_[cell];
        if (name.empty()) {
            for (const auto& [label, text] : names_) {
                for (const char* field : fields) {
                    for (std::uint64_t index = 0; index < 4; ++index) {
                        if (search_.number_of(heddle::cell(Label{label}, field, index)) != cell) { continue; }
                        name = text + "." + field + (index > 0 ? std::to_string(index) : "");
                    }
                }
            }
            if (name.empty()) { name = "#" + std::to_string(cell); }
        }
        return name;
    }

    const sim::Program& program_;
    bool tells_ = false;
    std::string telling_;
    std::vector<std::string> cells_;
    sim::ReducedSearch search_;
    HidingObserver hiding_;
    History history_;
    sim::World world_;
    Seen seen_;
    std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> first_;  // histories by trace, of its first schedule
    std::map<std::uint64_t, std::string> names_;
};

}  // namespace

std::optional<Verdict> judge_traces(const sim::Program& program, const JudgeOptions& options) {
    const Seen all = Watch(program, Reduction::none, options).all(options.runs_max);
    Verdict verdict{all.complaint, all.runs, all.histories.size()};
    verdict.reduced = all.reduced;
    if (!verdict.complaint.empty()) { return verdict; }
    if (!all.complete) { return std::nullopt; }
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        // What shows only in schedules that no reduced search runs may make brute force begin anew once more; the bound leaves room for it.
        // Where brute force met what one question cannot say, they are asked as it was.
        const Seen reduced = Watch(program, reduction, options, all.reduced).all(all.runs * 2 + 16);
        (reduction == Reduction::source ? verdict.source_runs : verdict.optimal_runs) = reduced.runs;
        const std::string name(to_string(reduction));
        if (!reduced.complaint.empty()) {
            verdict.complaint = name + ": " + reduced.complaint;
        } else if (!reduced.complete) {
            verdict.complaint = name + ": more schedules than brute force has";
        } else if (reduced.histories != all.histories) {
            verdict.complaint = name + ": " + std::to_string(reduced.histories.size()) + " traces of " + std::to_string(all.histories.size());
            for (const auto& [trace, telling] : all.tellings) {
                if (!reduced.histories.contains(trace)) { verdict.complaint += ", without" + telling; }
                if (verdict.complaint.size() > 4'000) { break; }
            }
        } else if (reduced.ends != all.ends) {
            verdict.complaint = name + ": other ends";
        }
        if (!verdict.complaint.empty()) { break; }
    }
    return verdict;
}

}  // namespace heddle::prop
