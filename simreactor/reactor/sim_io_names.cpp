// SPDX-License-Identifier: Apache-2.0
// Requests of a SimReactor that a worker serves, and the resolver's among them (RCT-56). Which of several completes
// first is CP-POOL; whether a cancellation comes in time, CP-REQCANCEL.
#include <cerrno>
#include <charconv>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

namespace heddle::sim::detail {
namespace {

constexpr std::size_t name_max = 255;

Completion name_failure(ResolverError error) {
    return {.transferred = -1, .error = EIO, .resolver = error};
}

/// Services that programs ask for by name; numbers are always known.
std::optional<std::uint16_t> port_of(std::string_view service) {
    if (service.empty()) { return 0; }
    for (const auto& [name, port] : {std::pair<std::string_view, std::uint16_t>{"http", 80},
                                     {"https", 443},
                                     {"ssh", 22},
                                     {"domain", 53},
                                     {"postgresql", 5432}}) {
        if (service == name) { return port; }
    }
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(service.data(), service.data() + service.size(), port);
    return error == std::errc{} && end == service.data() + service.size() ? std::optional(port) : std::nullopt;
}

}  // namespace

// ── the pool ──

RequestKey SimIo::submit_work(SimHandle* handle, OperationKind kind, const SourceOptions& options, Work work) {
    const RequestKey key = open_request(handle, kind, options);
    give_to_pool(key, std::move(work));
    return key;
}

void SimIo::give_to_pool(RequestKey key, Work work) {
    Request& request = *requests_.find(key);
    const std::uint32_t slot = reactor_.tasks_.add({});
    SimReactor::Task& task = reactor_.tasks_[slot];
    task.request = key;
    task.label = request.label;
    task.body = [this, key, work = std::move(work)]() mutable { work(requests_.find(key)); };
    request.task = slot + 1;
    reactor_.tasks_waiting_.push_back(slot);
    reactor_.begin_tasks();
}

void SimIo::work_done(RequestKey key, bool is_cancelled) {
    Request* const request = requests_.find(key);
    if (request == nullptr) { return; }  // nobody waits for it any more
    request->task = 0;
    if (is_cancelled) {
        request->completion = {.transferred = -1, .error = ECANCELED, .cancelled = true};
        request->answer = nullptr;
    }
    if (SimHandle* const handle = request->handle) { handle->go_on(key); }
    if (requests_.find(key) != nullptr) { tell(key); }
}

bool SimIo::take_from_pool(Request& request) {
    if (request.kind == OperationKind::close) { return false; }  // what was begun is finished: else the file stays open
    if (request.task == 0) { return true; }
    const std::uint32_t slot = request.task - 1;
    SimReactor::Task& task = reactor_.tasks_[slot];
    if (!reactor_.cancel_wins(task)) { return false; }
    reactor_.withdraw_task(slot);
    reactor_.tasks_.remove(slot);
    request.task = 0;
    return true;
}

// ── names ──

Submission SimIo::resolve_name(const Operation& operation, const SourceOptions& options) {
    if (operation.target.empty() && operation.service.empty()) {
        throw AsyncError("resolve_name needs a host or a service");
    }
    const std::optional<std::uint16_t> port = port_of(operation.service);
    if (operation.target.find('\0') != std::string_view::npos || operation.target.size() > name_max || !port) {
        return {.done = name_failure(ResolverError::unknown_name)};
    }
    const RequestKey key = submit_work(
        nullptr, operation.kind, options,
        [this, name = std::string(operation.target), port = *port](Request* request) {
            if (request == nullptr) { return; }
            machine_->touch(cell(LabelBook::of("names"), name), TouchMode::read);
            switch (machine_->fault({FaultKind::name_unknown, FaultKind::name_try_again}, request->label)) {
                case FaultKind::name_unknown: request->completion = name_failure(ResolverError::unknown_name); return;
                case FaultKind::name_try_again: request->completion = name_failure(ResolverError::try_again); return;
                default: break;
            }
            auto answer = std::make_unique<Answer>();
            answer->addresses = network().resolve(name.empty() ? "localhost" : name);
            for (Address& address : answer->addresses) { address.port = port; }
            request->completion = answer->addresses.empty() ? name_failure(ResolverError::unknown_name) : Completion{};
            request->answer = std::move(answer);
        });
    return {.request = source_of(key)};
}

Submission SimIo::resolve_address(const Operation& operation, const SourceOptions& options) {
    if (operation.address == nullptr) { throw AsyncError("resolve_address needs an address"); }
    const Address address = *operation.address;
    if (address.family != AddressFamily::ip4 && address.family != AddressFamily::ip6) {
        return {.done = {.transferred = -1, .error = EAFNOSUPPORT}};
    }
    const RequestKey key = submit_work(nullptr, operation.kind, options, [this, address](Request* request) {
        if (request == nullptr) { return; }
        if (machine_->fault({FaultKind::name_try_again}, request->label) != FaultKind::count_) {
            request->completion = name_failure(ResolverError::try_again);
            return;
        }
        request->answer = std::make_unique<Answer>();
        request->answer->host = network().name_of(address);
        request->answer->service = std::to_string(address.port);
    });
    return {.request = source_of(key)};
}

}  // namespace heddle::sim::detail
