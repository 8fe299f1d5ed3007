// SPDX-License-Identifier: Apache-2.0
// SourceTable: every open source of a UvReactor, in slots that are used again.
//
//   SourceId = generation ── 32 bits ── | slot ── 32 bits ──
//
// ST1  A slot's generation grows when its source is closed, so that an old id never means a newer source (R4). A slot
//      whose generations are used up is never used again.
// ST2  Opening and closing allocate nothing once the table has had this size. A reference to a source ends with the
//      next `open`.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "heddle/core/seam/reactor.hpp"

namespace heddle::real::detail {

class UvRequest;

struct UvSource {
    SourceKind kind = SourceKind::none;
    bool hidden = false;
    bool started = false;
    bool periodic = false;   // timers
    bool multishot = false;  // timers
    bool refresh = false;    // timers
    bool detached = false;   // requests: closed in flight (RCT-45)
    std::uint32_t generation = 1;
    std::uint32_t next_free = 0;
    std::int32_t number = 0;  // signal number, or pid
    SourceOwner* owner = nullptr;
    Label label;
    Duration timeout = Duration::zero();  // timers
    UvRequest* request = nullptr;         // operations; null once their answer is on its way
};

class SourceTable {
public:
    SourceId open(SourceKind kind, const SourceOptions& options) {
        std::uint32_t slot = first_free_;
        if (slot == none) {
            slot = static_cast<std::uint32_t>(slots_.size());
            slots_.emplace_back();
        } else {
            first_free_ = slots_[slot].next_free;
        }
        UvSource& source = slots_[slot];
        source.kind = kind;
        source.hidden = options.hidden;
        source.owner = options.owner;
        source.label = options.label;
        ++open_count_;
        return id_of(slot);
    }

    [[nodiscard]] UvSource* find(SourceId id) {
        const std::uint32_t slot = slot_of(id);
        if (slot >= slots_.size()) { return nullptr; }
        UvSource& source = slots_[slot];
        return source.generation == static_cast<std::uint32_t>(id.value >> 32) && source.kind != SourceKind::none
                   ? &source
                   : nullptr;
    }

    /// The source of a kind, or null.
    [[nodiscard]] UvSource* find(SourceId id, SourceKind kind) {
        UvSource* source = find(id);
        return source != nullptr && source->kind == kind ? source : nullptr;
    }

    /// Requires: the slot holds an open source.
    [[nodiscard]] UvSource& at(std::uint32_t slot) { return slots_[slot]; }
    [[nodiscard]] SourceId id_of(std::uint32_t slot) const {
        return SourceId{(std::uint64_t{slots_[slot].generation} << 32) | slot};
    }
    [[nodiscard]] static std::uint32_t slot_of(SourceId id) { return static_cast<std::uint32_t>(id.value); }

    void close(std::uint32_t slot) {
        UvSource& source = slots_[slot];
        HEDDLE_ASSERT(source.kind != SourceKind::none, "ST1");
        const std::uint32_t generation = source.generation;
        source = UvSource{};
        --open_count_;
        if (generation == generation_max) { return; }
        source.generation = generation + 1;
        source.next_free = first_free_;
        first_free_ = slot;
    }

    [[nodiscard]] std::size_t open_count() const { return open_count_; }

    /// Open sources in slot order.
    [[nodiscard]] std::vector<SourceId> all(SourceKind kind) const {
        std::vector<SourceId> found;
        for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
            if (slots_[slot].kind == kind) { found.push_back(id_of(slot)); }
        }
        return found;
    }

    /// Ids of tables leave the highest bit free, for waits that are named after their handle (UvHandle::wait_id).
    static constexpr std::uint32_t generation_max = std::numeric_limits<std::int32_t>::max();

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    std::vector<UvSource> slots_;
    std::uint32_t first_free_ = none;
    std::size_t open_count_ = 0;
};

}  // namespace heddle::real::detail
