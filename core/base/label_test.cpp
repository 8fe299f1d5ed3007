// SPDX-License-Identifier: Apache-2.0
// Labels depend on names and counts alone, so that a new coroutine or suspension point disturbs only its own kind (LB1 to LB3).
#include "heddle/core/base/label.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace heddle {
namespace {

TEST(LabelBook, CountsPerParentAndName) {
    LabelBook book;
    const Label main = book.root("main");
    const Label first = book.child(main, "worker");
    const Label reader = book.child(main, "reader");
    const Label second = book.child(main, "worker");
    const Label nested = book.child(first, "worker");
    EXPECT_EQ(book.text(main), "main");
    EXPECT_EQ(book.text(first), "main/worker");
    EXPECT_EQ(book.text(second), "main/worker#2");
    EXPECT_EQ(book.text(reader), "main/reader");
    EXPECT_EQ(book.text(nested), "main/worker/worker");
}

TEST(LabelBook, NewKindDisturbsNoOther) {
    LabelBook before;
    const Label main_before = before.root("main");
    const Label worker_before = before.child(main_before, "worker");
    const Label await_before = before.point(worker_before, "await");

    LabelBook after;
    const Label main_after = after.root("main");
    after.child(main_after, "logger");
    const Label worker_after = after.child(main_after, "worker");
    after.point(worker_after, "sleep");
    EXPECT_EQ(after.point(worker_after, "await"), await_before);
}

TEST(LabelBook, PointsAreCountedPerCoroutineKindAndObject) {
    LabelBook book;
    const Label main = book.root("main");
    const Label pool = book.child(main, "pool");
    const Label channel = book.child(main, "channel");
    EXPECT_EQ(book.text(book.point(main, "await")), "main:await");
    EXPECT_EQ(book.text(book.point(main, "await")), "main:await#2");
    EXPECT_EQ(book.text(book.point(main, "await", pool)), "main:await(main/pool)");
    EXPECT_EQ(book.text(book.point(main, "await", channel)), "main:await(main/channel)");
    EXPECT_EQ(book.text(book.point(main, "await", pool)), "main:await(main/pool)#2");
}

TEST(LabelBook, EveryLabelIsTheOneOfItsText) {
    LabelBook book;
    const Label main = book.root("main");
    const Label worker = book.child(main, "worker");
    const Label again = book.child(main, "worker");
    const Label pool = book.child(again, "pool");
    const Label wait = book.point(worker, "await", book.point(main, "timer", pool));
    for (const Label label :
         {main, worker, again, pool, book.point(worker, "sleep"), book.point(worker, "sleep"), wait,
          book.point(worker, "await", pool), book.point(worker, "await", pool), book.child(wait, "x")}) {
        EXPECT_EQ(LabelBook::of(book.text(label)), label) << book.text(label);
    }
}

TEST(LabelBook, DistinctPointsHaveDistinctLabels) {
    LabelBook book;
    std::set<Label> labels;
    std::size_t made = 0;
    const Label main = book.root("main");
    for (const char* name : {"a", "b", "c"}) {
        for (int i = 0; i < 20; ++i) {
            const Label child = book.child(main, name);
            labels.insert(child);
            labels.insert(book.point(child, "await"));
            labels.insert(book.point(child, "await", main));
            made += 3;
        }
    }
    EXPECT_EQ(labels.size(), made);
}

TEST(LabelBook, SameProgramGivesTheSameLabelsAfterReset) {
    LabelBook book;
    const auto run = [&book] {
        const Label main = book.root("main");
        book.child(main, "worker");
        return book.point(book.child(main, "worker"), "await");
    };
    const Label first = run();
    book.reset();
    EXPECT_FALSE(book.knows(first));
    EXPECT_EQ(run(), first);
    EXPECT_EQ(book.text(first), "main/worker#2:await");
}

TEST(LabelBook, TextOutlivesTheStringThatNamedIt) {
    LabelBook book;
    Label label;
    {
        const std::string name = "a name that is too long for a small string";
        label = book.root(name);
    }
    EXPECT_EQ(book.text(label), "a name that is too long for a small string");
}

TEST(LabelBook, TellsItsObjectsInTheOrderInWhichTheyWereMade) {
    LabelBook book;
    const Label main = book.root("main");
    const Label worker = book.child(main, "worker");
    static_cast<void>(book.point(worker, "sleep"));
    static_cast<void>(book.child(main, "worker"));
    EXPECT_EQ(book.objects(), (std::vector<std::string>{"main", "main/worker", "main/worker#2"}));
    book.reset();
    EXPECT_EQ(book.objects(), std::vector<std::string>{});
}

TEST(LabelBook, UnknownLabelIsShownAsItsHash) {
    const LabelBook book;
    EXPECT_EQ(book.text(Label{0x1f}), "?000000000000001f");
}

TEST(Hash, IsTheSameOnEveryMachine) {
    EXPECT_EQ(hash_text(""), 0xcbf29ce484222325ULL);
    EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cULL);
    EXPECT_EQ(hash_text("foobar"), 0x85944171f73967e8ULL);
    EXPECT_NE(hash_mix(1, 2), hash_mix(2, 1));
}

}  // namespace
}  // namespace heddle
