// SPDX-License-Identifier: Apache-2.0
// Network: the machines of a simulated world, the links between them, and the names by which they are known.
//
//   Machine "a" 10.0.0.1 ──link: latency [min, max], up or down, each way by itself──▶ Machine "b" 10.0.0.2
//        └── loopback 127.0.0.1, ::1: always up
//
// N1  What is sent over a link arrives in the order in which it was sent, as long as nothing says otherwise.
// N2  A link that is down loses what cannot be sent again (datagrams, attempts to connect) and keeps the rest until it
//     is up: as if it had been sent again then. So it is also with what was under way when the link went down.
// N3  A machine that is down neither sends nor receives. What its peers had with it stays as it was until they send.
//
// How it differs from a real network: no packets, hence no segment sizes, checksums or congestion; a connection that
// nothing comes through never ends by itself; room for more bytes is known to the sender as soon as they are read; who
// is not on the network is unreachable at once.
// Choice points: none; time is the driver's (KernelHost::later).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/seam/address.hpp"
#include "heddle/simreactor/net/fault_plan.hpp"
#include "heddle/simreactor/net/machine.hpp"

namespace heddle::sim {

struct NetworkOptions {
    std::uint64_t seed = 1;  ///< of the fault plan's ratios
    FaultPlan faults{};
    /// So many an explorer may choose in a run, of all machines together; 0: any number. Those of the plan do not count.
    std::uint32_t chosen_faults_max = 0;
    Latency link{};                              ///< between two machines, where set_link says nothing else
    std::size_t stream_buffer = 256 * 1024;      ///< bytes that a connection takes before somebody reads them
    std::size_t pipe_buffer = 64 * 1024;
    std::size_t datagram_buffer = 208 * 1024;    ///< of one socket; what comes beyond it is lost
    std::uint32_t descriptors_max = 1024;        ///< of one machine
    Duration connect_retry = std::chrono::seconds(1);  ///< after an attempt that was lost; doubles each time
    std::uint32_t connect_attempts = 7;
    Duration late_by = std::chrono::milliseconds(1);   ///< of a datagram that others overtake
    std::uint32_t splits = 8;  ///< reads and writes of up to so many bytes may be cut anywhere; 0: no choices of this kind
};

class Network {
public:
    explicit Network(NetworkOptions options = {});
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    ~Network();

    [[nodiscard]] const NetworkOptions& options() const { return options_; }
    [[nodiscard]] Faults& faults() { return faults_; }

    /// One more machine with an address of its own, 10.0.0.n, known by its name. @param host  null: it is down
    Machine& add_machine(std::string name, KernelHost* host);
    [[nodiscard]] std::size_t machine_count() const { return machines_.size(); }
    [[nodiscard]] Machine& machine(std::size_t index) { return *machines_[index]; }
    /// Null if there is none of this name.
    [[nodiscard]] Machine* machine(std::string_view name);
    /// Where an address leads from there. Null: nowhere.
    [[nodiscard]] Machine* find(Machine& from, const Address& address);

    // ── links; each way by itself ──

    void set_link(const Machine& from, const Machine& to, const Latency& latency);
    /// Nothing passes from one to the other until `heal`; the other way goes on.
    void cut(const Machine& from, const Machine& to);
    void heal(const Machine& from, const Machine& to);
    /// Both ways.
    void partition(const Machine& a, const Machine& b) {
        cut(a, b);
        cut(b, a);
    }
    void rejoin(const Machine& a, const Machine& b) {
        heal(a, b);
        heal(b, a);
    }
    [[nodiscard]] bool is_cut(const Machine& from, const Machine& to) const;
    /// True if what is sent now arrives before the call returns.
    [[nodiscard]] bool is_instant(const Machine& from, const Machine& to);

    enum class IfLost : std::uint8_t { again, never };
    /// Sends something over the link. @param lost  runs if it cannot arrive (with `never`); may be null
    void send(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive,
              UniqueFunction<void()> lost = nullptr, Duration extra = Duration::zero());

    // ── names ──

    void add_name(std::string name, const Address& address);
    void remove_name(std::string_view name);
    /// Empty if nobody has the name. Ports are 0.
    [[nodiscard]] std::vector<Address> resolve(std::string_view name) const;
    /// The name of an address, or its text.
    [[nodiscard]] std::string name_of(const Address& address) const;

private:
    struct Link {
        Latency latency;
        bool is_cut = false;
        Instant last{};  // N1: what is sent later arrives no earlier
        Instant resent_until{};  // when the last of what is sent again arrives
        std::vector<UniqueFunction<void()>> held{};
    };
    Link& link(const Machine& from, const Machine& to);
    void fly(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive, UniqueFunction<void()> lost,
             Duration extra);
    void land(Machine& from, Machine& to, IfLost if_lost, UniqueFunction<void()> arrive, UniqueFunction<void()> lost);

    NetworkOptions options_;
    Faults faults_;
    std::vector<std::unique_ptr<Machine>> machines_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Link> links_;  // by the indices of machines
    std::map<std::string, std::vector<Address>, std::less<>> names_;
};

}  // namespace heddle::sim
