// SPDX-License-Identifier: Apache-2.0
// UvNames: the system's resolver, on libuv's worker threads (RCT-56).
//
//   resolve_name    ─▶ getaddrinfo ─▶ addresses of streams, in the resolver's order
//   resolve_address ─▶ getnameinfo ─▶ host and service
#pragma once

#include "heddle/realreactor/detail/uv_work.hpp"

namespace heddle::real::detail {

class UvNames {
public:
    UvNames(UvHost& host, UvWorks& works) : host_(host), works_(works) {}

    Submission resolve_name(const Operation& operation, const SourceOptions& options);
    Submission resolve_address(const Operation& operation, const SourceOptions& options);

private:
    class NameWork;
    class AddressWork;
    UvHost& host_;
    UvWorks& works_;
};

}  // namespace heddle::real::detail
