// SPDX-License-Identifier: Apache-2.0
// Which sanitizer this file is compiled for, under GCC's and clang's names for the question.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER 1
#endif
#endif

#if defined(HEDDLE_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define HEDDLE_NO_ADDRESS_CHECKS __attribute__((no_sanitize_address))
#else
#define HEDDLE_NO_ADDRESS_CHECKS
#endif

#if defined(HEDDLE_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle::detail {

#if defined(HEDDLE_ADDRESS_SANITIZER) || defined(HEDDLE_THREAD_SANITIZER)
constexpr bool instrumented = true;
#else
constexpr bool instrumented = false;
#endif

/// Frames that were abandoned without being unwound leave their red zones behind; whoever gets the memory next must not
/// meet them.
inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(HEDDLE_ADDRESS_SANITIZER)
    ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

}  // namespace heddle::detail
