// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/base/label.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "heddle/core/base/assert.hpp"

namespace heddle {
namespace {

/// Continues hash_text over more bytes, so that a label's hash is that of its whole text without building the text.
std::uint64_t hash_more(std::uint64_t hash, std::string_view text) {
    for (const char c : text) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL; }
    return hash;
}

}  // namespace

// ── GenerationMap ──

std::size_t GenerationMap::place(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key ^ (key >> 32)) & mask;
    while (slots_[at].generation == generation_ && slots_[at].key != key) { at = (at + 1) & mask; }
    return at;
}

GenerationMap::Slot& GenerationMap::at(std::uint64_t key, std::uint32_t initial, bool& fresh) {
    std::size_t place_of_key = place(key);
    fresh = slots_[place_of_key].generation != generation_;
    if (fresh) {
        if ((used_ + 1) * 2 > slots_.size()) {
            grow();
            place_of_key = place(key);
        }
        slots_[place_of_key] = {key, initial, generation_};
        ++used_;
    }
    return slots_[place_of_key];
}

const GenerationMap::Slot* GenerationMap::find(std::uint64_t key) const {
    const Slot& slot = slots_[place(key)];
    return slot.generation == generation_ ? &slot : nullptr;
}

void GenerationMap::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.generation == generation_) { slots_[place(slot.key)] = slot; }
    }
}

void GenerationMap::clear() {
    used_ = 0;
    if (++generation_ == 0) {  // after 2^32 runs the stamps begin again
        slots_.assign(slots_.size(), Slot{});
        generation_ = 1;
    }
}

// ── LabelBook ──

std::string_view LabelBook::interned(std::string_view name) {
    for (std::uint64_t key = hash_text(name);; key = hash_mix(key, 1)) {
        bool fresh = false;
        GenerationMap::Slot& slot = name_index_.at(key, static_cast<std::uint32_t>(names_.size()), fresh);
        if (fresh) { return names_.emplace_back(name); }
        if (names_[slot.value] == name) { return names_[slot.value]; }
    }
}

Label LabelBook::root(std::string_view name) { return make({}, '\0', name, {}); }
Label LabelBook::child(Label parent, std::string_view name) { return make(parent, '/', name, {}); }
Label LabelBook::point(Label at, std::string_view kind, Label object) { return make(at, ':', kind, object); }

Label LabelBook::make(Label parent, char separator, std::string_view name, Label object) {
    const std::uint64_t key =
        hash_mix(hash_mix(parent.value, static_cast<unsigned char>(separator)), hash_mix(hash_text(name), object.value));
    bool fresh = false;
    const std::uint32_t ordinal = ++counts_.at(key, 0, fresh).value;
    std::uint64_t hash = 0;
    if (separator == '\0') {
        hash = hash_text(name);
    } else {
        hash = hash_more(parent.value, {&separator, 1});
        hash = hash_more(hash, name);
    }
    if (object) {
        // Rare (waits for an object, while observed): its text is built so that a label's hash is always that of its text.
        hash = hash_more(hash, "(");
        hash = hash_more(hash, text(object));
        hash = hash_more(hash, ")");
    }
    if (ordinal > 1) {
        char digits[16] = {'#'};
        const char* end = std::to_chars(digits + 1, digits + sizeof digits, ordinal).ptr;
        hash = hash_more(hash, {digits, static_cast<std::size_t>(end - digits)});
    }
    hash = nonzero(hash);
    index_.at(hash, static_cast<std::uint32_t>(entries_.size()), fresh);
    if (fresh) { entries_.push_back({parent, interned(name), object, ordinal, separator}); }
    return Label{hash};
}

std::string LabelBook::text(Label label) const {
    const GenerationMap::Slot* found = index_.find(label.value);
    if (found == nullptr) {
        char unknown[24];
        std::snprintf(unknown, sizeof unknown, "?%016llx", static_cast<unsigned long long>(label.value));
        return unknown;
    }
    return spell(entries_[found->value]);
}

std::string LabelBook::spell(const Entry& entry) const {
    std::string text;
    if (entry.separator != '\0') {
        text = this->text(entry.parent);
        text += entry.separator;
    }
    text += entry.kind_or_name;
    if (entry.object) { text += "(" + this->text(entry.object) + ")"; }
    if (entry.ordinal > 1) { text += "#" + std::to_string(entry.ordinal); }
    return text;
}

std::vector<std::string> LabelBook::objects() const {
    std::vector<std::string> texts;
    for (const Entry& entry : entries_) {
        if (entry.separator != ':') { texts.push_back(spell(entry)); }
    }
    return texts;
}

void LabelBook::reset() {
    index_.clear();
    counts_.clear();
    entries_.clear();
    // Interned names stay: the next run of the same program uses the same ones.
}

}  // namespace heddle
