// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_reactor.hpp"

#include <ctime>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_host.hpp"
#include "heddle/realreactor/detail/uv_request.hpp"
#include "heddle/realreactor/detail/uv_work.hpp"
#include "heddle/realreactor/uv_dns.hpp"
#include "heddle/realreactor/uv_execute.hpp"
#include "heddle/realreactor/uv_file.hpp"
#include "heddle/realreactor/uv_fs_watch.hpp"
#include "heddle/realreactor/uv_poll.hpp"
#include "heddle/realreactor/uv_process.hpp"
#include "heddle/realreactor/uv_signal.hpp"
#include "heddle/realreactor/uv_stream.hpp"
#include "heddle/realreactor/uv_task.hpp"
#include "heddle/realreactor/uv_timer.hpp"
#include "heddle/realreactor/uv_udp.hpp"
#include "heddle/realreactor/uv_wakeup.hpp"
#include "heddle/realreactor/uv_workers.hpp"

namespace heddle::real {

struct detail::UvFamilies {
    explicit UvFamilies(UvHost& host)
        : timers(host),
          polls(host),
          triggers(host),
          signals(host),
          processes(host, signals),
          tasks(host),
          requests(host),
          names(host, works),
          files(host, works),
          watches(host) {
        host.handles = &handles;
        host.requests = &requests;
    }

