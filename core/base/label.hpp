// SPDX-License-Identifier: Apache-2.0
// Labels: stable names of coroutines, objects, suspension points and choices, and the LabelBook that makes them.
//
//   main ──spawn("worker")──▶ main/worker ──spawn("worker")──▶ main/worker/worker
//     └────spawn("worker")──▶ main/worker#2
//
// LB1  A label depends on names and on counts per (parent, name) alone: never on an address, a global counter or a line,
//      so that a new coroutine or suspension point disturbs only its own kind.
// LB2  Everything below passes labels as 64-bit hashes; the text is kept here and asked for by those who write for people.
// LB3  A book belongs to one run and is reset with it. Look-ups are by hash only; nothing iterates in hash order.
// Choice points: none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// 64-bit hash of a label's text. 0 is "no label".
struct Label {
    std::uint64_t value = 0;
    [[nodiscard]] constexpr explicit operator bool() const { return value != 0; }
    friend constexpr auto operator<=>(Label, Label) = default;
};

/// FNV-1a over the bytes, then mixed with `seed`; the same on every machine.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
    for (const char c : text) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL; }
    return hash;
}

/// Mixes two words into one; a fixed bijection per first argument (splitmix64's finaliser).
[[nodiscard]] constexpr std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// A hash table of words that is emptied in O(1): slots of an earlier generation count as empty. Look-up only; nothing walks it.
class GenerationMap {
public:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = 0;
        std::uint32_t generation = 0;
    };

    /// The slot of `key`; a fresh one has value `initial` and `fresh` is set.
    Slot& at(std::uint64_t key, std::uint32_t initial, bool& fresh);
    [[nodiscard]] const Slot* find(std::uint64_t key) const;
    void clear();

private:
    [[nodiscard]] std::size_t place(std::uint64_t key) const;
    void grow();

    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t used_ = 0;
    std::uint32_t generation_ = 1;
};

class LabelBook {
public:
    /// A label without a parent ("main", "loop", a node's name).
    Label root(std::string_view name);

    /// The next label of `name` below `parent`: "parent/name", then "parent/name#2", …
    Label child(Label parent, std::string_view name);

    /// A point of `at` ("at:kind", "at:kind#2", …; with an object "at:kind(object)"): suspension points, choices.
    Label point(Label at, std::string_view kind, Label object = {});

    /// The label that `text` would have, whether or not this run made it. Requires: names without parentheses.
    [[nodiscard]] static Label of(std::string_view text) { return Label{nonzero(hash_text(text))}; }

    /// "?" followed by the hash if this run made no such label.
    [[nodiscard]] std::string text(Label label) const;
    [[nodiscard]] bool knows(Label label) const { return index_.find(label.value) != nullptr; }

    /// Texts of all roots and children, in the order in which the run made them: points are none. Cost: O(labels × length).
    [[nodiscard]] std::vector<std::string> objects() const;

    /// Forgets the run and keeps the memory.
    void reset();

private:
    struct Entry {
        Label parent;
        std::string_view kind_or_name;  // stable: interned
        Label object;
        std::uint32_t ordinal;
        char separator;
    };

    [[nodiscard]] static constexpr std::uint64_t nonzero(std::uint64_t hash) { return hash == 0 ? 1 : hash; }
    [[nodiscard]] std::string_view interned(std::string_view name);
    [[nodiscard]] std::string spell(const Entry& entry) const;
    Label make(Label parent, char separator, std::string_view name, Label object);

    GenerationMap index_;   // label → entry
    GenerationMap counts_;  // (parent, separator, name, object) → how many so far
    std::vector<Entry> entries_;
    GenerationMap name_index_;       // hash of a text → names_; never cleared
    std::deque<std::string> names_;  // interned; addresses stay
};

}  // namespace heddle
