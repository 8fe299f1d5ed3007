// SPDX-License-Identifier: Apache-2.0
// Conduit: bytes on their way in one direction, from a writing end to a reading end.
//
//   write ──▶ under way (a link's latency) ──▶ arrived ──▶ read          room = capacity − under way − arrived
//
// CD1  Bytes and the end arrive in the order in which they were sent.
// CD2  What is under way counts against the capacity: nothing that was taken is dropped.
// Choice points: none here; StreamSocket asks how much of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/simreactor/net/kernel.hpp"

namespace heddle::sim {

/// First in, first out; takes from the front without moving the rest each time.
class ByteQueue {
public:
    void append(std::span<const std::byte> data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
    /// Requires: at most size() bytes.
    void take(std::span<std::byte> into) {
        HEDDLE_ASSERT(into.size() <= size(), "CD1");
        if (!into.empty()) { std::memcpy(into.data(), bytes_.data() + begin_, into.size()); }
        begin_ += into.size();
        if (begin_ == bytes_.size()) {
            bytes_.clear();
            begin_ = 0;
        } else if (begin_ >= 4096 && begin_ >= bytes_.size() / 2) {
            bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
            begin_ = 0;
        }
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size() - begin_; }
    [[nodiscard]] bool empty() const { return size() == 0; }

private:
    std::vector<std::byte> bytes_;
    std::size_t begin_ = 0;
};

class Machine;
class StreamSocket;

struct Conduit {
    Conduit(Machine& from, Machine& to, std::size_t bytes_max, Label name)
        : source(&from), target(&to), capacity(bytes_max), label(name) {}

    [[nodiscard]] std::size_t room() const {
        HEDDLE_ASSERT(under_way + arrived.size() <= capacity, "CD2");
        return capacity - under_way - arrived.size();
    }
    [[nodiscard]] Cell bytes_cell() const { return cell(label, "bytes"); }

    Machine* source;
    Machine* target;
    StreamSocket* writer = nullptr;  // null once that end is closed
    StreamSocket* reader = nullptr;
    std::size_t capacity;
    Label label;
    ByteQueue arrived{};
    std::size_t under_way = 0;
    bool end_sent = false;
    bool end_arrived = false;
};

}  // namespace heddle::sim
