// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/io_error.hpp"

#include <cerrno>
#include <system_error>

namespace heddle {
namespace {

std::string message_of(OperationKind operation, HandleKind handle, int descriptor, const std::string& subject,
                       int code) {
    std::string text(to_string(operation));
    if (handle != HandleKind::none) { text += " of " + std::string(to_string(handle)); }
    if (descriptor >= 0) { text += " descriptor " + std::to_string(descriptor); }
    if (!subject.empty()) { text += " (" + subject + ")"; }
    return text + ": " + (code == ECANCELED ? std::string("closed") : std::generic_category().message(code));
}

std::string_view text_of(ResolverError reason) {
    switch (reason) {
        case ResolverError::none: break;
        case ResolverError::unknown_name: return "unknown name";
        case ResolverError::try_again: return "no answer for now";
        case ResolverError::failed: return "failed";
    }
    return "no error";
}

}  // namespace

OperationError::OperationError(OperationKind operation, HandleKind handle, int descriptor, std::string subject,
                               int code)
    : IoError(message_of(operation, handle, descriptor, subject, code), code),
      operation_(operation),
      descriptor_(descriptor) {}

bool OperationError::is_closed() const { return code() == ECANCELED; }

NameError::NameError(OperationKind operation, const std::string& subject, ResolverError reason)
    : DnsError(std::string(to_string(operation)) + " \"" + subject + "\": " + std::string(text_of(reason))),
      reason_(reason) {}

}  // namespace heddle
