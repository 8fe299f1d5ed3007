// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/base/label.hpp"

#include <algorithm>
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

std::string_view LabelBook::interned(std::string_view name) {
    // Vectors of one or two strings: a name's storage must not move, so strings are looked up, never re-ordered.
    std::vector<std::string>& same_hash = names_[hash_text(name)];
    for (const std::string& known : same_hash) {
        if (known == name) { return known; }
    }
    same_hash.reserve(4);
    HEDDLE_ASSERT(same_hash.size() < same_hash.capacity(), "LB2: at most four names share a hash");
    return same_hash.emplace_back(name);
}

Label LabelBook::of(std::string_view text) {
    // A label without objects hashes as its text; an object in parentheses is mixed in as the label that it is (`make`).
    std::uint64_t hash = hash_text({});
    while (!text.empty()) {
        const std::size_t open = text.find('(');
        hash = hash_more(hash, text.substr(0, open));
        if (open == std::string_view::npos) { break; }
        std::size_t close = open + 1;
        for (int depth = 1; close < text.size(); ++close) {
            depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
            if (depth == 0) { break; }
        }
        hash = hash_mix(hash, of(text.substr(open + 1, close - open - 1)).value);
        text.remove_prefix(std::min(close + 1, text.size()));
    }
    return Label{nonzero(hash)};
}

Label LabelBook::root(std::string_view name) { return make({}, '\0', name, {}); }
Label LabelBook::child(Label parent, std::string_view name) { return make(parent, '/', name, {}); }
Label LabelBook::point(Label at, std::string_view kind, Label object) { return make(at, ':', kind, object); }

Label LabelBook::make(Label parent, char separator, std::string_view name, Label object) {
    const std::uint64_t key =
        hash_mix(hash_mix(parent.value, static_cast<unsigned char>(separator)), hash_mix(hash_text(name), object.value));
    const std::uint32_t ordinal = ++counts_[key];
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
        char digits[16];
        const int length = std::snprintf(digits, sizeof digits, "#%u", ordinal);
        hash = hash_more(hash, {digits, static_cast<std::size_t>(length)});
    }
    hash = nonzero(hash);
    const auto [at, fresh] = index_.try_emplace(hash, static_cast<std::uint32_t>(entries_.size()));
    if (fresh) { entries_.push_back({parent, interned(name), object, ordinal, separator}); }
    return Label{hash};
}

std::string LabelBook::text(Label label) const {
    const auto found = index_.find(label.value);
    if (found == index_.end()) {
        char unknown[24];
        std::snprintf(unknown, sizeof unknown, "?%016llx", static_cast<unsigned long long>(label.value));
        return unknown;
    }
    const Entry& entry = entries_[found->second];
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

void LabelBook::reset() {
    index_.clear();
    counts_.clear();
    entries_.clear();
    // Interned names stay: the next run of the same program uses the same ones.
}

}  // namespace heddle
