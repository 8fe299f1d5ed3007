// SPDX-License-Identifier: Apache-2.0
// LabelTable: one record per label, in order of first appearance. What an oracle remembers of coroutines, scopes and events.
//
//   label ──hash──▶ slot ──▶ index ──▶ record        emptied for the next run in O(1): slots of an earlier generation are empty
//
// LT1  Walked in order of first appearance, never in the order of hashes, so that two equal runs report the same thing first.
// LT2  Keeps its memory over runs: a search begins hundreds of thousands of them per second.
// Choice points: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/core/base/label.hpp"

namespace heddle::prop {

template <class T>
class LabelTable {
public:
    struct Entry {
        Label label;
        T record;
    };

    /// The record of `label`, a fresh one at first.
    T& operator[](Label label) {
        std::size_t at = place(label.value);
        if (slots_[at].generation != generation_) {
            if ((size_ + 1) * 2 > slots_.size()) {
                grow();
                at = place(label.value);
            }
            slots_[at] = {label.value, static_cast<std::uint32_t>(size_), generation_};
            if (size_ == entries_.size()) {
                entries_.push_back({label, T{}});
            } else {
                entries_[size_] = {label, T{}};
            }
            ++size_;
        }
        return entries_[slots_[at].index].record;
    }

    /// Null if the label was never seen in this run.
    [[nodiscard]] T* find(Label label) {
        const Slot& slot = slots_[place(label.value)];
        return slot.generation == generation_ ? &entries_[slot.index].record : nullptr;
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Entry& at(std::size_t index) { return entries_[index]; }

    void clear() {
        ++generation_;
        size_ = 0;
    }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t index = 0;
        std::uint32_t generation = 0;
    };

    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        std::size_t at = static_cast<std::size_t>(hash_mix(key, 0)) & (slots_.size() - 1);
        while (slots_[at].generation == generation_ && slots_[at].key != key) { at = (at + 1) & (slots_.size() - 1); }
        return at;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.generation == generation_) { slots_[place(slot.key)] = slot; }
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(32);
    std::vector<Entry> entries_;
    std::size_t size_ = 0;
    std::uint32_t generation_ = 1;
};

}  // namespace heddle::prop
