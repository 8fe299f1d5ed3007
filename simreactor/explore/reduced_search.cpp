// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/reduced_search.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {
namespace {

/// The ready queue itself is no object where any ready coroutine may go next.
constexpr Cell ready_tail = cell(Label{hash_text("loop")}, "ready-tail");
constexpr Cell ready_head = cell(Label{hash_text("loop")}, "ready-head");
/// What every step touches once the reactor has a say (RS4).
constexpr Cell the_loop = cell(Label{hash_text("loop")}, "everything");
/// The order in which coroutines were born, whatever their scopes (RS6).
constexpr Cell every_order = cell(Label{hash_text("loop")}, "order");

/// How many coroutines are active beside zombies (RS11).
constexpr Cell active_count = cell(Label{hash_text("loop")}, "active");

/// Every end of a coroutine may be the end of the run, which takes back the sources that nobody waits for (SimReactor reads it with each).
constexpr Cell end_of_world = cell(Label{hash_text("loop")}, "end");

/// What a program may share without saying so.
constexpr Cell user_memory = cell(Label{hash_text("loop")}, "user memory");
constexpr Label the_loop_itself{hash_text("loop, at rest")};

}  // namespace

std::string_view to_string(Reduction reduction) {
    switch (reduction) {
        case Reduction::none: return "none";
        case Reduction::source: return "source";
        case Reduction::optimal: return "optimal";
    }
    return "?";
}

std::optional<Reduction> reduction_from(std::string_view text) {
    for (const Reduction reduction : {Reduction::none, Reduction::source, Reduction::optimal}) {
        if (text == to_string(reduction)) { return reduction; }
    }
    return std::nullopt;
}

// ── the order of runs ──

bool ReducedSearch::next() {
    if (exhausted_) { return false; }
    if (started_ && !advance()) {
        exhausted_ = !waiting_;
        return false;
    }
    started_ = true;
    ++runs_;
    position_ = 0;
    steps_begun_ = 0;
    blocked_ = false;
    watching_ = true;
    chosen_.reset();
    doomed_.clear();
    at_rest_ = ended_ = in_tick_ = in_source_ = false;
    in_place_of_.reset();
    skipping_ = skip_steps_ > 0;
    if (options_.memory != nullptr) { memory_version_ = options_.memory->version(); }
    return true;
}

void ReducedSearch::rewind() {
    watching_ = false;
    position_ = 0;
    replay_until_ = answers_.size();
}

/// From the end of the last run to the next one that is to do. False if there is none.
bool ReducedSearch::advance() {
    while (depth_ > 0) {
        Node& node = nodes_[depth_ - 1];
        const auto step = static_cast<StepIndex>(depth_ - 1);
        join_feet(step);
        const std::size_t fixed = depth_ == lease_depth_ ? std::max(first_answer(node), lease_fixed_) : first_answer(node);
        for (std::size_t i = answers_.size(); i > fixed; --i) {  // other answers within the same step
            if (answers_[i - 1] + 1 == counts_[i - 1]) { continue; }
            ++answers_[i - 1];
            resume_at(step, static_cast<std::uint32_t>(i));
            return true;
        }
        if (depth_ == lease_depth_) { return false; }  // other processes of this node are not ours
        if (!node.lent.empty()) {
            waiting_ = true;  // LS3
            return false;
        }
        put_to_sleep(node);
        if (const std::optional<Pid> other = other_choice(node); other) {
            const auto at = std::ranges::find(node.enabled, *other);
            HEDDLE_ASSERT(node.asked && at != node.enabled.end(), "RS1");
            node.current = *other;
            node.current_feet.clear();
            answers_[node.question] = static_cast<std::uint32_t>(at - node.enabled.begin());
            resume_at(step, node.question + 1);
            return true;
        }
        answers_.resize(node.question);
        counts_.resize(node.question);
        --depth_;
        if (graph_.size() > step) { graph_.truncate(step); }
    }
    // What is asked before the first step (which node begins, what its clock shows) is part of no step; each answer is a search of its own.
    for (std::size_t i = answers_.size(); i > 0; --i) {
        if (answers_[i - 1] + 1 == counts_[i - 1]) { continue; }
        ++answers_[i - 1];
        answers_.resize(i);
        counts_.resize(i);
        replay_until_ = i;
        skip_steps_ = 0;
        first_new_ = 0;
        graph_.truncate(0);
        return true;
    }
    return false;
}

