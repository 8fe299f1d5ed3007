// SPDX-License-Identifier: Apache-2.0
// The return-balanced way into jump_fcontext, and the question whether this machine allows it.
//
//   switch_to ──call──▶ heddle_balanced_jump ──jmp──▶ jump_fcontext ──indirect jmp──▶ 1: ret ──▶ switch_to
//               push on the predictor's return stack …                               … and pop
//
// jump_fcontext is entered by a call and leaves by an indirect jump, so the processor's return-address stack is one
// entry off after each switch, and every `ret` on the way out of a suspended call chain is mispredicted: about 12 ns
// each. Here the return address is pushed by hand, jump_fcontext is entered by a jump, and a `ret` balances the call.
// All suspensions go through one call site, so the predicted address is the right one also though it was another flow
// that pushed it.
//
// Shadow stacks (CET) exist to forbid exactly this: programs built for them use the plain call. So does every other
// architecture, and a build with HEDDLE_PLAIN_SWITCH (the configure-time check sets it when its trial run fails).
// Only fiber.cpp and that check include this file.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#if defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__) && !defined(HEDDLE_PLAIN_SWITCH)
#if !defined(__CET__) || (__CET__ & 2) == 0
#define HEDDLE_BALANCED_SWITCH 1
#endif
#endif

#if defined(HEDDLE_BALANCED_SWITCH)

// The nop is never executed. An unwinder looks up the instruction before a return address, and finds the frame
// described as it is once jump_fcontext has popped the address: as if a call stood there.
asm(R"(
    .text
    .p2align 4
    .hidden heddle_balanced_jump
    .weak heddle_balanced_jump
    .type heddle_balanced_jump, @function
heddle_balanced_jump:
    .cfi_startproc
    leaq 1f(%rip), %rax
    pushq %rax
    .cfi_adjust_cfa_offset 8
    jmp jump_fcontext@PLT
    .cfi_adjust_cfa_offset -8
    nop
1:  ret
    .cfi_endproc
    .size heddle_balanced_jump, . - heddle_balanced_jump
)");

extern "C" boost::context::detail::transfer_t heddle_balanced_jump(boost::context::detail::fcontext_t to, void* data);

#endif

namespace heddle::detail {

[[gnu::always_inline]] inline boost::context::detail::transfer_t jump(boost::context::detail::fcontext_t to,
                                                                      void* data) {
#if defined(HEDDLE_BALANCED_SWITCH)
    return heddle_balanced_jump(to, data);
#else
    return boost::context::detail::jump_fcontext(to, data);
#endif
}

}  // namespace heddle::detail
