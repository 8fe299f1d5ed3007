// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/world.hpp"

#include <utility>

#include "heddle/simreactor/world/memory_watch.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_HAS_LSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_HAS_LSAN 1
#endif
#if defined(HEDDLE_HAS_LSAN)
#include <sanitizer/lsan_interface.h>
#endif

namespace heddle::sim {
namespace {

thread_local World* current_world = nullptr;

/// What a world allocates is not checked for leaks: a frozen one leaves its heap behind on purpose (WD2), and which one will freeze is
/// not known before. core's own leaks are the business of its unit tests, which run outside of worlds.
class Unchecked {
public:
#if defined(HEDDLE_HAS_LSAN)
    Unchecked() { __lsan_disable(); }
    ~Unchecked() { __lsan_enable(); }
#else
    Unchecked() = default;
    ~Unchecked() {}  // not defaulted: the guard is used for its lifetime alone
#endif
    Unchecked(const Unchecked&) = delete;
    Unchecked& operator=(const Unchecked&) = delete;
};

/// A violation found on the host's own stack, where no world can be left for good.
struct HostViolation {};

}  // namespace

[[gnu::noinline]] World* World::current() noexcept { return current_world; }

World::World(WorldOptions options) : options_(std::move(options)), prng_(options_.seed) {
    stacks_ = std::make_unique<StackPool>();
    nodes_.push_back(std::make_unique<Node>());
    nodes_.front()->name = "main";
}

World::~World() = default;

void World::add_node(std::string_view name, Program program, const NodeOptions& options) {
    const auto at = nodes_.begin() + static_cast<std::ptrdiff_t>(own_nodes_++);
    Node& node = **nodes_.insert(at, std::make_unique<Node>());
    node.daemon = options.daemon;
    node.clock = options.clock;
    node.name = name;
    node.program = std::move(program);
}

void World::take_nodes() {
    nodes_.resize(own_nodes_ + options_.nodes.size());
    for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
        std::unique_ptr<Node>& node = nodes_[own_nodes_ + i];
        if (node == nullptr) { node = std::make_unique<Node>(); }
        node->name = options_.nodes[i].name;
        node->program = options_.nodes[i].program;
        node->daemon = options_.nodes[i].options.daemon;
        node->clock = options_.nodes[i].options.clock;
    }
}

/// At the start of a run; it keeps it when it is started again.
void World::set_clock(Node& node) {
    node.skew = node.clock.skew;
    const ClockSkew& skew = node.skew;
    if (skew.ahead < Duration::zero() || skew.drift < -ClockSkew::drift_max || skew.drift > ClockSkew::drift_max) {
        throw ValueError("world: a node's clock is ahead by zero or more, and drifts by at most half its speed");
    }
    if (node.clock.is_chosen) { node.skew = {}; }
    node.clock_is_set = !node.clock.is_chosen;
}

/// In the first step of its main coroutine, where a search has other answers to what is asked, too.
void World::choose_clock(Node& node) {
    if (std::exchange(node.clock_is_set, true) || options_.chooser == nullptr || !options_.mask.has(ChoiceKind::value)) { return; }
    const Label at = labels_.point(LabelBook::of(node.name), "clock");
    if (options_.chooser->choose({ChoiceKind::value, at, 2, {}}) == 0) { return; }
    node.skew = node.clock.skew;
    node.reactor->set_skew(node.skew);
}

/// They are read before anything is buried.
void World::count_faults() {
    if (network_ != nullptr) {
        fault_totals_.add(network_->faults().totals());
    } else if (const std::unique_ptr<SimReactor>& only = nodes_.front()->reactor; only != nullptr && only->machine_if_any() != nullptr) {
        fault_totals_.add(only->machine_if_any()->network().faults().totals());
    }
}

