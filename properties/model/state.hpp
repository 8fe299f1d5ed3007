// SPDX-License-Identifier: Apache-2.0
// The state of a run as the reference model knows it: programs as lines, coroutines as positions, objects as books (model.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop::model {

inline constexpr std::size_t no_limit = 1'000'000;
inline constexpr std::array<std::size_t, ProgramData::channels> capacities{0, 1, no_limit};
inline constexpr std::array<std::size_t, 2> pool_places{1, 2};  // the second one's factory suspends
/// Mutexes 0 and 1, and the permits.
inline constexpr std::array<std::size_t, 3> permits_in_all{1, 1, 2};
inline constexpr std::uint32_t the_permits = 2;
inline constexpr int nobody = -1;

// ── a coroutine's steps, without blocks ──

enum class Op : std::uint8_t { yield, cancel, send, receive, try_send, try_receive, close, acquire, try_acquire, give_back, close_pool, enter, leave, end };

struct Line {
    Op op = Op::end;
    std::uint32_t number = 0;  // coroutine, channel, pool or gate
    std::uint32_t how = 0;     // a lease comes back: 0 release, 1 discard, 2 dropped; of a gate: how many permits
    std::size_t past = 0;      // of acquire: where it goes on without a lease
};

using Code = std::vector<std::vector<Line>>;

/// The lines of a coroutine's block. Requires: steps of the alphabet `model`.
void flatten(const Block& block, std::vector<Line>& lines);

// ── the state of a run ──

enum class Where : std::uint8_t { unstarted, ready, parked, done };
enum class Wait : std::uint8_t { none, receive, slot, offer, place, creation, gate };
enum class Ended : std::uint8_t { well, closed, cancelled };

/// What a block around the present step gives back at its end.
struct Held {
    bool is_lease = true;
    std::uint32_t number = 0;  // of the pool, or the gate
    int what = 0;              // the resource, or how many permits
};

struct Co {
    Where where = Where::unstarted;
    Wait wait = Wait::none;
    Ended ended = Ended::well;
    bool granted = false;
    bool pending = false;  // a cancellation for its next suspension
    std::size_t at = 0;
    int sends = 0;
    std::vector<Held> held{};  // the innermost last
    std::string journal{};
};

struct Offer {
    int who = nobody;
    int value = 0;
    bool dead = false;  // its sender was cancelled and has not run
};

struct Channel {
    std::deque<int> buffer{};
    Offer offer{};
    std::deque<int> receivers{};  // without a grant, as are the senders
    std::deque<int> senders{};
    std::size_t promised_values = 0;
    std::size_t promised_slots = 0;
    bool closed = false;
};

struct Pool {
    std::deque<int> idle{};
    std::deque<int> waiters{};
    std::size_t active = 0;   // lent, being made, or on their way back
    std::size_t promised = 0;
    std::size_t dropped = 0;  // leases whose background coroutine has not run
    int made = 0;
    bool closed = false;
};

/// A mutex, or the semaphore.
struct Gate {
    std::size_t free = 0;
    std::deque<int> waiters{};  // without a grant
    int entered = 0;
};

struct State {
    std::vector<Co> coroutines{};
    std::array<Channel, ProgramData::channels> channels{};
    std::array<Pool, pool_places.size()> pools{};
    std::array<Gate, permits_in_all.size()> gates{};
    bool main_closed = false;

    /// Equal for equal states.
    [[nodiscard]] std::string key() const;
    /// As Journal::text gives it.
    [[nodiscard]] std::string outcome() const;
};

}  // namespace heddle::prop::model
