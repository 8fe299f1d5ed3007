// SPDX-License-Identifier: Apache-2.0
// What input and output fail with: the operation, the descriptor, and the operating system's code.
//
//   IoError ◁── OperationError   "read from tcp descriptor 7 (127.0.0.1:80): connection reset by peer"
//   DnsError ◁── NameError       "resolve_name \"nowhere.invalid\": unknown name"
#pragma once

#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/operation.hpp"

namespace heddle {

class OperationError : public IoError {
public:
    OperationError(OperationKind operation, HandleKind handle, int descriptor, std::string subject, int code);

    [[nodiscard]] OperationKind operation() const { return operation_; }
    /// -1 if there is none: not connected yet, or a world without descriptors.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    /// Ended because its handle was closed (RCT-47).
    [[nodiscard]] bool is_closed() const;

private:
    OperationKind operation_;
    int descriptor_;
};

class NameError : public DnsError {
public:
    NameError(OperationKind operation, const std::string& subject, ResolverError reason);
    [[nodiscard]] ResolverError reason() const { return reason_; }

private:
    ResolverError reason_;
};

}  // namespace heddle
