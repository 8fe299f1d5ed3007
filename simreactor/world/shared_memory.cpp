// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/shared_memory.hpp"

namespace heddle::sim {

bool SharedMemory::grow(std::uint64_t key, Granule granule) {
    Granule& known = granules_[key];
    const Granule both{static_cast<std::uint8_t>(known.shared | granule.shared), static_cast<std::uint8_t>(known.cuts | granule.cuts)};
    if (both == known) { return false; }
    known = both;
    ++version_;
    return true;
}

std::vector<SharedMemory::Entry> SharedMemory::entries() const {
    std::vector<Entry> all;
    for (const auto& [key, granule] : granules_) { all.push_back({key, granule}); }
    return all;
}

void SharedMemory::load(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) { grow(entry.key, entry.granule); }
}

std::string SharedMemory::text(Cell cell) const {
    const auto at = names_.find(cell.value);
    return at == names_.end() ? std::string() : at->second;
}

}  // namespace heddle::sim
