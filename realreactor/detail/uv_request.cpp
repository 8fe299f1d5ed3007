// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/detail/uv_request.hpp"

#include <cerrno>

#include "heddle/core/base/error.hpp"

namespace heddle::real::detail {
void UvHost::close_handle(HandleId id) {
    UvHandle* const handle = handles->find(id);
    if (handle == nullptr) { return; }
    handles->remove(id);
    handle->close();
}

// ── handles ──

Submission UvHandle::answer(const Completion& completion, const SourceOptions& options) {
    if (take_turn()) { return {.done = completion}; }
    return {.request = host_.requests->open_deferred(completion, options)};
}

void UvHandle::refuse(const Operation& operation) const {
    throw AsyncError("a " + std::string(to_string(kind)) + " handle has no operation '" +
                     std::string(to_string(operation.kind)) + "'");
}

SourceId UvHandle::wait_readable(SourceOwner&) { refuse({.kind = OperationKind::read}); }

HandleId UvHandles::add(UvHandle& handle) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    slots_[slot].handle = &handle;
    handle.id = HandleId{(std::uint64_t{slots_[slot].generation} << 32) | slot};
    return handle.id;
}

void UvHandles::remove(HandleId id) {
    const auto slot = static_cast<std::uint32_t>(id.value);
    HEDDLE_ASSERT(find(id) != nullptr, "a handle is removed once");
    slots_[slot].handle = nullptr;
    if (slots_[slot].generation == SourceTable::generation_max) { return; }
    ++slots_[slot].generation;
    free_.push_back(slot);
}

std::vector<HandleId> UvHandles::all() const {
    std::vector<HandleId> found;
    for (const Slot& slot : slots_) {
        if (slot.handle != nullptr) { found.push_back(slot.handle->id); }
    }
    return found;
}

// ── requests ──

SourceId UvRequests::open(UvRequest& request, const SourceOptions& options) {
    const SourceId id = host_.sources.open(SourceKind::operation, options);
    UvSource& source = host_.sources.at(SourceTable::slot_of(id));
    source.request = &request;
    host_.count_up(source);
    request.id = id;
    return id;
}

SourceId UvRequests::open_deferred(const Completion& completion, const SourceOptions& options) {
    const SourceId id = host_.sources.open(SourceKind::operation, options);
    host_.count_up(host_.sources.at(SourceTable::slot_of(id)));
    deferred_.push_back({id, completion, completion.answer != nullptr ? *completion.answer : Answer{}});
    return id;
}

void UvRequests::deliver(UvSource& source, SourceId id, const Completion& completion) {
    const bool silent = source.detached;
    host_.count_down(source);
    const Delivery delivery{.source = id,
                            .kind = SourceKind::operation,
                            .owner = source.owner,
                            .label = source.label,
                            .value = completion.transferred,
                            .error = completion.error,
                            .cancelled = completion.cancelled,
                            .completion = &completion};
    host_.sources.close(SourceTable::slot_of(id));
    if (silent || host_.sink == nullptr) {
        drop(completion);
    } else {
        host_.deliver(delivery);
    }
}

void UvRequests::drop(const Completion& completion) {
    if (completion.handle) { host_.close_handle(completion.handle); }  // Q4
}

void UvRequests::finish(UvRequest& request, const Completion& completion) {
    host_.follow_clock();
    const SourceId id = std::exchange(request.id, {});
    deliver(*host_.sources.find(id), id, completion);
}

void UvRequests::report(UvRequest& request, const Completion& completion) {
    host_.follow_clock();
    const UvSource& source = *host_.sources.find(request.id);
    host_.deliver({.source = request.id,
                   .kind = SourceKind::operation,
                   .owner = source.owner,
                   .label = source.label,
                   .value = completion.transferred,
                   .error = completion.error,
                   .completion = &completion});
}

void UvRequests::defer(UvRequest& request, const Completion& completion) {
    const SourceId id = std::exchange(request.id, {});
    host_.sources.find(id)->request = nullptr;
    deferred_.push_back({id, completion, completion.answer != nullptr ? *completion.answer : Answer{}});
}

void UvRequests::close(UvSource& source, SourceId id) {
    source.owner = nullptr;
    if (source.detached) { return; }
    if (source.request != nullptr && !source.request->on_abandoned()) {
        host_.sources.find(id)->detached = true;
        return;
    }
    UvSource& over = *host_.sources.find(id);  // the table may have grown meanwhile
    over.request = nullptr;
    host_.count_down(over);
    host_.sources.close(SourceTable::slot_of(id));
}

bool UvRequests::cancel(UvSource& source, SourceId id) {
    if (source.detached) { return false; }
    if (source.request != nullptr) { source.request->on_cancel(); }
    return host_.sources.find(id) != nullptr;
}

void UvRequests::defer_cancelled(UvRequest& request) {
    defer(request, {.transferred = -1, .error = ECANCELED, .cancelled = true});
}

void UvRequests::forget_wait(SourceId wait) {
    for (const ClosedWait& at : closed_waits_) {
        if (at.id == wait) { host_.end_wait(); }
    }
    std::erase_if(closed_waits_, [wait](const ClosedWait& at) { return at.id == wait; });
}

bool UvRequests::deliver_deferred() {
    if (deferred_.empty() && closed_waits_.empty()) { return false; }
    while (!closed_waits_.empty()) {
        const ClosedWait wait = closed_waits_.front();
        closed_waits_.erase(closed_waits_.begin());
        host_.end_wait();
        host_.deliver({.source = wait.id, .kind = SourceKind::operation, .owner = wait.owner, .error = ECANCELED});
    }
    std::vector<Deferred> due;
    due.swap(deferred_);
    for (Deferred& at : due) {
        if (at.completion.answer != nullptr) { at.completion.answer = &at.answer; }
        if (UvSource* const source = host_.sources.find(at.id); source != nullptr) {
            deliver(*source, at.id, at.completion);
        } else {
            drop(at.completion);  // closed by its waiter
        }
    }
    return true;
}

void UvRequests::close_all() {
    for (std::size_t left = closed_waits_.size(); left > 0; --left) { host_.end_wait(); }
    closed_waits_.clear();
    std::vector<Deferred> dropped;
    dropped.swap(deferred_);
    for (const Deferred& at : dropped) { drop(at.completion); }
    for (const SourceId id : host_.sources.all(SourceKind::operation)) { close(*host_.sources.find(id), id); }
    deferred_.clear();  // of the handles just dropped: closed with all the others
}

void UvRequests::forget_all() {
    for (const SourceId id : host_.sources.all(SourceKind::operation)) {
        host_.count_down(*host_.sources.find(id));
        host_.sources.close(SourceTable::slot_of(id));
    }
}

}  // namespace heddle::real::detail