void World::prepare(Node& node, bool alone, std::size_t index) {
    node.world = this;
    node.error = {};
    node.finished = node.idle = node.may_advance = node.crashed = node.told_to_end = false;
    node.ambient = nullptr;
    node.parked = nullptr;
    Observer* observer = observers_.empty() ? nullptr : observers_.only();
    if (observer == nullptr && !observers_.empty()) { observer = &observers_; }
    SimReactor::Options reactor;
    reactor.chooser = options_.chooser;
    reactor.observer = observer;
    reactor.book = options_.chooser != nullptr || observer != nullptr ? &labels_ : nullptr;
    reactor.timing = options_.timing;
    reactor.fairness = options_.fairness;
    reactor.mask = options_.mask;
    reactor.faults = options_.faults;
    reactor.resolution = options_.resolution;
    // At most one tick goes with each dispatch, and few more with the end of a run.
    reactor.ticks_max = options_.dispatches_max == 0 ? 0 : 2 * options_.dispatches_max + 1000;
    reactor.network = options_.network;
    reactor.skew = node.skew;
    if (!alone) {
        reactor.machine = &network_->machine(index);
        reactor.clock = &clock_;
        reactor.on_idle = [this, &node](SimReactor&, Instant next) { return idle(node, next); };
        reactor.name = node.name == "main" ? "loop" : node.name.data();
    }
    RuntimeOptions runtime;
    runtime.stack_pool = stacks_.get();
    runtime.chooser = options_.chooser;
    if (options_.one_question && alone && options_.timing.level <= TimeLevel::T1 && options_.mask == ChoiceMask::all() &&
        options_.chooser != nullptr) {
        node.plan.attach(options_.chooser);
        reactor.plan = &node.plan;
        runtime.chooser = &node.plan;
        runtime.return_in_place = options_.order == trace::Order::faithful;
    }
    runtime.observer = observer;
    runtime.labels = reactor.book;
    runtime.name = node.name;
    runtime.any_order = options_.order == trace::Order::any && options_.mask.has(ChoiceKind::dispatch);
    runtime.zombie_timeout = options_.zombie_timeout;
    runtime.dispatches_max = options_.dispatches_max;
    runtime.name_points = options_.name_points;
    runtime.hand_over = options_.hand_over;
    runtime.pool_contexts = options_.pool_contexts;
    runtime.shares_thread = !alone;
    if (node.runtime && (options_.door || node.door)) {  // a runtime keeps its reactor for life
        node.runtime = nullptr;
        node.door = nullptr;
        node.reactor = nullptr;
    }
    if (node.runtime) {
        node.reactor->configure(std::move(reactor));
        node.runtime->scheduler().renew(runtime);
    } else {
        node.reactor = std::make_unique<SimReactor>(std::move(reactor));
        if (options_.door) { node.door = options_.door(*node.reactor); }
        node.runtime = std::make_unique<Runtime>(node.door ? *node.door : static_cast<Reactor&>(*node.reactor), runtime);
    }
    node.stack = stacks_->acquire();
    if (memory_watch != nullptr) { memory_watch->main_stack(node.runtime->scheduler(), node.stack); }
    node.fiber.create(node.stack, &World::node_entry, &node);
}

void World::node_entry(void* argument) {
    Node& node = *static_cast<Node*>(argument);
    World& world = *node.world;
    try {
        const Program& program = &node == world.nodes_.front().get() ? world.first_program_ : node.program;
        node.runtime->run([&] {
            world.choose_clock(node);
            program();
        });
    } catch (...) {
        const ErrorValue& known = node.runtime->exit_error();
        node.error = known ? known : ErrorValue(std::current_exception());
    }
    node.finished = true;
    Fiber::switch_away_for_good(node.fiber, world.host_, exception_globals());
}

void World::crash(std::size_t index) {
    Node& node = *nodes_[index];
    HEDDLE_ASSERT(network_ != nullptr && &node != running_, "WD5: a node is crashed by another one");
    if (node.finished) { return; }
    network_->machine(index).crash();
    node.fiber.destroy();
    static_cast<void>(node.runtime.release());  // as in bury: leaked knowingly, with everything that it refers to
    static_cast<void>(node.door.release());
    node.reactor->reset(SimReactor::ResetMode::abandon);
    static_cast<void>(node.reactor.release());
    node.finished = node.crashed = true;
    node.idle = false;
    node.parked = nullptr;
}

void World::restart(std::size_t index) {
    Node& node = *nodes_[index];
    HEDDLE_ASSERT(network_ != nullptr && &node != running_, "WD5: a node is restarted by another one");
    HEDDLE_ASSERT(node.finished, "WD5: what runs is not started");
    if (!node.crashed) {
        network_->machine(index).power_off();
        node.reactor->reset();
        node.fiber.destroy();
        stacks_->release(node.stack);
    }
    prepare(node, false, index);
}

void World::enter(Node& node) {
    running_ = &node;
    on_host_ = false;
    exchange_ambient_scheduler(node.ambient);
    Fiber::switch_to(host_, node.parked != nullptr ? *node.parked : node.fiber, exception_globals());
    node.ambient = exchange_ambient_scheduler(nullptr);
    on_host_ = true;
    running_ = nullptr;
}

