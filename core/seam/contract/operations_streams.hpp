// SPDX-License-Identifier: Apache-2.0
// Part of the contract of operations: connecting, reading, writing, ending (RCT-40 to RCT-49).
#pragma once

#include <algorithm>

#include "heddle/core/seam/contract/operations.hpp"

namespace heddle::contract {

// ── connecting ──

TEST_P(OperationContract, ConnectsAndAccepts) {  // RCT-49
    for (const HandleKind kind : stream_kinds) {
        const Listener listener = listen(kind);
        const HandleId client = open(kind);
        Ask& accepted = submit({.kind = OperationKind::accept, .handle = listener.handle});
        EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = client, .address = &listener.at}), 0);
        run_until_done(accepted);
        ASSERT_TRUE(accepted.end().handle);
        const HandleInfo server = reactor().inspect(keep(accepted.end().handle));
        EXPECT_EQ(server.kind, kind);
        EXPECT_EQ(server.local, listener.at);
        EXPECT_EQ(reactor().inspect(client).peer, listener.at);
        if (kind == HandleKind::tcp) { EXPECT_EQ(server.peer, reactor().inspect(client).local); }
    }
}

TEST_P(OperationContract, ConnectionsWaitToBeAccepted) {  // RCT-49
    for (const HandleKind kind : stream_kinds) {
        const Listener listener = listen(kind);
        std::vector<HandleId> clients;
        for (int number = 0; number < 4; ++number) {
            clients.push_back(open(kind));
            EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = clients.back(), .address = &listener.at}), 0);
            write(clients.back(), std::string(1, static_cast<char>('a' + number)));
        }
        settle();
        std::string seen;
        for (int number = 0; number < 4; ++number) {
            const Completion accepted = finish({.kind = OperationKind::accept, .handle = listener.handle});
            ASSERT_EQ(accepted.error, 0);
            seen += read_exactly(keep(accepted.handle), 1);
        }
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, "abcd");
    }
}

TEST_P(OperationContract, ConnectToNobodyIsRefused) {
    const HandleId client = open(HandleKind::tcp);
    const Address nobody = environment->nobody();
    EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = client, .address = &nobody}), ECONNREFUSED);
    const Address no_socket = Address::local(environment->free_path());
    EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = open(HandleKind::pipe), .address = &no_socket}),
              ENOENT);
}

TEST_P(OperationContract, AddressOfAnotherFamilyIsRefused) {
    const Address local = Address::local(environment->free_path());
    const Address internet = environment->here();
    for (const OperationKind kind : {OperationKind::connect, OperationKind::bind}) {
        EXPECT_EQ(error_of({.kind = kind, .handle = open(HandleKind::tcp), .address = &local}), EAFNOSUPPORT);
        EXPECT_EQ(error_of({.kind = kind, .handle = open(HandleKind::pipe), .address = &internet}), EAFNOSUPPORT);
    }
    const Address too_long = Address::local("/" + std::string(300, 'x'));
    EXPECT_EQ(error_of({.kind = OperationKind::bind, .handle = open(HandleKind::pipe), .address = &too_long}),
              ENAMETOOLONG);
}

TEST_P(OperationContract, AddressThatIsTakenIsRefused) {
    for (const HandleKind kind : stream_kinds) {
        const Listener first = listen(kind);
        const HandleId second = open(kind);
        int error = error_of({.kind = OperationKind::bind, .handle = second, .address = &first.at});
        if (error == 0) { error = error_of({.kind = OperationKind::listen, .handle = second, .amount = 1}); }
        EXPECT_EQ(error, EADDRINUSE);
    }
}

TEST_P(OperationContract, AcceptNeedsAListener) {  // RCT-51
    EXPECT_THROW(submit({.kind = OperationKind::accept, .handle = open(HandleKind::tcp)}), AsyncError);
    EXPECT_EQ(reactor().active_events(), 0U);
}

// ── bytes ──

TEST_P(OperationContract, CarriesBytesBothWays) {  // RCT-42, RCT-44
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        EXPECT_EQ(
            finish({.kind = OperationKind::write, .handle = pair.client, .data = bytes_of("question")}).transferred, 8);
        EXPECT_EQ(read_exactly(pair.server, 8), "question");
        EXPECT_EQ(finish({.kind = OperationKind::write, .handle = pair.server, .data = bytes_of("answer")}).transferred,
                  6);
        EXPECT_EQ(read_exactly(pair.client, 6), "answer");
    }
}

