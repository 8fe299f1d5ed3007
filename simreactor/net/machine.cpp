// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/machine.hpp"

#include <algorithm>
#include <cerrno>

#include "heddle/simreactor/net/network.hpp"
#include "heddle/simreactor/net/stream_socket.hpp"

namespace heddle::sim {
namespace {

bool is_unspecified(const Address& address) {
    return std::all_of(address.bytes.begin(), address.bytes.end(), [](std::uint8_t at) { return at == 0; });
}

bool is_loopback(const Address& address) {
    if (address.family == AddressFamily::ip4) { return address.bytes[0] == 127; }
    return address.family == AddressFamily::ip6 && address.bytes == Address::ip("::1", 0).bytes;
}

bool same_host(const Address& a, const Address& b) { return a.family == b.family && a.bytes == b.bytes; }

}  // namespace

Machine::Machine(Network& network, std::uint32_t index, std::string name, std::vector<Address> addresses)
    : network_(network),
      index_(index),
      name_(std::move(name)),
      label_(LabelBook::of("machine/" + name_)),
      addresses_(std::move(addresses)) {}

Machine::~Machine() { power_off(); }

void Machine::crash() {
    KernelHost* const host = host_;
    power_off();
    disk_.crash(host);
}

void Machine::power_off() {
    host_ = nullptr;
    for (std::shared_ptr<KernelObject>& object : descriptors_) {
        if (object == nullptr) { continue; }
        object->watch(nullptr);
        object->close();  // as nobody drives the machine any more, it goes in silence
        object = nullptr;
    }
    descriptors_.clear();
    open_count_ = 0;
    HEDDLE_ASSERT(streams_.empty() && datagrams_.empty() && local_sockets_.empty(), "M1: names go with their sockets");
    next_port_ = first_port;
}

// ── descriptors ──

int Machine::open(std::shared_ptr<KernelObject> object) {
    if (open_count_ >= network_.options().descriptors_max) { return -EMFILE; }
    std::size_t place = 0;
    if (open_count_ == descriptors_.size()) {
        place = descriptors_.size();
        descriptors_.emplace_back();
    } else {
        while (descriptors_[place] != nullptr) { ++place; }
    }
    descriptors_[place] = std::move(object);
    ++open_count_;
    return first_descriptor + static_cast<int>(place);
}

std::shared_ptr<KernelObject> Machine::object(int descriptor) const {
    const auto place = static_cast<std::size_t>(descriptor - first_descriptor);
    return descriptor < first_descriptor || place >= descriptors_.size() ? nullptr : descriptors_[place];
}

int Machine::close(int descriptor) {
    const std::shared_ptr<KernelObject> gone = object(descriptor);
    if (gone == nullptr) { return -EBADF; }
    descriptors_[static_cast<std::size_t>(descriptor - first_descriptor)] = nullptr;
    --open_count_;
    gone->close();
    return 0;
}

int Machine::pipe(int (&descriptors)[2], Label label) {
    const auto reader = std::make_shared<StreamSocket>(*this, StreamKind::pipe);
    const auto writer = std::make_shared<StreamSocket>(*this, StreamKind::pipe);
    const Label base = label ? label : Label{hash_mix(label_.value, hash_text("pipe"))};
    reader->name(Label{hash_mix(base.value, 1)});
    writer->name(Label{hash_mix(base.value, 2)});
    StreamSocket::join_one_way(*reader, *writer, network_.options().pipe_buffer, base);
    descriptors[0] = open(reader);
    if (descriptors[0] < 0) { return descriptors[0]; }
    descriptors[1] = open(writer);
    if (descriptors[1] >= 0) { return 0; }
    close(descriptors[0]);
    return descriptors[1];
}

int Machine::socket_pair(int (&descriptors)[2], Label label) {
    const auto a = std::make_shared<StreamSocket>(*this, StreamKind::local);
    const auto b = std::make_shared<StreamSocket>(*this, StreamKind::local);
    const Label base = label ? label : Label{hash_mix(label_.value, hash_text("pair"))};
    a->name(Label{hash_mix(base.value, 1)});
    b->name(Label{hash_mix(base.value, 2)});
    StreamSocket::join(*a, *b, network_.options().stream_buffer, base);
    descriptors[0] = open(a);
    if (descriptors[0] < 0) { return descriptors[0]; }
    descriptors[1] = open(b);
    if (descriptors[1] >= 0) { return 0; }
    close(descriptors[0]);
    return descriptors[1];
}

// ── ports ──

bool Machine::has_address(const Address& address) const {
    return is_unspecified(address) || is_loopback(address) ||
           std::ranges::any_of(addresses_, [&](const Address& own) { return same_host(own, address); });
}

Address Machine::source_address(const Address& to) const {
    if (is_loopback(to) || is_unspecified(to)) {
        return Address::ip(to.family == AddressFamily::ip6 ? "::1" : "127.0.0.1", 0);
    }
    for (const Address& own : addresses_) {
        if (own.family == to.family) { return own; }
    }
    return Address::ip("127.0.0.1", 0);
}

std::uint16_t Machine::free_port(Transport transport) {
    const Ports& taken = ports(transport);
    while (taken.contains(next_port_)) { next_port_ = next_port_ == 65'535 ? first_port : next_port_ + 1; }
    const std::uint16_t port = next_port_;
    next_port_ = next_port_ == 65'535 ? first_port : static_cast<std::uint16_t>(next_port_ + 1);
    return port;
}

int Machine::bind(Transport transport, Address& address, KernelObject& object) {
    if (!has_address(address)) { return -EADDRNOTAVAIL; }
    if (address.port == 0) { address.port = free_port(transport); }
    std::vector<Bound>& here = ports(transport)[address.port];
    for (const Bound& other : here) {
        if (other.address.family == address.family && (same_host(other.address, address) || is_unspecified(address) ||
                                                       is_unspecified(other.address))) {
            return -EADDRINUSE;
        }
    }
    here.push_back({address, &object});
    return 0;
}

void Machine::unbind(Transport transport, const Address& address, const KernelObject& object) {
    Ports& all = ports(transport);
    const auto here = all.find(address.port);
    HEDDLE_ASSERT(here != all.end(), "who is bound has an entry");
    std::erase_if(here->second, [&](const Bound& at) { return at.object == &object; });
    if (here->second.empty()) { all.erase(here); }
}

KernelObject* Machine::bound(Transport transport, const Address& address) const {
    const Ports& all = ports(transport);
    const auto here = all.find(address.port);
    if (here == all.end()) { return nullptr; }
    KernelObject* any = nullptr;
    for (const Bound& at : here->second) {
        if (same_host(at.address, address) || is_unspecified(address)) { return at.object; }
        if (is_unspecified(at.address) && at.address.family == address.family) { any = at.object; }
    }
    return any;
}

// ── what goes wrong ──

FaultKind Machine::fault(std::initializer_list<FaultKind> kinds, Label object) {
    if (host_ == nullptr) { return FaultKind::count_; }
    Faults& faults = network_.faults();
    FaultKind struck = FaultKind::count_;
    for (const FaultKind kind : kinds) {
        if (faults.strikes(kind, name_) && struck == FaultKind::count_) { struck = kind; }
    }
    if (struck != FaultKind::count_ || !host_->offers_faults()) { return struck; }
    const std::uint32_t most = network_.options().chosen_faults_max;
    if (most != 0 && faults.chosen_count() >= most) { return struck; }
    std::vector<std::string_view> candidates;
    for (const FaultKind kind : kinds) { candidates.push_back(to_string(kind)); }
    const std::uint32_t answer = host_->choose_fault(candidates, object);
    if (answer == 0) { return FaultKind::count_; }
    struck = *(kinds.begin() + (answer - 1));
    faults.chosen(struck);
    return struck;
}

}  // namespace heddle::sim