/// A node has nothing to do before `next`: the others get their turn. True if it should look again.
bool World::idle(Node& node, Instant next) {
    node.next = next;
    node.idle = true;
    // The tick that waits runs on the stack of the node's scheduler, not on the one that the node began on.
    Fiber waits;
    node.parked = &waits;
    Fiber::switch_to(waits, host_, exception_globals());
    node.parked = nullptr;
    node.idle = false;
    return !std::exchange(node.may_advance, false);
}

/// Daemons end when all others have; one that is started again after that is told again.
void World::end_daemons() {
    for (const auto& node : nodes_) {
        if (!node->daemon && !node->finished) { return; }
    }
    for (const auto& node : nodes_) {
        // What has not begun yet has nothing to receive a post with; it is told once it waits.
        if (node->finished || node->told_to_end || !node->idle) { continue; }
        node->told_to_end = true;
        node->reactor->post("end of the world", [runtime = node->runtime.get()] { runtime->shutdown(); });
    }
}

/// The node that goes on: one that has not waited yet, else the one whose next happening is the earliest; ties are asked.
World::Node* World::pick() {
    std::vector<Node*> candidates;
    bool runnable = false;
    Instant earliest = Instant::never();
    for (const auto& node : nodes_) {
        if (node->finished) { continue; }
        if (!node->idle) {
            if (!std::exchange(runnable, true)) { candidates.clear(); }
            candidates.push_back(node.get());
            continue;
        }
        if (runnable) { continue; }
        node->next = node->reactor->next_happening();
        if (node->next < earliest) {
            earliest = node->next;
            candidates.clear();
        }
        if (node->next == earliest) { candidates.push_back(node.get()); }
    }
    if (candidates.empty()) { return nullptr; }
    std::size_t chosen = 0;
    if (candidates.size() > 1 && options_.chooser != nullptr && options_.mask.has(ChoiceKind::node)) {
        std::vector<Label> labels;
        for (const Node* node : candidates) { labels.push_back(LabelBook::of(node->name)); }
        const Label at = labels_.point(LabelBook::of("loop"), to_string(ChoiceKind::node));
        chosen = options_.chooser->choose({ChoiceKind::node, at, static_cast<std::uint32_t>(labels.size()), labels});
    }
    Node& node = *candidates[chosen];
    node.may_advance = node.idle;
    return &node;
}

void World::drive(bool alone) {
    if (alone) {
        enter(*nodes_.front());
        return;
    }
    while (!frozen_) {
        end_daemons();
        Node* node = pick();
        if (node == nullptr) { return; }
        enter(*node);
    }
}

void World::violated(const Violation& violation) {
    if (frozen_) { return; }  // a violation while the host looks at a frozen world: the process is broken, abort
    violation_ = violation;
    frozen_ = true;
    if (options_.on_violation) { options_.on_violation(); }
    for (Observer* observer : options_.observers) {
        observer->on_event({EventKind::violated, running_ != nullptr ? running_->reactor->now() : Instant{}, {}, {}, 0, 0, violation_.invariant});
    }
    if (on_host_) { throw HostViolation{}; }
    gone_ = std::make_unique<Fiber>();  // whoever runs is never resumed; the object must not lie on the stack that is being left
    Fiber::switch_away_for_good(*gone_, host_, exception_globals());
}

/// Drops what a violation froze (WD2): stacks as a whole, runtime memory and user heap leaked.
void World::bury() {
    for (const auto& node : nodes_) {
        if (node->crashed) { continue; }
        node->fiber.destroy();
        static_cast<void>(node->runtime.release());
        static_cast<void>(node->door.release());
        node->reactor->reset(SimReactor::ResetMode::abandon);
        static_cast<void>(node->reactor.release());
    }
    static_cast<void>(network_.release());  // it may have been left in the middle of anything
    stacks_ = std::make_unique<StackPool>();
    labels_.reset();
}

