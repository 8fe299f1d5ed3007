// SPDX-License-Identifier: Apache-2.0
// UvPolls: descriptors (RCT-32 to RCT-39): one handle of libuv per descriptor, shared through the PollTable of
// core/seam.
//
//   proxy start, stop ─▶ union of the masks ─▶ uv_poll_start ─▶ report ─▶ stream: peek (RCT-37) ─▶ proxies ─▶ sink
//
// P1  libuv ends a watch when it reports an error; it is watched again after the report while a proxy wants it
//     (RCT-32).
// P2  libuv aborts when it is told to watch a descriptor that is closed. We look first, and answer with EBADF.
#pragma once

#include <map>
#include <memory>

#include "heddle/core/seam/poll_table.hpp"
#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

class UvPolls {
public:
    explicit UvPolls(UvHost& host) : host_(host) {}
    ~UvPolls();

    SourceId open_poll(int fd, bool close_fd, Label label);
    SourceId open_proxy(SourceId poll, PollMask mask, const SourceOptions& options);
    void start_proxy(UvSource& source, SourceId id);
    void stop_proxy(UvSource& source, SourceId id);
    void close_proxy(SourceId id);
    void close_poll(SourceId id);
    void close_all();

private:
    struct Handle;

    /// Makes libuv watch what the proxies want. @returns 0 or a negative libuv status
    int watch(SourceId poll);
    void on_report(SourceId poll, int status, int events);
    void drop_reference(SourceId poll);
    void close_handle(SourceId id, const PollTable::Poll& poll);

    UvHost& host_;
    PollTable table_;
    std::map<SourceId, Handle*> handles_;  // open ones; a closing one is freed by its close completion
};

}  // namespace heddle::real::detail
