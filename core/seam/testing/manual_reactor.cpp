// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/seam/testing/manual_reactor.hpp"

#include <algorithm>
#include <cerrno>

#include "heddle/core/base/error.hpp"

namespace heddle::testing {

class ManualReactor::Port final : public TriggerPort {
public:
    Port(ManualReactor& reactor, SourceId trigger) : reactor_(&reactor), trigger_(trigger) {}
    void fire() noexcept override {
        if (reactor_ == nullptr) { return; }
        Source* source = reactor_->find(trigger_);
        if (source == nullptr || std::exchange(source->fired, true)) { return; }
        reactor_->occur(SourceKind::trigger, trigger_, 0);
    }
    void detach() { reactor_ = nullptr; }

private:
    ManualReactor* reactor_;
    SourceId trigger_;
};

// ── the outside world ──

void ManualReactor::at(Duration after, UniqueFunction<void()> happening) {
    Happening added{true_time_ + after, ++last_sequence_, std::move(happening)};
    const auto place = std::upper_bound(happenings_.begin(), happenings_.end(), added.when,
                                        [](Instant when, const Happening& other) { return when < other.when; });
    happenings_.insert(place, std::move(added));
}

void ManualReactor::set_ready(int fd, PollMask bits) { levels_[fd] = Level{bits, 0, ++last_sequence_}; }
void ManualReactor::set_failed(int fd, int error) { levels_[fd] = Level{0, error, ++last_sequence_}; }

void ManualReactor::raise(int signal) {
    if (!started_for(SourceKind::signal, signal).empty()) { occur(SourceKind::signal, {}, signal); }
}

void ManualReactor::end_child(int pid, int code) {
    HEDDLE_ASSERT(children_.contains(pid), "a child is declared before it ends");
    children_[pid].ended = true;
    children_[pid].code = code;
    occur(SourceKind::process, {}, pid);
}

void ManualReactor::begin_task(SourceId task) {
    Source* source = find(task);
    HEDDLE_ASSERT(source != nullptr && source->kind == SourceKind::task, "a task in flight");
    if (source->task == TaskState::queued) { source->task = TaskState::begun; }
}

void ManualReactor::finish_task(SourceId task) {
    begin_task(task);
    Source* source = find(task);
    if (source->task == TaskState::done) { return; }
    UniqueFunction<void()> body = std::move(source->body);
    std::int32_t error = 0;
    try {
        body();
    } catch (...) {
        error = EIO;  // a body answers for its own exceptions; one that gets out is a failure of the request
    }
    source = find(task);
    source->task = TaskState::done;
    source->completion.error = error;
    occur(SourceKind::task, task, 0);
}

std::vector<SourceId> ManualReactor::tasks() const {
    std::vector<SourceId> found;
    for (const auto& [id, source] : sources_) {
        if (source.kind == SourceKind::task && source.task != TaskState::done) { found.push_back(id); }
    }
    return found;
}

// ── life, clock, loop ──

void ManualReactor::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    sink_ = &sink;
    reset_counts();
    refresh_clock();
}

void ManualReactor::shut_down(bool tell) {
    if (!is_up()) { return; }
    if (in_tick_) { throw AsyncError("a reactor is not shut down from inside its tick"); }
    // A poll goes with its last reference, so after its proxies; requests in flight are dropped with their bodies.
    std::vector<SourceId> open;
    for (const auto& [id, source] : sources_) {
        if (source.kind != SourceKind::task) { open.push_back(id); }
    }
    std::stable_partition(open.begin(), open.end(), [this](SourceId id) { return find(id)->kind != SourceKind::poll; });
    for (const SourceId id : open) {
        while (find(id) != nullptr) { close(id); }
    }
    sources_.clear();
    close_phase(tell);
    start_order_.clear();
    timers_.clear();
    polls_table_.clear();
    occurrences_.clear();
    reset_counts();
    sink_ = nullptr;
}

void ManualReactor::refresh_clock() {
    const std::int64_t step = resolution().count();
    set_now(Instant{true_time_.ns() / step * step});
}