TEST_P(OperationContract, ReadWaitsForTheFirstByteAndGivesWhatIsThere) {  // RCT-42
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string buffer(100, '-');
        Ask& reader = read(pair.server, buffer);
        settle();
        EXPECT_FALSE(reader.is_done());
        EXPECT_EQ(reactor().active_events(), 1U);
        const Ask& writer = write(pair.client, "abc");
        run_until_done(reader);
        run_until_done(writer);  // it may go in several parts
        ASSERT_GT(reader.end().transferred, 0);
        EXPECT_LE(reader.end().transferred, 3);
        EXPECT_EQ(buffer.substr(0, 1), "a");
        EXPECT_EQ(buffer[static_cast<std::size_t>(reader.end().transferred)], '-')
            << "nothing behind what was transferred";
        EXPECT_EQ(reactor().active_events(), 0U);
    }
}

TEST_P(OperationContract, OneByteAtATimeArrivesInOrder) {  // RCT-63
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string sent;
        for (int number = 0; number < 500; ++number) {
            sent += static_cast<char>('a' + number % 26);
            write(pair.client, std::string_view(sent).substr(sent.size() - 1));
            if (number % 50 == 0) { settle(); }
        }
        std::string got;
        while (got.size() < sent.size()) { got += read_exactly(pair.server, 1); }
        EXPECT_EQ(got, sent);
    }
}

TEST_P(OperationContract, SeveralBuffersAreReadAndWrittenOneAfterTheOther) {  // readv, writev
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::vector<std::string> texts;
        std::vector<std::span<const std::byte>> pieces;
        std::string whole;
        for (int number = 0; number < 40; ++number) {  // more than one system call takes
            texts.push_back(std::string(static_cast<std::size_t>(number % 5), static_cast<char>('a' + number % 26)));
            whole += texts.back();
        }
        for (const std::string& text : texts) { pieces.push_back(bytes_of(text)); }
        EXPECT_EQ(finish({.kind = OperationKind::write, .handle = pair.client, .pieces = pieces}).transferred,
                  static_cast<std::int64_t>(whole.size()));

        std::string got;
        while (got.size() < whole.size()) {
            std::string first(3, '\0');
            std::string second(5, '\0');
            const std::span<std::byte> buffers[] = {room_of(first), room_of(second)};
            const Completion end = finish({.kind = OperationKind::read, .handle = pair.server, .buffers = buffers});
            ASSERT_EQ(end.error, 0);
            ASSERT_GT(end.transferred, 0);
            got += (first + second).substr(0, static_cast<std::size_t>(end.transferred));
        }
        EXPECT_EQ(got, whole);
    }
}

TEST_P(OperationContract, ReadWithoutABufferWaitsUntilReadable) {  // RCT-48
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        Ask& waiter = submit({.kind = OperationKind::read, .handle = pair.server});
        settle();
        EXPECT_FALSE(waiter.is_done());
        write(pair.client, "x");
        run_until_done(waiter);
        EXPECT_EQ(waiter.end().transferred, 0);
        EXPECT_FALSE(waiter.end().end_of_stream);
        EXPECT_EQ(finish({.kind = OperationKind::read, .handle = pair.server}).error, 0) << "it still is";
        EXPECT_EQ(read_exactly(pair.server, 1), "x");
    }
}

TEST_P(OperationContract, LargeWriteEndsWholeAndWaitsForItsReader) {  // RCT-44
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string sent(8 * 1024 * 1024, '\0');
        for (std::size_t at = 0; at < sent.size(); ++at) { sent[at] = static_cast<char>(at * 31 + at / 4099); }
        Ask& writer = write(pair.client, sent);
        settle();
        EXPECT_FALSE(writer.is_done()) << "nobody reads, and no buffer takes that much";
        EXPECT_EQ(read_exactly(pair.server, sent.size()), sent);
        run_until_done(writer);
        EXPECT_EQ(writer.end().transferred, static_cast<std::int64_t>(sent.size()));
    }
}

