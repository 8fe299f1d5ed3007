// SPDX-License-Identifier: Apache-2.0
// The process's pools, and the SIGSEGV handler that looks a fault up in them (stack_pool.hpp, K5).
//
// The operating system has one handler per signal and process, so this is the one thing about stacks that no world can
// own.
// Invariant: the list holds every live pool; whoever changes it, or the slabs of a pool in it, holds the PoolListLock.
#pragma once

namespace heddle {
class StackPool;
}

namespace heddle::detail {

/// Adds a pool; the first one installs the handler.
void register_pool(StackPool& pool);
/// Removes it; the last one puts the previous handler back.
void unregister_pool(StackPool& pool) noexcept;

/// A spin lock, because the handler has to try for it, too. Never held while user code runs.
class PoolListLock {
public:
    PoolListLock() noexcept;
    ~PoolListLock();
    PoolListLock(const PoolListLock&) = delete;
    PoolListLock& operator=(const PoolListLock&) = delete;
};

}  // namespace heddle::detail
