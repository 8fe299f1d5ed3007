// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/sharing_audit.hpp"

#include <algorithm>
#include <utility>

#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {

/// Takes the steps of a plan, as chooser, and sees whether they come, as observer.
class SharingAudit::Follower final : public Chooser, public Observer {
public:
    struct MemoryTouch {
        std::size_t step = 0;
        Touch touch{};
    };

    explicit Follower(const SharedMemory& memory) : memory_(memory) {}

    void begin(const std::vector<Step>& plan) {
        plan_ = &plan;
        begun_ = given_ = 0;
        followed_ = true;
        at_rest_ = ended_ = false;
        doomed_.clear();
        touches_.clear();
    }
    [[nodiscard]] bool followed() const { return followed_ && begun_ == plan_->size(); }
    [[nodiscard]] const std::vector<MemoryTouch>& touches() const { return touches_; }

    std::uint32_t choose(const ChoicePoint& point) override {
        if (point.kind == ChoiceKind::dispatch) {
            if (begun_ >= plan_->size()) { return lost(); }
            const auto at = std::ranges::find(point.candidates, (*plan_)[begun_].who);
            if (at == point.candidates.end()) { return lost(); }
            return static_cast<std::uint32_t>(at - point.candidates.begin());
        }
        // Between a dispatch and the beginning of its step nothing else is asked.
        if (begun_ == 0 || begun_ > plan_->size()) { return lost(); }
        const std::vector<std::uint32_t>& answers = (*plan_)[begun_ - 1].answers;
        return given_ < answers.size() && answers[given_] < point.count ? answers[given_++] : lost();
    }

    void on_event(const Event& event) override {
        switch (event.kind) {
            case EventKind::doomed: doomed_.push_back(event.who); break;
            case EventKind::run_ended: ended_ = true; break;
            case EventKind::quiescent: at_rest_ = true; break;
            case EventKind::step_begin:
                at_rest_ = false;
                if (event.a == 0) { begin_step(event.who); }
                break;
            case EventKind::finished:
                if (std::erase(doomed_, event.who) > 0 && !at_rest_) { begin_step(event.who); }
                break;
            default: break;
        }
    }

    void on_source(Label source, Instant) override {
        at_rest_ = false;
        begin_step(source);
    }

    void on_touch(Cell cell, TouchMode mode) override {
        if (!ended_ && !at_rest_ && begun_ > 0 && memory_.has_name(cell)) { touches_.push_back({begun_ - 1, {cell, mode}}); }
    }

private:
    std::uint32_t lost() {
        followed_ = false;
        return 0;
    }
    void begin_step(Label who) {
        if (ended_) { return; }
        if (begun_ >= plan_->size() || (*plan_)[begun_].who != who) { followed_ = false; }
        ++begun_;
        given_ = 0;
    }

    const SharedMemory& memory_;
    const std::vector<Step>* plan_ = nullptr;
    std::size_t begun_ = 0;
    std::size_t given_ = 0;
    bool followed_ = true;
    bool at_rest_ = false;
    bool ended_ = false;
    std::vector<Label> doomed_;
    std::vector<MemoryTouch> touches_;
};

SharingAudit::SharingAudit(const Program& program, const WorldOptions& world, std::function<std::uint64_t()> state)
    : program_(program), state_(std::move(state)), follower_(std::make_unique<Follower>(memory_)), world_(world) {
    WorldOptions& own = world_.mutable_options();
    own.chooser = follower_.get();
    own.observers = {follower_.get()};
    own.memory = &memory_;
    own.at_end = [this](const Outcome&) {
        labels_.clear();
        for (const std::string& text : world_.labels().objects()) { labels_.emplace_back(LabelBook::of(text).value, text); }
    };
}

SharingAudit::~SharingAudit() = default;

std::optional<std::string> SharingAudit::look(const ReducedSearch& search) {
    const StepGraph& graph = search.graph();
    if (search.whole_loop() || search.was_redundant()) { return std::nullopt; }  // RS4: every order counts
    std::vector<Step> plan;
    for (StepIndex at = 0; at < graph.size(); ++at) {
        if (search.is_at_rest(at)) { break; }  // RS7: it comes by itself, behind all others
        const std::span<const std::uint32_t> answers = search.answers_at(at);
        plan.push_back({graph.label_of(graph.pid(at)), {answers.begin(), answers.end()}, at});
    }
    if (plan.size() < 2) { return std::nullopt; }
    if (has_memory_hooks()) { return shared_bytes(graph, plan); }
    return compare(graph, plan);
}

SharingAudit::Result SharingAudit::run(const std::vector<Step>& plan) {
    ++runs_;
    follower_->begin(plan);
    const Outcome outcome = world_.run(program_);
    Result result;
    result.kind = outcome.kind;
    result.invariant = outcome.invariant;
    result.message = outcome.message;
    result.followed = follower_->followed();
    result.state = world_.state_digest();
    if (state_ && outcome.kind != trace::OutcomeKind::violation) { result.state = hash_mix(result.state, state_()); }
    return result;
}

std::string SharingAudit::name(const StepGraph& graph, StepIndex step) const {
    const std::uint64_t label = graph.label_of(graph.pid(step)).value;
    std::string text = "?";
    for (const auto& [known, its] : labels_) {
        if (known == label) { text = its; }
    }
    return text + " (its step " + std::to_string(graph.ordinal(step)) + ")";
}

