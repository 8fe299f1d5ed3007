// SPDX-License-Identifier: Apache-2.0
// PollTable: one poll per descriptor, the union of its started proxies watched, each report to those it concerns (RCT-33 to 36).
#include "heddle/core/seam/poll_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {
namespace {

constexpr int descriptor = 7;
constexpr SourceId poll{1};
constexpr SourceId reader{2};
constexpr SourceId writer{3};

using Reports = std::vector<std::pair<std::uint64_t, PollMask>>;

class PollTableTest : public testing::Test {
protected:
    void SetUp() override {
        table.add_poll(poll, descriptor, false, LabelBook::of("fd"));
        table.add_proxy(reader, poll, readable, {});
        table.add_proxy(writer, poll, writable, {});
    }

    Reports report(PollMask bits, std::int32_t error = 0) {
        Reports reports;
        table.report(poll, bits, error, [&](SourceId id, const PollTable::Proxy&, PollMask mask) {
            reports.emplace_back(id.value, mask);
        });
        return reports;
    }

    PollTable table;
};

TEST_F(PollTableTest, DescriptorHasOnePoll) {
    EXPECT_EQ(table.poll_of(descriptor), poll);
    EXPECT_EQ(table.poll_of(descriptor + 1), SourceId{});
}

TEST_F(PollTableTest, WatchesTheUnionOfStartedProxies) {
    EXPECT_EQ(table.watched(poll), 0U);
    table.start_proxy(reader);
    EXPECT_EQ(table.watched(poll), readable);
    table.start_proxy(writer);
    EXPECT_EQ(table.watched(poll), readable | writable);
    table.stop_proxy(reader);
    EXPECT_EQ(table.watched(poll), writable);
}

TEST_F(PollTableTest, StartingAndStoppingTwiceChangesNothing) {
    EXPECT_TRUE(table.start_proxy(reader));
    EXPECT_FALSE(table.start_proxy(reader));
    EXPECT_EQ(report(readable), (Reports{{reader.value, readable}}));
    EXPECT_TRUE(table.stop_proxy(reader));
    EXPECT_FALSE(table.stop_proxy(reader));
    EXPECT_EQ(table.watched(poll), 0U);
}

TEST_F(PollTableTest, ReportGoesToEachProxyWithItsOwnBits) {
    table.start_proxy(writer);
    table.start_proxy(reader);
    EXPECT_EQ(report(readable | writable), (Reports{{writer.value, writable}, {reader.value, readable}}));
    EXPECT_EQ(report(writable), (Reports{{writer.value, writable}}));
    EXPECT_EQ(report(priority), Reports{});
}

TEST_F(PollTableTest, TerminalReportReachesEveryStartedProxyWhole) {
    table.start_proxy(reader);
    table.start_proxy(writer);
    EXPECT_EQ(report(disconnect), (Reports{{reader.value, disconnect}, {writer.value, disconnect}}));
    EXPECT_EQ(report(readable, 104), (Reports{{reader.value, readable}, {writer.value, readable}}));
    table.stop_proxy(writer);
    EXPECT_EQ(report(0, 104), (Reports{{reader.value, 0U}}));
}

TEST_F(PollTableTest, ProxyStoppedByAnEarlierOneOfTheReportGetsNothing) {
    table.start_proxy(reader);
    table.start_proxy(writer);
    Reports reports;
    table.report(poll, disconnect, 0, [&](SourceId id, const PollTable::Proxy&, PollMask mask) {
        reports.emplace_back(id.value, mask);
        table.stop_proxy(writer);
    });
    EXPECT_EQ(reports, (Reports{{reader.value, disconnect}}));
}

TEST_F(PollTableTest, ProxyStartedDuringAReportWaitsForTheNextOne) {
    table.start_proxy(reader);
    Reports reports;
    table.report(poll, disconnect, 0, [&](SourceId id, const PollTable::Proxy&, PollMask mask) {
        reports.emplace_back(id.value, mask);
        table.start_proxy(writer);
    });
    EXPECT_EQ(reports, (Reports{{reader.value, disconnect}}));
    EXPECT_EQ(report(writable), (Reports{{writer.value, writable}}));
}

TEST_F(PollTableTest, ReportSurvivesThatItsPollIsClosedMeanwhile) {
    table.start_proxy(reader);
    table.start_proxy(writer);
    Reports reports;
    table.report(poll, disconnect, 0, [&](SourceId id, const PollTable::Proxy&, PollMask mask) {
        reports.emplace_back(id.value, mask);
        PollTable::Poll closing;
        for (const SourceId proxy : {reader, writer}) {
            table.stop_proxy(proxy);
            table.drop_reference(table.remove_proxy(proxy), closing);
        }
        table.drop_reference(poll, closing);
    });
    EXPECT_EQ(reports, (Reports{{reader.value, disconnect}}));
    EXPECT_EQ(table.find_poll(poll), nullptr);
}

TEST_F(PollTableTest, PollLivesAsLongAsAnOpenOrAProxyRefersToIt) {
    PollTable::Poll closing;
    table.add_reference(poll, true);
    EXPECT_FALSE(table.drop_reference(poll, closing));
    EXPECT_FALSE(table.drop_reference(table.remove_proxy(reader), closing));
    EXPECT_FALSE(table.drop_reference(table.remove_proxy(writer), closing));
    EXPECT_EQ(table.poll_of(descriptor), poll);
    EXPECT_TRUE(table.drop_reference(poll, closing));
    EXPECT_EQ(closing.fd, descriptor);
    EXPECT_TRUE(closing.close_fd) << "one opener asked for it";
    EXPECT_EQ(table.poll_of(descriptor), SourceId{});
}

TEST_F(PollTableTest, UnknownIdsChangeNothing) {
    PollTable::Poll closing;
    const SourceId unknown{99};
    EXPECT_FALSE(table.start_proxy(unknown));
    EXPECT_FALSE(table.stop_proxy(unknown));
    EXPECT_EQ(table.remove_proxy(unknown), SourceId{});
    EXPECT_FALSE(table.drop_reference(unknown, closing));
    EXPECT_EQ(table.watched(unknown), 0U);
}

using PollTableDeathTest = PollTableTest;

TEST_F(PollTableDeathTest, SecondPollForADescriptorIsOurBug) {
    EXPECT_DEATH(table.add_poll(SourceId{9}, descriptor, false, {}), "INV-RCT-07");
}

TEST_F(PollTableDeathTest, StartedProxyIsNotRemoved) {
    table.start_proxy(reader);
    EXPECT_DEATH(table.remove_proxy(reader), "a proxy is stopped before it goes");
}

}  // namespace
}  // namespace heddle
