// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_signal.hpp"

#include <uv.h>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {

struct UvSignals::Number {
    uv_signal_t handle{};
    UvSignals* signals = nullptr;
    int number = 0;
    bool watched = false;
    UvSignalListener* listener = nullptr;
    std::vector<SourceId> subscribers;  // started ones, in start order
};

UvSignals::UvSignals(UvHost& host) : host_(host) {}
UvSignals::~UvSignals() { HEDDLE_ASSERT(numbers_.empty(), "signals are closed before their reactor goes"); }

SourceId UvSignals::open(int number, const SourceOptions& options) {
    if (number <= 0) { throw AsyncError("there is no signal " + std::to_string(number)); }
    const SourceId id = host_.sources.open(SourceKind::signal, options);
    host_.sources.at(SourceTable::slot_of(id)).number = number;
    return id;
}

UvSignals::Number& UvSignals::number(int number) {
    std::unique_ptr<Number>& at = numbers_[number];
    if (at == nullptr) {
        auto made = std::make_unique<Number>();
        if (const int status = uv_signal_init(host_.loop->raw(), &made->handle); status != 0) {
            numbers_.erase(number);
            throw_async_error("cannot watch signals", status);
        }
        made->handle.data = made.get();
        made->signals = this;
        made->number = number;
        at = std::move(made);
    }
    return *at;
}

void UvSignals::watch(Number& at) {
    if (at.watched) { return; }
    const int status = uv_signal_start(
        &at.handle,
        [](uv_signal_t* handle, int) {
            auto* const caught = static_cast<Number*>(handle->data);
            caught->signals->on_signal(*caught);
        },
        at.number);
    if (status != 0) { throw_async_error("cannot watch signal " + std::to_string(at.number), status); }
    at.watched = true;
}

void UvSignals::unwatch_if_unused(Number& at) {
    if (!at.watched || !at.subscribers.empty() || at.listener != nullptr) { return; }
    uv_signal_stop(&at.handle);
    at.watched = false;
}

void UvSignals::start(UvSource& source, SourceId id) {
    if (source.started) { return; }
    Number& at = number(source.number);
    watch(at);
    at.subscribers.push_back(id);
    host_.set_started(source, true);
}

void UvSignals::stop(UvSource& source, SourceId id) {
    if (!host_.set_started(source, false)) { return; }
    Number& at = *numbers_.at(source.number);
    std::erase(at.subscribers, id);
    unwatch_if_unused(at);
}

void UvSignals::listen(int number_, UvSignalListener& listener) {
    Number& at = number(number_);
    watch(at);
    at.listener = &listener;
}

void UvSignals::unlisten(int number_) {
    Number& at = *numbers_.at(number_);
    at.listener = nullptr;
    unwatch_if_unused(at);
}

void UvSignals::on_signal(Number& at) {
    host_.follow_clock();
    const std::vector<SourceId> addressees = at.subscribers;
    if (at.listener != nullptr) { at.listener->on_signal(); }
    for (const SourceId id : addressees) {
        const UvSource* source = host_.sources.find(id);
        if (source == nullptr || !source->started) { continue; }  // an earlier one stopped it (RCT-11)
        host_.deliver({.source = id,
                       .kind = SourceKind::signal,
                       .owner = source->owner,
                       .label = source->label,
                       .value = at.number});
    }
}

void UvSignals::close_all() {
    for (const SourceId id : host_.sources.all(SourceKind::signal)) { host_.sources.close(SourceTable::slot_of(id)); }
    for (auto& [signal, at] : numbers_) {
        ++host_.closing_count;
        at->subscribers.clear();
        uv_close(reinterpret_cast<uv_handle_t*>(&at->handle), [](uv_handle_t* handle) {
            const std::unique_ptr<Number> closed(static_cast<Number*>(handle->data));
            --closed->signals->host_.closing_count;
        });
        at.release();  // its close completion frees it
    }
    numbers_.clear();
}

}  // namespace heddle::real::detail
