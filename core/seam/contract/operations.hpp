// SPDX-License-Identifier: Apache-2.0
// The contract of handles and operations (docs/spec/05-reactor.md sections 6 and 7), as one parameterised test suite.
//
//   backend_test.cpp ── an OperationEnvironment ──▶ INSTANTIATE_TEST_SUITE_P(Uv, OperationContract, Values(…), …)
//                                                        │
// contract/operations_streams, _datagrams, _files, _outside: they know reactor.hpp and the environment, and nothing
// else
//
// OC1  Both ends of everything are handles of the reactor that is tested: a backend needs no second world to play the
//      peer.
// OC2  An answer may come at once or later, in one part or in several: every alternative passes (O3 of operation.hpp).
// OC3  A test waits for events, never for a span of time.
// OC4  A test ends with nothing open: no handle, request or descriptor.
// Choice points: those of the backend; the environment runs the baseline.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle::contract {

/// The world around a backend: addresses, paths, programs.
class OperationEnvironment {
public:
    virtual ~OperationEnvironment() = default;
    /// Not started up; the same object for the whole life of the environment.
    virtual Reactor& reactor() = 0;
    /// An internet address of this machine with port 0.
    virtual Address here() = 0;
    /// An internet address at which nobody listens.
    virtual Address nobody() = 0;
    /// A path at which nothing is, in a directory that can be written to; short enough for a socket.
    virtual std::string free_path() = 0;
    /// A new, empty directory.
    virtual std::string new_directory() = 0;
    virtual void make_directory(const std::string& path) = 0;
    virtual void put_file(const std::string& path, std::string_view content) = 0;
    /// None if there is no such file.
    virtual std::optional<std::string> file(const std::string& path) = 0;
    virtual std::string known_name() = 0;    ///< resolves to an address of this machine
    virtual std::string unknown_name() = 0;  ///< never resolves
    /// Programs: copies its input to its output and ends with 0 · ends with this code at once · runs until a signal
    /// ends it.
    virtual std::vector<std::string> copier() = 0;
    virtual std::vector<std::string> ender(int code) = 0;
    virtual std::vector<std::string> sleeper() = 0;
    /// Everything of the operating system's that is open now; a test ends with as many as it began with.
    virtual std::size_t open_descriptors() = 0;
};

struct OperationBackend {
    std::string name;
    std::function<std::unique_ptr<OperationEnvironment>()> make;
};
inline std::string operation_backend_name(const ::testing::TestParamInfo<OperationBackend>& info) {
    return info.param.name;
}
inline void PrintTo(const OperationBackend& backend, std::ostream* out) { *out << backend.name; }

/// One request as its owner sees it.
class Ask final : public SourceOwner {
public:
    SourceId id{};
    bool at_once = false;
    std::vector<Completion> got;
    std::vector<Answer> answers;  // as many as completions, empty ones included
    std::function<void()> then;
    std::string kept;  // what is written from

    [[nodiscard]] bool is_done() const { return !got.empty() && !got.back().more; }
    [[nodiscard]] const Completion& end() const { return got.back(); }
    void take(const Completion& completion) {
        got.push_back(completion);
        answers.push_back(completion.answer != nullptr ? *completion.answer : Answer{});
        got.back().answer = nullptr;
    }
    void on_delivery(const Delivery& delivery) override {
        ASSERT_NE(delivery.completion, nullptr);
        EXPECT_EQ(delivery.kind, SourceKind::operation);
        EXPECT_EQ(delivery.source, id);
        EXPECT_FALSE(is_done()) << "exactly one answer (RCT-41)";
        take(*delivery.completion);
        if (!got.back().more) { id = {}; }
        if (then) { then(); }
    }
};

class OperationSink final : public ReactorSink {
public:
    void deliver(const Delivery& delivery) noexcept override {
        EXPECT_TRUE(in_tick) << "a delivery outside a tick (RCT-8)";
        EXPECT_EQ(depth, 0) << "deliveries come one at a time";
        EXPECT_FALSE(closed[delivery.source] && delivery.owner != nullptr) << "a delivery after the close (RCT-11)";
        ++depth;
        if (delivery.owner != nullptr) { delivery.owner->on_delivery(delivery); }
        --depth;
    }
    [[nodiscard]] bool has_ready_work() const noexcept override { return false; }

    std::map<SourceId, bool> closed;
    bool in_tick = false;
    int depth = 0;
};

inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::span<std::byte> room_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

class OperationContract : public ::testing::TestWithParam<OperationBackend> {
protected:
    void SetUp() override {
        environment = GetParam().make();
        descriptors_before = environment->open_descriptors();
        reactor().startup(sink);
        descriptors_of_reactor = environment->open_descriptors() - descriptors_before;
    }
    void TearDown() override {
        if (environment == nullptr) { return; }
        for (const HandleId handle : handles) { reactor().close_handle(handle); }
        sink.in_tick = true;
        reactor().shutdown();
        EXPECT_EQ(reactor().active_events(), 0U);
        EXPECT_EQ(environment->open_descriptors(), descriptors_before) << "OC4";
    }

