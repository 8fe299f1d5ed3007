// SPDX-License-Identifier: Apache-2.0
// A search that is divided again and again, in any order, runs the traces of the undivided one, each once; leases
// survive a file.
#include "heddle/simreactor/explore/lease.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"
#include "heddle/simreactor/explore/lease_json.hpp"
#include "heddle/simreactor/explore/slice.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::sim {
namespace {

struct Total {
    std::uint64_t traces = 0;
    std::uint64_t redundant = 0;
    std::uint64_t leases = 0;
    std::unordered_set<std::uint64_t> digests{};  // compared, never walked
};

ReducedSearch::Options search_options(Reduction reduction) {
    ReducedSearch::Options options;
    options.reduction = reduction;
    options.count_traces = true;
    return options;
}

/// One slice of at most `runs_max` schedules, which gives away what it can at its end.
SliceResult slice(const Program& program, Reduction reduction, const SliceInput& given, std::uint64_t runs_max,
                  bool split, Total& total) {
    Result<Lease> lease = lease_from_json(to_json(given.lease), "lease");
    EXPECT_TRUE(lease) << lease.error().text();
    EXPECT_EQ(*lease, given.lease);
    ReducedSearch search(search_options(reduction));
    search.load(*lease);
    for (const UpwardRace& race : given.races) { search.apply(race); }
    for (const LentNews& news : given.news) { search.apply(news); }
    WorldOptions options;
    options.order = trace::Order::any;
    options.name_points = false;
    options.chooser = &search;
    options.observers.push_back(&search);
    World world(options);
    SliceResult result;
    for (std::uint64_t runs = 0; runs < runs_max && search.next(); ++runs) {
        const Outcome outcome = world.run(program);
        search.finish(outcome.kind != trace::OutcomeKind::violation);
        if (search.wants_restart()) { break; }
        if (!search.was_redundant() && outcome.kind != trace::OutcomeKind::violation) {
            ++total.traces;
            total.digests.insert(search.trace_digest());
        } else {
            ++total.redundant;
        }
    }
    if (split && !search.is_exhausted() && !search.is_waiting() && !search.wants_restart()) {
        if (std::optional<Lease> part = search.split(); part) {
            result.given.push_back(*std::move(part));
            ++total.leases;
        }
    }
    result.state = search.wants_restart()  ? SliceResult::State::restart
                   : search.is_waiting()   ? SliceResult::State::waiting
                   : search.is_exhausted() ? SliceResult::State::done
                                           : SliceResult::State::ready;
    result.upward = search.take_upward();
    result.lease = search.save();
    if (result.lease.depth > 0 && !result.lease.fresh && (search.is_exhausted() || search.is_simple())) {
        result.news = search.news();
    }
    Result<SliceResult> read = slice_from_json(to_json(result), "slice");
    EXPECT_TRUE(read) << read.error().text();
    return *std::move(read);
}

Total divided(const Program& program, Reduction reduction, std::uint64_t seed, std::vector<Lease> roots = {Lease{}}) {
    Total total;
    Prng prng{seed};
    LeaseBook book(roots);
    std::vector<std::pair<std::uint64_t, SliceInput>> running;  // as they were taken
    while (!book.is_done()) {
        // Parts are taken ahead and given back in any order, as workers do.
        while (running.size() < 4) {
            const std::optional<std::uint64_t> part = book.take();
            if (!part) { break; }
            running.emplace_back(*part, book.input(*part));
        }
        EXPECT_FALSE(running.empty());
        const auto at = static_cast<std::ptrdiff_t>(prng.below(running.size()));
        const auto [part, input] = running[static_cast<std::size_t>(at)];
        running.erase(running.begin() + at);
        Total before = total;
        SliceResult result = slice(program, reduction, input, 1 + prng.below(6), prng.below(3) > 0, total);
        if (result.state == SliceResult::State::restart) {
            Lease root;
            root.whole_loop = result.lease.whole_loop;
            root.orders_shown = result.lease.orders_shown;
            root.zombies_shown = result.lease.zombies_shown;
            book = LeaseBook({root});
            running.clear();
            total = {};
            continue;
        }
        if (prng.below(8) == 0) {  // a worker that was lost: what it did is done again
            total = std::move(before);
            book.put_back(part);
            continue;
        }
        book.give_back(part, std::move(result));
        Result<LeaseBook::Snapshot> read = book_from_json(to_json(book.snapshot()), "book");
        EXPECT_TRUE(read) << read.error().text();
        if (running.empty()) { book = LeaseBook(*std::move(read)); }  // a search that is resumed
    }
    return total;
}

Program readers(int n) {
    return [n] {
        const auto shared = std::make_shared<Shared<int>>(0);
        for (int i = 0; i < n; ++i) {
            spawn("t", [i, shared] {
                if (i == 0) {
                    *shared = 1;
                } else {
                    static_cast<void>(shared->get());
                }
            });
        }
    };
}

/// The n-th scans the cells of the others from the end; the others write theirs after a look at the one before.
Program lastzero(int n) {
    return [n] {
        const auto cells = std::make_shared<std::vector<std::unique_ptr<Shared<int>>>>();
        for (int i = 0; i <= n; ++i) { cells->push_back(std::make_unique<Shared<int>>(0)); }
        spawn("reader", [n, cells] {
            for (int i = n; i >= 0 && (*cells)[static_cast<std::size_t>(i)]->get() != 0; --i) { yield(); }
        });
        for (std::size_t i = 1; i <= static_cast<std::size_t>(n); ++i) {
            spawn("writer", [i, cells] {
                const int before = (*cells)[i - 1]->get();
                yield();
                *(*cells)[i] = before + 1;
            });
        }
    };
}

Program with_values() {
    return [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        for (int i = 0; i < 3; ++i) {
            spawn("t", [shared] {
                const std::uint32_t first = choose(3);
                if (first > 0) { *shared += static_cast<int>(first + (first == 1 ? choose(2, "again") : 0)); }
            });
        }
    };
}

Program with_cancellation() {
    return [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        auto victim = spawn("victim", [shared] {
            yield();
            *shared += 1;
            yield();
        });
        for (int i = 0; i < 2; ++i) {
            spawn("killer", [victim, shared]() mutable {
                static_cast<void>(shared->get());
                victim.cancel();
            });
        }
    };
}

Count whole(const Program& program, Reduction reduction) {
    CountOptions options;
    options.reduction = reduction;
    options.count_traces = true;
    return count_traces(program, options);
}

class Divided : public testing::TestWithParam<int> {
protected:
    static Program program() {
        switch (GetParam()) {
            case 0: return readers(5);
            case 1: return lastzero(4);
            case 2: return with_values();
            default: return with_cancellation();
        }
    }
};

TEST_P(Divided, ASearchHasTheTracesOfTheWholeOneEachOnce) {
    std::uint64_t leases = 0;
    for (const Reduction reduction : {Reduction::source, Reduction::none}) {
        const Count expected = whole(program(), reduction);
        ASSERT_TRUE(expected.complete);
        if (reduction == Reduction::none && expected.runs > 3000) { continue; }
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            const Total total = divided(program(), reduction, seed);
            EXPECT_EQ(total.digests.size(), expected.traces) << to_string(reduction) << ", seed " << seed;
            // Where steps choose values, one search runs some traces twice as well: values are explored with the union
            // of their footprints.
            const bool exact = reduction == Reduction::source && expected.runs - expected.redundant == expected.traces;
            if (exact) { EXPECT_EQ(total.traces, expected.traces) << "seed " << seed; }
            leases += total.leases;
        }
    }
    // Beside a step that chooses values nothing is given away: its footprint is not known yet.
    if (GetParam() < 2) { EXPECT_GT(leases, 0U); }
}

