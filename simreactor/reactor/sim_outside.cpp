// SPDX-License-Identifier: Apache-2.0
// What happens outside a SimReactor: descriptors become ready, triggers are fired, threads and posts arrive, signals
// are raised, children end, workers finish. Each becomes ready at an instant of virtual time and is then one
// candidate of a poll batch.
#include <algorithm>
#include <cerrno>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/port.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {
namespace {

/// More callbacks than this for merged fires are not told apart: an alternative each.
constexpr std::uint32_t merges_max = 8;

Label numbered(std::string_view what, int number) {
    return Label{hash_mix(hash_text(what), static_cast<std::uint64_t>(number))};
}

}  // namespace

Label SimReactor::signal_label(int number) { return numbered("signal", number); }
Label SimReactor::process_label(int pid) { return numbered("process", pid); }

// ── what is ready ──

void SimReactor::enqueue(Happening what, std::uint32_t index, Instant latest) {
    std::uint64_t key = index;
    switch (what) {
        case Happening::descriptor: descriptors_[index].queued = true; break;
        case Happening::signal: signals_[index].queued = true; break;
        case Happening::exit: children_[index].queued = true; break;
        case Happening::trigger:
            triggers_[index].queued = true;
            key = triggers_.key(index);
            break;
        case Happening::task:
            tasks_[index].timed = false;
            key = tasks_.key(index);
            break;
        case Happening::post: posts_[index].state = PostState::arrived; break;
        case Happening::thread:
        case Happening::operation:
        case Happening::arrival: break;
    }
    ready_.push_back({.what = what, .key = key, .latest = latest});
    if (puts_one_question() && is_deliverable(ready_.back())) { enables(step_label(ready_.back())); }
}

bool SimReactor::is_deliverable(const Ready& ready) {
    switch (ready.what) {
        case Happening::descriptor: return reportable(descriptors_[ready.key]) != 0;
        case Happening::trigger: {
            const Trigger* trigger = triggers_.find(ready.key);
            return trigger != nullptr && trigger->fired > 0 && find(trigger->source)->started;
        }
        case Happening::signal: return signals_[ready.key].pending > 0 && !signals_[ready.key].watchers.empty();
        case Happening::exit: return children_[ready.key].ended && !children_[ready.key].watchers.empty();
        case Happening::task: return tasks_.find(ready.key) != nullptr;
        case Happening::post: return posts_[ready.key].state == PostState::arrived;
        case Happening::thread: return true;
        case Happening::operation: return io_->is_deliverable(ready.key);
        case Happening::arrival: break;  // it has no place among what is ready: it makes operations ready
    }
    return false;
}

/// It leaves the ready list without having been delivered; it comes back when its condition holds again.
void SimReactor::forget(const Ready& ready) {
    switch (ready.what) {
        case Happening::descriptor: descriptors_[ready.key].queued = false; break;
        case Happening::signal: signals_[ready.key].queued = false; break;
        case Happening::exit: children_[ready.key].queued = false; break;
        case Happening::trigger:
            if (Trigger* trigger = triggers_.find(ready.key)) { trigger->queued = false; }
            break;
        case Happening::operation: io_->forget_ready(ready.key); break;
        case Happening::task:
        case Happening::post:
        case Happening::thread:
        case Happening::arrival: break;
    }
}

Label SimReactor::label_of(const Ready& ready) {
    const auto of_source = [this](SourceId id) { return label_of(id, *find(id)); };
    switch (ready.what) {
        case Happening::descriptor: return of_source(descriptors_[ready.key].poll);
        case Happening::trigger: return of_source(triggers_.find(ready.key)->source);
        case Happening::signal: return of_source(signals_[ready.key].watchers.front());
        case Happening::exit: return of_source(children_[ready.key].watchers.front());
        case Happening::task: return tasks_.find(ready.key)->label;
        case Happening::post: return posts_[ready.key].label;
        case Happening::thread: return threads_[ready.key]->label();
        case Happening::operation: return io_->label_of(ready.key);
        case Happening::arrival: break;
    }
    return {};
}