TEST_P(OperationContract, ManyWritersOnOneHandleAreWholeAndInOrder) {  // RCT-44, RCT-63
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::vector<std::string> texts;
        std::string whole;
        std::vector<std::size_t> order;
        std::vector<Ask*> writers;
        for (std::size_t number = 0; number < 30; ++number) {
            texts.push_back(std::string(number % 3 == 0 ? 300'000 : 7, static_cast<char>('A' + number)));
            whole += texts.back();
        }
        for (std::size_t number = 0; number < texts.size(); ++number) {
            Ask& writer = write(pair.client, texts[number]);
            if (writer.is_done()) { order.push_back(number); }
            writer.then = [&order, number] { order.push_back(number); };
            writers.push_back(&writer);
        }
        EXPECT_EQ(read_exactly(pair.server, whole.size()), whole);
        for (Ask* const writer : writers) {
            run_until_done(*writer);
            EXPECT_EQ(writer->end().error, 0);
        }
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
        EXPECT_EQ(order.size(), texts.size());
    }
}

TEST_P(OperationContract, AnswersAtOnceOnlySoOftenBetweenTwoTicks) {
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::size_t at_once = 0;
        for (int number = 0; number < 1000; ++number) { at_once += write(pair.client, "x").at_once ? 1 : 0; }
        EXPECT_LT(at_once, 1000U) << "a writer that never waits would keep everybody else waiting";
        EXPECT_EQ(read_exactly(pair.server, 1000), std::string(1000, 'x'));
        at_once = 0;
        write(pair.client, std::string(1000, 'y'));
        settle();
        std::string byte(1, '\0');
        for (int number = 0; number < 1000; ++number) {
            Ask& reader = read(pair.server, byte);
            at_once += reader.at_once ? 1 : 0;
            if (!reader.is_done()) { run_until_done(reader); }
        }
        EXPECT_LT(at_once, 1000U);
    }
}

// ── ends ──

TEST_P(OperationContract, EndIsReadAgainAndAgainAndTheOtherWayGoesOn) {  // RCT-42, half close
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        write(pair.client, "last");
        EXPECT_EQ(error_of({.kind = OperationKind::shutdown, .handle = pair.client}), 0);
        EXPECT_EQ(read_exactly(pair.server, 100), "last");
        std::string buffer(10, '\0');
        for (int round = 0; round < 3; ++round) {
            const Completion end =
                finish({.kind = OperationKind::read, .handle = pair.server, .buffer = room_of(buffer)});
            EXPECT_EQ(end.error, 0);
            EXPECT_EQ(end.transferred, 0);
            EXPECT_TRUE(end.end_of_stream);
        }
        write(pair.server, "still there");
        EXPECT_EQ(read_exactly(pair.client, 11), "still there");
        EXPECT_NE(error_of({.kind = OperationKind::write, .handle = pair.client, .data = bytes_of("more")}), 0);
    }
}

TEST_P(OperationContract, ShutdownComesAfterTheWritesBeforeIt) {
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        const std::string large(3 * 1024 * 1024, 'z');
        Ask& writer = write(pair.client, large);
        Ask& shutdown = submit({.kind = OperationKind::shutdown, .handle = pair.client});
        EXPECT_EQ(read_exactly(pair.server, large.size() + 1).size(), large.size()) << "all of it, and then the end";
        run_until_done(shutdown);
        EXPECT_TRUE(writer.is_done());
        EXPECT_EQ(writer.end().error, 0);
        EXPECT_EQ(shutdown.end().error, 0);
    }
}

TEST_P(OperationContract, EndWaitsForTheReaderThatComesLater) {
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string buffer(4, '\0');
        Ask& before = read(pair.server, buffer);
        write(pair.client, "abcd");
        run_until_done(before);
        const auto first = static_cast<std::size_t>(before.end().transferred);
        EXPECT_EQ(read_exactly(pair.server, 4 - first), std::string("abcd").substr(first));
        reactor().close_handle(pair.client);
        settle();
        settle();
        std::string after(4, '\0');
        const Completion end = finish({.kind = OperationKind::read, .handle = pair.server, .buffer = room_of(after)});
        EXPECT_EQ(end.error, 0);
        EXPECT_TRUE(end.end_of_stream);
    }
}

TEST_P(OperationContract, WriterOfAPeerThatIsGoneGetsAnError) {
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        write(pair.client, "never read");
        settle();
        reactor().close_handle(pair.server);
        const std::string block(1024 * 1024, 'w');
        int error = 0;
        for (int round = 0; round < 100 && error == 0; ++round) {
            error = error_of({.kind = OperationKind::write, .handle = pair.client, .data = bytes_of(block)});
        }
        EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
    }
}