    Reactor& reactor() { return environment->reactor(); }

    bool tick(TickMode mode = TickMode::may_block) {
        sink.in_tick = true;
        const bool alive = reactor().tick(mode);
        sink.in_tick = false;
        return alive;
    }
    void run_until(const std::function<bool()>& holds) {
        for (int round = 0; round < 1'000'000; ++round) {
            if (holds()) { return; }
            tick();
        }
        FAIL() << "it does not come to pass";
    }
    void run_until_done(const Ask& ask) {
        run_until([&] { return ask.is_done(); });
    }
    /// Several whole iterations: what was ready when this was called has been reported.
    void settle() {
        for (int round = 0; round < 8; ++round) { tick(TickMode::no_wait); }
    }

    HandleId open(HandleKind kind) {
        const HandleId handle = reactor().open_handle({.kind = kind});
        handles.push_back(handle);
        return handle;
    }
    HandleId keep(HandleId handle) {
        handles.push_back(handle);
        return handle;
    }

    Ask& submit(const Operation& operation) { return submit(operation, asks.emplace_back()); }
    Ask& submit(const Operation& operation, Ask& ask) {
        const Submission submission = reactor().submit(operation, {.owner = &ask});
        ask.id = submission.request;
        if (!submission.request) {
            ask.at_once = true;
            ask.take(submission.done);
        }
        return ask;
    }
    void close(Ask& ask) {
        if (!ask.id) { return; }
        sink.closed[ask.id] = true;
        reactor().close(std::exchange(ask.id, {}));
    }
    /// Submits and waits. @returns how it ended
    Completion finish(const Operation& operation) {
        Ask& ask = submit(operation);
        run_until_done(ask);
        return ask.is_done() ? ask.end() : Completion{.error = -1};
    }
    int error_of(const Operation& operation) { return finish(operation).error; }

    Ask& read(HandleId handle, std::string& into) {
        return submit({.kind = OperationKind::read, .handle = handle, .buffer = room_of(into)});
    }
    Ask& write(HandleId handle, std::string_view text) {
        Ask& ask = asks.emplace_back();
        ask.kept = text;
        return submit({.kind = OperationKind::write, .handle = handle, .data = bytes_of(ask.kept)}, ask);
    }
    /// Reads exactly so many bytes, or less at the end.
    std::string read_exactly(HandleId handle, std::size_t size) {
        std::string text;
        std::string part(std::min<std::size_t>(size, 100'000), '\0');
        while (text.size() < size) {
            part.resize(std::min(part.size(), size - text.size()));
            const Completion end = finish({.kind = OperationKind::read, .handle = handle, .buffer = room_of(part)});
            EXPECT_EQ(end.error, 0);
            if (end.error != 0 || end.end_of_stream) { break; }
            text.append(part, 0, static_cast<std::size_t>(end.transferred));
        }
        return text;
    }

    /// An address for a listener of this kind.
    Address place(HandleKind kind) {
        return kind == HandleKind::pipe ? Address::local(environment->free_path()) : environment->here();
    }
    struct Listener {
        HandleId handle;
        Address at;
    };
    Listener listen(HandleKind kind, int backlog = 16) {
        Listener listener{open(kind), place(kind)};
        EXPECT_EQ(error_of({.kind = OperationKind::bind, .handle = listener.handle, .address = &listener.at}), 0);
        EXPECT_EQ(error_of({.kind = OperationKind::listen, .handle = listener.handle, .amount = backlog}), 0);
        if (kind == HandleKind::tcp) { listener.at = reactor().inspect(listener.handle).local; }
        return listener;
    }
    struct Pair {
        HandleId client;
        HandleId server;
    };
    Pair connect(HandleKind kind) {
        const Listener listener = listen(kind);
        Pair pair{open(kind), {}};
        Ask& accepted = submit({.kind = OperationKind::accept, .handle = listener.handle});
        EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = pair.client, .address = &listener.at}), 0);
        run_until_done(accepted);
        EXPECT_EQ(accepted.end().error, 0);
        pair.server = keep(accepted.end().handle);
        reactor().close_handle(listener.handle);
        return pair;
    }

    static constexpr HandleKind stream_kinds[] = {HandleKind::tcp, HandleKind::pipe};

    std::unique_ptr<OperationEnvironment> environment;
    OperationSink sink;
    std::size_t descriptors_before = 0;
    std::size_t descriptors_of_reactor = 0;
    std::vector<HandleId> handles;
    std::deque<Ask> asks;  // addresses stay
};

}  // namespace heddle::contract

#include "heddle/core/seam/contract/operations_datagrams.hpp"
#include "heddle/core/seam/contract/operations_files.hpp"
#include "heddle/core/seam/contract/operations_outside.hpp"
#include "heddle/core/seam/contract/operations_streams.hpp"