bool ManualReactor::poll_due(bool) {
    if (!polls_.empty()) {
        const bool answer = polls_.front();
        polls_.pop_front();
        return answer;
    }
    if (poll_every_ == 0 || ++poll_calls_ < poll_every_) { return false; }
    poll_calls_ = 0;
    return true;
}

bool ManualReactor::tick(TickMode mode) {
    if (in_tick_) { throw AsyncError("tick is not reentrant (RCT-3)"); }
    if (!is_up()) { throw AsyncError("the reactor is not up"); }
    ++tick_count_;
    if (sources_.empty() && closing_.empty() && happenings_.empty()) { return false; }

    struct Inside {
        bool& flag;
        explicit Inside(bool& at) : flag(at) { flag = true; }
        ~Inside() { flag = false; }
    } inside(in_tick_);

    do_happenings();
    let_old_tasks_finish();
    if (mode == TickMode::may_block && alive() && closing_.empty() && !sink_->has_ready_work()) { wait(); }
    refresh_clock();
    const std::uint64_t before = delivered_;
    poll_phase();
    close_phase();
    let_time_pass_in_idle_ticks(mode, delivered_ != before);
    refresh_clock();
    timers_phase();
    if (delivered_ != before) { idle_ticks_ = 0; }
    return alive();
}

void ManualReactor::let_time_pass_in_idle_ticks(TickMode mode, bool delivered) {
    if (mode == TickMode::may_block || delivered || idle_ticks_max_ == 0 || ++idle_ticks_ < idle_ticks_max_) { return; }
    idle_ticks_ = 0;
    if (!timers_.empty()) { true_time_ = std::max(true_time_, timers_.first().deadline); }
}

void ManualReactor::let_old_tasks_finish() {
    const std::vector<SourceId> waiting = tasks();
    if (waiting.empty() || idle_ticks_max_ == 0 || ++task_ticks_ < idle_ticks_max_) { return; }
    task_ticks_ = 0;
    finish_task(waiting.front());
}

void ManualReactor::wait() {
    while (!something_ready()) {
        Instant next = Instant::never();
        if (!timers_.empty()) { next = timers_.first().deadline; }
        if (!happenings_.empty()) { next = std::min(next, happenings_.front().when); }
        if (!next.is_never()) {
            true_time_ = std::max(true_time_, next);
            // A happening need not make anything ready that is listened to: then the wait goes on.
            if (!do_happenings() || (!timers_.empty() && timers_.first().deadline <= true_time_)) { return; }
            continue;
        }
        const std::vector<SourceId> waiting = tasks();
        if (waiting.empty()) { throw AsyncError("the reactor waits and nothing could ever happen (RCT-69)"); }
        finish_task(waiting.front());
    }
}

bool ManualReactor::do_happenings() {
    bool any = false;
    while (!happenings_.empty() && happenings_.front().when <= true_time_) {
        UniqueFunction<void()> body = std::move(happenings_.front().body);
        happenings_.pop_front();
        body();
        any = true;
    }
    return any;
}

bool ManualReactor::something_ready() {
    for (const Occurrence& occurrence : occurrences_) {
        const Source* source = find(occurrence.source);
        if (occurrence.kind != SourceKind::trigger || (source != nullptr && source->started)) { return true; }
    }
    return std::any_of(levels_.begin(), levels_.end(), [this](const auto& level) {
        const PollMask watched = polls_table_.watched(polls_table_.poll_of(level.first));
        return watched != 0 && (level.second.error != 0 || (level.second.bits & (watched | PollBits::disconnect)) != 0);
    });
}