/// What the step that was run at a node touches joins what it touched with other answers.
void ReducedSearch::join_feet(StepIndex step) {
    if (step >= graph_.size()) { return; }
    Node& node = nodes_[step];
    for (const Foot& foot : graph_.feet(step).feet) {
        if (std::ranges::find(node.current_feet, foot) == node.current_feet.end()) { node.current_feet.push_back(foot); }
    }
}

/// The next run repeats the steps before `depth` and the first `answers` answers.
void ReducedSearch::resume_at(std::size_t depth, std::uint32_t answers) {
    answers_.resize(answers);
    counts_.resize(answers);
    replay_until_ = answers;
    first_new_ = static_cast<StepIndex>(depth);
    nodes_[depth].taken_back = true;
    if (graph_.size() > depth) { graph_.truncate(static_cast<StepIndex>(depth)); }
    skip_steps_ = graph_.size();  // all of them, unless the search was just loaded
}

void ReducedSearch::restart() {
    graph_.truncate(0);
    depth_ = 0;
    answers_.clear();
    counts_.clear();
    replay_until_ = skip_steps_ = 0;
    first_new_ = 0;
    redundant_ = cut_ = 0;
    runs_ = 0;
    digests_.clear();
    started_ = bounded_ = false;
}

double ReducedSearch::explored_share() const {
    double share = 0;
    double weight = 1;
    for (std::size_t depth = 0; depth < depth_; ++depth) {
        const Node& node = nodes_[depth];
        std::size_t wanted = node.explored + 1;  // what was tried, and what is being tried
        switch (options_.reduction) {
            case Reduction::none: wanted = std::max(wanted, node.enabled.size()); break;
            case Reduction::source: wanted = std::max(wanted, node.source.size()); break;
            case Reduction::optimal:
                forest_.for_each(node.tree, [&](const WakeupForest::Branch& branch) {
                    if (branch.pid != node.current) { ++wanted; }
                    return true;
                });
        }
        share += weight * node.explored / static_cast<double>(wanted);
        weight /= static_cast<double>(wanted);
    }
    return share;
}

void ReducedSearch::finish(bool extend) {
    HEDDLE_ASSERT(position_ >= replay_until_ && (!skipping_ || blocked_), "INV-RCT-14");
    close_step();
    const bool shares_more = options_.memory != nullptr && options_.memory->version() != memory_version_;
    const bool zombies_new = zombies_seen_ && !zombies_shown_;
    if ((reactor_seen_ && !whole_loop_) || (order_read_ && !orders_shown_) || zombies_new || shares_more) {  // RS4, RS6, RS8, RS11
        whole_loop_ = reactor_seen_;
        orders_shown_ = order_read_;
        zombies_shown_ = zombies_seen_;
        restart_wanted_ = leased_;
        if (!leased_) { restart(); }
        return;
    }
    if (!extend) {
        ++cut_;
        expand_all();
        return;
    }
    if (blocked_) {
        ++redundant_;
    } else {
        note_taken_back();
    }
    if (options_.reduction == Reduction::source) {
        const std::span<const Race> races = graph_.races_from(0);
        settled_.resize(races.size() - graph_.races_from(first_new_).size());
        const std::size_t known = settled_.size();
        settled_.resize(races.size(), no_step);
        for (std::size_t i = 0; i < races.size(); ++i) {
            if (i >= known || settled_[i] == no_step) { settled_[i] = race_to_source(races[i]); }
        }
    } else if (options_.reduction == Reduction::optimal) {
        const std::span<const Race> races = graph_.races_from(0);
        settled_.resize(races.size() - graph_.races_from(first_new_).size(), no_step);
        settled_.resize(races.size(), no_step);
        for (std::size_t i = 0; i < races.size() && !blocked_; ++i) {
            if (settled_[i] >= first_new_) { settled_[i] = race_to_tree(races[i]); }
        }
    }
    if (options_.count_traces && !blocked_) {
        std::uint64_t digest = graph_.digest();
        const std::size_t before = depth_ == 0 ? answers_.size() : nodes_[0].question;
        for (std::size_t i = 0; i < before; ++i) { digest = hash_mix(digest, answers_[i] + 1); }
        digests_.insert(digest);
    }
}

