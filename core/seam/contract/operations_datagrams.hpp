// SPDX-License-Identifier: Apache-2.0
// Part of the contract of operations: datagrams (RCT-50).
#pragma once

#include "heddle/core/seam/contract/operations.hpp"

namespace heddle::contract {

class DatagramContract : public OperationContract {
protected:
    HandleId socket_here() {
        const HandleId handle = open(HandleKind::udp);
        const Address here = environment->here();
        EXPECT_EQ(error_of({.kind = OperationKind::bind, .handle = handle, .address = &here}), 0);
        return handle;
    }
    Address address_of(HandleId handle) { return reactor().inspect(handle).local; }
    Completion send(HandleId from, std::string_view text, const Address& to) {
        return finish({.kind = OperationKind::udp_send, .handle = from, .data = bytes_of(text), .address = &to});
    }
    Ask& receive(HandleId handle, std::string& into) {
        return submit({.kind = OperationKind::udp_receive, .handle = handle, .buffer = room_of(into)});
    }
};

TEST_P(DatagramContract, ComesWholeAndWithItsSource) {
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    std::string buffer(100, '-');
    Ask& receiver = receive(b, buffer);
    EXPECT_EQ(send(a, "hello", address_of(b)).transferred, 5);
    run_until_done(receiver);
    EXPECT_EQ(receiver.end().transferred, 5);
    EXPECT_FALSE(receiver.end().truncated);
    EXPECT_EQ(buffer.substr(0, 6), "hello-");
    ASSERT_EQ(receiver.answers.back().addresses.size(), 1U);
    EXPECT_EQ(receiver.answers.back().addresses[0], address_of(a));
}

TEST_P(DatagramContract, OfNothingIsOne) {  // 0 bytes is data, not the end
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    std::string buffer(10, '-');
    Ask& receiver = receive(b, buffer);
    EXPECT_EQ(send(a, "", address_of(b)).error, 0);
    run_until_done(receiver);
    EXPECT_EQ(receiver.end().error, 0);
    EXPECT_EQ(receiver.end().transferred, 0);
    EXPECT_FALSE(receiver.end().end_of_stream);
    ASSERT_EQ(receiver.answers.back().addresses.size(), 1U);
}

TEST_P(DatagramContract, TooLongForItsBufferIsCutOff) {
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    std::string buffer(4, '-');
    Ask& receiver = receive(b, buffer);
    send(a, "0123456789", address_of(b));
    run_until_done(receiver);
    EXPECT_EQ(receiver.end().transferred, 4);
    EXPECT_TRUE(receiver.end().truncated);
    EXPECT_EQ(buffer, "0123");
}

TEST_P(DatagramContract, EachReceiverGetsOne) {
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    std::vector<std::string> buffers(5, std::string(10, '\0'));
    std::vector<Ask*> receivers;
    for (std::string& buffer : buffers) { receivers.push_back(&receive(b, buffer)); }
    for (int number = 0; number < 5; ++number) {
        send(a, std::string(static_cast<std::size_t>(number) + 1, 'x'), address_of(b));
    }
    std::int64_t total = 0;
    for (const Ask* const receiver : receivers) {
        run_until_done(*receiver);
        EXPECT_EQ(receiver->got.size(), 1U);
        total += receiver->end().transferred;
    }
    EXPECT_EQ(total, 1 + 2 + 3 + 4 + 5);
}

TEST_P(DatagramContract, WaitsWhileNobodyReceives) {
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    std::string buffer(10, '\0');
    Ask& first = receive(b, buffer);
    send(a, "1", address_of(b));
    run_until_done(first);
    send(a, "22", address_of(b));
    send(a, "333", address_of(b));
    for (int round = 0; round < 4; ++round) { settle(); }
    std::int64_t total = 0;
    for (int round = 0; round < 2; ++round) {
        Ask& next = receive(b, buffer);
        run_until_done(next);
        total += next.end().transferred;
    }
    EXPECT_EQ(total, 5);
}

TEST_P(DatagramContract, SocketThatIsConnectedSendsThere) {
    const HandleId a = open(HandleKind::udp);
    const HandleId b = socket_here();
    const Address to = address_of(b);
    EXPECT_EQ(error_of({.kind = OperationKind::udp_connect, .handle = a, .address = &to}), 0);
    EXPECT_EQ(reactor().inspect(a).peer, to);
    std::string buffer(10, '\0');
    Ask& receiver = receive(b, buffer);
    EXPECT_EQ(finish({.kind = OperationKind::udp_send, .handle = a, .data = bytes_of("hi")}).transferred, 2);
    run_until_done(receiver);
    EXPECT_EQ(receiver.end().transferred, 2);
}

TEST_P(DatagramContract, WithoutAnAddressIsRefused) {
    EXPECT_NE(error_of({.kind = OperationKind::udp_send, .handle = socket_here(), .data = bytes_of("x")}), 0);
    const Address local = Address::local(environment->free_path());
    EXPECT_EQ(send(socket_here(), "x", local).error, EAFNOSUPPORT);
    EXPECT_THROW(submit({.kind = OperationKind::udp_receive, .handle = socket_here()}), AsyncError) << "no buffer";
}

TEST_P(DatagramContract, TooLongToBeSentIsAnError) {
    const HandleId a = socket_here();
    EXPECT_EQ(send(a, std::string(100'000, 'x'), address_of(a)).error, EMSGSIZE);
}

TEST_P(DatagramContract, CloseEndsItsReceiversAndClosedReceiversHearNothing) {  // RCT-45, RCT-47
    const HandleId a = socket_here();
    const HandleId b = socket_here();
    auto buffer = std::make_unique<std::string>(10, '\0');
    std::string other(10, '\0');
    Ask& gone = receive(b, *buffer);
    Ask& waits = receive(b, other);
    settle();
    close(gone);
    buffer.reset();
    send(a, "x", address_of(b));
    run_until_done(waits);
    EXPECT_EQ(waits.end().transferred, 1);
    Ask& last = receive(b, other);
    settle();
    reactor().close_handle(b);
    EXPECT_FALSE(last.is_done());
    run_until_done(last);
    EXPECT_EQ(last.end().error, ECANCELED);
    EXPECT_TRUE(gone.got.empty());
    EXPECT_THROW(receive(b, other), AsyncError);
}

}  // namespace heddle::contract