void SimReactor::deliver_ready(const Ready& ready) {
    forget(ready);
    switch (ready.what) {
        case Happening::descriptor: return deliver_descriptor(static_cast<std::uint32_t>(ready.key));
        case Happening::trigger: return deliver_trigger(ready.key);
        case Happening::signal: return deliver_signal(static_cast<std::uint32_t>(ready.key));
        case Happening::exit: return deliver_exit(static_cast<std::uint32_t>(ready.key));
        case Happening::task: return deliver_task(detail::Slots<Task>::slot_of(ready.key));
        case Happening::post: return deliver_post(static_cast<std::uint32_t>(ready.key));
        case Happening::thread: return deliver_thread(static_cast<std::uint32_t>(ready.key));
        case Happening::operation: return io_->deliver(ready.key);
        case Happening::arrival: return;
    }
}

/// CP-MERGE: how many of `count` one callback stands for. Production merges them all; each of them may also get its
/// own.
std::uint32_t SimReactor::merged(std::uint32_t count, Label object) {
    if (puts_one_question()) { return count; }  // a fire between two deliveries is another order of theirs
    const std::uint32_t answer = ask(ChoiceKind::merge, std::min(count, merges_max), {}, object);
    return answer == 0 ? count : answer;
}

// ── descriptors ──

int SimReactor::make_descriptor() {
    touch_names("descriptors");
    descriptors_.push_back({});
    return first_fd + static_cast<int>(descriptors_.size()) - 1;
}

SimReactor::Descriptor* SimReactor::descriptor_at(int fd) {
    return fd < first_fd || fd - first_fd >= static_cast<int>(descriptors_.size())
               ? nullptr
               : &descriptors_[static_cast<std::size_t>(fd - first_fd)];
}

std::uint32_t SimReactor::descriptor_index(int fd) {
    if (descriptor_at(fd) == nullptr) { throw ValueError("descriptor " + std::to_string(fd) + " does not exist"); }
    return static_cast<std::uint32_t>(fd - first_fd);
}

void SimReactor::touch_descriptor(std::uint32_t index, PollMask bits, TouchMode mode) {
    if (options_.observer == nullptr) { return; }
    const Label label = numbered("descriptor", static_cast<int>(index));
    if ((bits & ~PollMask{PollBits::writable}) != 0) { touch(cell(label, "read"), mode); }
    if ((bits & (PollBits::writable | PollBits::disconnect)) != 0) { touch(cell(label, "write"), mode); }
}

void SimReactor::set_ready(int fd, PollMask bits) {
    const std::uint32_t index = descriptor_index(fd);
    touch_descriptor(index, bits, TouchMode::write);
    descriptors_[index].ready |= bits;
    check_descriptor(index);
}

void SimReactor::clear_ready(int fd, PollMask bits) {
    const std::uint32_t index = descriptor_index(fd);
    touch_descriptor(index, bits, TouchMode::write);
    descriptors_[index].ready &= ~bits;
}

void SimReactor::fail(int fd, int error) {
    const std::uint32_t index = descriptor_index(fd);
    touch_descriptor(index, PollBits::disconnect, TouchMode::write);
    descriptors_[index].error = error;
    check_descriptor(index);
}

bool SimReactor::is_open(int fd) { return descriptors_[descriptor_index(fd)].open; }
PollMask SimReactor::readiness(int fd) { return descriptors_[descriptor_index(fd)].ready; }

void SimReactor::close_descriptor(int fd) {
    const std::uint32_t index = descriptor_index(fd);
    touch_descriptor(index, PollBits::disconnect, TouchMode::write);
    descriptors_[index].open = false;
    check_descriptor(index);
}

/// What a poll of the descriptor would report now; 0 for nothing. A failure counts as DISCONNECT here.
PollMask SimReactor::reportable(const Descriptor& at) {
    const PollTable::Poll* poll = at.poll ? polls_.find_poll(at.poll) : nullptr;
    if (poll == nullptr || poll->started.empty()) { return 0; }
    if (!at.open || at.error != 0) { return PollBits::disconnect; }
    return at.ready & (polls_.watched(at.poll) | PollBits::disconnect);
}