// ── one run ──

std::uint32_t ReducedSearch::choose(const ChoicePoint& point) {
    note_answer(point);
    const std::size_t position = position_++;
    if (!watching_) { return position < answers_.size() ? answers_[position] : 0; }
    if (blocked_) { return 0; }
    if (skipping_ && point.kind == ChoiceKind::dispatch && steps_begun_ == skip_steps_) { skipping_ = false; }
    if (skipping_) {
        HEDDLE_ASSERT(position < replay_until_, "INV-RCT-14");
        return answers_[position];
    }
    if (point.kind != ChoiceKind::dispatch) {
        const bool planned = position < replay_until_;
        if (!planned) {
            answers_.push_back(0);
            counts_.push_back(point.count);
        }
        HEDDLE_ASSERT(answers_.size() > position && answers_[position] < point.count, "INV-RCT-14");
        if (graph_.is_open() && !ended_) { graph_.answer(answers_[position]); }  // what goes with the world is nobody's step
        return answers_[position];
    }
    if (chosen_ && puts_one_question()) {  // who was chosen did not run: the end of the world came between
        reactor_seen_ = blocked_ = true;
        return 0;
    }
    close_step();
    if (position < replay_until_) {  // the node whose step is run with another process, or with other answers
        Node& node = nodes_[graph_.size()];
        HEDDLE_ASSERT((node.taken_back || graph_.size() + 1 < depth_) && node.question == position && node.enabled.size() == point.count,
                      "INV-RCT-14");
        node.taken_back = false;
        chosen_ = node.current;
        graph_.begin(node.current);
        return answers_[position];
    }
    Node& node = new_node();
    for (const Label label : point.candidates) { node.enabled.push_back(graph_.pid_of(label)); }
    node.question = static_cast<std::uint32_t>(position);
    node.asked = true;
    note_taken_back();
    const std::optional<Pid> pid = first_choice(node);
    if (!pid) {
        --depth_;
        blocked_ = true;
        return 0;
    }
    node.current = *pid;
    chosen_ = *pid;
    graph_.begin(*pid);
    const auto index = static_cast<std::uint32_t>(std::ranges::find(node.enabled, *pid) - node.enabled.begin());
    answers_.push_back(index);
    counts_.push_back(point.count);
    return index;
}