TEST_P(OperationContract, WriterThatWaitsHearsOfAReset) {  // a parked writer when the peer goes
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        const std::string block(16 * 1024 * 1024, 'w');
        Ask& writer = write(pair.client, block);
        settle();
        EXPECT_FALSE(writer.is_done());
        reactor().close_handle(pair.server);
        run_until_done(writer);
        EXPECT_TRUE(writer.end().error == EPIPE || writer.end().error == ECONNRESET) << writer.end().error;
        EXPECT_EQ(writer.end().transferred, -1);
    }
}

// ── misuse ──

TEST_P(OperationContract, SecondReadIsRefused) {  // RCT-42
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string one(1, '\0');
        std::string two(1, '\0');
        Ask& reader = read(pair.server, one);
        EXPECT_THROW(read(pair.server, two), AsyncError);
        EXPECT_EQ(reactor().active_events(), 1U);
        write(pair.client, "x");
        run_until_done(reader);
        EXPECT_EQ(one, "x");
    }
}

TEST_P(OperationContract, ClosedHandleRefusesOperations) {  // RCT-47
    const Pair pair = connect(HandleKind::tcp);
    reactor().close_handle(pair.client);
    reactor().close_handle(pair.client);
    std::string buffer(1, '\0');
    EXPECT_THROW(read(pair.client, buffer), AsyncError);
    EXPECT_THROW(write(pair.client, "x"), AsyncError);
    EXPECT_THROW(static_cast<void>(reactor().inspect(pair.client)), AsyncError);
    EXPECT_EQ(reactor().descriptor(pair.client), -1);
    EXPECT_EQ(reactor().active_events(), 0U);
}

TEST_P(OperationContract, HandleRefusesWhatItsKindDoesNotHave) {  // RCT-51
    const Pair pair = connect(HandleKind::tcp);
    for (const OperationKind kind :
         {OperationKind::udp_send, OperationKind::udp_receive, OperationKind::seek, OperationKind::flush}) {
        EXPECT_THROW(submit({.kind = kind, .handle = pair.client}), AsyncError) << to_string(kind);
    }
    EXPECT_THROW(submit({.kind = OperationKind::read}), AsyncError) << "no handle";
    EXPECT_THROW(reactor().open_handle({.kind = HandleKind::none}), AsyncError);
}

TEST_P(OperationContract, HandleThatIsNotConnectedDoesNotRead) {
    std::string buffer(1, '\0');
    for (const HandleKind kind : stream_kinds) {
        const HandleId handle = open(kind);
        EXPECT_NE(error_of({.kind = OperationKind::read, .handle = handle, .buffer = room_of(buffer)}), 0);
        EXPECT_NE(error_of({.kind = OperationKind::write, .handle = handle, .data = bytes_of("x")}), 0);
        EXPECT_NE(error_of({.kind = OperationKind::shutdown, .handle = handle}), 0);
    }
}

// ── closing and cancelling what is in flight ──

TEST_P(OperationContract, CloseEndsWhatIsInFlightInALaterTick) {  // RCT-47
    for (const HandleKind kind : stream_kinds) {
        const Listener listener = listen(kind);
        Ask& acceptor = submit({.kind = OperationKind::accept, .handle = listener.handle});
        const Pair pair = connect(kind);
        std::string buffer(1, '\0');
        const std::string large(16 * 1024 * 1024, 'l');
        Ask& reader = read(pair.client, buffer);
        Ask& first = write(pair.client, large);
        Ask& second = write(pair.client, large);
        Ask& shutdown = submit({.kind = OperationKind::shutdown, .handle = pair.client});
        settle();
        reactor().close_handle(pair.client);
        reactor().close_handle(listener.handle);
        for (const Ask* ask : {&acceptor, &reader, &first, &second, &shutdown}) { EXPECT_FALSE(ask->is_done()); }
        for (const Ask* ask : {&acceptor, &reader, &first, &second, &shutdown}) {
            run_until_done(*ask);
            EXPECT_EQ(ask->end().error, ECANCELED);
        }
        EXPECT_EQ(reactor().active_events(), 0U);
    }
}

