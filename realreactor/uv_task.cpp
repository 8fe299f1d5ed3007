// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_task.hpp"

#include <uv.h>

#include <cerrno>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_abandoned.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {

struct UvTasks::Request {
    uv_work_t work{};
    UniqueFunction<void()> body;
    bool threw = false;  // written by the worker; libuv's queue orders it before the completion
    UvTasks* tasks = nullptr;
    SourceId id;
};

UvTasks::~UvTasks() { HEDDLE_ASSERT(requests_.empty(), "K1"); }

SourceId UvTasks::submit(UniqueFunction<void()> body, const SourceOptions& options) {
    if (!body) { throw AsyncError("a task needs a body"); }
    auto request = std::make_shared<Request>();
    request->work.data = request.get();
    request->body = std::move(body);
    request->tasks = this;
    const int status = uv_queue_work(
        host_.loop->raw(), &request->work,
        [](uv_work_t* work) {
            auto* const at = static_cast<Request*>(work->data);
            try {
                at->body();
            } catch (...) {
                at->threw = true;  // a body answers for its own exceptions
            }
        },
        [](uv_work_t* work, int ended) {
            auto* const at = static_cast<Request*>(work->data);
            at->tasks->complete(*at, ended);
        });
    if (status != 0) { throw_async_error("cannot submit a task", status); }
    const SourceId id = host_.sources.open(SourceKind::task, options);
    request->id = id;
    host_.count_up(host_.sources.at(SourceTable::slot_of(id)));
    requests_[id] = std::move(request);
    return id;
}

void UvTasks::complete(Request& request, int status) {
    host_.follow_clock();
    const auto found = requests_.find(request.id);
    HEDDLE_ASSERT(found != requests_.end(), "K1");
    const std::shared_ptr<Request> kept = std::move(found->second);
    requests_.erase(found);
    UvSource& source = *host_.sources.find(kept->id);
    const bool silent = source.detached;
    host_.count_down(source);

    Completion completion;
    if (status != 0) {
        completion = {.transferred = -1, .error = errno_of(status), .cancelled = status == UV_ECANCELED};
    } else if (kept->threw) {
        completion = {.transferred = -1, .error = EIO};
    }
    const Delivery delivery{.source = kept->id,
                            .kind = SourceKind::task,
                            .owner = source.owner,
                            .label = source.label,
                            .error = completion.error,
                            .cancelled = completion.cancelled,
                            .completion = &completion};
    host_.sources.close(SourceTable::slot_of(kept->id));
    if (!silent) { host_.deliver(delivery); }
}

bool UvTasks::cancel(SourceId id) {
    const UvSource* source = host_.sources.find(id, SourceKind::task);
    if (source == nullptr || source->detached) { return false; }
    // "Busy" means that a worker has begun it: the request is in flight still, and its completion says how it ended.
    uv_cancel(reinterpret_cast<uv_req_t*>(&requests_.at(id)->work));
    return true;
}

void UvTasks::close(UvSource& source, SourceId id) {
    cancel(id);
    source.detached = true;
    source.owner = nullptr;
}

void UvTasks::close_all() {
    for (const auto& [id, request] : requests_) { close(*host_.sources.find(id), id); }
}

void UvTasks::abandon_all() {
    for (const auto& [id, request] : requests_) { abandon(request); }
    requests_.clear();
}

}  // namespace heddle::real::detail
