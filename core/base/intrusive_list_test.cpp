// SPDX-License-Identifier: Apache-2.0
// IntrusiveList keeps insertion order, and catches elements that would be in two places or freed while linked (L1, L2).
#include "heddle/core/base/intrusive_list.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace heddle {
namespace {

struct Waiting;
struct Member;

struct Item : ListHook<Waiting>, ListHook<Member> {
    explicit Item(int number_) : number(number_) {}
    int number;
};
using WaitingList = IntrusiveList<Item, Waiting>;
using MemberList = IntrusiveList<Item, Member>;

std::vector<int> forwards(const WaitingList& list) {
    std::vector<int> numbers;
    for (const Item* at = list.front(); at != nullptr; at = list.next(*at)) { numbers.push_back(at->number); }
    return numbers;
}

std::vector<int> backwards(const WaitingList& list) {
    std::vector<int> numbers;
    for (const Item* at = list.back(); at != nullptr; at = list.previous(*at)) { numbers.push_back(at->number); }
    return numbers;
}

TEST(IntrusiveList, KeepsInsertionOrderBothWays) {
    Item a{1};
    Item b{2};
    Item c{3};
    Item d{4};
    WaitingList list;
    list.push_back(b);
    list.push_back(d);
    list.push_front(a);
    list.insert_after(b, c);
    EXPECT_EQ(forwards(list), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(backwards(list), (std::vector<int>{4, 3, 2, 1}));
    EXPECT_EQ(list.size(), 4U);
    while (list.pop_front() != nullptr) {}
    EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, AbandoningVisitsNoElement) {
    // The elements' memory goes away as a whole, without destructors, as that of a frozen world does.
    alignas(Item) std::byte memory[2 * sizeof(Item)];
    WaitingList list;
    list.push_back(*::new (static_cast<void*>(memory)) Item{1});
    list.push_back(*::new (static_cast<void*>(memory + sizeof(Item))) Item{2});
    std::memset(memory, 0xcd, sizeof memory);
    list.abandon();
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.size(), 0U);
}

TEST(IntrusiveList, RemovesFromAnywhere) {
    Item a{1};
    Item b{2};
    Item c{3};
    WaitingList list;
    for (Item* item : {&a, &b, &c}) { list.push_back(*item); }
    list.remove(b);
    EXPECT_EQ(forwards(list), (std::vector<int>{1, 3}));
    list.remove(c);
    list.push_back(b);
    EXPECT_EQ(forwards(list), (std::vector<int>{1, 2}));
    EXPECT_EQ(list.pop_front(), &a);
    EXPECT_EQ(list.pop_front(), &b);
    EXPECT_EQ(list.pop_front(), nullptr);
    EXPECT_EQ(list.size(), 0U);
}

TEST(IntrusiveList, ElementMayBeInSeveralListsThroughDifferentHooks) {
    Item a{1};
    WaitingList waiting;
    MemberList members;
    waiting.push_back(a);
    members.push_back(a);
    waiting.remove(a);
    EXPECT_EQ(members.front(), &a);
    EXPECT_EQ(members.next(a), nullptr);
    members.remove(a);
}

TEST(IntrusiveListDeathTest, LinkedElementIsNotInsertedAgain) {
    EXPECT_DEATH(
        {
            Item a{1};
            WaitingList list;
            list.push_back(a);
            list.push_back(a);
        },
        "L1");
}

TEST(IntrusiveListDeathTest, UnlinkedElementIsNotRemoved) {
    EXPECT_DEATH(
        {
            Item a{1};
            WaitingList list;
            list.remove(a);
        },
        "L1");
}

TEST(IntrusiveListDeathTest, ElementIsNotDestroyedWhileLinked) {
    EXPECT_DEATH(
        {
            WaitingList list;
            auto a = std::make_unique<Item>(1);
            list.push_back(*a);
            a.reset();
        },
        "L2");
}

TEST(IntrusiveListDeathTest, ListIsNotDestroyedWithElements) {
    EXPECT_DEATH(
        {
            Item a{1};
            WaitingList list;
            list.push_back(a);
        },
        "L2");
}

}  // namespace
}  // namespace heddle
