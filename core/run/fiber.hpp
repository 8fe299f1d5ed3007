// SPDX-License-Identifier: Apache-2.0
// Fiber: one native flow of control, and the only stack switch of the product.
//
//   empty ──create──▶ fresh ──switch_to──▶ running ──switch_to──▶ left ──switch_to──▶ running …
//     ▲                 ▲                     │
//     └── destroy ──────┴──── ended ◀─────────┘ switch_away_for_good
//
// F1  One switch, one call site: Fiber::switch_to. Returns of flows that suspend along the same path are predicted
//     (balanced_jump.hpp).
// F2  A flow is resumed where it left, once: resuming it twice, or while it runs, is an assertion.
// F3  The C++ exception state (what is caught, how many are in flight) belongs to the flow, not to the thread (SCH-29).
//     A fresh flow starts with a clean one.
// F4  A flow stays on the thread on which it first ran: the compiler may keep addresses of thread-locals across a
//     switch.
// F5  Every switch is announced to AddressSanitizer, ThreadSanitizer and Valgrind, in builds that have them. No
//     exception leaves a flow's entry: it would meet a frame without a caller, and terminates the process.
// Choice points: none.
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <utility>

#include "heddle/core/run/stack_pool.hpp"

namespace heddle {

/// What libstdc++ and libc++ keep per thread about exceptions: the stack of caught ones and the number in flight.
struct ExceptionState {
    void* caught = nullptr;
    unsigned int uncaught = 0;
};

/// This thread's exception state. Fetched once per run and passed along: the look-up is a call, and a run stays on its
/// thread.
class ExceptionGlobals {
public:
    /// Stores `next` and returns what was there.
    ExceptionState exchange(const ExceptionState& next) const { return std::exchange(*state_, next); }
    [[nodiscard]] bool clean() const { return state_->caught == nullptr && state_->uncaught == 0; }

private:
    friend ExceptionGlobals exception_globals() noexcept;
    explicit ExceptionGlobals(ExceptionState* state) : state_(state) {}
    ExceptionState* state_;
};

[[nodiscard]] ExceptionGlobals exception_globals() noexcept;

/// Saves the exception state and clears it, for foreign work that borrows the stack of a flow inside its suspension: a
/// callback there must neither see nor rethrow what the flow has caught (SCH-91). The destructor restores it.
class ExceptionGuard {
public:
    explicit ExceptionGuard(ExceptionGlobals globals) : globals_(globals), saved_(globals.exchange({})) {}
    ExceptionGuard(const ExceptionGuard&) = delete;
    ExceptionGuard& operator=(const ExceptionGuard&) = delete;
    ~ExceptionGuard() { globals_.exchange(saved_); }

private:
    ExceptionGlobals globals_;
    ExceptionState saved_;
};

class Fiber {
public:
    /// Runs on the flow's own stack. It never returns and never throws: it ends with switch_away_for_good.
    using Entry = void (*)(void* argument);

    /// The flow that is running already, on a stack that is not ours: usable as the `from` of a first switch.
    Fiber() noexcept = default;
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;
    /// Like destroy().
    ~Fiber() { destroy(); }

    /// Prepares a flow on `stack` that begins at the first switch to it. Requires: this one is empty or ended.
    /// Cost: a few stores; no system call, no allocation (sanitizer builds apart).
    void create(const Stack& stack, Entry entry, void* argument);
    /// Forgets the flow. It is never unwound: what its frames own is lost. Requires: it is not running. Call it before
    /// the stack is released. Idempotent.
    void destroy() noexcept;

    /// Leaves `from`, which is running, and continues `to`; returns when somebody switches to `from` again.
    /// Requires: `to` was left or is fresh; `globals` are this thread's. Suspends: natively. Cost: about 5 ns and what
    /// the caches take.
    static void switch_to(Fiber& from, Fiber& to, ExceptionGlobals globals);
    /// The same, but `from` ends here. Its stack may be released as soon as `to` runs, and it may be created anew.
    [[noreturn]] static void switch_away_for_good(Fiber& from, Fiber& to, ExceptionGlobals globals);

    /// False for the default-constructed flow.
    [[nodiscard]] bool has_stack() const { return owns_stack_; }
    [[nodiscard]] const Stack& stack() const { return stack_; }
    /// True between create() or a switch away and the next switch to it.
    [[nodiscard]] bool resumable() const { return context_ != nullptr; }
    /// Asks the caches for what a switch to this flow reads: with tens of thousands of parked flows, a switch is mostly
    /// misses on the stack (its address translation first of all), and a scheduler knows who comes next. Cost: about 1
    /// ns. Harmless at any time.
    [[gnu::always_inline]] void prefetch() const {  // by force: GCC 12 drops calls whose only effect is a prefetch
        const auto* const top = static_cast<const std::byte*>(context_);
        __builtin_prefetch(top);
        __builtin_prefetch(top + 64);
        __builtin_prefetch(top + 128);
    }
    /// Whether this build enters jump_fcontext through the return-balanced trampoline.
    [[nodiscard]] static bool balanced() noexcept;

private:
    struct Switch;

    void* context_ = nullptr;     // where it left; null while it runs, before create and after its end
    Fiber* successor_ = nullptr;  // to whom it switched last
    ExceptionState exceptions_;
    bool ended_ = false;
    Stack stack_;  // up to `low` a switch reads and writes: one cache line
    Entry entry_ = nullptr;
    void* argument_ = nullptr;
    void* sanitizer_ = nullptr;  // ASan: its fake stack; TSan: its fiber object
    unsigned valgrind_id_ = 0;
    bool owns_stack_ = false;
    bool valgrind_knows_ = false;
};

}  // namespace heddle