void SimReactor::check_descriptor(std::uint32_t index) {
    const Descriptor& at = descriptors_[index];
    if (!at.queued && reportable(at) != 0) { enqueue(Happening::descriptor, index, clock_->now()); }
}

void SimReactor::deliver_descriptor(std::uint32_t index) {
    const Descriptor at = descriptors_[index];
    const bool is_bad = !at.open || at.error == EBADF;
    const int error = is_bad ? 0 : at.error;
    const PollMask bits =
        is_bad ? PollMask{PollBits::disconnect} : at.ready & (polls_.watched(at.poll) | PollBits::disconnect);
    const Label label = numbered("descriptor", static_cast<int>(index));
    polls_.report(at.poll, bits, error, [&](SourceId id, const PollTable::Proxy& proxy, PollMask mask) {
        const Delivery delivery{.source = id,
                                .kind = SourceKind::proxy,
                                .owner = proxy.options.owner,
                                .label = proxy.options.label,
                                .value = mask,
                                .error = error};
        const bool reads = (mask & ~PollMask{PollBits::writable}) != 0 || error != 0;
        const bool writes = (mask & (PollBits::writable | PollBits::disconnect)) != 0;
        if (reads && writes) {
            deliver(delivery, {{cell(label, "read"), TouchMode::read}, {cell(label, "write"), TouchMode::read}});
        } else {
            deliver(delivery, {{cell(label, reads ? "read" : "write"), TouchMode::read}});
        }
    });
    check_descriptor(index);  // level-triggered (RCT-32): if the condition still holds, it is ready for the next tick
}

// ── triggers ──

void SimReactor::fired(SourceId id) {
    const Source* source = find(id);
    HEDDLE_ASSERT(source != nullptr, "RCT-58: the port of a closed trigger is disconnected");
    Trigger& trigger = triggers_[source->detail];
    touch(cell(label_of(id, *source), "flag"), TouchMode::set);
    ++trigger.fired;
    if (!trigger.queued) { enqueue(Happening::trigger, source->detail, clock_->now()); }
}

void SimReactor::deliver_trigger(std::uint64_t key) {
    const SourceId id = triggers_.find(key)->source;
    const Source source = *find(id);
    const Label label = label_of(id, source);
    const std::uint32_t count = triggers_.find(key)->fired;
    Trigger& trigger = *triggers_.find(key);
    // Before the callback: a fire after it has begun gives another delivery.
    trigger.fired -= merged(count, label);
    if (trigger.fired > 0) { enqueue(Happening::trigger, source.detail, clock_->now()); }
    deliver({.source = id, .kind = SourceKind::trigger, .owner = source.owner, .label = source.label},
            {{cell(label, "flag"), TouchMode::write}});
}

// ── signals and children ──

std::uint32_t SimReactor::signal_index(int number) {
    for (std::uint32_t index = 0; index < signals_.size(); ++index) {
        if (signals_[index].number == number) { return index; }
    }
    signals_.push_back({.number = number});
    return static_cast<std::uint32_t>(signals_.size() - 1);
}

void SimReactor::raise_signal(int number) {
    const std::uint32_t index = signal_index(number);
    SignalNumber& signal = signals_[index];
    touch(cell(numbered("signal", number), "pending"), TouchMode::set);
    if (signal.watchers.empty()) { return; }
    ++signal.pending;
    if (!signal.queued) { enqueue(Happening::signal, index, clock_->now()); }
}

void SimReactor::deliver_signal(std::uint32_t index) {
    const int number = signals_[index].number;
    const Label label = numbered("signal", number);
    signals_[index].pending -= merged(signals_[index].pending, label);
    if (signals_[index].pending > 0) { enqueue(Happening::signal, index, clock_->now()); }
    const std::vector<SourceId> watchers = signals_[index].watchers;
    for (const SourceId id : watchers) {
        const Source* source = find(id);
        if (source == nullptr || !source->started) { continue; }
        deliver(
            {.source = id, .kind = SourceKind::signal, .owner = source->owner, .label = source->label, .value = number},
            {{cell(label, "pending"), TouchMode::write}});
    }
}