void ReducedSearch::on_event(const Event& event) {
    if (event.kind == EventKind::doomed) { doomed_.push_back(event.who); }
    if (event.kind == EventKind::scope_opened) {
        bool fresh = false;
        order_cells_.at(cell(event.what, "order").value, 0, fresh);
    }
    // One that was cancelled before it began is finalized in place of a first step.
    const bool ends_unborn = event.kind == EventKind::finished && std::erase(doomed_, event.who) > 0;
    if (event.kind == EventKind::step_begin) { at_rest_ = false; }
    if ((event.kind == EventKind::step_begin && event.a == 0) || (ends_unborn && !at_rest_)) {
        in_source_ = false;
        begin_step(event.who, ends_unborn, event.at);
        if (!ends_unborn) { in_place_of_ = event.who; }
        return;
    }
    if (event.kind == EventKind::quiescent || (event.kind == EventKind::finished && in_place_of_ == event.who)) { in_place_of_.reset(); }
    if (event.kind == EventKind::tick_begin) { in_source_ = false; }
    if (event.kind == EventKind::tick_begin || event.kind == EventKind::tick_end) { in_tick_ = event.kind == EventKind::tick_begin; }
    if (event.kind == EventKind::run_ended) {  // what goes with the world is nobody's step
        ended_ = true;
        at_rest_ = false;
    }
    if (event.kind == EventKind::quiescent) { at_rest_ = true; }
    if (event.kind == EventKind::deadlock || event.kind == EventKind::unwound || event.kind == EventKind::woken) { begin_rest(); }
    if (!records() || !graph_.is_open()) { return; }
    switch (event.kind) {
        case EventKind::finished:
            if (puts_one_question()) { graph_.touch(end_of_world, TouchMode::add); }
            if (orders_shown_) { graph_.touch(every_order, TouchMode::add); }  // one less to go through
            if (zombies_shown_) { graph_.touch(active_count, TouchMode::write); }
            break;
        case EventKind::woken:
            if (options_.faithful && in_source_ && puts_one_question()) { graph_.touch(cell(event.who, "place"), TouchMode::write); }
            [[fallthrough]];
        case EventKind::spawned:
            if (event.kind == EventKind::spawned && zombies_shown_) { graph_.touch(active_count, TouchMode::write); }
            graph_.enable(graph_.pid_of(event.who));
            break;
        case EventKind::delivered:
            if (!puts_one_question() || (in_tick_ && !in_source_)) { reactor_seen_ = true; }
            break;
        case EventKind::became_zombie:
            zombies_seen_ = true;
            if (zombies_shown_) { graph_.touch(active_count, TouchMode::write); }
            if (!puts_one_question()) { reactor_seen_ = true; }
            break;
        case EventKind::epilogue_expired:
            if (event.a > 1) { reactor_seen_ = true; }  // it takes back the next step of everybody, as the second phase does
            break;
        case EventKind::second_phase: reactor_seen_ = true; break;  // it is the loop's state from here on, and every dispatch reads it
        case EventKind::scope_requested:
            order_read_ = true;
            graph_.touch(cell(event.what, "order"), TouchMode::read);
            break;
        case EventKind::unwound:  // newest first
        case EventKind::shutdown_begun:
            order_read_ = true;
            graph_.touch(every_order, TouchMode::read);
            break;
        default: break;
    }
}

/// A source's step; what it delivers comes next.
void ReducedSearch::on_source(Label source, Instant at) {
    at_rest_ = false;
    in_source_ = true;
    begin_step(source, false, at);
}

void ReducedSearch::note_answer(const ChoicePoint& point) {
    switch (point.kind) {
        case ChoiceKind::dispatch:
        case ChoiceKind::value: return;
        case ChoiceKind::fault:
        case ChoiceKind::req_cancel:  // answers within a step
            if (puts_one_question()) { return; }
            break;
        default: break;
    }
    reactor_seen_ = true;
}

void ReducedSearch::begin_coroutine(Pid pid) {
    if (coroutines_.size() <= pid) { coroutines_.resize(pid + 1); }
    coroutines_[pid] = true;
    if (!options_.faithful || !puts_one_question()) { return; }
    graph_.chain();
    graph_.touch(ready_head, TouchMode::read);
    if (in_place_of_) { graph_.touch(cell(*in_place_of_, "place"), TouchMode::read); }
}

