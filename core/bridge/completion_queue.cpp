// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/completion_queue.hpp"

#include <utility>

namespace heddle {

CompletionQueue::Pushed CompletionQueue::push(CompletionPtr item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (detached_) { return {}; }
    const bool was_empty = items_.empty();
    items_.push_back(std::move(item));
    return {true, was_empty};
}

std::vector<CompletionPtr> CompletionQueue::take_all() {
    std::vector<CompletionPtr> taken;
    const std::lock_guard<std::mutex> lock(mutex_);
    taken.swap(items_);
    return taken;
}

std::vector<CompletionPtr> CompletionQueue::detach() {
    std::vector<CompletionPtr> left;
    const std::lock_guard<std::mutex> lock(mutex_);
    detached_ = true;
    left.swap(items_);
    return left;
}

std::size_t CompletionQueue::length() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return items_.size();
}

}  // namespace heddle
