// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/detail/overflow_handler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "heddle/core/run/detail/sanitizer.hpp"
#include "heddle/core/run/stack_pool.hpp"

namespace heddle::detail {

struct PoolList {
    static StackPool*& next(StackPool& pool) { return pool.next_in_process_; }
};

}  // namespace heddle::detail

namespace heddle {
namespace {

using detail::PoolList;

std::atomic_flag list_busy = ATOMIC_FLAG_INIT;
StackPool* pools = nullptr;
std::atomic<StackOwnerName> owner_name{nullptr};

// One line, built without the C library's formatting, which is not async-signal-safe.
class Line {
public:
    Line& text(std::string_view part) {
        const std::size_t count = part.size() < buffer_.size() - size_ ? part.size() : buffer_.size() - size_;
        std::memcpy(buffer_.data() + size_, part.data(), count);
        size_ += count;
        return *this;
    }
    Line& number(std::uintptr_t value, unsigned base) {
        std::array<char, 24> digits;
        std::size_t at = digits.size();
        do {
            digits[--at] = "0123456789abcdef"[value % base];
            value /= base;
        } while (value != 0);
        return text({digits.data() + at, digits.size() - at});
    }
    void print() {
        text("\n");
        if (write(STDERR_FILENO, buffer_.data(), size_) < 0) { return; }  // nothing is left to be done about it
    }

private:
    std::array<char, 512> buffer_;
    std::size_t size_ = 0;
};

void print_report(const Stack& stack, std::size_t usable_size, std::string_view what, bool guard_is_shared) {
    std::array<char, 256> name{};
    if (const StackOwnerName ask = owner_name.load(); ask != nullptr) {
        ask(guard_is_shared ? nullptr : stack.low, name.data(), name.size());
        name.back() = '\0';
    }
    Line line;
    line.text("heddle: ").text(what);
    if (name.front() != '\0') {
        line.text(" coroutine ").text(name.data());
    } else {
        line.text(" the coroutine whose stack is at 0x").number(reinterpret_cast<std::uintptr_t>(stack.low), 16);
    }
    line.text(" (").number(usable_size / 1024, 10).text(" KiB stack");
    if (guard_is_shared) { line.text(", whose guard page is shared with neighbours"); }
    line.text(")").print();
}

#if !defined(HEDDLE_ADDRESS_SANITIZER)

struct sigaction previous_action;
bool handler_is_installed = false;

// Where the stack pointer of the faulting code stood, or the fault address itself on machines that we do not know.
const std::byte* stack_pointer([[maybe_unused]] void* context, [[maybe_unused]] const void* fault) {
#if defined(__x86_64__) && defined(__linux__)
    return reinterpret_cast<const std::byte*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#else
    return static_cast<const std::byte*>(fault);
#endif
}

void handle_fault(int number, siginfo_t* info, void* context) {
    // Bounded: the thread that holds the lock may be this one, if the list itself is what broke.
    bool locked = false;
    for (int attempt = 0; attempt < 1'000'000 && !locked; ++attempt) {
        locked = !list_busy.test_and_set(std::memory_order_acquire);
    }
    Stack stack;
    bool in_guard = false;
    bool shared = false;
    std::size_t usable_size = 0;
    if (locked && info->si_code > 0) {
        for (StackPool* pool = pools; pool != nullptr && !in_guard; pool = PoolList::next(*pool)) {
            if (!pool->find(info->si_addr, stack, in_guard) || !in_guard) { continue; }
            shared = pool->guard(stack) == GuardKind::shared;
            usable_size = pool->usable_size();
        }
    }
    if (locked) { list_busy.clear(std::memory_order_release); }

    if (in_guard) {
        // A frame may be larger than a page, so "near" is generous; a stray pointer comes from a stack pointer far
        // away.
        constexpr std::ptrdiff_t near = std::ptrdiff_t{256} * 1024;
        const std::byte* const pointer = stack_pointer(context, info->si_addr);
        const bool overflow = pointer > stack.low - near && pointer < stack.low + near && pointer < stack.top;
        print_report(stack, usable_size,
                     overflow ? "stack overflow in" : "stray access to the guard page below the stack of", shared);
        // The previous action is put back and the faulting instruction runs again: a core dump or an outer crash
        // handler then sees the registers of the overflow, not ours.
        sigaction(number, &previous_action, nullptr);
        return;
    }
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
        previous_action.sa_sigaction(number, info, context);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(number);
    } else {
        sigaction(number, &previous_action, nullptr);
        if (info->si_code <= 0) { raise(number); }  // sent by someone: there is no instruction that would fault again
    }
}

// The alternate stack of one thread: an overflowed stack has no room for a handler's frame.
class AlternateStack {
public:
    AlternateStack() {
        stack_t present{};
        // Somebody's own will do.
        if (sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0) { return; }
        memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) { return; }
        stack_t ours{};
        ours.ss_sp = memory_;
        ours.ss_size = size;
        sigaltstack(&ours, nullptr);
    }
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;
    ~AlternateStack() {
        if (memory_ == MAP_FAILED) { return; }
        stack_t present{};
        if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
            stack_t none{};
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
        }
        munmap(memory_, size);
    }

