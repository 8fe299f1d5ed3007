// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/current_worker.hpp"

#include <utility>

namespace heddle {
namespace {

thread_local WorkerThread* worker = nullptr;

}  // namespace

// Not inlined: a flow of control that has been switched away reads it anew.
[[gnu::noinline]] WorkerThread* current_worker() noexcept { return worker; }
[[gnu::noinline]] WorkerThread* exchange_current_worker(WorkerThread* next) noexcept { return std::exchange(worker, next); }

}  // namespace heddle