void ReducedSearch::begin_step(Label who, bool unborn, Instant at) {
    const std::size_t begun = steps_begun_++;
    if (blocked_ || !watching_) { return; }
    if (skipping_) {
        if (begun < skip_steps_) { return; }
        skipping_ = false;
    }
    const Pid pid = chosen_ ? *chosen_ : graph_.pid_of(who);
    if (chosen_) {
        if (puts_one_question() && graph_.label_of(pid) != who) {  // the end of the world came between
            reactor_seen_ = blocked_ = true;
            return;
        }
        HEDDLE_ASSERT(graph_.label_of(pid) == who, "RS1: who was chosen runs");
        chosen_.reset();
    } else {
        open_step(pid, false, static_cast<std::uint32_t>(position_));
        if (blocked_) { return; }
    }
    if (puts_one_question()) { graph_.at(at); }
    if (!in_source_) { begin_coroutine(pid); }
    const OwnCells own = own_cells(pid, who);
    graph_.allow(own.wait);
    graph_.allow(own.state);
    graph_.touch_number(own.wait, TouchMode::write);  // its own resumption
    graph_.touch_number(own.wait, TouchMode::take);   // which all that counted towards it made possible
    if (options_.sharing_any) { graph_.touch(user_memory, TouchMode::write); }
    if (!unborn) { return; }
    graph_.touch_number(own.state, TouchMode::write);
    if (puts_one_question()) { graph_.touch(end_of_world, TouchMode::add); }
    if (orders_shown_) { graph_.touch(every_order, TouchMode::add); }
    if (zombies_shown_) { graph_.touch(active_count, TouchMode::write); }
}

/// RS7: what happens now is nobody's.
void ReducedSearch::begin_rest() {
    if (!at_rest_) { return; }
    at_rest_ = false;
    begin_step(the_loop_itself, false, graph_.now());
    if (records() && graph_.is_open()) { graph_.follow_all(); }
}

void ReducedSearch::on_touch(Cell cell, TouchMode mode) {
    begin_rest();
    if (!records() || !graph_.is_open()) { return; }
    if ((cell == ready_tail || cell == ready_head) && !(options_.faithful && puts_one_question())) { return; }
    if (order_cells_.find(cell.value) != nullptr) {
        if (mode == TouchMode::read) { order_read_ = true; }
        if (!orders_shown_) { return; }
        if (mode == TouchMode::write) { graph_.touch(every_order, TouchMode::write); }
    }
    graph_.touch(cell, mode);
}

void ReducedSearch::on_statement(Cell cell, TouchMode mode) {
    if (records() && graph_.is_open() && !whole_loop_ && !options_.sharing_any) { graph_.state(cell, mode); }
}

ReducedSearch::OwnCells ReducedSearch::own_cells(Pid pid, Label label) {
    while (own_cells_.size() <= pid) {
        const Label next = graph_.label_of(static_cast<Pid>(own_cells_.size()));
        own_cells_.push_back({graph_.cell_number(cell(next, "wait")), graph_.cell_number(cell(next, "state"))});
    }
    HEDDLE_ASSERT(graph_.label_of(pid) == label, "SG4");
    return own_cells_[pid];
}

/// A step that nobody was asked about: there was no other.
void ReducedSearch::open_step(Pid pid, bool asked, std::uint32_t question) {
    close_step();
    if (depth_ > graph_.size()) {
        Node& node = nodes_[graph_.size()];
        HEDDLE_ASSERT((node.taken_back || graph_.size() + 1 < depth_) && node.current == pid && node.question == question && node.asked == asked,
                      "INV-RCT-14");
        node.taken_back = false;
        graph_.begin(pid);
        return;
    }
    Node& node = new_node();
    node.enabled.push_back(pid);
    node.question = question;
    node.asked = asked;
    note_taken_back();
    const std::optional<Pid> chosen = first_choice(node);
    if (!chosen) {
        --depth_;
        blocked_ = true;
        return;
    }
    node.current = pid;
    graph_.begin(pid);
}

void ReducedSearch::close_step() {
    if (!graph_.is_open()) { return; }
    if (whole_loop_) { graph_.touch(the_loop, TouchMode::write); }
    graph_.end();
}