private:
    static constexpr std::size_t size = std::size_t{64} * 1024;
    void* memory_ = MAP_FAILED;
};

void install_handler() {
    // If it could not be removed, somebody chained to it, and to install it again would be a loop.
    if (handler_is_installed) { return; }
    handler_is_installed = true;
    struct sigaction ours {};
    ours.sa_sigaction = handle_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, &previous_action);
}

void remove_handler() noexcept {
    struct sigaction present {};
    sigaction(SIGSEGV, nullptr, &present);
    // Only if it is still ours: whoever installed a later one would lose it, and it may call us.
    if ((present.sa_flags & SA_SIGINFO) == 0 || present.sa_sigaction != handle_fault) { return; }
    sigaction(SIGSEGV, &previous_action, nullptr);
    handler_is_installed = false;
}

#endif

}  // namespace

void StackPool::name_owners_by(StackOwnerName name) noexcept { owner_name.store(name); }

[[gnu::noinline]] void StackPool::prepare_thread() {
#if !defined(HEDDLE_ADDRESS_SANITIZER)
    static thread_local const AlternateStack alternate;
#endif
}

void StackPool::report_overflow(const Stack& stack) noexcept {
    std::size_t usable_size = stack.usable();
    {
        const detail::PoolListLock lock;
        Stack found;
        bool in_guard = false;
        for (StackPool* pool = pools; pool != nullptr; pool = PoolList::next(*pool)) {
            if (pool->find(stack.low, found, in_guard)) { usable_size = pool->usable_size(); }
        }
    }
    print_report(stack, usable_size, "stack overflow in", false);
    std::abort();
}

namespace detail {

PoolListLock::PoolListLock() noexcept {
    while (list_busy.test_and_set(std::memory_order_acquire)) {}
}
PoolListLock::~PoolListLock() { list_busy.clear(std::memory_order_release); }

void register_pool(StackPool& pool) {
    StackPool::prepare_thread();
    PoolListLock lock;
#if !defined(HEDDLE_ADDRESS_SANITIZER)
    if (pools == nullptr) { install_handler(); }
#endif
    PoolList::next(pool) = pools;
    pools = &pool;
}

void unregister_pool(StackPool& pool) noexcept {
    PoolListLock lock;
    StackPool** at = &pools;
    while (*at != &pool) { at = &PoolList::next(**at); }
    *at = PoolList::next(pool);
#if !defined(HEDDLE_ADDRESS_SANITIZER)
    if (pools == nullptr) { remove_handler(); }
#endif
}

}  // namespace detail
}  // namespace heddle
