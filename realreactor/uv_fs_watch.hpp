// SPDX-License-Identifier: Apache-2.0
// UvWatches: changes in the file system (RCT-57).
//
//   watch ─▶ one handle of libuv, or one per directory ─▶ change ─▶ a delivery each, until the request is closed
//                             ▲                             │
//                             └── a directory came, or went ┘
//
// W1  The kernel watches directories one by one. What was created below a new directory before we watch it is reported
//     from a look at the directory: it may come twice, and never not at all.
// W2  What changes is named relative to the target.
#pragma once

#include <uv.h>

#include <map>
#include <memory>
#include <string>

#include "heddle/realreactor/detail/uv_request.hpp"

namespace heddle::real::detail {

class Watch;

class UvWatches {
public:
    explicit UvWatches(UvHost& host) : host_(host) {}
    ~UvWatches();

    Submission watch(const Operation& operation, const SourceOptions& options);

private:
    struct Directory {
        uv_fs_event_t handle{};
        UvHost* host = nullptr;
        Watch* watch = nullptr;  // null once it is closing
        std::string path{};      // relative; empty for the target itself
    };
    friend class Watch;

    UvHost& host_;
    std::map<const UvRequest*, std::unique_ptr<UvRequest>> watches_;
};

}  // namespace heddle::real::detail
