// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/lease_book.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

LeaseBook::LeaseBook(const std::vector<Lease>& roots) {
    for (const Lease& root : roots) { book_.parts[book_.next++].input.lease = root; }
}

std::optional<std::uint64_t> LeaseBook::take() {
    for (const auto& [part, entry] : book_.parts) {
        if (entry.waiting || taken_.contains(part)) { continue; }
        taken_[part] = {entry.input.races.size(), entry.input.news.size()};
        return part;
    }
    return std::nullopt;
}

std::size_t LeaseBook::ready() const {
    std::size_t count = 0;
    for (const auto& [part, entry] : book_.parts) { count += !entry.waiting && !taken_.contains(part) ? 1U : 0U; }
    return count;
}

/// To the nearest owner of the node; a node that nobody owns is done with.
void LeaseBook::send(std::uint64_t from, const UpwardRace& race) {
    for (std::uint64_t at = book_.parts.at(from).owner; at != 0; at = book_.parts.at(at).owner) {
        Entry& entry = book_.parts.at(at);
        if (entry.input.lease.depth > race.node) { continue; }
        if (std::ranges::find(entry.input.races, race) == entry.input.races.end()) {
            entry.input.races.push_back(race);
        }
        return;
    }
}

void LeaseBook::give_back(std::uint64_t part, SliceResult result) {
    HEDDLE_ASSERT(taken_.contains(part) && result.state != SliceResult::State::restart, "LB1");
    Entry& entry = book_.parts.at(part);
    // Races and news that came while it ran stay for the next slice; what it got with this one is in its lease by now.
    SliceInput& input = entry.input;
    const Taken had = taken_[part];
    input.races.erase(input.races.begin(), input.races.begin() + static_cast<std::ptrdiff_t>(had.races));
    input.news.erase(input.news.begin(), input.news.begin() + static_cast<std::ptrdiff_t>(had.news));
    taken_.erase(part);
    input.lease = std::move(result.lease);
    for (Lease& lease : result.given) {
        Entry& child = book_.parts[book_.next++];
        child.input.lease = std::move(lease);
        child.owner = part;
    }
    for (const UpwardRace& race : result.upward) { send(part, race); }
    if (result.state == SliceResult::State::done) {
        close(part, result.news);
        return;
    }
    if (result.news && entry.owner != 0) {
        Entry& owner = book_.parts.at(entry.owner);
        owner.input.news.push_back(*result.news);
    }
    // What it waits for may have come meanwhile.
    const bool came = std::ranges::any_of(input.news, [](const LentNews& news) { return news.done; });
    entry.waiting = result.state == SliceResult::State::waiting && !came;
}

void LeaseBook::close(std::uint64_t part, const std::optional<LentNews>& news) {
    const std::uint64_t above = book_.parts.at(part).owner;
    if (above != 0) {
        Entry& owner = book_.parts.at(above);
        if (news) { owner.input.news.push_back(*news); }
        owner.waiting = false;
    }
    book_.parts.erase(part);
}

}  // namespace heddle::sim
