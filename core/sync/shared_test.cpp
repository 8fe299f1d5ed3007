// SPDX-License-Identifier: Apache-2.0
// Shared and touch: what an Observer hears, and that nobody else notices.
#include "heddle/core/sync/shared.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/seam/testing/manual_reactor.hpp"

namespace heddle {
namespace {

/// The touches of cells that belong to user data: those of the runtime's own objects have other fields.
class Touches final : public Observer {
public:
    void on_event(const Event&) override {}
    void on_touch(Cell cell, TouchMode mode) override { all.push_back({cell, mode}); }
    [[nodiscard]] std::string modes_of(Cell cell) const {
        std::string text;
        for (const Touch& at : all) {
            if (at.cell == cell) { text += (text.empty() ? "" : " ") + std::string(to_string(at.mode)); }
        }
        return text;
    }
    std::vector<Touch> all;
};

TEST(Shared, EveryAccessIsOneTouchOfItsCell) {
    testing::ManualReactor reactor;
    Touches touches;
    RuntimeOptions options;
    options.observer = &touches;
    Runtime runtime(reactor, options);
    runtime.run([] {
        Shared<int> balance(3, "balance");
        const int before = balance;
        balance = before + 1;
        balance += 2;
        balance -= 1;
        EXPECT_EQ(balance.update([](int& value) { return value *= 2; }), 10);
        EXPECT_EQ(balance.get(), 10);
    });
    EXPECT_EQ(touches.modes_of(cell(LabelBook::of("main/balance"), "value")), "R W W W W R");
}

TEST(Shared, ObjectsOfOneNameHaveCellsOfTheirOwn) {
    testing::ManualReactor reactor;
    Touches touches;
    RuntimeOptions options;
    options.observer = &touches;
    Runtime runtime(reactor, options);
    runtime.run([] {
        Shared<int> one;
        Shared<int> two;
        one = 1;
        two = one.get();
    });
    EXPECT_EQ(touches.modes_of(cell(LabelBook::of("main/shared"), "value")), "W R");
    EXPECT_EQ(touches.modes_of(cell(LabelBook::of("main/shared#2"), "value")), "W");
}

TEST(Shared, ATouchNamesDataThatIsKeptElsewhere) {
    testing::ManualReactor reactor;
    Touches touches;
    RuntimeOptions options;
    options.observer = &touches;
    Runtime runtime(reactor, options);
    runtime.run([] {
        touch("journal", TouchMode::add);
        touch("journal", TouchMode::read);
    });
    EXPECT_EQ(touches.modes_of(cell(Label{hash_text("journal")}, "user")), "C-add R");
}

TEST(Shared, IsAPlainValueWhereNobodyWatches) {
    Shared<std::string> outside("a", "outside");  // no runtime at all
    outside += "b";
    touch("nowhere", TouchMode::write);
    EXPECT_EQ(outside.get(), "ab");
    testing::ManualReactor reactor;
    Runtime runtime(reactor);
    runtime.run([] {
        Shared<int> inside(1);
        inside += 1;
        touch("nowhere", TouchMode::write);
        EXPECT_EQ(inside.get(), 2);
    });
}

}  // namespace
}  // namespace heddle