ReducedSearch::Node& ReducedSearch::new_node() {
    HEDDLE_ASSERT(depth_ == graph_.size(), "RS1: a node per step");
    if (depth_ == nodes_.size()) { nodes_.emplace_back(); }
    Node& node = nodes_[depth_++];
    node.explored = 0;
    node.cost = 0;
    node.taken_back = false;
    node.enabled.clear();
    node.slept.clear();
    node.feet.clear();
    node.current_feet.clear();
    node.source.clear();
    node.lent.clear();
    forest_.clear(node.tree);
    inherit_sleep(node);
    return node;
}

// ── what sleeps, and who is next ──

void ReducedSearch::inherit_sleep(Node& node) {
    if (depth_ < 2) { return; }
    Node& above = nodes_[depth_ - 2];
    const auto step = static_cast<StepIndex>(depth_ - 2);
    node.cost = above.cost + above.explored;
    if (options_.reduction == Reduction::none) { return; }
    const Footprint done = graph_.feet(step);
    for (const Sleeper& sleeper : above.slept) {
        const Footprint its = feet(above, sleeper);
        if (conflict(its, done)) { continue; }
        node.slept.push_back({sleeper.pid, static_cast<std::uint32_t>(node.feet.size()), sleeper.count, sleeper.cells});
        node.feet.insert(node.feet.end(), its.feet.begin(), its.feet.end());
    }
    if (options_.reduction == Reduction::optimal && !above.tree.empty()) {
        node.tree = forest_.take(above.tree, above.current, answers_of(step));
    }
}

Answers ReducedSearch::answers_of(StepIndex step) const {
    const std::uint32_t first = first_answer(nodes_[step]);
    const std::size_t end = step + 1 < depth_ ? nodes_[step + 1].question : answers_.size();
    return std::span(answers_).subspan(first, std::max<std::size_t>(end, first) - first);
}

bool ReducedSearch::is_at_rest(StepIndex step) const { return graph_.label_of(graph_.pid(step)) == the_loop_itself; }

bool ReducedSearch::sleeps(const Node& node, Pid pid) const {
    return std::ranges::any_of(node.slept, [&](const Sleeper& at) { return at.pid == pid; });
}

/// How early a process is tried at a node; 0 first.
std::size_t ReducedSearch::rank(const Node& node, StepIndex at, Pid pid) const {
    if (options_.baseline == Baseline::queue) {
        return static_cast<std::size_t>(std::ranges::find(node.enabled, pid) - node.enabled.begin());
    }
    const Pid last = at == 0 ? 0 : graph_.pid(at - 1);
    return pid >= last ? pid - last : pid + graph_.pid_count() - last;
}

std::optional<Pid> ReducedSearch::first_choice(Node& node) {
    const auto at = static_cast<StepIndex>(depth_ - 1);
    if (!node.tree.empty()) { return first_branch(node); }
    std::optional<Pid> best;
    for (const Pid pid : node.enabled) {
        if (sleeps(node, pid)) { continue; }
        if (!best || rank(node, at, pid) < rank(node, at, *best)) { best = pid; }
    }
    if (best) { node.source.push_back(*best); }
    return best;
}

/// The first branch of the tree that does not sleep: what ⊤ let in and turned out to be covered is left out.
std::optional<Pid> ReducedSearch::first_branch(const Node& node) const {
    std::optional<Pid> first;
    forest_.for_each(node.tree, [&](const WakeupForest::Branch& branch) {
        if (sleeps(node, branch.pid)) { return true; }
        HEDDLE_ASSERT(std::ranges::find(node.enabled, branch.pid) != node.enabled.end(), "RS2: what a race needs is possible");
        first = branch.pid;
        return false;
    });
    return first;
}

