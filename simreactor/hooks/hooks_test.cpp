// SPDX-License-Identifier: Apache-2.0
// Plain variables, seen through the hooks: what a reduced search then finds, how it counts, and what it says its answer rests on. The same
// programs with declared variables are the oracle, and so is the search without reduction.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"
#include "heddle/simreactor/explore/lease_json.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/simreactor/hooks/testing/programs.hpp"
#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {
namespace {

using programs::Body;

ExploreOptions with(Reduction reduction) {
    ExploreOptions options;
    options.order = trace::Order::any;
    options.reduction = reduction;
    return options;
}

Report search(Body body, bool judged, const ExploreOptions& options) {
    return explore([body, judged] { body(judged); }, options);
}

class Silent final : public Observer {
    void on_event(const Event& event) override { static_cast<void>(event); }
};

constexpr Reduction reductions[] = {Reduction::none, Reduction::source, Reduction::optimal};

TEST(Hooks, AreInTheProgram) { EXPECT_TRUE(has_memory_hooks()); }

TEST(Hooks, PlainVariablesCountAsDeclaredOnes) {
    for (const auto& [name, plain] : programs::plain) {
        const Body declared = programs::declared.at(name);
        for (const Reduction reduction : reductions) {
            ExploreOptions options = with(reduction);
            const Report seen = search(plain, false, options);
            options.sharing_declared = true;
            const Report said = search(declared, false, options);
            EXPECT_TRUE(seen.complete && said.complete) << name;
            EXPECT_EQ(seen.traces, said.traces) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.redundant, said.redundant) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.rests_on, "instrumented");
            EXPECT_EQ(said.rests_on, "declared");
            std::printf("%-18s %-8s %4llu traces, %llu redundant, %llu runs\n", name.c_str(), std::string(to_string(reduction)).c_str(),
                        static_cast<unsigned long long>(seen.traces), static_cast<unsigned long long>(seen.redundant),
                        static_cast<unsigned long long>(seen.runs));
        }
    }
}

TEST(Hooks, BugsInPlainVariablesAreFoundAndWithoutThemAreMissed) {
    for (const auto& [name, plain] : programs::plain) {
        if (name == "neighbours" || name == "runtime_objects") { continue; }  // they have none
        for (const Reduction reduction : reductions) {
            ExploreOptions options = with(reduction);
            const Report seen = search(plain, true, options);
            ASSERT_TRUE(seen.violation) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.violation->invariant, "CHECK") << name;
            if (reduction == Reduction::none) { continue; }  // which misses nothing, whatever it rests on
            options.sharing_declared = true;
            const Report said = search(plain, true, options);
            EXPECT_FALSE(said.violation) << name << ", " << to_string(reduction);
            EXPECT_TRUE(said.complete) << name;
        }
    }
}

TEST(Hooks, TheAuditOfDeclaredSharingNamesTheMemory) {
    const std::map<std::string, std::string> names{{"lost_update", "main.stack["},
                                                   {"heap_object", "main.heap[1+"},
                                                   {"global_variable", ".global["},
                                                   {"captures", "main/parent.captures["}};
    for (const auto& [name, memory] : names) {
        ExploreOptions options = with(Reduction::source);
        options.sharing_declared = true;
        options.audit_sharing = 1;
        const Report report = search(programs::plain.at(name), false, options);
        ASSERT_TRUE(report.violation) << name;
        EXPECT_EQ(report.violation->invariant, SharingAudit::invariant);
        EXPECT_NE(report.violation->message.find(memory), std::string::npos) << report.violation->message;
        std::printf("%s: %s\n", name.c_str(), report.violation->message.c_str());
    }
}

TEST(Hooks, TheAuditPassesWhatIsDeclared) {
    for (const auto& [name, declared] : programs::declared) {
        ExploreOptions options = with(Reduction::source);
        options.sharing_declared = true;
        options.audit_sharing = 1;
        const Report report = search(declared, false, options);
        EXPECT_FALSE(report.violation) << name;
        EXPECT_EQ(report.audited, report.traces) << name;
    }
}

TEST(Hooks, GlobalsAreNamedByTheirSymbol) {
    ExploreOptions options = with(Reduction::source);
    options.sharing_declared = true;
    options.audit_sharing = 1;
    const Report report = search(programs::plain.at("global_variable"), false, options);
    ASSERT_TRUE(report.violation);
    EXPECT_NE(report.violation->message.find("programs::hits]"), std::string::npos) << report.violation->message;
}

/// All touches of a program's memory in one search, by name, and all that the search says.
std::string what_it_sees(const std::string& name) {
    SharedMemory memory;
    ExploreOptions options = with(Reduction::source);
    options.memory = &memory;
    const Report report = search(programs::plain.at(name), false, options);
    std::string text = name + ": " + std::to_string(report.traces) + " traces, " + std::to_string(report.runs) + " runs";
    for (const SharedMemory::Entry& entry : memory.entries()) {
        text += " " + std::to_string(entry.key) + "/" + std::to_string(entry.granule.shared) + "/" + std::to_string(entry.granule.cuts);
    }
    return text + "\n";
}

TEST(Hooks, AnotherProcessWithAnotherAddressLayoutSeesTheSame) {
    std::string all;
    for (const auto& [name, body] : programs::plain) { all += what_it_sees(name); }
    if (std::getenv("HEDDLE_HOOKS_PRINT") != nullptr) {
        std::printf("%s", all.c_str());
        return;
    }
    const std::string again = "HEDDLE_HOOKS_PRINT=1 MALLOC_PERTURB_=90 '" + std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --gtest_filter=Hooks.AnotherProcess*";
    FILE* pipe = ::popen(again.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string printed;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) { printed += static_cast<char>(c); }
    EXPECT_EQ(::pclose(pipe), 0);
    EXPECT_NE(printed.find(all), std::string::npos) << all << "\nis not in\n" << printed;
}

