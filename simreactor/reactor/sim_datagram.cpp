// SPDX-License-Identifier: Apache-2.0
// Datagrams of the simulated reactor: detail/sim_datagram.hpp says what it keeps.
#include "heddle/simreactor/reactor/detail/sim_datagram.hpp"

#include <cerrno>

#include "heddle/core/base/error.hpp"

namespace heddle::sim::detail {
namespace {

Completion completion_of(std::int64_t result) {
    return result < 0 ? Completion{.transferred = -1, .error = static_cast<std::int32_t>(-result)}
                      : Completion{.transferred = result};
}

}  // namespace

Submission SimDatagram::submit(const Operation& operation, const SourceOptions& options) {
    socket_->name(io_.label_for(options, operation.kind));
    switch (operation.kind) {
        case OperationKind::udp_send:
            return answer(completion_of(socket_->send(operation.data, operation.address)), options, operation.kind);
        case OperationKind::udp_receive: return receive(operation, options);
        case OperationKind::bind:
        case OperationKind::udp_connect: {
            if (operation.address == nullptr) {
                throw AsyncError(std::string(to_string(operation.kind)) + " needs an address");
            }
            const int result = operation.kind == OperationKind::bind ? socket_->bind(*operation.address)
                                                                      : socket_->connect(*operation.address);
            return answer(completion_of(result), options, operation.kind);
        }
        case OperationKind::configure: {
            const bool known = operation.option == HandleOption::broadcast;
            return answer(completion_of(known ? 0 : -ENOTSUP), options, operation.kind);
        }
        default: refuse(operation);
    }
}

Submission SimDatagram::receive(const Operation& operation, const SourceOptions& options) {
    if (operation.buffer.empty()) { throw AsyncError("a datagram is received into a buffer"); }
    const RequestKey key = io_.open_request(this, operation.kind, options);
    io_.find_request(key)->buffers.push_back(operation.buffer);
    receivers_.push_back(key);
    wake_first();
    return {.request = io_.source_of(key)};
}

bool SimDatagram::is_ready(RequestKey key) const {
    return !receivers_.empty() && receivers_.front() == key && (socket_->readiness() & ready_read) != 0;
}

void SimDatagram::wake_first() {
    if (!receivers_.empty() && is_ready(receivers_.front())) { io_.wake(receivers_.front()); }
}

void SimDatagram::go_on(RequestKey key) {
    const std::span<std::byte> buffer = io_.find_request(key)->buffers.front();
    DatagramSocket::Received what;
    const std::int64_t result = io_.in_kernel([&] { return socket_->receive(buffer, what); });
    if (result == -EAGAIN) { return; }
    receivers_.pop_front();
    wake_first();
    Completion completion = completion_of(result);
    std::unique_ptr<Answer> answer;
    if (result >= 0) {
        completion.truncated = what.size > buffer.size();
        answer = std::make_unique<Answer>();
        answer->addresses.push_back(what.from);
    }
    io_.finish(key, completion, std::move(answer));
}

bool SimDatagram::forget(RequestKey key) {
    std::erase(receivers_, key);
    wake_first();
    return true;
}

HandleInfo SimDatagram::info() const {
    Machine& machine = socket_->machine();
    machine.touch(machine.ports_cell(), TouchMode::read);
    return {.kind = kind, .descriptor = descriptor(), .local = socket_->local(), .peer = socket_->peer()};
}

void SimDatagram::close() {
    socket_->watch(nullptr);
    for (const RequestKey key : receivers_) { io_.defer(key, {.transferred = -1, .error = ECANCELED}); }
    receivers_.clear();
    static_cast<void>(io_.machine().close(descriptor()));
}

}  // namespace heddle::sim::detail
