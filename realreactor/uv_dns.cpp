// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_dns.hpp"

#include <netdb.h>

#include <cerrno>
#include <string>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_address.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

/// Names end where the resolver's own strings would: a zero inside one would make it another name.
bool is_name(std::string_view name) { return name.find('\0') == std::string_view::npos; }

Completion failure(int status) {
    if (status == UV_ECANCELED || status == UV_EAI_CANCELED) {
        return {.transferred = -1, .error = ECANCELED, .cancelled = true};
    }
    Completion completion{.transferred = -1, .error = EIO};
    switch (status) {
        case UV_EAI_NONAME:
        case UV_EAI_NODATA:
        case UV_EAI_SERVICE:
        case UV_EAI_ADDRFAMILY: completion.resolver = ResolverError::unknown_name; break;
        case UV_EAI_AGAIN: completion.resolver = ResolverError::try_again; break;
        default: completion.resolver = ResolverError::failed; break;
    }
    return completion;
}

}  // namespace

class UvNames::NameWork final : public UvWork {
public:
    explicit NameWork(UvNames& names) : UvWork(names.host_), works(names.works_) {}

    static void on_done(uv_getaddrinfo_t* request, int status, addrinfo* found) {
        auto* const at = static_cast<NameWork*>(request->data);
        const std::unique_ptr<UvWork> kept = at->works.take(*at);
        Answer& answer = at->host_.requests->scratch();
        for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
            answer.addresses.push_back(from_system(one->ai_addr, one->ai_addrlen));
        }
        uv_freeaddrinfo(found);
        if (status == 0 && answer.addresses.empty()) { status = UV_EAI_NODATA; }
        at->host_.requests->finish(*at, status < 0 ? failure(status) : Completion{.answer = &answer});
    }

    uv_getaddrinfo_t resolve{};
    UvWorks& works;

private:
    uv_req_t* raw() override { return reinterpret_cast<uv_req_t*>(&resolve); }
};

class UvNames::AddressWork final : public UvWork {
public:
    explicit AddressWork(UvNames& names) : UvWork(names.host_), works(names.works_) {}

    static void on_done(uv_getnameinfo_t* request, int status, const char* host, const char* service) {
        auto* const at = static_cast<AddressWork*>(request->data);
        const std::unique_ptr<UvWork> kept = at->works.take(*at);
        Answer& answer = at->host_.requests->scratch();
        if (status == 0) {
            answer.host = host;
            answer.service = service;
        }
        at->host_.requests->finish(*at, status < 0 ? failure(status) : Completion{.answer = &answer});
    }

    uv_getnameinfo_t resolve{};
    UvWorks& works;

private:
    uv_req_t* raw() override { return reinterpret_cast<uv_req_t*>(&resolve); }
};

Submission UvNames::resolve_name(const Operation& operation, const SourceOptions& options) {
    if (operation.target.empty() && operation.service.empty()) {
        throw AsyncError("resolve_name needs a host or a service");
    }
    const std::string host(operation.target);
    const std::string service(operation.service);
    if (!is_name(host) || !is_name(service)) { return {.done = failure(UV_EAI_NONAME)}; }
    auto work = std::make_unique<NameWork>(*this);
    work->resolve.data = work.get();
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;  // else each address comes once per protocol
    const int status =
        uv_getaddrinfo(host_.loop->raw(), &work->resolve, &NameWork::on_done, host.empty() ? nullptr : host.c_str(),
                       service.empty() ? nullptr : service.c_str(), &hints);
    if (status != 0) {  // a name that is too long, or no name of the internet
        Completion completion = failure(status);
        if (status == UV_EINVAL || status == UV_ENAMETOOLONG) { completion.resolver = ResolverError::unknown_name; }
        return {.done = completion};
    }
    const SourceId id = host_.requests->open(*work, options);
    works_.put(std::move(work));
    return {.request = id};
}

Submission UvNames::resolve_address(const Operation& operation, const SourceOptions& options) {
    if (operation.address == nullptr) { throw AsyncError("resolve_address needs an address"); }
    sockaddr_storage system{};
    if (to_system(*operation.address, system) == 0) { return {.done = {.transferred = -1, .error = EAFNOSUPPORT}}; }
    auto work = std::make_unique<AddressWork>(*this);
    work->resolve.data = work.get();
    const int status = uv_getnameinfo(host_.loop->raw(), &work->resolve, &AddressWork::on_done,
                                      reinterpret_cast<const sockaddr*>(&system), 0);
    if (status != 0) { return {.done = failure(status)}; }
    const SourceId id = host_.requests->open(*work, options);
    works_.put(std::move(work));
    return {.request = id};
}

}  // namespace heddle::real::detail
