// SPDX-License-Identifier: Apache-2.0
// ProgramObjects: the primitives that the coroutines of a generated program share, and what each operation on one promises.
//
//   mutexes 0, 1   a semaphore of two permits   a condition   channels 0 (rendezvous), 1 (one slot), 2 (unbounded)
//   a future       pools 0 (one place, plain), 1 (two places, a factory that suspends) and 2 (two places, a breaker, hooks that suspend,
//                  reject and fail)
//
// PO1  What an operation promises to its caller is checked here: exclusion, bounds, no value twice, one outcome for all.
// PO2  The answers "closed", "none" and "refused" go into the journal, if there is one, and the program goes on; without a journal they
//      are errors like any other.
// Choice points: those of the primitives, and `value` in the hooks of pool 2: it goes on, it suspends, it fails.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {

/// What each coroutine of a program got, in its order, as text: what a program's outcome is.
class Journal {
public:
    void begin() { lines_.clear(); }
    void note(std::uint32_t who, const std::string& what) { lines_[who] += (lines_[who].empty() ? "" : " ") + what; }
    /// "1: s ok, r 17 | 2: …"
    [[nodiscard]] std::string text() const;

private:
    std::map<std::uint32_t, std::string> lines_;
};

class ProgramObjects {
public:
    /// In the running coroutine's runtime. @param journal  may be null
    explicit ProgramObjects(Journal* journal);

    using Body = UniqueFunction<void()>;

    void lock(std::uint32_t who, std::uint32_t mutex, Body& body);
    void permit(std::uint32_t who, std::uint32_t count, Body& body);
    void change(bool all);
    void news(std::uint32_t ms);

    void send(std::uint32_t who, std::uint32_t channel, std::uint32_t ms);
    void receive(std::uint32_t who, std::uint32_t channel, std::uint32_t ms);
    void try_send(std::uint32_t who, std::uint32_t channel);
    void try_receive(std::uint32_t who, std::uint32_t channel);
    void receive_later(std::uint32_t channel);
    void obtain(std::uint32_t channel, std::uint32_t ms);
    void close(std::uint32_t channel);

    void settle(std::uint32_t how);
    void await_future(std::uint32_t ms);

    /// @param how  0 release, 1 discard, 2 drop
    void use(std::uint32_t who, std::uint32_t pool, std::uint32_t ms, std::uint32_t how, Body& body);
    void try_use(std::uint32_t who, std::uint32_t pool, std::uint32_t how, Body& body);
    void close_pool(std::uint32_t pool);

private:
    [[nodiscard]] int next_value(std::uint32_t who) { return static_cast<int>(100 * who + ++sent_by_[who]); }
    void received(int value);
    void hold(std::uint32_t who, std::uint32_t pool, Lease<int> lease, std::uint32_t how, Body& body);
    void note(std::uint32_t who, const std::string& what) const {
        if (journal_ != nullptr) { journal_->note(who, what); }
    }
    [[nodiscard]] Pool<int> plain_pool();
    [[nodiscard]] Pool<int> slow_pool();
    [[nodiscard]] Pool<int> pool_with_hooks();

    Journal* journal_;
    Mutex mutexes_[2];
    bool inside_[2] = {false, false};
    int entered_[2] = {0, 0};
    Semaphore permits_;
    std::size_t held_ = 0;
    int permitted_ = 0;
    Mutex guard_;
    Condition changed_;
    std::vector<Channel<int>> channels_;
    std::vector<Future<int>> later_;
    std::map<std::uint32_t, int> sent_by_;
    std::set<int> received_;
    std::set<int> failed_;  // values of sends that threw
    FutureState<int> state_;
    Future<int> future_;
    int outcome_ = 0;  // of the future: 0 unknown, then what everybody sees
    std::vector<Pool<int>> pools_;
    std::set<std::pair<std::uint32_t, int>> lent_;
    struct Resources {
        int made = 0;
        std::set<int> alive{};
    };
    // Outlived by the pools.
    std::shared_ptr<Resources> resources_[ProgramData::pools] = {std::make_shared<Resources>(), std::make_shared<Resources>(),
                                                                 std::make_shared<Resources>()};
};

}  // namespace heddle::prop