int SimReactor::start_child(const Latency& runs_for, int value) {
    touch_names("children");
    const auto index = static_cast<std::uint32_t>(children_.size());
    children_.push_back({.value = value});
    if (runs_for.min != Duration::max()) {
        const Window window = options_.timing.window(clock_->now(), runs_for, options_.resolution);
        children_[index].ticket = events_.add(window, Happening::exit, index);
        children_[index].timed = true;
        enables(process_label(first_pid + static_cast<int>(index)));
    }
    return first_pid + static_cast<int>(index);
}

SimReactor::Child* SimReactor::child(int pid) {
    return pid < first_pid || pid - first_pid >= static_cast<int>(children_.size())
               ? nullptr
               : &children_[static_cast<std::size_t>(pid - first_pid)];
}

Cell SimReactor::exit_cell(int pid) { return cell(numbered("process", pid), "exit"); }

bool SimReactor::end_child(int pid, int value) {
    Child* at = child(pid);
    if (at == nullptr || at->ended) { return false; }
    if (at->timed) { events_.remove(at->ticket); }
    at->timed = false;
    at->value = value;
    touch(exit_cell(pid), TouchMode::write);
    child_ended(static_cast<std::uint32_t>(pid - first_pid));
    return true;
}

void SimReactor::child_ended(std::uint32_t index) {
    children_[index].ended = true;
    if (!children_[index].watchers.empty() && !children_[index].queued) {
        enqueue(Happening::exit, index, clock_->now());
    }
}

void SimReactor::reap_elsewhere(int pid) {
    Child* at = child(pid);
    if (at == nullptr || at->reaped) { return; }
    end_child(pid, -1);
    at->value = -1;
    at->reaped = true;
}

void SimReactor::deliver_exit(std::uint32_t index) {
    const int pid = first_pid + static_cast<int>(index);
    const int value = children_[index].value;
    children_[index].waited = true;
    const std::vector<SourceId> watchers = children_[index].watchers;  // a callback may stop the next one
    for (const SourceId id : watchers) {
        Source* source = find(id);
        if (source == nullptr || !source->started) { continue; }
        const Delivery delivery{
            .source = id, .kind = SourceKind::process, .owner = source->owner, .label = source->label, .value = value};
        stop(id);
        drop_source(id);
        deliver(delivery, {{exit_cell(pid), TouchMode::write}});
    }
}

// ── worker pool ──

SourceId SimReactor::submit_task(UniqueFunction<void()> body, const SourceOptions& options) {
    require_up();
    if (!body) { throw AsyncError("a task needs a function"); }
    if (options_.faults && ask(ChoiceKind::fault, 2, {}, options.label) == 1) {
        throw AsyncError("task: injected failure (CP-ERROR)");
    }
    const SourceId id = add_source(SourceKind::task, options, 0);
    Source& source = sources_[slot_of(id)];
    const Label label = label_of(id, source);
    const std::uint32_t slot = tasks_.add({});
    tasks_[slot].source = id;
    tasks_[slot].body = std::move(body);
    tasks_[slot].label = label;
    source.detail = slot;
    if (!source.hidden) { count_up(); }
    touch(cell(label, "request"), TouchMode::write);
    touch_workers();
    tasks_waiting_.push_back(slot);
    begin_tasks();
    return id;
}

/// Workers take requests in the order of their submission (G22). How long one takes: Timing::task.
void SimReactor::begin_tasks() {
    std::size_t begun = 0;
    while (!workers_held_ && tasks_running_ < options_.workers && begun < tasks_waiting_.size()) {
        const std::uint32_t slot = tasks_waiting_[begun++];
        Task& task = tasks_[slot];
        task.state = TaskState::running;
        task.timed = true;
        const Window window = options_.timing.window(clock_->now(), options_.timing.task, options_.resolution);
        task.ticket = events_.add(window, Happening::task, slot);
        enables(task.label);
        ++tasks_running_;
    }
    tasks_waiting_.erase(tasks_waiting_.begin(), tasks_waiting_.begin() + static_cast<std::ptrdiff_t>(begun));
}

