// SPDX-License-Identifier: Apache-2.0
// SourceLocation: where a call stands in the program's text. What std::source_location is, for compilers that lack it
// (clang 14 with libstdc++ 12), and half its size: what reports and labels need is the file and the line.
//
//   void spawn(Entry entry, SourceLocation at = SourceLocation::current());   ← the place of the caller
//
// L1  As a default argument it names the call that leaves the argument out, through any number of nested defaults.
// L2  The file is as the build maps it (-fmacro-prefix-map), so that traces are the same on every machine.
#pragma once

#include <cstdint>

namespace heddle {

class SourceLocation {
public:
    constexpr SourceLocation() noexcept = default;
    /// The place of this very call; both parameters are left out.
    [[nodiscard]] static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                                          std::uint32_t line = __builtin_LINE()) noexcept {
        SourceLocation here;
        here.file_ = file;
        here.line_ = line;
        return here;
    }

    /// A literal; "unknown" where nobody said.
    [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
    /// From 1; 0 where nobody said.
    [[nodiscard]] constexpr std::uint32_t line() const noexcept { return line_; }

private:
    const char* file_ = "unknown";
    std::uint32_t line_ = 0;
};

}  // namespace heddle
