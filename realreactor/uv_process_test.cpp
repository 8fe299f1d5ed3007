// SPDX-License-Identifier: Apache-2.0
// The libuv backend's signals and child processes, and those that are none of its business.
#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/testing/uv_rig.hpp"

namespace heddle::real {
namespace {

using contract::Probe;
using testing::Pipe;
using testing::UvReactorTest;
using testing::ended_child;
using testing::is_caught;

// ── signals and processes ──

TEST_F(UvReactorTest, SignalHandlerIsThereWhileSomebodyListens) {  // RCT-52
    Probe probe;
    EXPECT_FALSE(is_caught(SIGUSR1));
    const SourceId one = reactor.open_signal(SIGUSR1, {.owner = &probe});
    const SourceId two = reactor.open_signal(SIGUSR1, {.owner = &probe});
    EXPECT_FALSE(is_caught(SIGUSR1));
    start(one);
    start(two);
    EXPECT_TRUE(is_caught(SIGUSR1));
    reactor.stop(one);
    EXPECT_TRUE(is_caught(SIGUSR1));
    reactor.close(two);
    EXPECT_FALSE(is_caught(SIGUSR1));
    start(one);
    EXPECT_TRUE(is_caught(SIGUSR1));
}

TEST_F(UvReactorTest, RefusesSignalsThatCannotBeCaught) {  // RCT-51
    Probe probe;
    const SourceId id = reactor.open_signal(SIGKILL, {.owner = &probe});
    EXPECT_THROW(reactor.start(id), AsyncError);
    EXPECT_EQ(reactor.active_events(), 0U);
    reactor.stop(id);
    reactor.close(id);
    EXPECT_EQ(reactor.active_events(), 0U);
}

TEST_F(UvReactorTest, ListensForChildrenOnlyWhileOneIsWatched) {  // RCT-53
    Probe probe;
    EXPECT_FALSE(is_caught(SIGCHLD));
    start(reactor.open_process(ended_child(4), {.owner = &probe}));
    ASSERT_EQ(probe.count(), 1U);
    EXPECT_EQ(probe.seen[0].value, 4);
    EXPECT_FALSE(is_caught(SIGCHLD));
    const SourceId self = start(reactor.open_process(::getpid(), {.owner = &probe}));
    EXPECT_EQ(probe.count(), 2U) << "not a child of ours";
    EXPECT_EQ(probe.seen[1].value, -1);
    EXPECT_EQ(probe.seen[1].source, self);
    EXPECT_FALSE(is_caught(SIGCHLD));
}

TEST_F(UvReactorTest, LeavesTheProgramsOtherChildrenAlone) {  // RCT-53
    Probe probe;
    Probe chld;
    const Pipe input;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read, 0);
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char script[] = "read line; exit 9";
    char* const arguments[] = {shell, option, script, nullptr};
    pid_t watched = 0;
    ASSERT_EQ(::posix_spawn(&watched, shell, &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    start(reactor.open_process(watched, {.owner = &probe}));
    start(reactor.open_signal(SIGCHLD, {.owner = &chld, .hidden = true}));

    const pid_t other = ended_child(8);
    run_until_count(chld, 1);  // the program may listen to the same signal
    EXPECT_EQ(probe.count(), 0U);
    int status = 0;
    EXPECT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(WEXITSTATUS(status), 8);

    ASSERT_EQ(::write(input.write, "\n", 1), 1);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, 9);
}

}  // namespace
}  // namespace heddle::real
