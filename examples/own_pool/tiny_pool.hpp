// SPDX-License-Identifier: Apache-2.0
// TinyPool: a small pool as somebody would write it in an afternoon, of connections that are known by a number. It has a bug.
//
//   take ── one is idle ──▶ lend it
//        └─ none ──▶ wait in `waiting_` ◀── give_back hands it over
#pragma once

#include <deque>

#include "heddle/heddle.hpp"

// README: pool
class TinyPool {
public:
    explicit TinyPool(int connections) {
        for (int connection = 0; connection < connections; ++connection) { idle_.push_back(connection); }
    }

    int take() {
        if (idle_.empty()) {
            heddle::FutureState<int> turn;
            waiting_.push_back(turn);
            return turn.future().await();
        }
        const int connection = idle_.front();
        idle_.pop_front();
        return connection;
    }

    void give_back(int connection) {
        if (waiting_.empty()) {
            idle_.push_back(connection);
            return;
        }
        waiting_.front().complete(connection);
        waiting_.pop_front();
    }

    [[nodiscard]] std::size_t idle() const { return idle_.size(); }

private:
    std::deque<int> idle_;
    std::deque<heddle::FutureState<int>> waiting_;
};
// README end
