// SPDX-License-Identifier: Apache-2.0
// Run at configure time: succeeds where the return-balanced trampoline is compiled in and carries two flows back and
// forth.
#include <array>

#include "heddle/core/run/detail/balanced_jump.hpp"

#if !defined(HEDDLE_BALANCED_SWITCH)
#error "not on this architecture, or built for shadow stacks"
#endif

using boost::context::detail::transfer_t;

namespace {

constexpr int rounds = 5'000;
int count = 0;

void entry(transfer_t transfer) {
    for (;;) {
        ++count;
        transfer = heddle::detail::jump(transfer.fctx, nullptr);
    }
}

}  // namespace

int main() {
    alignas(16) static std::array<char, 64 * 1024> stack;
    transfer_t transfer{boost::context::detail::make_fcontext(stack.data() + stack.size(), stack.size(), entry),
                        nullptr};
    for (int round = 0; round < rounds; ++round) { transfer = heddle::detail::jump(transfer.fctx, nullptr); }
    return count == rounds ? 0 : 1;
}
