// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/network.hpp"

#include <algorithm>

#include "heddle/core/base/error.hpp"

namespace heddle::sim {

Network::Network(NetworkOptions options)
    : options_(std::move(options)), faults_(std::move(options_.faults), options_.seed) {
    if (options_.stream_buffer == 0 || options_.pipe_buffer == 0) {
        throw ValueError("network: buffers must hold at least one byte");
    }
    if (options_.link.min < Duration::zero() || options_.link.max < options_.link.min) {
        throw ValueError("network: a latency is an interval that begins at zero or later");
    }
    add_name("localhost", Address::ip("127.0.0.1", 0));
}

Network::~Network() {
    for (const auto& machine : machines_) { machine->power_off(); }
}

Machine& Network::add_machine(std::string name, KernelHost* host) {
    const auto index = static_cast<std::uint32_t>(machines_.size());
    const std::uint32_t number = index + 1;
    const Address own = Address::ip("10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256), 0);
    add_name(name, own);
    machines_.push_back(std::make_unique<Machine>(*this, index, std::move(name), std::vector<Address>{own}));
    machines_.back()->set_host(host);
    return *machines_.back();
}

Machine* Network::machine(std::string_view name) {
    for (const auto& at : machines_) {
        if (at->name() == name) { return at.get(); }
    }
    return nullptr;
}

Machine* Network::find(Machine& from, const Address& address) {
    if (from.has_address(address)) { return &from; }
    for (const auto& at : machines_) {
        for (const Address& own : at->addresses()) {
            if (own.family == address.family && own.bytes == address.bytes) { return at.get(); }
        }
    }
    return nullptr;
}

// ── links ──

Network::Link& Network::link(const Machine& from, const Machine& to) {
    const auto [at, fresh] = links_.try_emplace({from.index(), to.index()});
    if (fresh) { at->second.latency = &from == &to ? Latency{} : options_.link; }
    return at->second;
}

void Network::set_link(const Machine& from, const Machine& to, const Latency& latency) {
    if (latency.min < Duration::zero() || latency.max < latency.min) {
        throw ValueError("set_link: a latency is an interval that begins at zero or later");
    }
    link(from, to).latency = latency;
}

void Network::cut(const Machine& from, const Machine& to) {
    if (&from == &to) { throw ValueError("a machine is always connected with itself"); }
    link(from, to).is_cut = true;
}

bool Network::is_cut(const Machine& from, const Machine& to) const {
    const auto found = links_.find({from.index(), to.index()});
    return found != links_.end() && found->second.is_cut;
}

void Network::heal(const Machine& from, const Machine& to) {
    Link& at = link(from, to);
    at.is_cut = false;
    std::vector<UniqueFunction<void()>> held = std::move(at.held);
    at.held.clear();
    for (UniqueFunction<void()>& arrive : held) {
        fly(*machines_[from.index()], *machines_[to.index()], IfLost::again, std::move(arrive), nullptr,
            Duration::zero());
    }
    if (!held.empty()) { at.resent_until = at.last; }
}

bool Network::is_instant(const Machine& from, const Machine& to) {
    if (&from == &to) { return true; }
    const Link& at = link(from, to);
    return !at.is_cut && at.latency.is_none() && to.is_up() && at.last == Instant{};
}

void Network::send(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive,
                   UniqueFunction<void()> lost, Duration extra) {
    if (extra == Duration::zero() && is_instant(from, to)) {
        arrive();
        return;
    }
    fly(from, to, if_lost, std::move(arrive), std::move(lost), extra);
}

void Network::fly(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive,
                  UniqueFunction<void()> lost, Duration extra) {
    Link& at = link(from, to);
    if (!to.is_up() || (at.is_cut && if_lost == IfLost::never)) {
        if (lost) { lost(); }
        return;
    }
    // What is late on purpose does not hold up what follows it.
    const bool is_late = extra != Duration::zero();
    const Latency latency{at.latency.min + extra, at.latency.max + extra};
    const Instant arrives =
        to.host().later(latency, is_late ? Instant{} : at.last,
                        [this, &from, &to, if_lost, arrive = std::move(arrive), lost = std::move(lost)]() mutable {
                            land(from, to, if_lost, std::move(arrive), std::move(lost));
                        });
    if (!is_late) { at.last = std::max(at.last, arrives); }
}

/// What was sent has come to the end of its way.
void Network::land(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive,
                   UniqueFunction<void()> lost) {
    Link& at = link(from, to);
    if (!to.is_up()) { return; }
    if (at.is_cut) {  // N2
        if (if_lost == IfLost::again) {
            at.held.push_back(std::move(arrive));
        } else if (lost) {
            lost();
        }
        return;
    }
    if (to.host().true_time() < at.resent_until) {  // N1: not before what is being sent again
        to.host().later({}, at.resent_until, [this, &from, &to, if_lost, arrive = std::move(arrive),
                                              lost = std::move(lost)]() mutable {
            land(from, to, if_lost, std::move(arrive), std::move(lost));
        });
        return;
    }
    arrive();
}

// ── names ──

void Network::add_name(std::string name, const Address& address) {
    Address host = address;
    host.port = 0;
    names_[std::move(name)].push_back(host);
}

void Network::remove_name(std::string_view name) {
    if (const auto found = names_.find(name); found != names_.end()) { names_.erase(found); }
}

std::vector<Address> Network::resolve(std::string_view name) const {
    if (const Result<Address> literal = Address::parse_host(name); literal) { return {*literal}; }
    const auto found = names_.find(name);
    return found == names_.end() ? std::vector<Address>{} : found->second;
}

std::string Network::name_of(const Address& address) const {
    for (const auto& [name, addresses] : names_) {
        for (const Address& at : addresses) {
            if (at.family == address.family && at.bytes == address.bytes) { return name; }
        }
    }
    return address.host();
}

}  // namespace heddle::sim
