// SPDX-License-Identifier: Apache-2.0
// Handles and requests of the simulated reactor: detail/sim_io.hpp says what they keep. Streams: sim_stream.cpp; datagrams:
// sim_datagram.cpp; files: sim_file.cpp; names and the worker pool: sim_io_names.cpp; children: sim_child.cpp.
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

#include <cerrno>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/sim_datagram.hpp"
#include "heddle/simreactor/reactor/detail/sim_file.hpp"
#include "heddle/simreactor/reactor/detail/sim_stream.hpp"

namespace heddle::sim::detail {

// ── life ──

SimIo::SimIo(SimReactor& reactor, Machine* machine) : reactor_(reactor), machine_(machine) {
    if (machine_ == nullptr) {
        own_network_ = std::make_unique<Network>(reactor.options().network);
        machine_ = &own_network_->add_machine(reactor.options().name, this);
    } else {
        machine_->set_host(this);
    }
    static_cast<void>(named("machine/" + machine_->name()));
}

SimIo::~SimIo() {
    machine_->power_off();  // in silence: who would hear of it is going, too
}

// ── handles ──

HandleId SimIo::add(std::unique_ptr<SimHandle> handle) {
    SimHandle& added = *handle;
    const std::uint32_t slot = handles_.add(std::move(handle));
    added.id = HandleId{handles_.key(slot)};
    return added.id;
}

SimHandle* SimIo::find(HandleId handle) {
    std::unique_ptr<SimHandle>* const found = handles_.find(handle.value);
    return found == nullptr ? nullptr : found->get();
}

HandleId SimIo::open_stream(std::shared_ptr<KernelObject> object, HandleKind kind, int& error) {
    const std::shared_ptr<StreamSocket> socket = std::static_pointer_cast<StreamSocket>(object);
    const int descriptor = machine_->open(socket);
    error = descriptor < 0 ? -descriptor : 0;
    return descriptor < 0 ? HandleId{} : add(std::make_unique<SimStream>(*this, kind, descriptor, socket));
}

HandleId SimIo::open_handle(const HandleOptions& options) {
    const std::string kind(to_string(options.kind));
    if (options.descriptor >= 0) {
        const std::shared_ptr<KernelObject> object = machine_->object(options.descriptor);
        const auto refuse = [&](int error) {
            throw IoError("cannot open descriptor " + std::to_string(options.descriptor) + " as " + kind, error);
        };
        if (object == nullptr) { refuse(EBADF); }
        const auto datagrams = std::dynamic_pointer_cast<DatagramSocket>(object);
        for (std::uint32_t slot = 0; slot < handles_.end(); ++slot) {
            if (handles_.is_used(slot) && handles_[slot]->descriptor() == options.descriptor) { refuse(EEXIST); }
        }
        const auto socket = std::dynamic_pointer_cast<StreamSocket>(object);
        const auto file = std::dynamic_pointer_cast<OpenFile>(object);
        switch (options.kind) {
            case HandleKind::tcp:
            case HandleKind::pipe:
                if (socket == nullptr) { refuse(datagrams == nullptr ? ENOTSOCK : EPROTOTYPE); }
                if ((socket->kind() == StreamKind::tcp) != (options.kind == HandleKind::tcp)) { refuse(EPROTOTYPE); }
                return add(std::make_unique<SimStream>(*this, options.kind, options.descriptor, socket));
            case HandleKind::udp:
                if (datagrams == nullptr) { refuse(socket == nullptr ? ENOTSOCK : EPROTOTYPE); }
                return add(std::make_unique<SimDatagram>(*this, options.descriptor, datagrams));
            case HandleKind::file:
                if (file == nullptr) { refuse(EINVAL); }
                return add(std::make_unique<SimFile>(*this, options.descriptor, file));
            case HandleKind::tty: refuse(ENOTTY); break;
            default: refuse(EINVAL);
        }
    }
    if (options.kind == HandleKind::tcp || options.kind == HandleKind::pipe) {
        const StreamKind stream = options.kind == HandleKind::tcp ? StreamKind::tcp : StreamKind::local;
        int error = 0;
        const HandleId handle = open_stream(std::make_shared<StreamSocket>(*machine_, stream), options.kind, error);
        if (error != 0) { throw IoError("cannot open a " + kind + " handle", error); }
        return handle;
    }
    if (options.kind == HandleKind::udp) {
        const auto socket = std::make_shared<DatagramSocket>(*machine_);
        const int descriptor = machine_->open(socket);
        if (descriptor < 0) { throw IoError("cannot open a udp handle", -descriptor); }
        return add(std::make_unique<SimDatagram>(*this, descriptor, socket));
    }
    throw AsyncError("the simulated reactor has no handles of kind '" + kind + "' without a descriptor");
}

void SimIo::close_handle(HandleId handle) {
    SimHandle* const found = find(handle);
    if (found == nullptr) { return; }
    found->close();
    handles_.remove(Slots<std::unique_ptr<SimHandle>>::slot_of(handle.value));
}

void SimIo::close_all() {
    for (std::uint32_t slot = 0; slot < handles_.end(); ++slot) {
        if (handles_.is_used(slot)) { close_handle(HandleId{handles_.key(slot)}); }
    }
}

std::int64_t SimHandle::try_read(std::span<std::byte>) { return -EAGAIN; }
std::int64_t SimHandle::try_write(std::span<const std::byte>) { return -EAGAIN; }

bool SimHandle::has_turn() const { return turns_tick_ != io_.tick() || turns_ < turns_max; }

bool SimHandle::take_turn() {
    if (turns_tick_ != io_.tick()) {
        turns_tick_ = io_.tick();
        turns_ = 0;
    }
    return turns_++ < turns_max;
}

Submission SimHandle::answer(const Completion& completion, const SourceOptions& options, OperationKind operation) {
    if (take_turn()) { return {.done = completion}; }
    return {.request = io_.open_deferred(completion, options, operation)};
}

void SimHandle::refuse(const Operation& operation) const {
    throw AsyncError("a " + std::string(to_string(kind)) + " handle has no operation '" +
                     std::string(to_string(operation.kind)) + "'");
}

// ── requests ──

Label SimIo::label_for(const SourceOptions& options, OperationKind kind) {
    return options.label ? options.label : Label{hash_mix(hash_text(to_string(kind)), ++unnamed_)};
}

RequestKey SimIo::open_request(SimHandle* handle, OperationKind kind, const SourceOptions& options) {
    Request request;
    request.kind = kind;
    request.handle = handle;
    request.label = label_for(options, kind);
    const std::uint32_t slot = requests_.add(std::move(request));
    const SourceId source = reactor_.add_source(SourceKind::operation, options, slot);
    requests_[slot].source = source;
    if (!options.hidden) { reactor_.count_up(); }
    reactor_.touch(cell(requests_[slot].label, "request"), TouchMode::write);
    return requests_.key(slot);
}

SourceId SimIo::open_deferred(const Completion& completion, const SourceOptions& options, OperationKind kind) {
    const RequestKey key = open_request(nullptr, kind, options);
    defer(key, completion);
    return source_of(key);
}

void SimIo::wake(RequestKey key) {
    Request* const request = requests_.find(key);
    if (request == nullptr || request->queued) { return; }
    request->queued = true;
    const Instant now = reactor_.clock_->now();
    reactor_.ready_.push_back({.what = Happening::operation, .key = key, .latest = std::max(now, latest_)});
}

void SimIo::defer(RequestKey key, const Completion& completion) {
    Request& request = *requests_.find(key);
    request.handle = nullptr;
    request.is_answered = true;
    request.completion = completion;
    if (completion.answer != nullptr) { request.answer = std::make_unique<Answer>(*completion.answer); }
    latest_ = {};
    wake(key);
}

bool SimIo::is_deliverable(RequestKey key) {
    const Request* const request = requests_.find(key);
    return request != nullptr && (request->is_answered || (request->handle != nullptr && request->handle->is_ready(key)));
}

void SimIo::forget_ready(RequestKey key) {
    if (Request* const request = requests_.find(key)) { request->queued = false; }
}

void SimIo::deliver(RequestKey key) {
    Request& request = *requests_.find(key);
    if (request.is_answered) {
        tell(key);
        return;
    }
    request.handle->go_on(key);
}

void SimIo::finish(RequestKey key, const Completion& completion, std::unique_ptr<Answer> answer) {
    Request& request = *requests_.find(key);
    request.completion = completion;
    request.answer = std::move(answer);
    tell(key);
}

void SimIo::tell(RequestKey key) {
    Request request = std::move(*requests_.find(key));
    requests_.remove(Slots<Request>::slot_of(key));
    const SimReactor::Source source = *reactor_.find(request.source);
    reactor_.drop_source(request.source);
    if (!source.hidden) { reactor_.count_down(); }  // RCT-15
    request.completion.answer = request.answer.get();
    reactor_.deliver({.source = request.source,
                      .kind = SourceKind::operation,
                      .owner = source.owner,
                      .label = source.label,
                      .value = request.completion.transferred,
                      .error = request.completion.error,
                      .cancelled = request.completion.cancelled,
                      .completion = &request.completion},
                     {{cell(request.label, "request"), TouchMode::write}});
}

void SimIo::report(RequestKey key, Completion completion, std::unique_ptr<Answer> answer) {
    const Request& request = *requests_.find(key);
    const SimReactor::Source source = *reactor_.find(request.source);
    completion.answer = answer.get();
    reactor_.deliver({.source = request.source,
                      .kind = SourceKind::operation,
                      .owner = source.owner,
                      .label = source.label,
                      .value = completion.transferred,
                      .completion = &completion},
                     {{cell(request.label, "request"), TouchMode::write}});
}

void SimIo::tell_part(RequestKey key) {
    const Label label = requests_.find(key)->label;
    reactor_.deliver({.kind = SourceKind::none, .label = label}, {{cell(label, "request"), TouchMode::write}});
}

void SimIo::close_request(SourceId id) {
    const SimReactor::Source source = *reactor_.find(id);
    const std::uint32_t slot = source.detail;
    const RequestKey key = requests_.key(slot);
    reactor_.touch(cell(requests_[slot].label, "request"), TouchMode::write);
    const bool is_taken = take_from_pool(requests_[slot]);
    if (is_taken && requests_[slot].handle != nullptr) { static_cast<void>(requests_[slot].handle->forget(key)); }
    Request gone = std::move(requests_[slot]);
    requests_.remove(slot);
    reactor_.drop_source(id);
    if (!source.hidden) { reactor_.count_down(); }
    // RCT-45: nobody else could.
    if (gone.completion.handle) { close_handle(gone.completion.handle); }
    if (is_taken && gone.dropped) { gone.dropped(); }
}

bool SimIo::cancel_request(SourceId id) {
    const std::uint32_t slot = reactor_.find(id)->detail;
    const RequestKey key = requests_.key(slot);
    Request& request = requests_[slot];
    if (request.is_answered) { return request.is_cancelled; }
    if (request.done > 0 || request.kind == OperationKind::connect) { return true; }  // it goes on, and says how it ended
    reactor_.touch(cell(request.label, "request"), TouchMode::write);
    // CP-REQCANCEL: what could go on has perhaps done so already, unseen.
    if (request.task != 0) {
        if (!take_from_pool(request)) { return true; }
    } else if (request.handle->is_ready(key) && reactor_.ask(ChoiceKind::req_cancel, 2, {}, request.label) == 1) {
        return true;
    }
    if (request.handle != nullptr && !request.handle->forget(key)) { return true; }
    request.is_cancelled = true;
    UniqueFunction<void()> dropped = std::move(request.dropped);
    defer(key, {.transferred = -1, .error = ECANCELED, .cancelled = true});
    if (dropped) { dropped(); }
    return true;
}

// ── operations without a handle ──

Submission SimIo::submit(const Operation& operation, const SourceOptions& options) {
    if (operation.handle) {
        SimHandle* const handle = find(operation.handle);
        if (handle == nullptr) {
            throw AsyncError(std::string(to_string(operation.kind)) + ": the handle is closed (RCT-47)");
        }
        return handle->submit(operation, options);
    }
    switch (operation.kind) {
        case OperationKind::resolve_name: return resolve_name(operation, options);
        case OperationKind::resolve_address: return resolve_address(operation, options);
        case OperationKind::open: return open_file(operation, options);
        case OperationKind::stat: return stat_path(operation, options);
        case OperationKind::watch: return watch(operation, options);
        case OperationKind::execute: return execute(operation, options);
        case OperationKind::kill: return kill(operation);
        default: throw AsyncError("operation '" + std::string(to_string(operation.kind)) + "' needs a handle");
    }
}

// ── KernelHost ──

Instant SimIo::later(const Latency& latency, Instant not_before, UniqueFunction<void()> arrive) {
    std::uint32_t flight = static_cast<std::uint32_t>(flights_.size());
    if (free_flights_.empty()) {
        flights_.push_back(std::move(arrive));
    } else {
        flight = free_flights_.back();
        free_flights_.pop_back();
        flights_[flight] = std::move(arrive);
    }
    const SimReactor::Options& options = reactor_.options();
    Window window = options.timing.window(reactor_.clock_->now(), latency, options.resolution);
    const bool has_most = window.latest > window.earliest && !window.latest.is_never();  // T4 knows no most
    if (has_most && reactor_.ask(ChoiceKind::late, 2, {}, machine_->label()) == 1) {
        window.earliest = window.latest;
    }
    window.earliest = std::max(window.earliest, not_before);
    window.latest = std::max(window.latest, window.earliest);
    reactor_.events_.add(window, Happening::arrival, flight);
    return window.earliest;
}

void SimIo::arrive(std::uint32_t flight, Instant latest) {
    UniqueFunction<void()> run = std::move(flights_[flight]);
    free_flights_.push_back(flight);
    latest_ = latest;
    in_kernel([&run] {
        run();
        return 0;
    });
    latest_ = {};
}

void SimIo::forget_flights() {
    flights_.clear();
    free_flights_.clear();
}

std::uint32_t SimIo::choose(std::string_view name, std::uint32_t count, Label object) {
    return reactor_.ask_named(ChoiceKind::value, name, count, {}, object);
}

bool SimIo::offers_faults() const { return reactor_.options_.faults && reactor_.offers(ChoiceKind::fault); }

std::uint32_t SimIo::choose_fault(std::span<const std::string_view> names, Label object) {
    std::vector<Label> candidates{named("none")};
    for (const std::string_view name : names) { candidates.push_back(named(name)); }
    return reactor_.ask(ChoiceKind::fault, static_cast<std::uint32_t>(candidates.size()), candidates, object);
}

Label SimIo::named(std::string_view text) {
    LabelBook* const book = reactor_.options().book;
    const Label label = LabelBook::of(text);
    return book == nullptr || book->knows(label) ? label : book->root(text);
}

Label SimIo::named_below(Label parent, std::string_view name) {
    LabelBook* const book = reactor_.options().book;
    return book == nullptr ? Label{hash_text(name, parent.value)} : book->child(parent, name);
}

}  // namespace heddle::sim::detail
