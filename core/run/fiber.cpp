// SPDX-License-Identifier: Apache-2.0
// The switch, and what the sanitizers are told about it: before the old stack is left, and first thing on the new one.
#include "heddle/core/run/fiber.hpp"

#include <cstdlib>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/run/detail/balanced_jump.hpp"
#include "heddle/core/run/detail/sanitizer.hpp"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define HEDDLE_VALGRIND 1
#endif

namespace heddle {

using boost::context::detail::transfer_t;

[[gnu::noinline]] ExceptionGlobals exception_globals() noexcept {
    return ExceptionGlobals(reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals()));
}

// Both ends of a switch. What one tells the other lies in the Fiber objects, never on the stack that is being left:
// AddressSanitizer may keep locals on a fake stack, which is gone as soon as the flow is announced to end.
struct Fiber::Switch {
    // Last thing on the old stack.
    [[gnu::always_inline]] static void* depart(Fiber& from, Fiber& to, bool for_good) {
        from.successor_ = &to;
        from.ended_ = for_good;
        void* const context = std::exchange(to.context_, nullptr);
#if defined(HEDDLE_ADDRESS_SANITIZER)
        // A null slot says that the flow never comes back, so its fake stack is freed.
        __sanitizer_start_switch_fiber(for_good ? nullptr : &from.sanitizer_, to.stack_.low, to.stack_.size);
#elif defined(HEDDLE_THREAD_SANITIZER)
        if (!from.owns_stack_) { from.sanitizer_ = __tsan_get_current_fiber(); }
        __tsan_switch_to_fiber(to.sanitizer_, 0);
#endif
        return context;
    }

    // First thing on the new stack.
    [[gnu::always_inline]] static Fiber& arrive(const transfer_t& transfer) {
        Fiber& from = *static_cast<Fiber*>(transfer.data);
        Fiber& self = *from.successor_;
        from.context_ = from.ended_ ? nullptr : transfer.fctx;
#if defined(HEDDLE_ADDRESS_SANITIZER)
        const void* low = nullptr;
        std::size_t size = 0;
        __sanitizer_finish_switch_fiber(self.sanitizer_, &low, &size);
        self.sanitizer_ = nullptr;
        if (!from.owns_stack_) {  // the bounds of a stack that is not ours are known from those who came from it
            from.stack_.low = const_cast<std::byte*>(static_cast<const std::byte*>(low));
            from.stack_.size = size;
        }
#endif
        return self;
    }

    static void begin(transfer_t transfer) noexcept {
        Fiber& self = arrive(transfer);
        self.entry_(self.argument_);
        assertion_failed("a flow's entry never returns", "F5", __FILE__, __LINE__);
    }
};

void Fiber::create(const Stack& stack, Entry entry, void* argument) {
    HEDDLE_ASSERT(context_ == nullptr, "F2");
    HEDDLE_ASSERT(stack.low != nullptr && entry != nullptr, "F2");
    const bool same_stack = owns_stack_ && stack_.low == stack.low;
    if (!same_stack) { destroy(); }
    stack_ = stack;
    owns_stack_ = true;
    entry_ = entry;
    argument_ = argument;
    exceptions_ = {};
    detail::unpoison(stack.low, stack.size);  // of a flow that ended with live frames
    context_ = boost::context::detail::make_fcontext(stack.top, stack.usable(), &Switch::begin);
#if defined(HEDDLE_THREAD_SANITIZER)
    if (sanitizer_ != nullptr) { __tsan_destroy_fiber(sanitizer_); }
    sanitizer_ = __tsan_create_fiber(0);
#endif
#if defined(HEDDLE_VALGRIND)
    if (!valgrind_knows_) {
        valgrind_id_ = VALGRIND_STACK_REGISTER(stack.low, stack.low + stack.size);
        valgrind_knows_ = true;
    }
#endif
}

void Fiber::destroy() noexcept {
    if (!owns_stack_) { return; }
#if defined(HEDDLE_THREAD_SANITIZER)
    HEDDLE_ASSERT(sanitizer_ != __tsan_get_current_fiber(), "F2");
    if (sanitizer_ != nullptr) { __tsan_destroy_fiber(sanitizer_); }
#endif
#if defined(HEDDLE_VALGRIND)
    if (valgrind_knows_) { VALGRIND_STACK_DEREGISTER(valgrind_id_); }
#endif
    valgrind_knows_ = false;
    sanitizer_ = nullptr;
    context_ = nullptr;
    owns_stack_ = false;
    stack_ = {};
}

// The balanced jump and the return address it pushes must belong to one place (F1), hence never inlined or cloned.
[[gnu::noinline]] void Fiber::switch_to(Fiber& from, Fiber& to, ExceptionGlobals globals) {
    // Where the guard is shared, this is what notices an overflow (stack_pool.hpp, K1). `low` is null for the stack
    // that is not ours.
    if (static_cast<std::byte*>(__builtin_frame_address(0)) < from.stack_.low) [[unlikely]] {
#if defined(HEDDLE_ADDRESS_SANITIZER)
        if (from.owns_stack_)  // else the bounds are those of the stack that this flow had when it was last left
#endif
            StackPool::report_overflow(from.stack_);
    }
    HEDDLE_ASSERT(from.context_ == nullptr, "F2");
    HEDDLE_ASSERT(to.context_ != nullptr, "F2");
    from.exceptions_ = globals.exchange(to.exceptions_);
    void* const context = Switch::depart(from, to, false);
    Switch::arrive(detail::jump(context, &from));
}

[[gnu::noinline]] void Fiber::switch_away_for_good(Fiber& from, Fiber& to, ExceptionGlobals globals) {
    HEDDLE_ASSERT(from.context_ == nullptr, "F2");
    HEDDLE_ASSERT(to.context_ != nullptr, "F2");
    globals.exchange(to.exceptions_);
    void* const context = Switch::depart(from, to, true);
    detail::jump(context, &from);
    assertion_failed("a flow that ended is not resumed", "F2", __FILE__, __LINE__);
}

bool Fiber::balanced() noexcept {
#if defined(HEDDLE_BALANCED_SWITCH)
    return true;
#else
    return false;
#endif
}

}  // namespace heddle