    UvTimers timers;
    UvPolls polls;
    UvTriggers triggers;
    UvSignals signals;
    UvProcesses processes;
    UvTasks tasks;
    UvHandles handles;
    UvRequests requests;
    UvWorks works;
    UvNames names;
    UvFiles files;
    UvWatches watches;
};

namespace {

/// Some milliseconds of resolution, and a fifth of the price of the exact clock.
std::int64_t coarse_now_ns() {
    timespec at{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
    return at.tv_sec * 1'000'000'000 + at.tv_nsec;
}

}  // namespace

using detail::SourceTable;
using detail::UvSource;

UvReactor::UvReactor(const UvOptions& options)
    : host_(std::make_unique<detail::UvHost>(*this, options)), families_(std::make_unique<detail::UvFamilies>(*host_)) {
    set_has_short_ways();
}

UvReactor::~UvReactor() {
    HEDDLE_ASSERT(!in_tick_, "a reactor is not destroyed by its own callback");
    shut_down(false);
}

// ── life ──

bool UvReactor::is_up() const { return host_->loop.has_value(); }

void UvReactor::require_up() const {
    if (!is_up()) { throw AsyncError("the reactor is not started up"); }
}

void UvReactor::startup(ReactorSink& sink) {
    if (is_up()) { return; }
    host_->loop.emplace([this] { return host_->sink != nullptr && host_->sink->has_ready_work(); },
                        [this] { families_->triggers.on_woken(); }, host_->options.loop);
    host_->sink = &sink;
    host_->reset_counts();
    host_->start_clock();
    last_poll_ns_ = last_look_ns_ = coarse_now_ns();
}

void UvReactor::shutdown() { shut_down(true); }

void UvReactor::shut_down(bool tell) {
    if (!is_up()) { return; }
    if (in_tick_) { throw AsyncError("a reactor is not shut down from inside its tick"); }
    if (!tell) { host_->sink = nullptr; }

    if (workers_ != nullptr) { workers_->shut_down(); }  // their last posts are settled before the sources go
    in_tick_ = true;  // close completions are told to the sink, and may not tick
    for (const HandleId id : families_->handles.all()) { host_->close_handle(id); }
    families_->requests.close_all();
    families_->triggers.close_all();
    families_->timers.clear();
    families_->processes.close_all();
    families_->signals.close_all();
    families_->polls.close_all();
    families_->tasks.close_all();
    for (const SourceKind kind : {SourceKind::timer, SourceKind::trigger}) {
        for (const SourceId id : host_->sources.all(kind)) { host_->sources.close(SourceTable::slot_of(id)); }
    }
    families_->works.cancel_all();
    const bool clean = host_->loop->close(host_->options.shutdown_wait, [this] {
        return families_->tasks.in_flight() || families_->works.in_flight() || host_->closing_count > 0;
    });
    if (!clean) {
        families_->tasks.abandon_all();
        families_->works.abandon_all();
        families_->requests.forget_all();
    }
    for (const SourceId id : host_->sources.all(SourceKind::task)) {
        host_->sources.close(SourceTable::slot_of(id));  // of abandoned ones
    }
    HEDDLE_ASSERT(host_->sources.open_count() == 0, "shutdown closes every source (RCT-2)");
    host_->loop.reset();
    host_->sink = nullptr;
    host_->reset_counts();
    in_tick_ = false;
}

// ── clock and loop ──

void UvReactor::refresh_clock() {
    require_up();
    host_->loop->update_time();
    host_->follow_clock();
}

bool UvReactor::tick(TickMode mode) {
    if (in_tick_) { throw AsyncError("tick is not reentrant (RCT-3)"); }
    require_up();
    last_poll_ns_ = coarse_now_ns();
    if (host_->sources.open_count() == 0 && host_->waits == 0 && host_->closing_count == 0) { return false; }  // RCT-4

    in_tick_ = true;
    ++host_->tick_count;
    const bool answered = families_->requests.deliver_deferred();
    // Who counts decides whether to wait; what is hidden only bounds the wait (RCT-5, RCT-14).
    const bool wait = mode == TickMode::may_block && !answered && alive() && !host_->sink->has_ready_work();
    host_->loop->run(wait, families_->timers.next());
    if (!families_->timers.empty()) { host_->loop->update_time(); }
    host_->follow_clock();
    families_->timers.run_pass();
    in_tick_ = false;
    return alive();
}

bool UvReactor::poll_due(bool in_place) {
    constexpr std::int64_t interval_ns = 100'000'000;
    constexpr std::uint32_t look_every_max = 16;
    if (polls_not_due() > 0) {
        set_polls_not_due(polls_not_due() - 1);
        return false;
    }
    // Calls that come slowly are looked at one by one, so that a few long computations do not add up to seconds without
    // a poll.
    const std::int64_t now_ns = coarse_now_ns();
    look_every_ = now_ns == last_look_ns_ ? std::min(look_every_ * 2, look_every_max) : 1;
    last_look_ns_ = now_ns;
    set_polls_not_due(look_every_ - 1);
    return in_place ? now_ns - last_poll_ns_ > interval_ns : now_ns != last_poll_ns_;
}

bool UvReactor::has_closing() const { return host_->closing_count > 0; }

// ── sources ──

SourceId UvReactor::open_timer(const TimerOptions& timer, const SourceOptions& options) {
    require_up();
    return families_->timers.open(timer, options);
}

void UvReactor::rearm(SourceId timer, Duration timeout) {
    UvSource* source = host_->sources.find(timer, SourceKind::timer);
    if (source == nullptr || !source->multishot) {
        throw AsyncError("only an open multishot timer can be armed again (RCT-28)");
    }
    families_->timers.rearm(*source, SourceTable::slot_of(timer), timeout);
}

SourceId UvReactor::open_poll(int fd, bool close_fd, Label label) {
    require_up();
    return families_->polls.open_poll(fd, close_fd, label);
}

SourceId UvReactor::open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) {
    require_up();
    return families_->polls.open_proxy(poll, mask, options);
}

SourceId UvReactor::open_trigger(const SourceOptions& options) {
    require_up();
    return families_->triggers.open(options);
}

TriggerPortPtr UvReactor::trigger_port(SourceId trigger) {
    if (host_->sources.find(trigger, SourceKind::trigger) == nullptr) {
        throw AsyncError("a port belongs to an open trigger");
    }
    return families_->triggers.port(trigger);
}

SourceId UvReactor::open_signal(int number, const SourceOptions& options) {
    require_up();
    return families_->signals.open(number, options);
}

SourceId UvReactor::open_process(int pid, const SourceOptions& options) {
    require_up();
    return families_->processes.open(pid, options);
}

SourceId UvReactor::submit_task(UniqueFunction<void()> body, const SourceOptions& options) {
    require_up();
    return families_->tasks.submit(std::move(body), options);
}

bool UvReactor::cancel(SourceId request) {
    UvSource* source = host_->sources.find(request, SourceKind::operation);
    return source != nullptr ? families_->requests.cancel(*source, request) : families_->tasks.cancel(request);
}

// ── handles and operations ──

HandleId UvReactor::open_handle(const HandleOptions& options) {
    require_up();
    if (options.descriptor >= 0) {  // libuv looks after this for some kinds only, and watches a descriptor once
        for (const HandleId id : families_->handles.all()) {
            if (families_->handles.find(id)->descriptor() == options.descriptor) {
                throw IoError("descriptor " + std::to_string(options.descriptor) + " has a handle already", EEXIST);
            }
        }
    }
    switch (options.kind) {
        case HandleKind::tcp:
        case HandleKind::pipe:
        case HandleKind::tty: return detail::UvStream::open(*host_, options.kind, options.descriptor);
        case HandleKind::udp: return detail::UvUdp::open(*host_, options.descriptor);
        case HandleKind::file: return families_->files.adopt(options.descriptor);
        default: throw AsyncError("there is no handle of kind '" + std::string(to_string(options.kind)) + "'");
    }
}

void UvReactor::close_handle(HandleId handle) {
    if (is_up()) { host_->close_handle(handle); }
}

int UvReactor::descriptor(HandleId handle) const {
    const detail::UvHandle* const found = families_->handles.find(handle);
    return found != nullptr ? found->descriptor() : -1;
}

HandleInfo UvReactor::inspect(HandleId handle) {
    const detail::UvHandle* const found = families_->handles.find(handle);
    if (found == nullptr) { throw AsyncError("the handle is closed"); }
    return found->info();
}

SourceId UvReactor::wait_readable(HandleId handle, SourceOwner& owner) {
    detail::UvHandle* const found = families_->handles.find(handle);
    if (found == nullptr) { throw AsyncError("read: the handle is closed (RCT-47)"); }
    return found->wait_readable(owner);
}

std::int64_t UvReactor::try_read(HandleId handle, std::span<std::byte> buffer) {
    detail::UvHandle* const found = families_->handles.find(handle);
    return found != nullptr ? found->try_read(buffer) : -EAGAIN;
}

std::int64_t UvReactor::try_write(HandleId handle, std::span<const std::byte> data) {
    detail::UvHandle* const found = families_->handles.find(handle);
    return found != nullptr ? found->try_write(data) : -EAGAIN;
}

Submission UvReactor::submit(const Operation& operation, const SourceOptions& options) {
    require_up();
    if (operation.handle) {
        detail::UvHandle* const handle = families_->handles.find(operation.handle);
        if (handle == nullptr) {
            throw AsyncError(std::string(to_string(operation.kind)) + ": the handle is closed (RCT-47)");
        }
        return handle->submit(operation, options);
    }
    switch (operation.kind) {
        case OperationKind::open: return families_->files.open(operation, options);
        case OperationKind::stat: return families_->files.stat(operation, options);
        case OperationKind::resolve_name: return families_->names.resolve_name(operation, options);
        case OperationKind::execute: return detail::execute_child(*host_, operation);
        case OperationKind::kill: return detail::kill_child(operation);
        case OperationKind::watch: return families_->watches.watch(operation, options);
        case OperationKind::resolve_address: return families_->names.resolve_address(operation, options);
        default: throw AsyncError("operation '" + std::string(to_string(operation.kind)) + "' needs a handle");
    }
}

void UvReactor::start(SourceId id) {
    UvSource* source = host_->sources.find(id);
    if (source == nullptr) { return; }
    switch (source->kind) {
        case SourceKind::timer: families_->timers.start(*source, SourceTable::slot_of(id)); break;
        case SourceKind::proxy: families_->polls.start_proxy(*source, id); break;
        case SourceKind::trigger: families_->triggers.start(*source, id); break;
        case SourceKind::signal: families_->signals.start(*source, id); break;
        case SourceKind::process: families_->processes.start(*source, id); break;
        default: break;  // a request began with its submission; a poll is watched through its proxies
    }
}

void UvReactor::stop(SourceId id) {
    UvSource* source = host_->sources.find(id);
    if (source == nullptr) { return; }
    switch (source->kind) {
        case SourceKind::timer: families_->timers.stop(*source, SourceTable::slot_of(id)); break;
        case SourceKind::proxy: families_->polls.stop_proxy(*source, id); break;
        case SourceKind::trigger: host_->set_started(*source, false); break;
        case SourceKind::signal: families_->signals.stop(*source, id); break;
        case SourceKind::process: families_->processes.stop(*source, id); break;
        default: break;
    }
}

void UvReactor::close(SourceId id) {
    if (detail::UvHandle::is_wait(id)) {
        detail::UvHandle* const handle = families_->handles.find(detail::UvHandle::handle_of(id));
        handle != nullptr ? handle->stop_waiting() : families_->requests.forget_wait(id);
        return;
    }
    UvSource* source = host_->sources.find(id);
    if (source == nullptr) { return; }
    switch (source->kind) {
        case SourceKind::proxy:
            stop(id);
            families_->polls.close_proxy(id);
            return;
        case SourceKind::poll: families_->polls.close_poll(id); return;
        case SourceKind::process: families_->processes.close(*source, id); return;
        case SourceKind::task: families_->tasks.close(*source, id); return;
        case SourceKind::operation: families_->requests.close(*source, id); return;
        case SourceKind::trigger: families_->triggers.close(id); break;
        default: break;
    }
    stop(id);
    host_->sources.close(SourceTable::slot_of(id));
}

// ── threads for work pools ──

std::size_t UvReactor::parallelism() const { return UvWorkers::parallelism(); }

void UvReactor::start_workers(std::shared_ptr<WorkerCode> code, std::size_t count, const char*) {
    require_up();
    if (workers_ == nullptr) { workers_ = std::make_unique<UvWorkers>(); }
    workers_->start(std::move(code), count);
}

}  // namespace heddle::real
