// SPDX-License-Identifier: Apache-2.0
// Wire: values as bytes between a worker process and the one that started it. Both are one program, so that there is no
// version, and nothing of it is ever kept in a file.
//
//   WireWriter().number(7).text("x").bytes() ──▶ WireReader(bytes).number() == 7, .text() == "x"
//
// Numbers take eight bytes in the machine's order, texts their length and their bytes.
// Chance: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

class WireWriter {
public:
    WireWriter& number(std::uint64_t value) {
        char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        bytes_.append(bytes, sizeof value);
        return *this;
    }
    WireWriter& text(std::string_view text) {
        number(text.size());
        bytes_ += text;
        return *this;
    }
    [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

private:
    std::string bytes_;
};

class WireReader {
public:
    explicit WireReader(std::string_view bytes) : left_(bytes) {}
    [[nodiscard]] std::uint64_t number() {
        HEDDLE_ASSERT(left_.size() >= sizeof(std::uint64_t), "a message of this program is whole");
        std::uint64_t value = 0;
        std::memcpy(&value, left_.data(), sizeof value);
        left_.remove_prefix(sizeof value);
        return value;
    }
    [[nodiscard]] std::string_view text() {
        const std::uint64_t size = number();
        HEDDLE_ASSERT(left_.size() >= size, "a message of this program is whole");
        const std::string_view text = left_.substr(0, size);
        left_.remove_prefix(size);
        return text;
    }
    [[nodiscard]] bool at_end() const { return left_.empty(); }

private:
    std::string_view left_;
};

}  // namespace heddle::sim
