// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/dns.hpp"

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {
namespace {

detail::Performed ask(const Operation& operation, const std::string& subject, const IoOptions& options,
                      SourceLocation at) {
    detail::Performed performed = detail::perform(current_runtime("resolve").scheduler(), operation, options, at);
    const Completion& completion = performed.completion;
    if (completion.resolver != ResolverError::none) { throw NameError(operation.kind, subject, completion.resolver); }
    if (completion.error != 0) {
        throw OperationError(operation.kind, HandleKind::none, -1, subject, completion.error);
    }
    return performed;
}

}  // namespace

std::vector<Address> resolve_name(std::string_view host, std::string_view service, const IoOptions& options,
                                  SourceLocation at) {
    return std::move(
        ask({.kind = OperationKind::resolve_name, .target = host, .service = service}, std::string(host), options, at)
            .answer->addresses);
}

HostAndService resolve_address(const Address& address, const IoOptions& options, SourceLocation at) {
    const detail::Performed performed =
        ask({.kind = OperationKind::resolve_address, .address = &address}, address.text(), options, at);
    return {performed.answer->host, performed.answer->service};
}

}  // namespace heddle
