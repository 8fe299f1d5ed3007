// SPDX-License-Identifier: Apache-2.0
// FsWatch on a simulated disk: what is kept, how it ends, and how a burst of changes becomes one (docs/spec/12-future-await.md, FSW-01 to
// FSW-03).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/io/file.hpp"
#include "heddle/core/io/fs_watch.hpp"
#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

void run(const Program& program) {
    WorldOptions options;
    World world(options);
    const Outcome outcome = world.run(program);
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.invariant << ": " << outcome.message;
}

void write(const std::string& path, int times = 1) {
    File file = File::open(path, {.flags = open_write | open_create | open_append});
    for (int i = 0; i < times; ++i) { file.write("x"); }
}

/// "a3 b1": names with the bits of their changes.
std::string drain(FsWatch& watch) {
    std::string all;
    while (watch.kept() > 0) {
        const FsChange change = watch.next();
        all += (all.empty() ? "" : " ") + change.name + std::to_string(change.bits);
    }
    return all;
}

TEST(FsWatch, KeepsOneEntryPerPathFromItsConstructionOn) {  // FSW-01, `008`
    run([] {
        FsWatch watch("/");
        write("/a", 2);
        write("/b");
        write("/a");
        sleep_for(1ms);
        EXPECT_EQ(drain(watch), "a3 b3");  // in the order of their first change, with the bits of all
        write("/a");
        sleep_for(1ms);
        EXPECT_EQ(drain(watch), "a1");  // what was taken is told of anew
    });
}

TEST(FsWatch, TellsOfEveryChangeWhereItIsAskedTo) {  // FSW-01, `003`, `004`
    run([] {
        FsWatch watch("/", {.raw = true});
        write("/a", 2);
        write("/b");
        sleep_for(1ms);
        EXPECT_EQ(drain(watch), "a2 a1 a1 b2 b1");
    });
}

TEST(FsWatch, IterationParksOnNothingAndEndsBehindAClose) {  // FSW-02, `002`
    run([] {
        FsWatch watch("/");
        std::string seen;
        auto loop = spawn("loop", [&] {
            for (const FsChange& change : watch) {
                if (!seen.ends_with(change.name)) { seen += change.name; }  // one change may be told in parts
            }
            seen += ".";
        });
        yield();
        write("/a");
        sleep_for(1ms);
        EXPECT_EQ(seen, "a");
        EXPECT_TRUE(loop.is_suspended());
        write("/b");
        while (watch.kept() == 0 && seen == "a") { yield(); }
        watch.close();
        watch.close();
        write("/c");  // not watched any more
        loop.await();
        EXPECT_EQ(seen, "ab.");
        EXPECT_TRUE(watch.is_closed());
        EXPECT_FALSE(watch.next_if_open());
        EXPECT_THROW(static_cast<void>(watch.next()), AsyncError);
    });
}

TEST(FsWatch, LetsItsBufferDrainBehindAClose) {  // FSW-02
    run([] {
        FsWatch watch("/");
        write("/a");
        write("/b");
        sleep_for(1ms);
        watch.close();
        std::string seen;
        for (const FsChange& change : watch) { seen += change.name; }
        EXPECT_EQ(seen, "ab");
    });
}

TEST(FsWatch, ACancelledScopeEndsAnIterationWithTheCancellation) {  // FSW-02, `010`
    run([] {
        FsWatch watch("/");
        Scope scope;
        std::string ended;
        auto loop = scope.spawn("loop", [&] {
            try {
                for (const FsChange& change : watch) { ended += change.name; }
                ended = "normally";
            } catch (const Cancellation& cancellation) {
                ended = cancellation.what();
                throw;
            }
        });
        yield();
        scope.cancel();
        try {
            loop.await();
        } catch (const Cancellation&) {}
        EXPECT_EQ(ended, "the scope was cancelled");
        EXPECT_FALSE(watch.is_closed());
    });
}

TEST(FsWatch, HoldsABurstUntilItIsQuietAndTellsOfItOnce) {  // FSW-03, `013`
    run([] {
        FsWatch watch("/", {.debounce = 10ms});
        const Instant begin = now();
        for (int i = 0; i < 4; ++i) {
            write("/f" + std::to_string(i));
            sleep_for(5ms);
        }
        EXPECT_EQ(watch.kept(), 0U);
        const FsChange change = watch.next();
        EXPECT_EQ(change.name, "");
        EXPECT_EQ(change.bits, std::uint32_t{change_name | change_content});
        EXPECT_EQ(now() - begin, 25ms);  // quiet for ten milliseconds behind the last one
        EXPECT_EQ(watch.kept(), 0U);
    });
}

TEST(FsWatch, HoldsABurstForSoLongAtMost) {  // FSW-03
    run([] {
        FsWatch watch("/", {.debounce = 10ms, .hold_max = 12ms});
        const Instant begin = now();
        auto busy = spawn("busy", [] {
            for (int i = 0; i < 6; ++i) {
                write("/f");
                sleep_for(5ms);
            }
        });
        static_cast<void>(watch.next());
        EXPECT_EQ(now() - begin, 12ms);
        static_cast<void>(watch.next());
        EXPECT_EQ(now() - begin, 27ms);  // the next one began at 15
        busy.await();
    });
}

TEST(FsWatch, CountsOnlyTheEndingsThatItIsAskedFor) {  // FSW-03, `014`
    run([] {
        FsWatch watch("/", {.extensions = {".cpp", ".hpp"}});
        FsWatch held("/", {.debounce = 5ms, .extensions = {".hpp"}});
        write("/a.cpp");
        write("/notes");
        write("/b.hpp");
        sleep_for(4ms);
        EXPECT_EQ(drain(watch), "a.cpp3 b.hpp3");
        write("/a.cpp");  // does not make the burst longer
        sleep_for(2ms);
        EXPECT_EQ(held.kept(), 1U);
    });
}

TEST(FsWatch, GivesAHeldBurstOutWhenItIsClosed) {  // FSW-02, FSW-03
    run([] {
        FsWatch watch("/", {.debounce = 1h});
        write("/a");
        sleep_for(1ms);
        watch.close();
        EXPECT_TRUE(watch.next_if_open());
        EXPECT_FALSE(watch.next_if_open());
        EXPECT_LT(now() - Instant{}, 1s);
    });
}

TEST(FsWatch, ItsDebounceKeepsNoProgramAlive) {  // FSW-03: the timer is hidden
    run([] {
        {
            FsWatch watch("/", {.debounce = 1h});
            write("/a");
            sleep_for(1ms);
        }
        EXPECT_THROW(FsWatch("/", {.debounce = -1ms}), ValueError);
    });
}

}  // namespace
}  // namespace heddle::sim