/// SA2. Every run that finds more is run again: only then all steps have told what they touch of it.
std::optional<std::string> SharingAudit::shared_bytes(const StepGraph& graph, const std::vector<Step>& plan) {
    std::uint64_t before = 0;
    do {
        before = memory_.version();
        if (!run(plan).followed) { return std::nullopt; }  // the determinism audit's business
    } while (memory_.version() != before);
    std::vector<Follower::MemoryTouch> touches = follower_->touches();
    std::ranges::stable_sort(touches, {}, [](const Follower::MemoryTouch& at) { return at.touch.cell.value; });
    for (std::size_t i = 0; i < touches.size(); ++i) {
        for (std::size_t j = i + 1; j < touches.size() && touches[j].touch.cell == touches[i].touch.cell; ++j) {
            if (!conflicts(touches[i].touch.mode, touches[j].touch.mode)) { continue; }
            const StepIndex first = plan[std::min(touches[i].step, touches[j].step)].at;
            const StepIndex second = plan[std::max(touches[i].step, touches[j].step)].at;
            if (graph.happens_before(first, second)) { continue; }
            return name(graph, first) + " and " + name(graph, second) + " were taken to be independent, and both use " +
                   memory_.text(touches[i].touch.cell) + ", which no Shared and no touch declares";
        }
    }
    return std::nullopt;
}

/// Orders of the same trace: one as far from the order that was run as it can be, and for each step one in which it comes as early, and one
/// in which it comes as late as it can. A state that is wrong only between two steps of somebody else needs the latter.
std::vector<std::vector<StepIndex>> SharingAudit::other_orders(const StepGraph& graph, StepIndex count) {
    std::vector<std::vector<StepIndex>> orders{backwards(graph, count)};
    for (StepIndex step = 0; step < count; ++step) {
        std::vector<StepIndex> early;
        std::vector<StepIndex> late;
        std::vector<StepIndex> behind;
        for (StepIndex at = 0; at < count; ++at) {
            if (graph.happens_before(at, step)) { early.push_back(at); }
            (graph.happens_before(step, at) ? behind : late).push_back(at);
        }
        for (StepIndex at = 0; at < count; ++at) {
            if (!graph.happens_before(at, step)) { early.push_back(at); }
        }
        late.insert(late.end(), behind.begin(), behind.end());
        orders.push_back(std::move(early));
        orders.push_back(std::move(late));
    }
    std::ranges::sort(orders);
    orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
    std::erase_if(orders, [](const std::vector<StepIndex>& order) { return std::ranges::is_sorted(order); });
    return orders;
}

/// The latest of the steps that may come next, again and again.
std::vector<StepIndex> SharingAudit::backwards(const StepGraph& graph, StepIndex count) {
    std::vector<StepIndex> rest;
    std::vector<StepIndex> order;
    for (StepIndex at = 0; at < count; ++at) { rest.push_back(at); }
    while (!rest.empty()) {
        auto latest = rest.begin();
        for (auto at = rest.begin(); at != rest.end(); ++at) {
            const bool possible = std::none_of(rest.begin(), at, [&](StepIndex earlier) { return graph.happens_before(earlier, *at); });
            if (possible) { latest = at; }
        }
        order.push_back(*latest);
        rest.erase(latest);
    }
    return order;
}

/// SA1
std::optional<std::string> SharingAudit::compare(const StepGraph& graph, const std::vector<Step>& plan) {
    const std::vector<std::vector<StepIndex>> others = other_orders(graph, static_cast<StepIndex>(plan.size()));
    if (others.empty()) { return std::nullopt; }
    const Result as_run = run(plan);
    if (!as_run.followed) { return std::nullopt; }  // the determinism audit's business
    for (const std::vector<StepIndex>& other : others) {
        if (!run_order(plan, other).same_as(as_run)) { return narrowed(graph, plan, other, as_run); }
    }
    return std::nullopt;
}

SharingAudit::Result SharingAudit::run_order(const std::vector<Step>& plan, const std::vector<StepIndex>& order) {
    std::vector<Step> steps;
    for (const StepIndex at : order) { steps.push_back(plan[at]); }
    return run(steps);
}

/// Every order between the two, by swaps of neighbours: an insertion sort of the one into the other, written down backwards.
std::string SharingAudit::narrowed(const StepGraph& graph, const std::vector<Step>& plan, const std::vector<StepIndex>& other,
                                   const Result& as_run) {
    std::vector<std::size_t> swaps;  // positions; from `other` back to the order that was run
    std::vector<StepIndex> sorted = other;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        for (std::size_t j = i; j > 0 && sorted[j - 1] > sorted[j]; --j) {
            std::swap(sorted[j - 1], sorted[j]);
            swaps.push_back(j - 1);
        }
    }
    const auto order_behind = [&](std::size_t count) {
        std::vector<StepIndex> order = other;
        for (std::size_t i = 0; i < count; ++i) { std::swap(order[swaps[i]], order[swaps[i] + 1]); }
        return order;
    };
    std::size_t differs = 0;             // so many swaps, and it ends otherwise
    std::size_t same = swaps.size();     // so many, and it ends as it was run
    while (same - differs > 1) {
        const std::size_t middle = differs + (same - differs) / 2;
        (run_order(plan, order_behind(middle)).same_as(as_run) ? same : differs) = middle;
    }
    const std::vector<StepIndex> order = order_behind(differs);
    const Result otherwise = run_order(plan, order);
    const StepIndex first = order[swaps[differs] + 1];
    const StepIndex second = order[swaps[differs]];
    std::string text = name(graph, first) + " and " + name(graph, second) + " were taken to be independent; the other way round ";
    if (otherwise.kind != as_run.kind || otherwise.invariant != as_run.invariant) {
        const auto end = [](const Result& at) {
            return at.kind == trace::OutcomeKind::ok ? std::string("well") : at.invariant + " (" + at.message + ")";
        };
        return text + "the run ends with " + end(otherwise) + " instead of " + end(as_run);
    }
    if (otherwise.followed != as_run.followed) { return text + "other steps follow"; }
    return text + "the program shows another state";
}

}  // namespace heddle::sim