std::optional<Pid> ReducedSearch::other_choice(Node& node) {
    const auto at = static_cast<StepIndex>(depth_ - 1);
    std::optional<Pid> best;
    if (options_.reduction == Reduction::optimal) {
        best = first_branch(node);
    } else {
        const std::vector<Pid>& wanted = options_.reduction == Reduction::none ? node.enabled : node.source;
        for (const Pid pid : wanted) {
            if (sleeps(node, pid)) { continue; }
            if (!best || rank(node, at, pid) < rank(node, at, *best)) { best = pid; }
        }
    }
    if (!best) { return best; }
    if (options_.bound && node.cost + node.explored + 1 > *options_.bound) {
        bounded_ = true;
        return std::nullopt;
    }
    ++node.explored;
    return best;
}

void ReducedSearch::put_to_sleep(Node& node) {
    let_sleep(node, node.current, node.current_feet);
    forest_.remove(node.tree, node.current);
}

void ReducedSearch::let_sleep(Node& node, Pid pid, const std::vector<Foot>& feet) {
    std::uint64_t cells = 0;
    for (const Foot& foot : feet) { cells |= Footprint::bit(foot.cell); }
    node.slept.push_back({pid, static_cast<std::uint32_t>(node.feet.size()), static_cast<std::uint32_t>(feet.size()), cells});
    node.feet.insert(node.feet.end(), feet.begin(), feet.end());
}

// ── what a run's races ask for ──

/// RS9. What could have gone on at the node before the last one, or at the last one if the run is over, and cannot any more.
void ReducedSearch::note_taken_back() {
    if (!puts_one_question() || options_.reduction == Reduction::none || depth_ == 0) { return; }
    const bool over = depth_ == graph_.size();  // no: the last node's step has not begun
    if (!over && depth_ < 2) { return; }
    const std::size_t before = over ? depth_ - 1 : depth_ - 2;
    Node& node = nodes_[before];
    for (const Pid pid : node.enabled) {
        const bool is_coroutine = pid < coroutines_.size() && coroutines_[pid];
        if (pid == node.current || is_coroutine) { continue; }
        if (!over && std::ranges::find(nodes_[before + 1].enabled, pid) != nodes_[before + 1].enabled.end()) { continue; }
        if (options_.reduction == Reduction::optimal) {
            if (!sleeps(node, pid)) { forest_.add(node.tree, pid); }
        } else if (ask_source(node, {pid})) {
            send_up(static_cast<StepIndex>(before), {pid});
        }
    }
}

/// The sequence that `reversal_` holds can begin at the node.
bool ReducedSearch::can_begin(const Node& node) const {
    const auto possible = [&](std::size_t item) { return std::ranges::find(node.enabled, reversal_.pid(item)) != node.enabled.end(); };
    if (options_.reduction == Reduction::optimal) { return possible(0); }
    for (std::size_t i = 0; i < reversal_.end(); ++i) {
        if (*reversal_.find(reversal_.pid(i)) == i && reversal_.is_initial(i) && possible(i)) { return true; }
    }
    return false;
}

/// Builds the reversal, where it can begin (RS10). @returns false if nothing is to be inserted
bool ReducedSearch::place(Race& race, StepIndex end) {
    if (!puts_one_question()) {
        if (nodes_[race.first].enabled.size() < 2) { return false; }
        reversal_.build(graph_, race, end);
        return true;
    }
    for (;;) {
        reversal_.build(graph_, race, end);
        if (can_begin(nodes_[race.first])) { return true; }
        const StepIndex queued_by = options_.faithful ? graph_.enabler(race.first) : no_step;
        if (queued_by == no_step) { break; }
        race.first = queued_by;
    }
    // Nothing in between, and it cannot go first: what made it possible was said of no step.
    if (options_.faithful || reversal_.end() > 1) { try_all(race.first); }
    return false;
}

