// SPDX-License-Identifier: Apache-2.0
// What is shared undeclared is caught by another order of the same trace, and the two steps are named. No source here has hooks.
#include "heddle/simreactor/explore/sharing_audit.hpp"

#include <gtest/gtest.h>

#include <string>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/hooks/testing/programs.hpp"

namespace heddle::sim {
namespace {

using programs::Declared;
using programs::Plain;

Report audited(const Program& program, Reduction reduction = Reduction::source) {
    ExploreOptions options;
    options.order = trace::Order::any;
    options.reduction = reduction;
    options.audit_sharing = 1;
    return explore(program, options);
}

TEST(SharingAudit, CatchesWhatOnlyTheStateShows) {
    for (const programs::Body body : {&programs::lost_update<Plain>, &programs::heap_object<Plain>, &programs::text<Plain>,
                                      &programs::list<Plain>, &programs::global_variable<Plain>, &programs::captured_by_value<Plain>}) {
        const Report report = audited([body] { body(false); });
        ASSERT_TRUE(report.violation);
        EXPECT_EQ(report.violation->invariant, SharingAudit::invariant);
        EXPECT_NE(report.violation->message.find("the program shows another state"), std::string::npos) << report.violation->message;
    }
}

TEST(SharingAudit, NamesTheTwoStepsThatWereTakenToBeIndependent) {
    const Report report = audited([] { programs::heap_object<Plain>(false); });
    ASSERT_TRUE(report.violation);
    const std::string& text = report.violation->message;
    EXPECT_NE(text.find("main/mover (its step "), std::string::npos) << text;
    EXPECT_NE(text.find("main/auditor (its step 3) "), std::string::npos) << text;
    EXPECT_FALSE(report.complete);
}

TEST(SharingAudit, CatchesAnotherOutcome) {
    const Report report = audited([] { programs::lost_update<Plain>(true); });
    ASSERT_TRUE(report.violation);
    EXPECT_NE(report.violation->message.find("the run ends with CHECK"), std::string::npos) << report.violation->message;
}

TEST(SharingAudit, CatchesACourseThatDependsOnIt) {
    const Report report = audited([] {
        bool open = true;
        auto a = spawn("a", [&] { open = false; });
        auto b = spawn("b", [&] {
            yield();
            if (open) { yield(); }
        });
        a.await();
        b.await();
    });
    ASSERT_TRUE(report.violation);
    EXPECT_NE(report.violation->message.find("other steps follow"), std::string::npos) << report.violation->message;
}

TEST(SharingAudit, PassesProgramsThatDeclareWhatTheyShare) {
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        for (const auto& [name, body] : programs::declared) {
            const Report report = audited([&body] { body(false); }, reduction);
            EXPECT_FALSE(report.violation) << name << ": " << report.violation->message;
            EXPECT_TRUE(report.complete) << name;
            EXPECT_EQ(report.audited, report.traces) << name;
        }
    }
}

TEST(SharingAudit, LooksAtTheShareOfTracesThatWasAskedFor) {
    ExploreOptions options;
    options.order = trace::Order::any;
    options.reduction = Reduction::source;
    options.audit_sharing = 5;
    const Report report = explore([] { programs::check_then_act<Declared>(false); }, options);
    EXPECT_EQ(report.audited, (report.traces + 4) / 5);
}

}  // namespace
}  // namespace heddle::sim