void ManualReactor::poll_phase() {
    struct Item {
        std::uint64_t sequence = 0;
        int fd = -1;
        Level level{};
        Occurrence occurrence{};
    };
    std::vector<Item> batch;
    std::deque<Occurrence> later;
    for (const Occurrence& occurrence : occurrences_) {
        const Source* source = find(occurrence.source);
        if (occurrence.kind == SourceKind::trigger && source != nullptr && !source->started) {
            later.push_back(occurrence);  // a fire is kept until somebody waits for it (INV-RCT-15)
        } else {
            batch.push_back({.sequence = occurrence.sequence, .occurrence = occurrence});
        }
    }
    occurrences_ = std::move(later);
    for (const auto& [fd, level] : levels_) { batch.push_back({.sequence = level.sequence, .fd = fd, .level = level}); }
    std::sort(batch.begin(), batch.end(), [](const Item& a, const Item& b) { return a.sequence < b.sequence; });

    for (const Item& item : batch) {
        if (item.fd >= 0) {
            report_level(polls_table_.poll_of(item.fd), item.fd, item.level);
        } else {
            report(item.occurrence);
        }
    }
}

void ManualReactor::report_level(SourceId poll, int fd, Level collected) {
    const PollMask watched = polls_table_.watched(poll);
    PollMask bits = collected.bits & (watched | PollBits::disconnect);
    if ((bits & PollBits::readable) != 0 && streams_.contains(fd) && (levels_[fd].bits & PollBits::readable) == 0) {
        bits &= ~static_cast<PollMask>(PollBits::readable);  // RCT-37
    }
    std::int32_t error = collected.error;
    if (error == EBADF) {  // RCT-36
        bits = PollBits::disconnect;
        error = 0;
    }
    if (watched == 0 || (bits == 0 && error == 0)) { return; }
    polls_table_.report(poll, bits, error, [&](SourceId id, const PollTable::Proxy& proxy, PollMask mask) {
        deliver(id, SourceOptions(proxy.options), SourceKind::proxy, mask, error);
    });
}

void ManualReactor::report(const Occurrence& occurrence) {
    switch (occurrence.kind) {
        case SourceKind::trigger: {
            Source* source = find(occurrence.source);
            if (source == nullptr) { return; }
            if (!source->started) {  // stopped by an earlier callback of this batch: kept
                occurrences_.push_back(occurrence);
                return;
            }
            source->fired = false;
            deliver(occurrence.source, SourceOptions(source->options), SourceKind::trigger, 0);
            return;
        }
        case SourceKind::task: {
            auto node = sources_.extract(occurrence.source);
            HEDDLE_ASSERT(!node.empty(), "a request is in flight until it completes (RCT-15)");
            const Source& source = node.mapped();
            if (!source.options.hidden) { count_down(); }
            if (source.detached) { return; }
            Delivery delivery{occurrence.source, SourceKind::task, source.options.owner, source.options.label};
            delivery.error = source.completion.error;
            delivery.cancelled = source.completion.cancelled;
            delivery.completion = &source.completion;
            ++delivered_;
            sink_->deliver(delivery);
            return;
        }
        default:
            for (const SourceId id : started_for(occurrence.kind, occurrence.number)) {
                Source* source = find(id);
                if (source == nullptr || !source->started) { continue; }
                const SourceOptions options = source->options;
                std::int64_t value = occurrence.number;
                if (occurrence.kind == SourceKind::process) {
                    value = children_[occurrence.number].code;
                    close(id);  // closed before its callbacks run (EVT-12)
                }
                deliver(id, options, occurrence.kind, value);
            }
    }
}

void ManualReactor::close_phase(bool tell) {
    const std::vector<Closing> closing = std::exchange(closing_, {});
    for (const Closing& closed : closing) {
        if (closed.poll.close_fd) { closed_descriptors_.push_back(closed.poll.fd); }
        if (!tell) { continue; }
        sink_->deliver({.source = closed.source, .kind = SourceKind::poll, .label = closed.poll.label, .closed = true});
    }
}