Outcome World::conclude() {
    Outcome outcome;
    if (!frozen_) {
        for (const auto& node : nodes_) {
            if (!node->error || (node->told_to_end && node->error.is_cancellation())) { continue; }
            outcome.kind = options_.errors_are_violations ? trace::OutcomeKind::violation : trace::OutcomeKind::error;
            bool deadlock = false;
            for (ErrorValue at = node->error; at; at = at.previous()) {
                try {
                    at.rethrow();
                } catch (const DeadlockError&) {
                    deadlock = true;
                } catch (...) {
                    continue;
                }
            }
            if (options_.errors_are_violations) { outcome.invariant = deadlock ? "DEADLOCK" : "UNHANDLED"; }
            for (ErrorValue at = node->error; at; at = at.previous()) {
                outcome.message += (outcome.message.empty() ? "" : ", after ") + at.describe();
            }
            break;
        }
    }
    if (outcome.kind == trace::OutcomeKind::ok && !frozen_) {
        try {
            for (Oracle* oracle : options_.oracles) { oracle->at_end(*this); }
        } catch (const HostViolation&) {
        }
    }
    if (frozen_) {
        outcome.kind = trace::OutcomeKind::violation;
        outcome.invariant = violation_.invariant;
        outcome.message = violation_.message;
        outcome.file = violation_.file;
        outcome.line = violation_.line;
    }
    if (nodes_.front()->reactor) { outcome.end = nodes_.front()->reactor->now(); }
    return outcome;
}

/// The hooks tell what this run's coroutines do with their memory; without them it costs nothing.
void World::watch_memory() {
    if (options_.memory == nullptr || !has_memory_hooks() || observers_.empty()) { return; }
    if (!memory_) { memory_ = std::make_unique<MemoryWatch>(); }
    Observer* target = observers_.only();
    memory_->begin(*options_.memory, target != nullptr ? *target : observers_, __builtin_frame_address(0));
    observers_.add(*memory_);
    memory_watch = memory_.get();
}

void World::show(std::uint64_t value) {
    const Scheduler* scheduler = ambient_scheduler();
    const CoroutineCore* current = scheduler != nullptr ? scheduler->current() : nullptr;
    const std::uint64_t who = current != nullptr ? current->label().value : 0;
    state_ += hash_mix(hash_mix(who, ++shown_[who]), value);
}

void show_state(std::uint64_t value) {
    if (World* world = World::current(); world != nullptr) { world->show(value); }
}

Outcome World::run(const Program& program) {
    const Unchecked unchecked;
    // What an earlier run left, such as posts that did not come, goes before anybody of this one listens.
    for (const auto& node : nodes_) {
        if (node->reactor) { node->reactor->reset(); }
    }
    network_ = nullptr;
    take_nodes();
    first_program_ = program;
    frozen_ = false;
    violation_ = {};
    clock_ = VirtualClock{};
    labels_.reset();
    prng_ = Prng{options_.seed};
    shown_.clear();
    state_ = 0;
    nodes_.front()->clock = options_.clock;
    for (const auto& node : nodes_) { set_clock(*node); }
    for (Oracle* oracle : options_.oracles) { observers_.add(*oracle); }
    for (Observer* observer : options_.observers) { observers_.add(*observer); }
    MemoryWatch* const outer_memory = std::exchange(memory_watch, nullptr);
    watch_memory();
    const bool alone = nodes_.size() == 1;
    if (!alone) {
        network_ = std::make_unique<Network>(options_.network);
        for (const auto& node : nodes_) { network_->add_machine(std::string(node->name), nullptr); }
    }
    for (std::size_t index = 0; index < nodes_.size(); ++index) { prepare(*nodes_[index], alone, index); }
    World* const outer_world = std::exchange(current_world, this);
    ViolationSink* const outer_sink = exchange_violation_sink(this);
    Scheduler* const outer = exchange_ambient_scheduler(nullptr);
    for (Oracle* oracle : options_.oracles) { oracle->begin(*this); }
    drive(alone);
    Outcome outcome = conclude();
    count_faults();
    if (memory_watch != nullptr) { memory_->end(); }
    memory_watch = outer_memory;
    if (options_.at_end) { options_.at_end(outcome); }
    // They may go now; what outlives the run, a scope's handle perhaps, has nobody to tell.
    observers_.clear();
    for (const auto& node : nodes_) {
        if (node->runtime) { node->runtime->scheduler().set_observer(nullptr); }
    }
    exchange_ambient_scheduler(outer);
    exchange_violation_sink(outer_sink);
    current_world = outer_world;
    first_program_ = {};
    if (frozen_) {
        bury();
    } else {
        for (const auto& node : nodes_) {
            if (node->crashed) { continue; }
            node->fiber.destroy();
            stacks_->release(node->stack);
        }
    }
    return outcome;
}

}  // namespace heddle::sim
