// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/pipe.hpp"

#include "heddle/core/io/detail/request.hpp"

namespace heddle {

PipeStream PipeStream::connect(std::string_view path, const IoOptions& options, SourceLocation at) {
    PipeStream stream(HandleKind::pipe, -1, "PipeStream::connect");
    const Address address = Address::local(path);
    Operation operation{.kind = OperationKind::connect, .address = &address};
    stream.perform(operation, options, at);
    return stream;
}

PipeStream PipeStream::adopt(int descriptor) { return {HandleKind::pipe, adopted(descriptor), "PipeStream::adopt"}; }

PipeListener PipeListener::bind(std::string_view path, int backlog, SourceLocation at) {
    PipeListener listener(HandleKind::pipe, -1, "PipeListener::bind");
    const Address address = Address::local(path);
    Operation operation{.kind = OperationKind::bind, .address = &address};
    listener.perform(operation, {}, at);
    operation = {.kind = OperationKind::listen, .amount = backlog};
    listener.perform(operation, {}, at);
    return listener;
}

PipeStream PipeListener::accept(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::accept};
    return {scheduler(), HandleKind::pipe, perform(operation, options, at).completion.handle};
}

TtyStream TtyStream::adopt(int descriptor) { return {HandleKind::tty, adopted(descriptor), "TtyStream::adopt"}; }

void TtyStream::set_raw(bool raw, SourceLocation at) {
    Operation operation{.kind = OperationKind::configure, .option = HandleOption::raw_mode, .amount = raw ? 1 : 0};
    perform(operation, {}, at);
}

}  // namespace heddle