void ManualReactor::timers_phase() {
    if (timers_.empty()) { return; }
    const Instant pass = now();
    std::uint64_t last_start_id = 0;  // RCT-30: what is armed from here on has a greater one
    for (const TimerQueue::Entry& entry : timers_.unordered()) {
        last_start_id = std::max(last_start_id, entry.start_id);
    }
    while (!timers_.empty() && timers_.first().deadline <= pass && timers_.first().start_id <= last_start_id) {
        const TimerQueue::Entry due = timers_.first();
        const SourceId id{due.slot};
        Source& source = sources_.at(id);
        const SourceOptions options = source.options;
        timers_.disarm(due.slot);
        if (source.timer.periodic) {
            arm(id, source, source.timer.timeout);
        } else {
            set_started(source, false);
            if (!source.timer.multishot) { sources_.erase(id); }
        }
        deliver(id, options, SourceKind::timer, static_cast<std::int64_t>(due.start_id));
    }
}

// ── sources ──

SourceId ManualReactor::add(SourceKind kind, const SourceOptions& options) {
    if (!is_up()) { throw AsyncError("the reactor is not up"); }
    const SourceId id{++last_id_};
    Source& source = sources_[id];
    source.kind = kind;
    source.options = options;
    return id;
}

ManualReactor::Source* ManualReactor::find(SourceId id) {
    const auto found = sources_.find(id);
    return found == sources_.end() ? nullptr : &found->second;
}

void ManualReactor::set_started(Source& source, bool started) {
    if (source.started == started) { return; }
    source.started = started;
    if (source.options.hidden) { return; }
    started ? count_up() : count_down();
}

void ManualReactor::arm(SourceId id, const Source& source, Duration timeout) {
    if (source.timer.refresh) { refresh_clock(); }
    timers_.arm(static_cast<std::uint32_t>(id.value), now() + round_up(timeout, resolution()));
}

void ManualReactor::deliver(SourceId id, const SourceOptions& options, SourceKind kind, std::int64_t value,
                            std::int32_t error) {
    ++delivered_;
    sink_->deliver(
        {.source = id, .kind = kind, .owner = options.owner, .label = options.label, .value = value, .error = error});
}

void ManualReactor::occur(SourceKind kind, SourceId source, int number) {
    occurrences_.push_back({++last_sequence_, kind, source, number});
}

std::vector<SourceId> ManualReactor::started_for(SourceKind kind, int number) const {
    std::vector<SourceId> found;
    for (const SourceId id : start_order_) {
        const Source& source = sources_.at(id);
        if (source.kind == kind && source.number == number) { found.push_back(id); }
    }
    return found;
}

SourceId ManualReactor::open_timer(const TimerOptions& timer, const SourceOptions& options) {
    const SourceId id = add(SourceKind::timer, options);
    sources_[id].timer = timer;
    return id;
}

void ManualReactor::rearm(SourceId timer, Duration timeout) {
    Source* source = find(timer);
    if (source == nullptr || source->kind != SourceKind::timer || !source->timer.multishot) {
        throw AsyncError("only an open multishot timer can be re-armed (RCT-28)");
    }
    arm(timer, *source, timeout);
    set_started(*source, true);
}

SourceId ManualReactor::open_poll(int fd, bool close_fd, Label label) {
    if (fd < 0) { throw IoError("a descriptor is not negative", EBADF); }
    if (const SourceId known = polls_table_.poll_of(fd)) {
        polls_table_.add_reference(known, close_fd);
        return known;
    }
    const SourceId id = add(SourceKind::poll, {.label = label});
    polls_table_.add_poll(id, fd, close_fd, label);
    return id;
}

SourceId ManualReactor::open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) {
    if (polls_table_.find_poll(poll) == nullptr) { throw AsyncError("the poll of a proxy is open"); }
    const SourceId id = add(SourceKind::proxy, options);
    polls_table_.add_proxy(id, poll, mask, options);
    return id;
}

SourceId ManualReactor::open_trigger(const SourceOptions& options) {
    const SourceId id = add(SourceKind::trigger, options);
    sources_[id].port = std::make_shared<Port>(*this, id);
    return id;
}

