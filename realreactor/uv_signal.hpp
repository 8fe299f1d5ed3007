// SPDX-License-Identifier: Apache-2.0
// UvSignals: signals of the operating system (RCT-52).
//
//   signal ─▶ libuv's handler and self-pipe ─▶ one handle per number ─▶ subscribers in start order ─▶ sink
//
// S1  One handle of libuv per number: several handles for one number would be called in the order of their addresses
//     (F20).
// S2  The handler of the operating system is installed with the first subscriber of a number and restored after the
//     last.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

/// A part of the reactor that needs a signal itself.
class UvSignalListener {
public:
    virtual void on_signal() = 0;

protected:
    ~UvSignalListener() = default;
};

class UvSignals {
public:
    explicit UvSignals(UvHost& host);
    ~UvSignals();

    SourceId open(int number, const SourceOptions& options);
    /// Throws: AsyncError for a signal that cannot be caught.
    void start(UvSource& source, SourceId id);
    void stop(UvSource& source, SourceId id);
    void close_all();

    /// Called before the subscribers; one per number. Throws: AsyncError.
    void listen(int number, UvSignalListener& listener);
    void unlisten(int number);

private:
    struct Number;

    Number& number(int number);
    void watch(Number& at);
    void unwatch_if_unused(Number& at);
    void on_signal(Number& at);

    UvHost& host_;
    std::map<int, std::unique_ptr<Number>> numbers_;  // kept until the loop goes: a stopped handle costs nothing
};

}  // namespace heddle::real::detail
