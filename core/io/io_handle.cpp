// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/io_handle.hpp"

#include <cerrno>
#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {

IoHandle::IoHandle(HandleKind kind, int descriptor, const char* operation)
    : scheduler_(&current_runtime(operation).scheduler()), kind_(kind), last_descriptor_(descriptor) {
    id_ = scheduler_->reactor().open_handle({kind, descriptor});
}

int IoHandle::adopted(int descriptor) {
    if (descriptor < 0) { throw IoError("cannot adopt descriptor " + std::to_string(descriptor), EBADF); }
    return descriptor;
}

IoHandle::IoHandle(IoHandle&& other) noexcept
    : scheduler_(other.scheduler_),
      id_(std::exchange(other.id_, {})),
      kind_(other.kind_),
      last_descriptor_(other.last_descriptor_) {}

IoHandle& IoHandle::operator=(IoHandle&& other) noexcept {
    if (this == &other) { return *this; }
    close();
    scheduler_ = other.scheduler_;
    id_ = std::exchange(other.id_, {});
    kind_ = other.kind_;
    last_descriptor_ = other.last_descriptor_;
    return *this;
}

void IoHandle::close() noexcept {
    const HandleId id = std::exchange(id_, {});
    if (!id) { return; }
    last_descriptor_ = scheduler_->reactor().descriptor(id);
    scheduler_->reactor().close_handle(id);
}

int IoHandle::descriptor() const { return id_ ? scheduler_->reactor().descriptor(id_) : -1; }

HandleInfo IoHandle::info() const {
    if (!id_) { throw AsyncError("the handle is closed"); }
    return scheduler_->reactor().inspect(id_);
}

detail::Performed IoHandle::perform(Operation& operation, const IoOptions& options, SourceLocation at) const {
    if (!id_) [[unlikely]] {
        throw AsyncError(std::string(to_string(operation.kind)) + ": the " + std::string(to_string(kind_)) +
                         " handle is closed");
    }
    operation.handle = id_;
    detail::Performed performed = detail::perform(*scheduler_, operation, options, at);
    if (performed.completion.error != 0) [[unlikely]] {
        fail(operation.kind, performed.completion.error,
             operation.address != nullptr ? operation.address->text() : std::string());
    }
    return performed;
}

void IoHandle::fail(OperationKind operation, int code, const std::string& subject) const {
    const int known = descriptor();
    throw OperationError(operation, kind_, known >= 0 ? known : last_descriptor_, subject, code);
}

}  // namespace heddle