TriggerPortPtr ManualReactor::trigger_port(SourceId trigger) {
    Source* source = find(trigger);
    if (source == nullptr || source->kind != SourceKind::trigger) { throw AsyncError("the trigger of a port is open"); }
    return source->port;
}

SourceId ManualReactor::open_signal(int number, const SourceOptions& options) {
    if (number <= 0 || number > 64) { throw AsyncError("no such signal"); }
    const SourceId id = add(SourceKind::signal, options);
    sources_[id].number = number;
    return id;
}

SourceId ManualReactor::open_process(int pid, const SourceOptions& options) {
    if (pid <= 0) { throw AsyncError("no such process"); }
    const SourceId id = add(SourceKind::process, options);
    sources_[id].number = pid;
    if (const auto child = children_.find(pid); child != children_.end()) { ++child->second.watchers; }
    return id;
}

void ManualReactor::drop_watcher(int pid) {
    const auto child = children_.find(pid);
    if (child == children_.end() || child->second.watchers == 0) { return; }
    if (--child->second.watchers == 0 && child->second.ended) { children_.erase(child); }  // reaped by its last watcher
}

SourceId ManualReactor::submit_task(UniqueFunction<void()> body, const SourceOptions& options) {
    if (!body) { throw AsyncError("a task has a body"); }
    const SourceId id = add(SourceKind::task, options);
    sources_[id].body = std::move(body);
    if (!options.hidden) { count_up(); }
    return id;
}

bool ManualReactor::cancel(SourceId request) {
    Source* source = find(request);
    if (source == nullptr || source->kind != SourceKind::task || source->detached) { return false; }
    if (source->task == TaskState::queued) {
        source->task = TaskState::done;
        source->body.reset();
        source->completion = {.transferred = -1, .error = ECANCELED, .cancelled = true};
        occur(SourceKind::task, request, 0);
    }
    return true;
}

void ManualReactor::start(SourceId id) {
    Source* source = find(id);
    if (source == nullptr || source->started) { return; }
    switch (source->kind) {
        case SourceKind::timer: arm(id, *source, source->timer.timeout); break;
        case SourceKind::proxy: polls_table_.start_proxy(id); break;
        case SourceKind::signal: start_order_.push_back(id); break;
        case SourceKind::process: {
            const auto child = children_.find(source->number);
            if (child != children_.end() && !child->second.ended) {
                start_order_.push_back(id);
                break;
            }
            const SourceOptions options = source->options;
            const int code = child == children_.end() ? -1 : child->second.code;
            close(id);
            deliver(id, options, SourceKind::process, code);  // RCT-53, inside start
            return;
        }
        case SourceKind::trigger: break;
        default: return;  // requests began when they were submitted; a poll is watched through its proxies
    }
    set_started(*source, true);
}

void ManualReactor::stop(SourceId id) {
    Source* source = find(id);
    if (source == nullptr || !source->started) { return; }
    switch (source->kind) {
        case SourceKind::timer: timers_.disarm(static_cast<std::uint32_t>(id.value)); break;
        case SourceKind::proxy: polls_table_.stop_proxy(id); break;
        case SourceKind::signal:
        case SourceKind::process: std::erase(start_order_, id); break;
        default: break;
    }
    set_started(*source, false);
}

void ManualReactor::close(SourceId id) {
    Source* source = find(id);
    if (source == nullptr) { return; }
    stop(id);
    SourceId poll = id;
    switch (source->kind) {
        case SourceKind::task:
            cancel(id);
            source->detached = true;
            return;
        case SourceKind::trigger: source->port->detach(); break;
        case SourceKind::process: drop_watcher(source->number); break;
        case SourceKind::proxy: poll = polls_table_.remove_proxy(id); [[fallthrough]];
        case SourceKind::poll: {
            if (poll != id) { sources_.erase(id); }
            PollTable::Poll closing;
            if (!polls_table_.drop_reference(poll, closing)) { return; }
            closing_.push_back({poll, closing});
            sources_.erase(poll);
            return;
        }
        default: break;
    }
    sources_.erase(id);
}

}  // namespace heddle::testing
