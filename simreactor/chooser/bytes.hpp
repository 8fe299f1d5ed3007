// SPDX-License-Identifier: Apache-2.0
// BytesChooser: a stream of bytes as the answers of a run. Made for fuzzers, which mutate bytes and watch what the
// program covers.
//
//   bytes   00 00 2a 00 01 …        one byte for a point of up to 256 alternatives, two or four for more; its value
//   modulo their number answers  0  0  2  0  1 …  0 0 0 0      behind the last byte: the baseline
//
// BY1  Every string of bytes is a schedule, and no bytes are the baseline run: nothing has to be thrown away.
// BY2  A byte belongs to one point, so that a small change of the bytes is a small change of the run.
// Chance: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class BytesChooser final : public Chooser {
public:
    /// @param bytes  stay where they are while runs ask
    explicit BytesChooser(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    std::uint32_t choose(const ChoicePoint& point) override {
        std::uint64_t value = next();
        if (point.count > 0x100) { value |= next() << 8; }
        if (point.count > 0x10000) {
            value |= next() << 16;
            value |= next() << 24;
        }
        return static_cast<std::uint32_t>(value % point.count);
    }
    /// Bytes that a run has used so far.
    [[nodiscard]] std::size_t used() const { return used_; }

private:
    std::uint64_t next() { return used_ < bytes_.size() ? bytes_[used_++] : 0; }

    std::span<const std::uint8_t> bytes_;
    std::size_t used_ = 0;
};

}  // namespace heddle::sim