void SimReactor::release_workers() {
    workers_held_ = false;
    begin_tasks();
}

/// CP-REQCANCEL: what no worker has taken is cancelled for sure; what one has taken may have ended already, unseen.
bool SimReactor::cancel_wins(Task& task) {
    if (task.cancel_lost) { return false; }
    if (task.state == TaskState::waiting || ask(ChoiceKind::req_cancel, 2, {}, task.label) == 0) { return true; }
    task.cancel_lost = true;
    return false;
}

/// Takes the request away from the pool. Its function never runs.
void SimReactor::withdraw_task(std::uint32_t slot) {
    Task& task = tasks_[slot];
    if (task.state == TaskState::waiting) { std::erase(tasks_waiting_, slot); }
    if (task.timed) { events_.remove(task.ticket); }
    takes_back(task.label, true);
    touch_workers();
    task.timed = false;
    const bool ran = task.state == TaskState::running;
    task.state = TaskState::cancelled;
    task.body = nullptr;
    if (ran) {
        --tasks_running_;
        begin_tasks();
    }
}

bool SimReactor::cancel(SourceId request) {
    const Source* source = find(request);
    if (source != nullptr && source->kind == SourceKind::operation) { return io_->cancel_request(request); }
    if (source == nullptr || source->kind != SourceKind::task) { return false; }
    const std::uint32_t slot = source->detail;
    Task& task = tasks_[slot];
    if (task.state == TaskState::cancelled) { return true; }
    const bool wins = cancel_wins(task);
    touch(cell(task.label, "request"), wins ? TouchMode::write : TouchMode::read);
    if (!wins) { return true; }
    const bool is_ready = task.state == TaskState::running && !task.timed;
    withdraw_task(slot);
    if (!is_ready) { enqueue(Happening::task, slot, clock_->now()); }
    return true;
}

/// Disposal in flight (RCT-45): nobody is told, and a function that no worker has taken does not run.
void SimReactor::close_task(SourceId id) {
    const Source source = *find(id);
    Task& task = tasks_[source.detail];
    drop_source(id);
    if (!source.hidden) { count_down(); }
    task.source = {};
    const bool gone = task.state == TaskState::cancelled || cancel_wins(task);
    touch(cell(task.label, "request"), gone ? TouchMode::write : TouchMode::read);
    if (!gone) { return; }
    if (task.state != TaskState::cancelled) { withdraw_task(source.detail); }
    tasks_.remove(source.detail);
}

void SimReactor::run_body(std::uint32_t slot) {
    UniqueFunction<void()> body = std::move(tasks_[slot].body);
    // As on a worker's stack: what it touches belongs to the completion, and an exception has nowhere to go.
    in_body_ = true;
    [&]() noexcept { body(); }();
    in_body_ = false;
}

void SimReactor::deliver_task(std::uint32_t slot) {
    const bool cancelled = tasks_[slot].state == TaskState::cancelled;
    if (!cancelled) {
        run_body(slot);
        --tasks_running_;
    }
    const SourceId id = tasks_[slot].source;
    const Label label = tasks_[slot].label;
    const std::uint64_t request = tasks_[slot].request;
    tasks_.remove(slot);
    touch_workers();
    begin_tasks();
    if (request != 0) {
        io_->work_done(request, cancelled);
        return;
    }
    const Source* found = find(id);
    if (found == nullptr) { return; }
    const Source source = *found;
    drop_source(id);
    if (!source.hidden) { count_down(); }  // RCT-15
    const Completion completion{.error = cancelled ? ECANCELED : 0, .cancelled = cancelled};
    deliver({.source = id,
             .kind = SourceKind::task,
             .owner = source.owner,
             .label = source.label,
             .error = completion.error,
             .cancelled = cancelled,
             .completion = &completion},
            {{cell(label, "request"), TouchMode::write}});
}

// ── threads and posts ──

