// SPDX-License-Identifier: Apache-2.0
// ReducedSearch as a value, and parts of it given away (lease.hpp).
#include <algorithm>

#include "heddle/core/base/assert.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"

namespace heddle::sim {

std::vector<Touch> ReducedSearch::spelled(std::span<const Foot> feet) const {
    std::vector<Touch> touches;
    for (const Foot& foot : feet) { touches.push_back({graph_.cell_of(foot.cell), foot.mode}); }
    return touches;
}

std::vector<Foot> ReducedSearch::numbered(const std::vector<Touch>& touches) {
    std::vector<Foot> feet;
    for (const Touch& touch : touches) { feet.push_back({graph_.cell_number(touch.cell), touch.mode}); }
    return feet;
}

std::vector<Label> ReducedSearch::spelled(const std::vector<Pid>& pids) const {
    std::vector<Label> labels;
    for (const Pid pid : pids) { labels.push_back(graph_.label_of(pid)); }
    return labels;
}

std::vector<Pid> ReducedSearch::numbered(const std::vector<Label>& labels) {
    std::vector<Pid> pids;
    for (const Label label : labels) { pids.push_back(graph_.pid_of(label)); }
    return pids;
}

void ReducedSearch::load(const Lease& lease) {
    HEDDLE_ASSERT(!started_ && depth_ == 0 && options_.reduction != Reduction::optimal && !options_.bound,
                  "LS: a search that has not begun");
    leased_ = true;
    lease_depth_ = lease.depth;
    lease_fixed_ = lease.fixed;
    whole_loop_ = reactor_seen_ = lease.whole_loop;
    orders_shown_ = order_read_ = lease.orders_shown;
    zombies_shown_ = zombies_seen_ = lease.zombies_shown;
    answers_ = lease.answers;
    counts_ = lease.counts;
    replay_until_ = answers_.size();
    started_ = !lease.fresh;
    for (const Lease::Node& from : lease.nodes) {
        if (depth_ == nodes_.size()) { nodes_.emplace_back(); }
        Node& node = nodes_[depth_++];
        node = {};
        node.question = from.question;
        node.asked = from.asked;
        node.current = graph_.pid_of(from.current);
        node.enabled = numbered(from.enabled);
        node.source = numbered(from.source);
        node.lent = numbered(from.lent);
        node.current_feet = numbered(from.current_feet);
        for (const Lease::Sleeper& sleeper : from.slept) {
            let_sleep(node, graph_.pid_of(sleeper.pid), numbered(sleeper.feet));
        }
    }
    if (lease.fresh && depth_ > 0) {
        first_new_ = static_cast<StepIndex>(depth_ - 1);
        nodes_[depth_ - 1].taken_back = true;
    }
}

Lease::Node ReducedSearch::saved(const Node& node, bool owned) const {
    Lease::Node to;
    to.question = node.question;
    to.asked = node.asked;
    to.current = graph_.label_of(node.current);
    to.enabled = spelled(node.enabled);
    to.source = spelled(node.source);
    if (!owned) { return to; }  // what sleeps there, and what its step touches, is its owner's business
    to.lent = spelled(node.lent);
    to.current_feet = spelled(node.current_feet);
    for (const Sleeper& sleeper : node.slept) {
        to.slept.push_back(
            {graph_.label_of(sleeper.pid), spelled(std::span(node.feet).subspan(sleeper.first, sleeper.count))});
    }
    return to;
}

std::vector<SharedMemory::Entry> ReducedSearch::known_memory() const {
    return options_.memory != nullptr ? options_.memory->entries() : std::vector<SharedMemory::Entry>{};
}

Lease ReducedSearch::save() {
    Lease lease;
    lease.depth = lease_depth_;
    lease.fixed = lease_fixed_;
    lease.fresh = !started_;
    lease.whole_loop = whole_loop_;
    lease.orders_shown = orders_shown_;
    lease.zombies_shown = zombies_shown_;
    lease.memory = known_memory();
    lease.answers = answers_;
    lease.counts = counts_;
    for (std::size_t depth = 0; depth < depth_; ++depth) {
        join_feet(static_cast<StepIndex>(depth));
        lease.nodes.push_back(saved(nodes_[depth], depth + 1 >= lease_depth_));
    }
    return lease;
}

/// The step that was chosen at a node asked no questions: what it touches is known.
bool ReducedSearch::is_simple(std::size_t depth) const {
    const std::size_t end = depth + 1 < depth_ ? nodes_[depth + 1].question : answers_.size();
    return end <= first_answer(nodes_[depth]);
}

std::optional<Lease> ReducedSearch::split() {
    for (std::size_t depth = lease_depth_; depth < depth_; ++depth) {
        Node& node = nodes_[depth];
        if (!node.asked || !is_simple(depth)) { continue; }
        const bool lent_known = std::ranges::all_of(node.lent, [&](Pid pid) { return sleeps(node, pid); });
        if (!lent_known) { continue; }
        std::optional<Pid> best;
        for (const Pid pid : options_.reduction == Reduction::none ? node.enabled : node.source) {
            if (pid == node.current || sleeps(node, pid)) { continue; }
            if (!best ||
                rank(node, static_cast<StepIndex>(depth), pid) < rank(node, static_cast<StepIndex>(depth), *best)) {
                best = pid;
            }
        }
        if (!best) { continue; }
        Lease lease;
        lease.depth = static_cast<std::uint32_t>(depth + 1);
        lease.whole_loop = whole_loop_;
        lease.orders_shown = orders_shown_;
        lease.zombies_shown = zombies_shown_;
        lease.memory = known_memory();
        lease.answers.assign(answers_.begin(), answers_.begin() + node.question);
        lease.counts.assign(counts_.begin(), counts_.begin() + node.question + 1);
        lease.answers.push_back(
            static_cast<std::uint32_t>(std::ranges::find(node.enabled, *best) - node.enabled.begin()));
        lease.fixed = static_cast<std::uint32_t>(lease.answers.size());
        for (std::size_t at = 0; at < depth; ++at) { lease.nodes.push_back(saved(nodes_[at], false)); }
        join_feet(static_cast<StepIndex>(depth));
        Lease::Node last = saved(node, true);
        last.slept.push_back({last.current, last.current_feet});
        last.current = graph_.label_of(*best);
        last.current_feet.clear();
        last.lent.clear();
        lease.nodes.push_back(std::move(last));
        node.lent.push_back(*best);
        return lease;
    }
    return std::nullopt;
}

Lease ReducedSearch::cut_at(std::size_t wanted) {
    const std::size_t depth = std::min(wanted, depth_);
    Lease lease;
    lease.depth = static_cast<std::uint32_t>(depth);
    lease.whole_loop = whole_loop_;
    lease.orders_shown = orders_shown_;
    lease.zombies_shown = zombies_shown_;
    lease.memory = known_memory();
    const std::size_t answers = depth < depth_ ? nodes_[depth].question : answers_.size();
    answers_.resize(answers);
    counts_.resize(answers);
    lease.answers = answers_;
    lease.counts = counts_;
    lease.fixed = static_cast<std::uint32_t>(answers);
    for (std::size_t at = 0; at < depth; ++at) {
        join_feet(static_cast<StepIndex>(at));
        if (options_.reduction == Reduction::source) { static_cast<void>(ask_source(nodes_[at], {})); }
        lease.nodes.push_back(saved(nodes_[at], at + 1 == depth));
    }
    if (depth > 0) { lease.nodes.back().current_feet.clear(); }
    depth_ = depth;
    graph_.truncate(static_cast<StepIndex>(depth));
    return lease;
}

void ReducedSearch::apply(const UpwardRace& race) {
    HEDDLE_ASSERT(race.node < depth_, "LS3");
    ask_source(nodes_[race.node], numbered(race.initials));
}

void ReducedSearch::apply(const LentNews& news) {
    HEDDLE_ASSERT(news.node < depth_, "LS3");
    Node& node = nodes_[news.node];
    const Pid pid = graph_.pid_of(news.pid);
    if (!sleeps(node, pid)) { let_sleep(node, pid, numbered(news.feet)); }
    if (news.done) { std::erase(node.lent, pid); }
}

LentNews ReducedSearch::news() {
    HEDDLE_ASSERT(lease_depth_ > 0 && depth_ >= lease_depth_, "LS3");
    const std::size_t at = lease_depth_ - 1;
    join_feet(static_cast<StepIndex>(at));
    const Node& node = nodes_[at];
    return {static_cast<std::uint32_t>(at), graph_.label_of(node.current), spelled(node.current_feet), exhausted_};
}

void ReducedSearch::send_up(StepIndex node, const std::vector<Pid>& initials) {
    if (lease_depth_ == 0 || node >= lease_depth_) { return; }
    upward_.push_back({node, spelled(initials)});
}

}  // namespace heddle::sim