INSTANTIATE_TEST_SUITE_P(Lease, Divided, testing::Range(0, 4));

TEST(LeaseBook, SendsARaceToWhomTheNodeBelongs) {
    LeaseBook book({Lease{}});
    SliceResult result;
    Lease child;
    child.depth = 2;
    child.nodes.resize(2);
    result.given.push_back(child);
    ASSERT_EQ(book.take(), 1U);
    book.give_back(1, result);
    ASSERT_EQ(book.take(), 1U);
    ASSERT_EQ(book.take(), 2U);
    SliceResult deep;
    deep.lease = child;
    Lease grandchild;
    grandchild.depth = 4;
    grandchild.nodes.resize(4);
    deep.given.push_back(grandchild);
    book.give_back(2, deep);
    ASSERT_EQ(book.take(), 2U);
    ASSERT_EQ(book.take(), 3U);
    SliceResult back;
    back.lease = grandchild;
    back.upward = {{3, {Label{7}}}, {1, {Label{8}}}, {0, {Label{9}}}};
    book.give_back(3, back);
    EXPECT_EQ(book.input(2).races, (std::vector<UpwardRace>{{3, {Label{7}}}}));
    EXPECT_EQ(book.input(1).races, (std::vector<UpwardRace>{{1, {Label{8}}}, {0, {Label{9}}}}));
}

TEST(LeaseJson, RefusesADamagedLeaseWithItsPlace) {
    Total total;
    const SliceResult result = slice(readers(4), Reduction::source, SliceInput{}, 3, false, total);
    const std::string text = to_json(result.lease);
    ASSERT_TRUE(lease_from_json(text, "lease"));
    // Every text that is cut short is refused, and every digit that is changed is read or refused, without harm.
    for (std::size_t size = 0; size < text.size(); size += 7) {
        EXPECT_FALSE(lease_from_json(text.substr(0, size), "lease"));
    }
    const auto refusal = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        const std::size_t at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        changed.replace(at, from.size(), to);
        const Result<Lease> read = lease_from_json(changed, "lease");
        EXPECT_FALSE(read) << changed;
        return read ? "" : read.error().text();
    };
    EXPECT_NE(refusal("\"depth\":0", "\"depth\":1000").find("lease: /depth"), std::string::npos);
    EXPECT_NE(refusal("\"depth\":0", "\"depth\":-1").find("lease: /depth"), std::string::npos);
    EXPECT_NE(refusal("\"answers\":[", "\"answers\":[1000,").find("lease: /"), std::string::npos);
    EXPECT_NE(refusal("\"nodes\"", "\"notes\"").find("nodes"), std::string::npos);
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string changed = text;
        changed[at] = changed[at] == '1' ? '7' : '1';
        static_cast<void>(static_cast<bool>(lease_from_json(changed, "lease")));
    }
}

}  // namespace
}  // namespace heddle::sim
