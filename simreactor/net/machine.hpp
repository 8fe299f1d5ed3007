// SPDX-License-Identifier: Apache-2.0
// Machine: one node's kernel: its addresses, ports, paths of local sockets, and descriptors.
//
//   descriptor 100, 101, …  ──▶ KernelObject          the lowest free one is given out (POSIX)
//   port, path              ──▶ the socket that is bound there
//
// M1  A descriptor names one open object; after its close the number may name another.
// M2  What is open goes with a crash; the disk stays, with what survives (disk.hpp).
// M3  A port that is asked for as 0 is one that nobody is bound to: the next one, counted from 49152.
// How it differs from an operating system: descriptors begin at 100, out of the way of those that tests make; there are no
// permissions and no reserved ports; a port is free again as soon as its socket is closed.
// Choice points: faults, by FaultKind, before each operation that may fail.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/seam/address.hpp"
#include "heddle/simreactor/disk/disk.hpp"
#include "heddle/simreactor/net/fault_plan.hpp"
#include "heddle/simreactor/net/kernel.hpp"

namespace heddle::sim {

class ChildProgram;
class Network;
class StreamSocket;

enum class Transport : std::uint8_t { stream, datagram };

class Machine {
public:
    Machine(Network& network, std::uint32_t index, std::string name, std::vector<Address> addresses);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine();

    [[nodiscard]] Network& network() { return network_; }
    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<Address>& addresses() const { return addresses_; }
    [[nodiscard]] bool is_up() const { return host_ != nullptr; }
    [[nodiscard]] KernelHost& host() { return *host_; }
    void set_host(KernelHost* host) { host_ = host; }
    /// Everything that was open is gone, and no peer is told (N3); the disk keeps what survives. Requires: nobody drives
    /// its objects any more.
    void crash();
    /// As `crash`, for a world that ends: nobody is asked what survives.
    void power_off();
    [[nodiscard]] Disk& disk() { return disk_; }

    // ── descriptors ──

    /// @returns the descriptor, or -EMFILE
    int open(std::shared_ptr<KernelObject> object);
    /// Closes the descriptor and, with its last one, the object. @returns 0 or -EBADF
    int close(int descriptor);
    [[nodiscard]] std::shared_ptr<KernelObject> object(int descriptor) const;
    [[nodiscard]] std::size_t open_count() const { return open_count_; }
    /// A pipe: what is written to the second comes out of the first. @returns 0 or -EMFILE
    int pipe(int (&descriptors)[2], Label label = {});
    /// Two local sockets that are connected.
    int socket_pair(int (&descriptors)[2], Label label = {});

    // ── programs ──

    /// What `execute` finds under this name; the last one added counts.
    void add_program(std::string name, std::function<std::unique_ptr<ChildProgram>()> factory) {
        programs_[std::move(name)] = std::move(factory);
    }
    /// Null if there is none.
    [[nodiscard]] const std::function<std::unique_ptr<ChildProgram>()>* program(std::string_view name) const {
        const auto found = programs_.find(name);
        return found == programs_.end() ? nullptr : &found->second;
    }

    // ── ports and paths ──

    /// @returns 0, -EADDRINUSE or -EADDRNOTAVAIL. A port 0 is replaced.
    int bind(Transport transport, Address& address, KernelObject& object);
    void unbind(Transport transport, const Address& address, const KernelObject& object);
    /// Who is bound there, or at the unspecified address. Null: nobody.
    [[nodiscard]] KernelObject* bound(Transport transport, const Address& address) const;
    [[nodiscard]] bool has_address(const Address& address) const;
    /// The address that goes out to `to`.
    [[nodiscard]] Address source_address(const Address& to) const;
    std::uint16_t free_port(Transport transport);
    std::map<std::string, StreamSocket*>& local_sockets() { return local_sockets_; }

    // ── what goes wrong ──

    /// The one that strikes now; `count_` for none. One opportunity for each of them.
    FaultKind fault(std::initializer_list<FaultKind> kinds, Label object);

    void touch(Cell where, TouchMode mode) {
        if (host_ != nullptr) { host_->touch(where, mode); }
    }
    /// The cell that all who are given a port share: in which order does not matter, but to those who look (info).
    [[nodiscard]] Cell ports_cell() const { return cell(label_, "ports"); }
    [[nodiscard]] Cell port_cell(std::uint16_t port) const { return cell(label_, "port", port); }
    [[nodiscard]] Cell path_cell(std::string_view path) const { return cell(label_, "path", hash_text(path)); }
    [[nodiscard]] Label label() const { return label_; }

private:
    struct Bound {
        Address address;
        KernelObject* object = nullptr;
    };
    using Ports = std::map<std::uint16_t, std::vector<Bound>>;
    static constexpr int first_descriptor = 100;
    static constexpr std::uint16_t first_port = 49'152;

    [[nodiscard]] Ports& ports(Transport transport) { return transport == Transport::stream ? streams_ : datagrams_; }
    [[nodiscard]] const Ports& ports(Transport transport) const {
        return transport == Transport::stream ? streams_ : datagrams_;
    }

    Network& network_;
    std::uint32_t index_;
    std::string name_;
    Label label_;
    std::vector<Address> addresses_;
    KernelHost* host_ = nullptr;
    std::vector<std::shared_ptr<KernelObject>> descriptors_;  // by descriptor - first_descriptor
    std::size_t open_count_ = 0;
    Ports streams_;
    Ports datagrams_;
    std::uint16_t next_port_ = first_port;
    std::map<std::string, StreamSocket*> local_sockets_;
    std::map<std::string, std::function<std::unique_ptr<ChildProgram>()>, std::less<>> programs_;
    Disk disk_{*this};
};

}  // namespace heddle::sim