TEST_P(OperationContract, BlockingTickDoesNotWaitForMoreThanTheAnswersThatAreDue) {  // RCT-5
    const Pair pair = connect(HandleKind::tcp);
    const Pair other = connect(HandleKind::tcp);
    std::string buffer(1, '\0');
    std::string never(1, '\0');
    Ask& waits = read(other.client, never);
    Ask& closing = read(pair.client, buffer);
    settle();
    reactor().close_handle(pair.client);
    for (int round = 0; round < 1000 && !closing.is_done(); ++round) { tick(TickMode::may_block); }
    EXPECT_TRUE(closing.is_done());
    EXPECT_FALSE(waits.is_done());
    close(waits);
}

TEST_P(OperationContract, ConnectOfAClosedHandleEndsOnce) {  // RCT-49
    for (const HandleKind kind : stream_kinds) {
        const Listener listener = listen(kind);
        const HandleId client = open(kind);
        Ask& connecting = submit({.kind = OperationKind::connect, .handle = client, .address = &listener.at});
        const bool was_done = connecting.is_done();
        reactor().close_handle(client);
        run_until_done(connecting);
        if (!was_done) { EXPECT_EQ(connecting.end().error, ECANCELED); }
        settle();
        EXPECT_EQ(connecting.got.size(), 1U);
    }
}

TEST_P(OperationContract, CallbackMayCloseItsOwnHandle) {  // RCT-10
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string buffer(1, '\0');
        Ask& reader = read(pair.server, buffer);
        const std::string large(16 * 1024 * 1024, 'l');
        Ask& writer = write(pair.server, large);
        reader.then = [&] { reactor().close_handle(pair.server); };
        write(pair.client, "x");
        run_until_done(reader);
        run_until_done(writer);
        EXPECT_EQ(writer.end().error, ECANCELED);
    }
}

TEST_P(OperationContract, ClosedReadLosesNothingAndTouchesNothing) {  // RCT-11, RCT-45
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        auto buffer = std::make_unique<std::string>(8, '-');
        Ask& reader = read(pair.server, *buffer);
        settle();
        close(reader);
        EXPECT_EQ(reactor().active_events(), 0U);
        buffer.reset();
        write(pair.client, "kept");
        settle();
        settle();
        EXPECT_EQ(read_exactly(pair.server, 4), "kept");
        EXPECT_TRUE(reader.got.empty());
    }
}

TEST_P(OperationContract, ClosedWriteDoesNotReadItsMemoryAnyMore) {  // RCT-45
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        auto large = std::make_unique<std::string>(16 * 1024 * 1024, 'x');
        const std::size_t size = large->size();
        Ask& writer = submit({.kind = OperationKind::write, .handle = pair.client, .data = bytes_of(*large)});
        ASSERT_FALSE(writer.is_done());
        settle();
        close(writer);
        std::fill(large->begin(), large->end(), '!');
        large.reset();
        submit({.kind = OperationKind::shutdown, .handle = pair.client});
        const std::string got = read_exactly(pair.server, size);
        EXPECT_LT(got.size(), size) << "what nobody waits for is not written to its end";
        EXPECT_EQ(got.find_first_not_of('x'), std::string::npos);
        EXPECT_TRUE(writer.got.empty());
    }
}

TEST_P(OperationContract, ClosedAcceptLeavesTheConnectionToTheNext) {  // RCT-45
    for (const HandleKind kind : stream_kinds) {
        const Listener listener = listen(kind);
        Ask& first = submit({.kind = OperationKind::accept, .handle = listener.handle});
        settle();
        close(first);
        const HandleId client = open(kind);
        EXPECT_EQ(error_of({.kind = OperationKind::connect, .handle = client, .address = &listener.at}), 0);
        settle();
        const Completion accepted = finish({.kind = OperationKind::accept, .handle = listener.handle});
        EXPECT_EQ(accepted.error, 0);
        keep(accepted.handle);
    }
}

TEST_P(OperationContract, CancelledReadSaysSoOnce) {  // CP-REQCANCEL
    for (const HandleKind kind : stream_kinds) {
        const Pair pair = connect(kind);
        std::string buffer(1, '\0');
        Ask& reader = read(pair.server, buffer);
        settle();
        EXPECT_TRUE(reactor().cancel(reader.id));
        EXPECT_FALSE(reader.is_done()) << "never inside the call";
        run_until_done(reader);
        EXPECT_TRUE(reader.end().cancelled);
        EXPECT_FALSE(reactor().cancel(reader.id));
        write(pair.client, "x");
        EXPECT_EQ(read_exactly(pair.server, 1), "x");
    }
}

}  // namespace heddle::contract