struct Reached {
    std::uint64_t traces = 0;
    std::set<std::uint64_t> states{};
    friend bool operator==(const Reached&, const Reached&) = default;
};

/// Of a search of its own, so that the states at the ends of its runs can be asked for.
Reached reached(const Program& program, Reduction reduction, bool watched) {
    SharedMemory memory;
    ReducedSearch search({.reduction = reduction, .count_traces = true, .memory = watched ? &memory : nullptr});
    WorldOptions options;
    options.order = trace::Order::any;
    options.chooser = &search;
    options.observers = {&search};
    if (watched) { options.memory = &memory; }
    World world(options);
    Reached all;
    while (search.next()) {
        world.run(program);
        search.finish(true);
        all.states.insert(world.state_digest());
    }
    all.traces = search.traces();
    return all;
}

TEST(Hooks, GeneratedProgramsReachWhatBruteForceReachesAndCountAsDeclaredOnes) {
    std::uint64_t most = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Program plain = [seed] { programs::generated_plain(seed); };
        const Program declared = [seed] { programs::generated_declared(seed); };
        const Reached brute = reached(plain, Reduction::none, true);
        EXPECT_EQ(brute, reached(plain, Reduction::source, true)) << "seed " << seed;
        EXPECT_EQ(brute, reached(plain, Reduction::optimal, true)) << "seed " << seed;
        EXPECT_EQ(brute, reached(declared, Reduction::none, false)) << "seed " << seed;
        most = std::max(most, brute.traces);
    }
    EXPECT_GT(most, 10U);
}

/// A search in parts of at most five schedules, each explored by somebody who knows nothing but its lease, which went through a file.
std::unordered_set<std::uint64_t> traces_in_parts(Body body, Reduction reduction) {
    LeaseBook book({Lease{}});
    std::unordered_set<std::uint64_t> traces;
    std::uint64_t restarts = 0;
    while (!book.is_done()) {
        const std::optional<std::uint64_t> part = book.take();
        if (!part) { break; }
        const SliceInput input = book.input(*part);
        Result<Lease> lease = lease_from_json(to_json(input.lease), "lease");
        SharedMemory memory;
        memory.load(lease->memory);
        ReducedSearch search({.reduction = reduction, .count_traces = true, .memory = &memory});
        search.load(*lease);
        for (const UpwardRace& race : input.races) { search.apply(race); }
        for (const LentNews& news : input.news) { search.apply(news); }
        WorldOptions options;
        options.order = trace::Order::any;
        options.chooser = &search;
        options.observers = {&search};
        options.memory = &memory;
        World world(options);
        SliceResult result;
        for (int runs = 0; runs < 5 && !search.wants_restart() && search.next(); ++runs) {
            world.run([body] { body(false); });
            search.finish(true);
            if (!search.wants_restart() && !search.was_redundant()) { traces.insert(search.trace_digest()); }
        }
        if (search.wants_restart()) {
            EXPECT_LT(++restarts, 20U) << "it finds the same again and again";
            Lease root;
            root.memory = search.save().memory;
            book = LeaseBook({root});
            traces.clear();
            continue;
        }
        if (!search.is_exhausted() && !search.is_waiting()) {
            if (std::optional<Lease> given = search.split(); given) { result.given.push_back(*std::move(given)); }
        }
        result.state = search.is_waiting()     ? SliceResult::State::waiting
                       : search.is_exhausted() ? SliceResult::State::done
                                               : SliceResult::State::ready;
        result.upward = search.take_upward();
        result.lease = search.save();
        if (result.lease.depth > 0 && !result.lease.fresh && (search.is_exhausted() || search.is_simple())) { result.news = search.news(); }
        book.give_back(*part, std::move(result));
    }
    EXPECT_GT(restarts, 0U);
    return traces;
}

TEST(Hooks, WhatIsSharedGoesAlongWithALease) {
    for (const char* name : {"check_then_act", "captures", "text"}) {
        const Body body = programs::plain.at(name);
        for (const Reduction reduction : {Reduction::none, Reduction::source}) {
            EXPECT_EQ(traces_in_parts(body, reduction).size(), search(body, false, with(reduction)).traces) << name;
        }
    }
}

TEST(Hooks, AccessesCostAFewNanosecondsInAWatchedRunAndABranchElsewhere) {
    using Clock = std::chrono::steady_clock;  // of the measurement, outside every world
    const auto nanoseconds = [](bool watched) {
        SharedMemory memory;
        Silent observer;
        WorldOptions options;
        options.observers = {&observer};
        if (watched) { options.memory = &memory; }
        World world(options);
        world.run([] { programs::many_accesses(1000); });
        const auto begun = Clock::now();
        world.run([] { programs::many_accesses(100'000); });
        return std::chrono::duration<double, std::nano>(Clock::now() - begun).count() / (100'000.0 * 64 * 2);
    };
    const double plain = nanoseconds(false);
    const double watched = nanoseconds(true);
    std::printf("an access of private memory: %.1f ns unwatched, %.1f ns in a watched run\n", plain, watched);
    RecordProperty("nanoseconds_unwatched", std::to_string(plain));
    RecordProperty("nanoseconds_watched", std::to_string(watched));
    EXPECT_LT(plain, watched);
}

}  // namespace
}  // namespace heddle::sim
