// SPDX-License-Identifier: Apache-2.0
// UvTasks: functions that run on libuv's worker threads (RCT-59).
//
//   submit ─▶ pool ─▶ body, on a worker ─▶ completion, on the reactor's thread ─▶ sink
//      └── cancel, close: taken back if no worker has begun it; else the completion comes, after a close in silence
//
// K1  A request is a heap object that only its completion frees, whatever became of its source: the worker never
//     touches freed memory.
// K2  It counts from the submission to the completion, a closed one too (RCT-15): what it holds is not free before.
#pragma once

#include <map>
#include <memory>

#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

class UvTasks {
public:
    explicit UvTasks(UvHost& host) : host_(host) {}
    ~UvTasks();

    SourceId submit(UniqueFunction<void()> body, const SourceOptions& options);
    bool cancel(SourceId id);
    void close(UvSource& source, SourceId id);
    /// Detaches and, where that can be, takes back all requests in flight.
    void close_all();
    [[nodiscard]] bool in_flight() const { return !requests_.empty(); }
    /// Leaves those that workers are still inside to themselves, for ever (RCT-2).
    void abandon_all();

private:
    struct Request;
    void complete(Request& request, int status);

    UvHost& host_;
    std::map<SourceId, std::shared_ptr<Request>> requests_;
};

}  // namespace heddle::real::detail
