// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/seam/poll_table.hpp"

#include <algorithm>

namespace heddle {

SourceId PollTable::poll_of(int fd) const {
    const auto found = by_fd_.find(fd);
    return found == by_fd_.end() ? SourceId{} : found->second;
}

void PollTable::add_poll(SourceId id, int fd, bool close_fd, Label label) {
    HEDDLE_ASSERT(!by_fd_.contains(fd), "INV-RCT-07");
    by_fd_[fd] = id;
    polls_[id] = Poll{fd, close_fd, 1, {}, label};
}

void PollTable::add_reference(SourceId poll, bool close_fd) {
    Poll* at = find_poll(poll);
    HEDDLE_ASSERT(at != nullptr, "a poll that is referred to is open");
    ++at->references;
    at->close_fd = at->close_fd || close_fd;
}

bool PollTable::drop_reference(SourceId poll, Poll& closing) {
    Poll* at = find_poll(poll);
    if (at == nullptr) { return false; }
    HEDDLE_ASSERT(at->references > 0, "a poll in the table is referred to");
    if (--at->references > 0) { return false; }
    closing = *at;
    by_fd_.erase(at->fd);
    polls_.erase(poll);
    return true;
}

void PollTable::add_proxy(SourceId id, SourceId poll, PollMask mask, const SourceOptions& options) {
    add_reference(poll, false);
    proxies_[id] = Proxy{poll, mask, options, false};
}

SourceId PollTable::remove_proxy(SourceId id) {
    Proxy* proxy = find_proxy(id);
    if (proxy == nullptr) { return {}; }
    HEDDLE_ASSERT(!proxy->started, "a proxy is stopped before it goes");
    const SourceId poll = proxy->poll;
    proxies_.erase(id);
    return poll;
}

bool PollTable::start_proxy(SourceId id) {
    Proxy* proxy = find_proxy(id);
    if (proxy == nullptr || proxy->started) { return false; }
    proxy->started = true;
    find_poll(proxy->poll)->started.push_back(id);
    return true;
}

bool PollTable::stop_proxy(SourceId id) {
    Proxy* proxy = find_proxy(id);
    if (proxy == nullptr || !proxy->started) { return false; }
    proxy->started = false;
    std::erase(find_poll(proxy->poll)->started, id);
    return true;
}

PollMask PollTable::watched(SourceId poll) const {
    const auto at = polls_.find(poll);
    if (at == polls_.end()) { return 0; }
    PollMask mask = 0;
    for (const SourceId id : at->second.started) { mask |= proxies_.at(id).mask; }
    return mask;
}

PollTable::Poll* PollTable::find_poll(SourceId id) {
    const auto found = polls_.find(id);
    return found == polls_.end() ? nullptr : &found->second;
}

PollTable::Proxy* PollTable::find_proxy(SourceId id) {
    const auto found = proxies_.find(id);
    return found == proxies_.end() ? nullptr : &found->second;
}

}  // namespace heddle