ForeignThread& SimReactor::add_thread(std::string_view name) {
    const auto index = static_cast<std::uint32_t>(threads_.size());
    threads_.emplace_back(new ForeignThread(*this, index, outside_label(name)));
    return *threads_.back();
}

ForeignThread& ForeignThread::then(const Latency& after, UniqueFunction<void()> run) {
    steps_.push_back({after, std::move(run)});
    if (!scheduled_) { reactor_.schedule_step(*this); }
    return *this;
}

void SimReactor::schedule_step(ForeignThread& thread) {
    const Latency& after = thread.steps_[thread.next_].after;
    events_.add(options_.timing.window(clock_->now(), after, options_.resolution), Happening::thread, thread.index_);
    enables(thread.label_);
    thread.scheduled_ = true;
}

void SimReactor::deliver_thread(std::uint32_t index) {
    ForeignThread& thread = *threads_[index];
    deliver({.kind = SourceKind::none,
             .owner = &thread,
             .label = thread.label(),
             .value = static_cast<std::int64_t>(thread.next_ + 1)},
            {});
}

void ForeignThread::on_delivery(const Delivery&) {
    UniqueFunction<void()> run = std::move(steps_[next_].run);
    ++next_;
    scheduled_ = false;
    if (!done()) { reactor_.schedule_step(*this); }  // before the step runs: it may throw
    run();
}

PostId SimReactor::post(std::string_view name, UniqueFunction<void()> run, const PostOptions& options) {
    const auto index = static_cast<std::uint32_t>(posts_.size());
    const Label label = outside_label(name);
    posts_.push_back({.run = std::move(run), .label = label, .counted = options.counted});
    ++posts_pending_;
    if (options.counted) { count_up(); }
    enables(label);
    if (options.anywhere) {
        ++posts_anywhere_;
        posts_seen_ = true;
    } else {
        posts_[index].state = PostState::timed;
        const Latency& after = options.after ? *options.after : options_.timing.post;
        posts_[index].ticket =
            events_.add(options_.timing.window(clock_->now(), after, options_.resolution), Happening::post, index);
    }
    return PostId{index + 1};
}

bool SimReactor::withdraw(PostId post) {
    if (!post || post.value > posts_.size() || posts_[post.value - 1].state == PostState::over) { return false; }
    Post& at = posts_[post.value - 1];
    if (at.state == PostState::timed) { events_.remove(at.ticket); }
    takes_back(at.label, true);
    if (at.state == PostState::fresh || at.state == PostState::postponed) { --posts_anywhere_; }
    if (at.counted) { count_down(); }
    --posts_pending_;
    at.state = PostState::over;
    at.run = nullptr;
    return true;
}

/// CP-CANCEL: does a post that may come anywhere come here? The first time "at once" is production's answer; one that
/// was put off stays away unless it is called, so that any one of the later points is two answers away from the
/// baseline.
void SimReactor::let_posts_arrive(bool all) {
    for (std::uint32_t index = 0; index < posts_.size() && posts_anywhere_ > 0; ++index) {
        Post& at = posts_[index];
        if (at.state != PostState::fresh && at.state != PostState::postponed) { continue; }
        bool arrives = all || at.passed >= options_.fairness.arrival;
        if (!arrives) {
            const std::uint32_t answer = ask(ChoiceKind::arrival, 2, {}, at.label);
            arrives = at.state == PostState::fresh ? answer == 0 : answer == 1;
        }
        if (arrives) {
            --posts_anywhere_;
            enqueue(Happening::post, index, clock_->now());
        } else {
            at.state = PostState::postponed;
            ++at.passed;
        }
    }
}

void SimReactor::deliver_post(std::uint32_t index) {
    Post& at = posts_[index];
    at.state = PostState::over;
    --posts_pending_;
    if (at.counted) { count_down(); }
    deliver({.kind = SourceKind::none, .owner = &post_runner_, .label = at.label, .value = index}, {});
}

void SimReactor::PostRunner::on_delivery(const Delivery& delivery) {
    UniqueFunction<void()> run = std::move(reactor_.posts_[static_cast<std::size_t>(delivery.value)].run);
    run();
}

}  // namespace heddle::sim
