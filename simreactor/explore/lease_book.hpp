// SPDX-License-Identifier: Apache-2.0
// LeaseBook: who explores which part of a reduced search, and what the parts have to tell each other.
//
//   ready ── take ──▶ running ── give_back ──▶ ready · waiting for what it lent · done
//                        └─ leases that it gave away ──▶ ready
//
//   done part ──▶ its races go up to the part that owns the node; its owner learns that the process is explored
//
// LB1  The book changes only when a part is given back: what it holds in between is consistent, with running parts as
//      they were taken. A part that is lost is explored again from there.
// LB2  The traces of all parts together are those of the search, each once (LS1); the number of redundant runs depends
//      on who was when where.
// Chance: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/lease.hpp"

namespace heddle::sim {

/// What a worker gets: a part, and what has become known about its nodes.
struct SliceInput {
    Lease lease;
    std::vector<UpwardRace> races{};
    std::vector<LentNews> news{};
};

/// What it gives back.
struct SliceResult {
    enum class State : std::uint8_t { ready, waiting, done, restart };
    State state = State::ready;
    Lease lease;  ///< what is left
    std::vector<UpwardRace> upward{};
    std::optional<LentNews> news{};  ///< about the process that the part is about
    std::vector<Lease> given{};      ///< parts of it for others
};

class LeaseBook {
public:
    struct Entry {
        SliceInput input;
        std::uint64_t owner = 0;  ///< the part that gave it away; 0: nobody, its upper nodes are done with
        bool waiting = false;
    };
    /// Parts by number, from 1.
    struct Snapshot {
        std::map<std::uint64_t, Entry> parts{};
        std::uint64_t next = 1;
    };

    LeaseBook() = default;
    /// @param roots  parts that nobody has to hear about
    explicit LeaseBook(const std::vector<Lease>& roots);
    /// Requires: what `snapshot` gave.
    explicit LeaseBook(Snapshot snapshot) : book_(std::move(snapshot)) {}

    /// The oldest part that can be explored now. It runs from here on, with its input as it is now.
    [[nodiscard]] std::optional<std::uint64_t> take();
    [[nodiscard]] const SliceInput& input(std::uint64_t part) const { return book_.parts.at(part).input; }
    void give_back(std::uint64_t part, SliceResult result);
    /// It was lost on the way, and is as it was before `take`.
    void put_back(std::uint64_t part) { taken_.erase(part); }

    [[nodiscard]] bool is_done() const { return book_.parts.empty(); }
    [[nodiscard]] std::size_t ready() const;
    [[nodiscard]] std::size_t size() const { return book_.parts.size(); }
    [[nodiscard]] const Snapshot& snapshot() const { return book_; }

private:
    void close(std::uint64_t part, const std::optional<LentNews>& news);
    void send(std::uint64_t from, const UpwardRace& race);

    Snapshot book_;
    /// How much of its races and news a running part has got.
    struct Taken {
        std::size_t races = 0;
        std::size_t news = 0;
    };
    std::map<std::uint64_t, Taken> taken_;
};

}  // namespace heddle::sim
