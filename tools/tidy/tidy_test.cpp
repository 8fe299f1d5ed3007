// SPDX-License-Identifier: Apache-2.0
// The repository checks itself: the include table of docs/architecture.md as data, and one test for each check. The second half
// plants faults, in memory, to show that each check can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "heddle/tools/tidy/checks.hpp"

namespace heddle::tidy {
namespace {

using Paths = std::vector<std::string_view>;

// ── who may know whom ──

const Paths base{"core/base/"};
const Paths seam{"core/base/", "core/seam/"};
const Paths run{"core/base/", "core/seam/", "core/run/"};
const Paths program{"core/base/", "core/seam/", "core/run/", "core/sync/", "core/io/"};
const Paths extension{"core/base/", "core/seam/", "core/run/", "core/sync/", "core/io/", "core/capi/"};
const Paths bridged{"core/base/", "core/seam/", "core/run/", "core/sync/", "core/io/", "core/bridge/"};
const Paths simulation{"core/base/", "core/seam/", "core/run/", "traces/", "simreactor/"};
const Paths recorded{"core/base/", "core/seam/", "traces/"};
const Paths sampled{"core/base/", "core/seam/", "traces/", "traces/testing/recorded_run.hpp",
                    "traces/testing/sample_trace.hpp"};
const Paths operating_system{"core/base/", "core/seam/", "realreactor/"};
const Paths simulated_files{"core/base/", "core/seam/", "simreactor/prng.hpp", "simreactor/net/", "simreactor/disk/"};
const Paths both_worlds{"core/", "traces/", "simreactor/", "realreactor/", "properties/"};
const Paths everything{"core/", "traces/", "simreactor/", "realreactor/", "properties/", "tools/"};

using enum Library;
const Paths test_ends{"_test.cpp"};
const Paths bench_ends{"_bench.cpp"};
const Paths json_ends{"_json.cpp", "_json_test.cpp"};
const Paths nowhere{};

// A row: files whose path begins so; what of the repository they may include; what of it not; which libraries.
// clang-format off
const IncludeTable include_table{
    .rows{
        {"core/base/",                  base, {}, {abi}},  // ErrorValue names the types of exceptions
        {"core/seam/",                  seam, {}, {}},
        {"core/seam/reactor_contract.hpp", seam, {}, {gtest, posix}},
        {"core/seam/contract/",         seam, {}, {gtest, posix, threads}},  // its groups of tests
        {"core/run/",                   run, {}, {abi, posix}},  // stacks are mapped memory; an overflow is a signal
        // The stack switch is fiber.cpp and its private half: the jump, the announcements, the handler of overflows.
        {"core/run/fiber.cpp",          run, {}, {abi, posix, boost_context, instrument}},
        {"core/run/detail/balanced_jump", run, {}, {boost_context}},
        {"core/run/detail/sanitizer.hpp", run, {}, {instrument}},
        {"core/run/detail/overflow_handler.cpp", run, {}, {posix, threads}},
        {"core/run/stack_pool.cpp",     run, {}, {posix, instrument, threads}},
        {"core/sync/",                  program, {}, {}},
        {"core/io/",                    program, {}, {}},
        {"core/capi/",                  extension, {}, {}},
        {"core/bridge/",                bridged, {}, {threads, abi}},  // the one part of core that other threads enter; a thread's forced end
        {"core/heddle.hpp",             {"core/"}, {}, {}},
        {"traces/",                     recorded, {}, {}},
        {"traces/trace_file.cpp",       recorded, {}, {posix}},  // files are written whole or not at all
        {"traces/schema/sample_traces.cpp", sampled, {}, {}},  // prints the tests' traces for an independent validator
        {"simreactor/net/",             simulated_files, {"core/seam/reactor", "core/seam/operation"}, {}},
        {"simreactor/disk/",            simulated_files, {"core/seam/reactor", "core/seam/operation"}, {}},
        {"simreactor/",                 simulation, {}, {instrument}},  // a frozen world's memory is hidden from leak checkers
        {"simreactor/world/memory_watch.cpp", simulation, {}, {abi, posix, threads}},  // which stack, which class
        {"simreactor/world/modules.cpp", simulation, {}, {abi, posix}},  // names of static variables
        {"simreactor/explore/",         simulation, {}, {posix, threads}},  // workers are processes
        {"realreactor/",                operating_system, {}, {uv, posix, threads}},
        {"properties/",                 both_worlds, {}, {rapidcheck, gtest, posix, threads}},
        {"properties/oracle/",          both_worlds, {}, {}},  // so that a simrun needs neither RapidCheck nor GoogleTest
        {"properties/scenario/",        both_worlds, {}, {}},
        {"properties/planted/",         both_worlds, {}, {}},
        {"properties/http/http_stream.cpp", both_worlds, {}, {http}},
        {"tools/",                      everything, {}, {cli11, fmt, posix, threads}},
        {"tools/simrun/libuv_run.cpp",  everything, {}, {instrument}},  // a frozen run is hidden from leak checkers
        {"tools/simrun/testing/hard_simrun.cpp", everything, {}, {posix, chance}},  // leaks what the audit has to notice
        {"examples/",                   everything, {}, {threads}},
    },
    .kinds{
        // ends of the name, parts of the path, libraries, below which folders (none: all), what of the repository
        {test_ends,  {"/testing/"},    {gtest, posix, threads}, {}, nowhere},
        {test_ends,  {"/testing/"},    {}, {"simreactor/", "realreactor/"}, bridged},
        {test_ends,  {"/testing/"},    {}, {"core/"}, {"core/seam/testing/"}},
        {bench_ends, {"tools/bench/"}, {benchmark, boost_context, boost_fiber, uv, posix, threads}, {}, program},
        {json_ends,  {},               {json}, {"traces/", "simreactor/", "properties/", "tools/"}, nowhere},
    },
};
// clang-format on

// ── the repository ──

const Tree& repository() {
    static const Tree tree = read_tree(HEDDLE_SOURCE_DIR);
    return tree;
}

TEST(Repository, IsReadWhole) {
    for (const char* path : {"README.md", "core/seam/reactor.hpp", "ci/test", ".ci/run", "docs/spec/05-reactor.md"}) {
        EXPECT_NE(find_file(repository(), path), nullptr) << path;
    }
}

TEST(Repository, IncludesOnlyWhatTheTableAllows) {
    const Findings findings = check_includes(repository(), include_table);
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, OpensEveryFileWithWhatItIsFor) {
    const Findings findings = check_openings(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, LeavesNothingForLaterAndNamesNoMachine) {
    const Findings findings = check_words(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, KeepsClocksEntropyAndHashOrderOutOfWorlds) {
    const Findings findings = check_determinism(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, CitesOnlyRulesThatTheSpecificationDefines) {
    const Findings findings = check_citations(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, NamesTestsInWords) {
    const Findings findings = check_test_names(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

TEST(Repository, ShowsInDocumentsWhatStandsInFiles) {
    const Findings findings = check_documents(repository());
    EXPECT_TRUE(findings.empty()) << to_string(findings);
}

// ── planted faults ──

/// The includes table's verdict on one include line in one file; the included file exists.
bool allows(const std::string& path, const std::string& include) {
    Tree tree{{path, "#include " + include + "\n"}};
    if (include.front() == '"' && include.starts_with("\"heddle/")) {
        tree.push_back({include.substr(8, include.size() - 9), ""});
    }
    std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
    return check_includes(tree, include_table).empty();
}

TEST(IncludeCheck, LetsALayerKnowThoseBelowIt) {
    EXPECT_TRUE(allows("core/run/waker.hpp", "\"heddle/core/seam/reactor.hpp\""));
    EXPECT_TRUE(allows("core/sync/await.cpp", "\"heddle/core/run/waker.hpp\""));
    EXPECT_TRUE(allows("simreactor/world/world.cpp", "\"heddle/traces/trace.hpp\""));
    EXPECT_TRUE(allows("realreactor/uv_loop.cpp", "\"heddle/core/seam/reactor.hpp\""));
    EXPECT_TRUE(allows("tools/simrun/main.cpp", "\"heddle/properties/scenario/all.hpp\""));
}

TEST(IncludeCheck, CatchesALayerThatKnowsOneAboveIt) {
    EXPECT_FALSE(allows("core/base/label.hpp", "\"heddle/core/seam/reactor.hpp\""));
    EXPECT_FALSE(allows("core/seam/reactor.hpp", "\"heddle/core/run/waker.hpp\""));
    EXPECT_FALSE(allows("core/run/waker.hpp", "\"heddle/core/sync/await.hpp\""));
    EXPECT_FALSE(allows("core/run/waker.hpp", "\"heddle/simreactor/prng.hpp\""));
    EXPECT_FALSE(allows("traces/trace.hpp", "\"heddle/core/run/waker.hpp\""));
    EXPECT_FALSE(allows("simreactor/world/world.cpp", "\"heddle/core/sync/await.hpp\""));
    EXPECT_FALSE(allows("properties/oracle/wake.cpp", "\"heddle/tools/simrun/simrun.hpp\""));
}

TEST(IncludeCheck, CatchesReactorsThatKnowEachOther) {
    EXPECT_FALSE(allows("simreactor/world/world.cpp", "\"heddle/realreactor/uv_reactor.hpp\""));
    EXPECT_FALSE(allows("realreactor/uv_reactor.cpp", "\"heddle/simreactor/prng.hpp\""));
    EXPECT_FALSE(allows("realreactor/uv_reactor.cpp", "\"heddle/core/run/runtime.hpp\""));
    EXPECT_TRUE(allows("realreactor/uv_reactor_test.cpp", "\"heddle/core/run/runtime.hpp\""));
}

TEST(IncludeCheck, CatchesKernelObjectsThatKnowWhoDrivesThem) {
    EXPECT_TRUE(allows("simreactor/net/link.cpp", "\"heddle/core/seam/chooser.hpp\""));
    EXPECT_FALSE(allows("simreactor/net/link.cpp", "\"heddle/core/seam/reactor.hpp\""));
    EXPECT_FALSE(allows("simreactor/disk/file.cpp", "\"heddle/core/seam/operation.hpp\""));
    EXPECT_FALSE(allows("simreactor/net/link.cpp", "\"heddle/simreactor/world/world.hpp\""));
}

TEST(IncludeCheck, EndsEachLibraryBehindItsDoor) {
    EXPECT_TRUE(allows("core/run/fiber.cpp", "<boost/context/detail/fcontext.hpp>"));
    EXPECT_FALSE(allows("core/run/scheduler.cpp", "<boost/context/fiber.hpp>"));
    EXPECT_TRUE(allows("core/run/switch_bench.cpp", "<boost/fiber/all.hpp>"));
    EXPECT_FALSE(allows("core/run/switch_test.cpp", "<boost/fiber/all.hpp>"));
    EXPECT_TRUE(allows("realreactor/uv_loop.hpp", "<uv.h>"));
    EXPECT_FALSE(allows("core/run/scheduler.cpp", "<uv.h>"));
    EXPECT_FALSE(allows("simreactor/reactor/sim_reactor.cpp", "<uv.h>"));
    EXPECT_TRUE(allows("properties/http/http_stream.cpp", "<http_parser.h>"));
    EXPECT_FALSE(allows("properties/http/http_server.cpp", "<http_parser.h>"));
    EXPECT_TRUE(allows("traces/trace_json.cpp", "<nlohmann/json.hpp>"));
    EXPECT_FALSE(allows("traces/trace_json.hpp", "<nlohmann/json.hpp>"));
    EXPECT_FALSE(allows("traces/trace.cpp", "<nlohmann/json.hpp>"));
    EXPECT_FALSE(allows("core/run/dump_json.cpp", "<nlohmann/json.hpp>"));
    EXPECT_TRUE(allows("tools/simrun/main.cpp", "<CLI/CLI.hpp>"));
    EXPECT_FALSE(allows("properties/scenario/all.cpp", "<CLI/CLI.hpp>"));
    EXPECT_FALSE(allows("properties/scenario/all.cpp", "<gtest/gtest.h>"));
    EXPECT_FALSE(allows("properties/oracle/wake.cpp", "<rapidcheck.h>"));
    EXPECT_TRUE(allows("properties/wake_property.cpp", "<rapidcheck/gtest.h>"));
}

TEST(IncludeCheck, LetsTestsSeeGoogleTestAndBenchmarksTheirFloors) {
    EXPECT_TRUE(allows("core/base/ring_test.cpp", "<gtest/gtest.h>"));
    EXPECT_FALSE(allows("core/base/ring.hpp", "<gtest/gtest.h>"));
    EXPECT_TRUE(allows("core/seam/reactor_contract.hpp", "<gtest/gtest.h>"));
    EXPECT_TRUE(allows("core/run/switch_bench.cpp", "<benchmark/benchmark.h>"));
    EXPECT_FALSE(allows("core/run/switch_test.cpp", "<benchmark/benchmark.h>"));
}

TEST(IncludeCheck, KeepsThreadsAndChanceOutOfCore) {
    EXPECT_FALSE(allows("core/run/scheduler.cpp", "<thread>"));
    EXPECT_FALSE(allows("core/sync/channel.hpp", "<mutex>"));
    EXPECT_TRUE(allows("core/bridge/request_queue.cpp", "<mutex>"));
    EXPECT_FALSE(allows("simreactor/prng.cpp", "<random>"));
    EXPECT_FALSE(allows("properties/wake_property.cpp", "<random>"));
}

TEST(IncludeCheck, KeepsDetailAndTestingWhereTheyBelong) {
    EXPECT_TRUE(allows("core/run/scheduler.cpp", "\"heddle/core/run/detail/queue.hpp\""));
    EXPECT_FALSE(allows("core/sync/await.cpp", "\"heddle/core/run/detail/queue.hpp\""));
    EXPECT_TRUE(allows("core/run/scheduler_test.cpp", "\"heddle/core/seam/testing/manual_reactor.hpp\""));
    EXPECT_FALSE(allows("core/run/scheduler.cpp", "\"heddle/core/seam/testing/manual_reactor.hpp\""));
}

TEST(IncludeCheck, KnowsUmbrellasAsTheFilesBehindThem) {
    const auto findings = [](const char* path) {
        return check_includes({{"core/heddle.hpp", ""}, {path, "#include \"heddle/heddle.hpp\"\n"}}, include_table)
            .size();
    };
    EXPECT_EQ(findings("examples/first.cpp"), 0U);
    EXPECT_EQ(findings("realreactor/uv_loop.cpp"), 1U);
}

TEST(IncludeCheck, LetsAnExampleIncludeItsNeighbours) {
    const File neighbour{"examples/own/pool.hpp", "#pragma once\n"};
    const auto count = [&](const std::string& path, const std::string& include) {
        return check_includes({neighbour, {path, "#include \"" + include + "\"\n"}}, include_table).size();
    };
    EXPECT_EQ(count("examples/own/pool_test.cpp", "pool.hpp"), 0U);
    EXPECT_EQ(count("examples/own/pool_test.cpp", "gone.hpp"), 1U);
    EXPECT_EQ(count("examples/other/pool_test.cpp", "pool.hpp"), 1U);
}

TEST(IncludeCheck, CatchesPathsThatAreNotOursOrDoNotExist) {
    EXPECT_FALSE(allows("core/run/waker.cpp", "\"waker.hpp\""));
    EXPECT_FALSE(allows("core/run/waker.cpp", "<folly/Function.h>"));
    EXPECT_FALSE(allows("legacy/waker.cpp", "<vector>"));
    EXPECT_EQ(check_includes({{"core/run/a.cpp", "#include \"heddle/core/run/gone.hpp\"\n"}}, include_table).size(),
              1U);
}

constexpr const char* license = "// SPDX-License-Identifier: Apache-2.0\n";

TEST(OpeningCheck, WantsLicenceAndPurpose) {
    const auto count = [](const std::string& path, const std::string& text) {
        return check_openings({{path, text}}).size();
    };
    const std::string good = std::string(license) + "// Waker: a bridge from an event to a coroutine.\n#pragma once\n";
    EXPECT_EQ(count("core/run/waker.hpp", good), 0U);
    EXPECT_EQ(count("core/run/waker.hpp", good.substr(good.find('\n') + 1)), 2U)
        << "no licence, and then no purpose below it";
    EXPECT_EQ(count("core/run/waker.hpp", std::string(license) + "#pragma once\n"), 1U);
    EXPECT_EQ(count("core/run/waker.hpp", std::string(license) + "// Waker: a bridge from an event.\n"), 1U)
        << "no pragma once";
    EXPECT_EQ(count("core/run/waker.cpp", std::string(license) + "#include \"heddle/core/run/waker.hpp\"\n"), 0U);
    EXPECT_EQ(count("core/run/waker_test.cpp", std::string(license) + "#include \"heddle/core/run/waker.hpp\"\n"), 1U);
    EXPECT_EQ(count("ci/test", "#!/usr/bin/env bash\nset -e\necho\necho\n"), 1U);
    EXPECT_EQ(count("ci/test", "#!/usr/bin/env bash\n# Everything that must pass.\nset -e\n"), 0U);
    EXPECT_EQ(count("core/CMakeLists.txt", "add_library(core)\n"), 1U);
}

/// Faults are written in two parts, so that this file passes its own checks.
std::string joined(const char* a, const char* b) { return std::string(a) + b; }

TEST(WordCheck, CatchesUnfinishedWorkPlacesOfOneMachineAndAbsentDocuments) {
    const auto count = [](const std::string& text) { return check_words({{"core/run/waker.cpp", text}}).size(); };
    EXPECT_EQ(count(joined("// TO", "DO: later\n")), 1U);
    EXPECT_EQ(count(joined("int x;  // FIX", "ME\n")), 1U);
    EXPECT_EQ(count(joined("// mkstemp(a.XX", "XXXX) takes a pattern, not a mark\n")), 0U);
    EXPECT_EQ(count(joined("// see /wo", "rk/main\n")), 1U);
    EXPECT_EQ(count(joined("// see ../sha", "red/spec\n")), 1U);
    EXPECT_EQ(count(joined("// DES", "IGN 2\n")), 1U);
    EXPECT_EQ(count("// a shared state at work, by design\n"), 0U);
}

TEST(DeterminismCheck, CatchesClocksEntropyAndHashOrder) {
    const auto count = [](const std::string& path, const std::string& text) {
        return check_determinism({{path, text}}).size();
    };
    EXPECT_EQ(count("core/run/a.cpp", "auto t = std::chrono::steady_clock::now();\n"), 1U);
    EXPECT_EQ(count("simreactor/a.cpp", "std::random_device device;\n"), 1U);
    EXPECT_EQ(count("realreactor/a.cpp", "auto t = std::chrono::steady_clock::now();\n"), 0U);
    EXPECT_EQ(count("core/run/a_test.cpp", "auto t = std::chrono::steady_clock::now();\n"), 0U);
    EXPECT_EQ(count("core/run/a.cpp", "// not the steady_clock, whose value differs from run to run\n"), 0U);
    EXPECT_EQ(
        count("simreactor/a.cpp", "// The budget of a search is outside every world.\nauto t = steady_clock::now();\n"),
        0U);
    EXPECT_EQ(count("core/run/a.cpp", "std::unordered_map<int, int> ids_;\nfor (auto& [k, v] : ids_) {}\n"), 1U);
    EXPECT_EQ(count("core/run/a.cpp", "std::unordered_map<int, int> ids_;\nids_.find(3);\n"), 0U);
    EXPECT_EQ(check_determinism(
                  {{"core/a.cpp", "auto i = ids_.begin();\n"}, {"core/a.hpp", "std::unordered_set<int> ids_;\n"}})
                  .size(),
              1U);
}

TEST(CitationCheck, CatchesNumbersThatNoRuleHas) {
    const auto count = [](const std::string& text) {
        return check_citations({{"core/run/a.cpp", text},
                                {"docs/spec/00-invariants.md", "| INV-WAKE-03 | S | no lost wake-up |\n"},
                                {"docs/spec/01-scheduler.md", "- **SCH-33** Hand-over.\n"}})
            .size();
    };
    EXPECT_EQ(count("HEDDLE_ASSERT(x, \"INV-WAKE-03\");  // SCH-33\n"), 0U);
    EXPECT_EQ(count(joined("// INV-WAKE", "-99\n")), 1U);
    EXPECT_EQ(count(joined("// SCH", "-9999\n")), 1U);
    EXPECT_EQ(count("// UTF-8, BUG-133, ISO-9\n"), 0U) << "not ours to judge";
}

TEST(TestNameCheck, CatchesUnderscores) {
    const auto count = [](const std::string& text) { return check_test_names({{"core/run/a_test.cpp", text}}).size(); };
    EXPECT_EQ(count("TEST(Waker, IgnoresLateWakes) {}\n"), 0U);
    EXPECT_EQ(count(joined("TEST", "(Waker, Ignores_late_wakes) {}\n")), 1U);
    EXPECT_EQ(count(joined("RC_GTEST_PROP", "(Waker_, Ignores,\n ())\n")), 1U);
    EXPECT_EQ(count(joined("TEST", "(Waker, DISABLED_Ignores) {}\n")), 1U);
}

TEST(DocumentCheck, CatchesBlocksThatDifferFromTheirFile) {
    const auto count = [](const std::string& readme) {
        return check_documents(
                   {{"README.md", readme}, {"examples/a.cpp", "// README: body\nint x;\n// README end\nint y;\n"}})
            .size();
    };
    EXPECT_EQ(count("<!-- from: examples/a.cpp body -->\n```cpp\nint x;\n```\n"), 0U);
    EXPECT_EQ(count("<!-- from: examples/a.cpp body -->\n```cpp\nint z;\n```\n"), 1U);
    EXPECT_EQ(count("<!-- from: examples/a.cpp other -->\n```cpp\nint x;\n```\n"), 1U);
    EXPECT_EQ(count("<!-- from: examples/b.cpp -->\n```cpp\nint x;\n```\n"), 1U);
    EXPECT_EQ(count("```cpp\nint x;\n```\n"), 1U) << "names no file";
    EXPECT_EQ(count("<!-- from: examples/a.cpp body -->\nWords between.\n```cpp\nint x;\n```\n"), 1U);
    EXPECT_EQ(count("```sh\nci/test\n```\n"), 0U);
}

TEST(DocumentCheck, CatchesLinksAndPathsThatLeadNowhere) {
    const auto count = [](const std::string& text) {
        return check_documents({{"README.md", ""}, {"core/run/waker.hpp", ""}, {"docs/a.md", text}}).size();
    };
    EXPECT_EQ(count("[readme](../README.md), [this](a.md#part), [out](https://example.org/x)\n"), 0U);
    EXPECT_EQ(count("[gone](b.md)\n"), 1U);
    EXPECT_EQ(count("`core/run/waker.hpp`, `core/run/waker`, `core/run/`, `core/`\n"), 0U);
    EXPECT_EQ(count("`core/run/weaver.hpp`\n"), 1U);
}

}  // namespace
}  // namespace heddle::tidy
