// SPDX-License-Identifier: Apache-2.0
// What instrumented sources include before all else (heddle_add_simulation(… INSTRUMENT …)).
//
// GCC expands copies of a known size in place, behind the pass that plants the callbacks: they would go unseen. clang plants callbacks for
// them.
#pragma once

#if defined(__cplusplus) && !defined(__clang__)
extern "C" {
void* heddle_hook_memcpy(void* to, const void* from, decltype(sizeof 0) size) noexcept;
void* heddle_hook_memmove(void* to, const void* from, decltype(sizeof 0) size) noexcept;
void* heddle_hook_memset(void* to, int value, decltype(sizeof 0) size) noexcept;
int heddle_hook_memcmp(const void* a, const void* b, decltype(sizeof 0) size) noexcept;
}
#define __builtin_memcpy heddle_hook_memcpy    // NOLINT: that is the point
#define __builtin_memmove heddle_hook_memmove  // NOLINT
#define __builtin_memset heddle_hook_memset    // NOLINT
#endif
