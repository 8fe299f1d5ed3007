// SPDX-License-Identifier: Apache-2.0
// Part of the contract of operations: names, children, changes of files (RCT-53 to RCT-57).
#pragma once

#include <algorithm>
#include <csignal>

#include "heddle/core/seam/contract/operations.hpp"

namespace heddle::contract {

class OutsideContract : public OperationContract {
protected:
    /// The end of a child, as the reactor reports it.
    class End final : public SourceOwner {
    public:
        std::optional<std::int64_t> code;
        void on_delivery(const Delivery& delivery) override { code = delivery.value; }
    };
    std::int64_t end_of(std::int64_t pid) {
        End end;
        sink.in_tick = true;  // a child that has ended already is reported from the start (RCT-53)
        reactor().start(reactor().open_process(static_cast<int>(pid), {.owner = &end}));
        sink.in_tick = false;
        run_until([&] { return end.code.has_value(); });
        return end.code.value_or(-1000);
    }
    struct Child {
        int error = 0;
        std::int64_t pid = 0;
        HandleId pipes[3];
    };
    Child execute(const ChildOptions& options) {
        Ask& ask = submit({.kind = OperationKind::execute, .child = &options});
        run_until_done(ask);
        Child child{.error = ask.end().error, .pid = ask.end().transferred};
        for (int number = 0; number < 3; ++number) {
            child.pipes[number] = ask.answers.back().handles[number];
            if (child.pipes[number]) { keep(child.pipes[number]); }
        }
        return child;
    }
    bool is_changed(const Ask& ask, const std::string& name) {
        return std::any_of(ask.answers.begin(), ask.answers.end(), [&](const Answer& at) { return at.host == name; });
    }
};

// ── names ──

TEST_P(OutsideContract, NameBecomesAddresses) {  // RCT-56
    const std::string name = environment->known_name();
    Ask& ask = submit({.kind = OperationKind::resolve_name, .target = name, .service = "80"});
    run_until_done(ask);
    EXPECT_EQ(ask.end().error, 0);
    ASSERT_FALSE(ask.answers.back().addresses.empty());
    for (const Address& address : ask.answers.back().addresses) {
        EXPECT_NE(address.family, AddressFamily::none);
        EXPECT_EQ(address.port, 80);
    }
}

TEST_P(OutsideContract, AddressInTextIsItsOwnAnswer) {
    Ask& ask = submit({.kind = OperationKind::resolve_name, .target = "127.0.0.1"});
    run_until_done(ask);
    ASSERT_EQ(ask.answers.back().addresses.size(), 1U);
    EXPECT_EQ(ask.answers.back().addresses[0].text(), "127.0.0.1:0");
}

TEST_P(OutsideContract, NameThatNobodyHasIsUnknown) {
    const std::string name = environment->unknown_name();
    const Completion end = finish({.kind = OperationKind::resolve_name, .target = name});
    EXPECT_NE(end.error, 0);
    EXPECT_TRUE(end.resolver == ResolverError::unknown_name || end.resolver == ResolverError::try_again);
    for (const std::string& nonsense :
         {std::string("a\0b", 3), std::string(5000, 'n'), std::string("256.256.256.256 ")}) {
        EXPECT_NE(finish({.kind = OperationKind::resolve_name, .target = nonsense}).resolver, ResolverError::none);
    }
    EXPECT_THROW(submit({.kind = OperationKind::resolve_name}), AsyncError);
}

TEST_P(OutsideContract, AddressBecomesAName) {
    Address address = environment->here();
    address.port = 4711;
    Ask& ask = submit({.kind = OperationKind::resolve_address, .address = &address});
    run_until_done(ask);
    EXPECT_EQ(ask.end().error, 0);
    EXPECT_FALSE(ask.answers.back().host.empty());
    EXPECT_EQ(ask.answers.back().service, "4711");
}

TEST_P(OutsideContract, QuestionThatNobodyWaitsForEndsInSilence) {  // RCT-45
    const std::string name = environment->known_name();
    std::vector<Ask*> questions;
    for (int round = 0; round < 20; ++round) {
        questions.push_back(&submit({.kind = OperationKind::resolve_name, .target = name}));
        if (round % 2 == 0) { tick(TickMode::no_wait); }
    }
    std::vector<std::size_t> heard;
    for (Ask* const question : questions) {
        heard.push_back(question->got.size());
        close(*question);
    }
    run_until([&] { return reactor().active_events() == 0; });
    for (std::size_t at = 0; at < questions.size(); ++at) { EXPECT_EQ(questions[at]->got.size(), heard[at]); }
}

// ── children ──

TEST_P(OutsideContract, ChildReadsAndWritesItsPipes) {
    const Child child =
        execute({.arguments = environment->copier(), .input = ChildStream::pipe, .output = ChildStream::pipe});
    ASSERT_EQ(child.error, 0);
    ASSERT_TRUE(child.pipes[0]);
    ASSERT_TRUE(child.pipes[1]);
    EXPECT_FALSE(child.pipes[2]);
    const std::string text(200'000, 'c');  // more than a pipe holds
    Ask& writer = write(child.pipes[0], text);
    EXPECT_EQ(read_exactly(child.pipes[1], text.size()), text);
    run_until_done(writer);
    reactor().close_handle(child.pipes[0]);
    std::string rest(1, '\0');
    EXPECT_TRUE(finish({.kind = OperationKind::read, .handle = child.pipes[1], .buffer = room_of(rest)}).end_of_stream);
    EXPECT_EQ(end_of(child.pid), 0);
}

TEST_P(OutsideContract, ChildEndsWithItsCode) {  // RCT-53
    for (const int code : {0, 1, 77}) {
        const Child child = execute({.arguments = environment->ender(code)});
        ASSERT_EQ(child.error, 0);
        EXPECT_EQ(end_of(child.pid), code);
    }
}

TEST_P(OutsideContract, ChildIsEndedByASignal) {
    const Child child = execute({.arguments = environment->sleeper(), .output = ChildStream::pipe});
    ASSERT_EQ(child.error, 0);
    std::string buffer(1, '\0');
    Ask& reader = read(child.pipes[1], buffer);  // parked on a pipe of a child that is killed
    settle();
    EXPECT_FALSE(reader.is_done());
    EXPECT_EQ(error_of({.kind = OperationKind::kill, .flags = SIGKILL, .amount = child.pid}), 0);
    run_until_done(reader);
    EXPECT_TRUE(reader.end().end_of_stream);
    EXPECT_EQ(end_of(child.pid), -SIGKILL);
}

TEST_P(OutsideContract, ProgramThatDoesNotExistIsNotStarted) {
    EXPECT_EQ(
        execute({.arguments = {"/no/such/program"}, .input = ChildStream::pipe, .output = ChildStream::pipe}).error,
        ENOENT);
    EXPECT_EQ(execute({.arguments = environment->ender(0), .directory = environment->free_path()}).error, ENOENT);
    const ChildOptions nothing;
    EXPECT_THROW(submit({.kind = OperationKind::execute, .child = &nothing}), AsyncError);
}

// ── changes of files ──

TEST_P(OutsideContract, ChangeInADirectoryIsReported) {  // RCT-57
    const std::string directory = environment->new_directory();
    Ask& watch = submit({.kind = OperationKind::watch, .target = directory});
    ASSERT_FALSE(watch.is_done());
    EXPECT_EQ(reactor().active_events(), 1U);
    environment->put_file(directory + "/new", "content");
    run_until([&] { return is_changed(watch, "new"); });
    EXPECT_FALSE(watch.is_done()) << "it goes on";
    environment->put_file(directory + "/other", "content");
    run_until([&] { return is_changed(watch, "other"); });
    close(watch);
    const std::size_t heard = watch.got.size();
    environment->put_file(directory + "/unseen", "content");
    settle();
    EXPECT_EQ(watch.got.size(), heard);
    EXPECT_EQ(reactor().active_events(), 0U);
}

TEST_P(OutsideContract, ChangeDeepInATreeIsReported) {  // RCT-57: sub-directories added later, too
    const std::string top = environment->new_directory();
    environment->make_directory(top + "/before");
    Ask& watch = submit({.kind = OperationKind::watch, .amount = 1, .target = top});
    ASSERT_FALSE(watch.is_done());
    environment->put_file(top + "/before/file", "1");
    run_until([&] { return is_changed(watch, "before/file"); });
    environment->make_directory(top + "/later");
    environment->make_directory(top + "/later/below");
    environment->put_file(top + "/later/below/file", "2");
    run_until([&] { return is_changed(watch, "later/below/file"); });
    close(watch);
}

TEST_P(OutsideContract, WatchOfNothingFails) {
    const std::string missing = environment->free_path();
    EXPECT_EQ(error_of({.kind = OperationKind::watch, .target = missing}), ENOENT);
    EXPECT_EQ(error_of({.kind = OperationKind::watch, .target = ""}), ENOENT);
    EXPECT_EQ(reactor().active_events(), 0U);
}

}  // namespace heddle::contract
