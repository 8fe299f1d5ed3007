// SPDX-License-Identifier: Apache-2.0
// PollTable: which proxies share which descriptor (RCT-33 to RCT-36), the same for every backend.
//
//   descriptor ── 1 ── poll ── n ── proxy {mask, started}
//                        │ union of the started masks ──▶ what the backend watches
//
// P1  At most one poll per descriptor (INV-RCT-07); it lives as long as an open or a proxy refers to it.
// P2  The watched mask is the union of the masks of its started proxies, 0 with none (RCT-34).
// P3  A report goes to the started proxies in start order, each with the intersection; a terminal one (DISCONNECT or error) goes
//     to all of them whole (RCT-35). A proxy that an earlier one of the same report stopped gets nothing (RCT-11).
// Choice points: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "heddle/core/base/ids.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle {

class PollTable {
public:
    struct Proxy {
        SourceId poll;
        PollMask mask = 0;
        SourceOptions options;
        bool started = false;
    };
    struct Poll {
        int fd = -1;
        bool close_fd = false;
        std::uint32_t references = 0;
        std::vector<SourceId> started;  ///< proxies in start order
        Label label;
    };

    /// The poll of a descriptor, or none.
    [[nodiscard]] SourceId poll_of(int fd) const;
    void add_poll(SourceId id, int fd, bool close_fd, Label label);
    void add_reference(SourceId poll, bool close_fd);
    /// True if that was the last reference; the poll is gone then, and `closing` holds what it was.
    bool drop_reference(SourceId poll, Poll& closing);

    void add_proxy(SourceId id, SourceId poll, PollMask mask, const SourceOptions& options);
    /// Returns the proxy's poll, whose last reference this may have been.
    SourceId remove_proxy(SourceId id);

    /// @returns false if it was in that state already
    bool start_proxy(SourceId id);
    bool stop_proxy(SourceId id);

    [[nodiscard]] PollMask watched(SourceId poll) const;
    [[nodiscard]] Poll* find_poll(SourceId id);
    [[nodiscard]] Proxy* find_proxy(SourceId id);

    /// Distributes one report. `deliver(proxy id, proxy, mask)` may start, stop, open and close anything.
    template <class Deliver>
    void report(SourceId poll, PollMask bits, std::int32_t error, Deliver deliver) {
        const Poll* at = find_poll(poll);
        if (at == nullptr) { return; }
        const bool terminal = error != 0 || (bits & PollBits::disconnect) != 0;
        const std::vector<SourceId> addressees = at->started;
        for (const SourceId id : addressees) {
            const Proxy* proxy = find_proxy(id);
            if (proxy == nullptr || !proxy->started) { continue; }
            const PollMask mask = terminal ? bits : (bits & proxy->mask);
            if (mask == 0 && error == 0) { continue; }
            deliver(id, *proxy, mask);
        }
    }

    void clear() { polls_.clear(), proxies_.clear(), by_fd_.clear(); }

private:
    std::map<SourceId, Poll> polls_;
    std::map<SourceId, Proxy> proxies_;
    std::map<int, SourceId> by_fd_;
};

}  // namespace heddle