void ReducedSearch::try_all(StepIndex step) {
    Node& node = nodes_[step];
    if (options_.reduction == Reduction::source && ask_source(node, {})) { send_up(step, {}); }
    if (options_.reduction != Reduction::optimal) { return; }
    for (const Pid pid : node.enabled) {
        if (pid != node.current && !sleeps(node, pid)) { forest_.add(node.tree, pid); }
    }
}

/// @returns the last step that the decision depends on; `no_step` if it depends on all that follows
StepIndex ReducedSearch::race_to_source(Race race) {
    const StepIndex second = race.second;
    if (!place(race, second + 1)) { return second; }
    Node& node = nodes_[race.first];
    // RS12: the second one would run here if it did not sleep. What it sleeps for it touched elsewhere; here, before the first one, it may
    // conflict with what else could come, so that goes before it.
    const bool sleeps_on = !graph_.is_stated(second) && sleeps(node, graph_.pid(second));
    if (sleeps_on) { reversal_.build(graph_, race, graph_.size()); }
    initials_.clear();
    for (std::size_t i = 0; i < reversal_.end(); ++i) {
        const Pid pid = reversal_.pid(i);
        if (*reversal_.find(pid) == i && reversal_.is_initial(i)) { initials_.push_back(pid); }
    }
    if (sleeps_on) {
        std::erase_if(initials_, [&](Pid pid) { return sleeps(node, pid) || std::ranges::find(node.enabled, pid) == node.enabled.end(); });
        if (initials_.empty()) { return no_step; }
    }
    if (ask_source(node, initials_)) { send_up(race.first, initials_); }
    return sleeps_on ? no_step : second;
}

/// One of `pids` is to be tried at the node. Without any, all that are enabled. @returns false if that was so already
bool ReducedSearch::ask_source(Node& node, const std::vector<Pid>& pids) {
    const auto holds = [](const std::vector<Pid>& list, Pid pid) { return std::ranges::find(list, pid) != list.end(); };
    if (std::ranges::any_of(pids, [&](Pid pid) { return holds(node.source, pid); })) { return false; }
    for (const Pid pid : pids) {
        if (!holds(node.enabled, pid)) { continue; }
        node.source.push_back(pid);
        return true;
    }
    const std::size_t before = node.source.size();  // none of them may go first
    for (const Pid pid : node.enabled) {
        if (!holds(node.source, pid)) { node.source.push_back(pid); }
    }
    return node.source.size() != before;
}

/// @returns the last step that the decision depends on; `no_step` if it depends on all of them, since the reversal takes in what follows.
/// A branch that waits in the tree is no lasting answer: what it has below it decides which longer reversals it covers.
StepIndex ReducedSearch::race_to_tree(Race race) {
    const StepIndex second = race.second;
    if (!place(race, graph_.size())) { return puts_one_question() ? no_step : second; }
    Node& node = nodes_[race.first];
    // An initial that is explored covers whatever else the sequence holds; only what stands before it decides that it is one.
    const auto until = [&](std::size_t item) {
        return reversal_.is_reversed(item) ? no_step : std::max(race.second, reversal_.step(item));
    };
    bool asleep = false;
    for (const Sleeper& sleeper : node.slept) {
        const std::optional<std::size_t> at = reversal_.find(sleeper.pid);
        if (at && reversal_.is_initial(*at)) {
            if (until(*at) != no_step) { return until(*at); }
            asleep = true;
        } else if (!at && reversal_.is_independent(feet(node, sleeper))) {
            asleep = true;
        }
    }
    if (!asleep) {
        forest_.insert(node.tree, reversal_, [this](StepIndex step) { return answers_of(step); });
    }
    return no_step;
}

/// A run was cut: what its pending steps would have done is not known, so every node of it tries all that is enabled.
void ReducedSearch::expand_all() {
    for (std::size_t depth = 0; depth < depth_; ++depth) { try_all(static_cast<StepIndex>(depth)); }
}

}  // namespace heddle::sim
