// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/memory_watch.hpp"

#include <cxxabi.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <typeinfo>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/simreactor/world/modules.hpp"

namespace heddle::sim {

thread_local constinit MemoryWatch* memory_watch = nullptr;

namespace {

void (*release_block)(void*) = nullptr;

/// What nobody does but the loop itself (ReducedSearch RS7).
constexpr Label the_loop_itself{hash_text("loop, at rest")};

constexpr std::string_view field_of(std::uint8_t kind) {
    constexpr std::string_view fields[] = {"heap", "captures", "stack", "host", "global", "thread", ""};
    return fields[kind];
}

/// Where the stack that this thread began with ends.
std::uintptr_t end_of_own_stack() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) { return 0; }
    void* low = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<std::uintptr_t>(low) + size;
}

bool is_derived_from(const std::type_info& type, const std::type_info& base) {
    if (type == base) { return true; }
    if (const auto* one = dynamic_cast<const abi::__si_class_type_info*>(&type)) { return is_derived_from(*one->__base_type, base); }
    const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type);
    if (several == nullptr) { return false; }
    for (unsigned i = 0; i < several->__base_count; ++i) {
        if (is_derived_from(*several->__base_info[i].__base_type, base)) { return true; }
    }
    return false;
}

/// A block that a template of the runtime's headers allocated in user code: a channel's state, a future, a derivation. It begins with a
/// pointer to the table of its class, which says so.
bool holds_runtime_object(std::uintptr_t block, std::size_t size) {
    if (size < sizeof(void*)) { return false; }
    const void* const* table = *reinterpret_cast<const void* const* const*>(block);
    if (reinterpret_cast<std::uintptr_t>(table) % sizeof(void*) != 0 || !Modules::holds(table) || !Modules::holds(table - 1)) { return false; }
    const void* type = table[-1];
    if (reinterpret_cast<std::uintptr_t>(type) % sizeof(void*) != 0 || !Modules::holds(type)) { return false; }
    // Also the type's own table: what a program keeps in its first word may lead anywhere.
    const void* const* type_table = *static_cast<const void* const* const*>(type);
    const void* known[] = {*reinterpret_cast<const void* const*>(&typeid(abi::__class_type_info)),
                           *reinterpret_cast<const void* const*>(&typeid(EventSource)),
                           *reinterpret_cast<const void* const*>(&typeid(CoroutineCore)),
                           *reinterpret_cast<const void* const*>(&typeid(RuntimeObject)),
                           *reinterpret_cast<const void* const*>(&typeid(ScopeCore))};
    bool is_type = false;
    for (const void* each : known) { is_type = is_type || each == type_table; }
    if (!is_type) { return false; }
    const auto& info = *static_cast<const std::type_info*>(type);
    for (const std::type_info* base : {&typeid(EventSource), &typeid(EventCallback), &typeid(RuntimeObject)}) {
        if (is_derived_from(info, *base)) { return true; }
    }
    return false;
}

}  // namespace

bool has_memory_hooks() noexcept { return release_block != nullptr; }
void announce_memory_hooks(void (*release)(void*)) noexcept { release_block = release; }

MemoryWatch::MemoryWatch() = default;
MemoryWatch::~MemoryWatch() { free_quarantine(); }

// ── a run ──

void MemoryWatch::begin(SharedMemory& memory, Observer& target, const void* host) {
    memory_ = &memory;
    target_ = &target;
    who_ = 0;
    step_ = epoch_ = 0;
    label_ = {};
    base_wanted_ = at_rest_ = false;
    base_region_ = host_ = nobody;
    index_.clear();
    granules_.clear();
    regions_.clear();
    by_address_.clear();
    numbers_.clear();
    allocated_.clear();
    doomed_.clear();
    main_stacks_.clear();
    for (const Modules::Segment& segment : Modules::segments()) {
        Region region;
        region.kind = Kind::global;
        region.low = segment.low;
        region.high = segment.high;
        region.base = segment.base;
        region.object = LabelBook::of(segment.module);
        add_region(region);
    }
    thread_local const Modules::Segment own = Modules::thread_variables();
    if (own.low < own.high) {
        Region variables;
        variables.kind = Kind::thread;
        variables.low = variables.base = own.low;
        variables.high = own.high;
        variables.object = LabelBook::of(own.module);
        add_region(variables);
    }
    Region above;
    above.kind = Kind::host;
    above.low = above.base = reinterpret_cast<std::uintptr_t>(host) / 16 * 16;
    thread_local const std::uintptr_t end = end_of_own_stack();  // it takes a look at the process's map
    above.high = end;
    above.object = LabelBook::of("host");
    if (above.low < above.high) { host_ = add_region(above); }
}

void MemoryWatch::end() {
    who_ = 0;
    free_quarantine();
}

void MemoryWatch::free_quarantine() {
    for (void* block : quarantine_) { release_block(block); }
    quarantine_.clear();
    quarantined_ = 0;
}

void MemoryWatch::begin_step(Label who) {
    ++step_;
    label_ = who;
    const auto [at, fresh] = numbers_.try_emplace(who.value, static_cast<std::uint16_t>(std::min<std::size_t>(numbers_.size() + 1, many)));
    who_ = at->second;
}

void MemoryWatch::on_event(const Event& event) {
    switch (event.kind) {
        case EventKind::step_begin:
            at_rest_ = false;
            if (event.a == 0) { begin_step(event.who); }
            break;
        case EventKind::started: coroutine_began(event.who); break;
        case EventKind::spawned: coroutine_spawned(event.who); break;
        case EventKind::doomed: doomed_.push_back(event.who); break;
        case EventKind::finished:  // one that was cancelled before it began is finalized in place of a first step
            if (std::erase(doomed_, event.who) > 0 && !at_rest_) { begin_step(event.who); }
            break;
        case EventKind::quiescent: at_rest_ = true; break;
        case EventKind::deadlock:
        case EventKind::unwound:
        case EventKind::woken:
            if (at_rest_) {
                at_rest_ = false;
                begin_step(the_loop_itself);
            }
            break;
        default: break;
    }
}

/// Its captures: what lies behind the runtime's part of its record.
void MemoryWatch::coroutine_spawned(Label who) {
    const Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr) { return; }
    const CoroutineCore* spawned = scheduler->registry().back();  // unless a hook of its birth made others
    while (spawned != nullptr && spawned->label() != who) { spawned = scheduler->registry().previous(*spawned); }
    if (spawned == nullptr || spawned->is_main()) { return; }
    const auto address = reinterpret_cast<std::uintptr_t>(spawned);
    Region region;
    region.kind = Kind::captures;
    region.low = address + sizeof(CoroutineCore);
    region.high = address + malloc_usable_size(const_cast<CoroutineCore*>(spawned));
    region.base = address;
    region.object = who;
    if (region.low < region.high) { add_region(region); }
}

/// A stack of its own from here on, whoever had it before.
void MemoryWatch::coroutine_began(Label who) {
    const Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->current() == nullptr || scheduler->current()->label() != who) { return; }
    const CoroutineCore& current = *scheduler->current();
    const Stack* stack = current.context() != nullptr ? &current.context()->stack : nullptr;
    for (const auto& [owner, its] : main_stacks_) {
        if (current.is_main() && owner == scheduler) { stack = &its; }
    }
    if (stack == nullptr) { return; }
    Region region;
    region.kind = Kind::stack;
    region.low = reinterpret_cast<std::uintptr_t>(stack->low);
    region.high = reinterpret_cast<std::uintptr_t>(stack->top);
    region.base = region.high;
    region.object = who;
    base_region_ = add_region(region);
    base_wanted_ = true;
}

void MemoryWatch::set_base(const void* frame) {
    base_wanted_ = false;
    const auto at = reinterpret_cast<std::uintptr_t>(frame);
    Region& region = regions_[base_region_];
    if (at >= region.low && at < region.high) { region.base = at / 16 * 16; }
}

// ── which object ──

std::uint32_t MemoryWatch::add_region(const Region& region) {
    auto at = by_address_.upper_bound(region.low);
    if (at != by_address_.begin()) { --at; }
    while (at != by_address_.end() && at->first < region.high) {
        if (regions_[at->second].high <= region.low) {
            ++at;
            continue;
        }
        forget(at->second);
        at = by_address_.erase(at);
    }
    const auto number = static_cast<std::uint32_t>(regions_.size());
    regions_.push_back(region);
    by_address_.emplace(region.low, number);
    ++epoch_;
    return number;
}

/// Its memory is somebody else's from here on.
void MemoryWatch::forget(std::uint32_t region) {
    for (std::uint32_t at = regions_[region].granules; at != nobody;) {
        Granule& granule = granules_[at];
        const std::uint32_t next = granule.next;
        const std::uint64_t where = granule.at;
        granule = {};
        granule.at = where;
        at = next;
    }
    regions_[region].granules = nobody;
}

std::uint32_t MemoryWatch::find_region(std::uintptr_t address) {
    auto at = by_address_.upper_bound(address);
    if (at == by_address_.begin()) { return nobody; }
    --at;
    return address < regions_[at->second].high ? at->second : nobody;
}

void MemoryWatch::born(void* block, std::size_t size) {
    if (who_ == 0 || block == nullptr) { return; }
    Region region;
    region.kind = Kind::heap;
    region.maker = who_;
    region.born_in = step_;
    region.low = region.base = reinterpret_cast<std::uintptr_t>(block);
    region.high = region.low + std::max<std::size_t>(size, 1);
    region.object = label_;
    region.number = ++allocated_[label_.value];
    add_region(region);
}

std::size_t MemoryWatch::size_of(const void* block) const {
    const auto at = by_address_.find(reinterpret_cast<std::uintptr_t>(block));
    if (at == by_address_.end() || regions_[at->second].kind != Kind::heap) { return 0; }
    return regions_[at->second].high - regions_[at->second].low;
}

bool MemoryWatch::died(void* block) {
    const auto at = by_address_.find(reinterpret_cast<std::uintptr_t>(block));
    if (at == by_address_.end() || regions_[at->second].kind != Kind::heap) { return false; }
    const std::uint32_t number = at->second;
    const std::size_t size = regions_[number].high - regions_[number].low;
    if (who_ != 0) {  // whoever uses it from here on comes too late: that is a write to all that anybody used
        for (std::uint32_t granule_at = regions_[number].granules; granule_at != nobody; granule_at = granules_[granule_at].next) {
            Granule& granule = granules_[granule_at];
            std::uint8_t used = 0;
            for (int i = 0; i < 8; ++i) { used = static_cast<std::uint8_t>(used | (granule.first[i] != 0 ? 1U << i : 0U)); }
            if (used != 0) { first_use(granule, used, true); }
        }
    }
    if (size > quarantine_max - std::min(quarantine_max, quarantined_)) {
        forget(number);
        by_address_.erase(at);
        return false;
    }
    quarantined_ += size;
    quarantine_.push_back(block);
    return true;
}

// ── granules ──

void MemoryWatch::range(std::uintptr_t at, std::size_t size, bool write) {
    const std::uintptr_t end = at + size;
    for (std::uintptr_t granule_at = at / 8; granule_at <= (end - 1) / 8; ++granule_at) {
        unsigned bytes = 0xff;
        if (granule_at * 8 < at) { bytes &= 0xffU << (at % 8); }
        if ((granule_at + 1) * 8 > end) { bytes &= 0xffU >> ((granule_at + 1) * 8 - end); }
        granule(granule_at, static_cast<std::uint8_t>(bytes), write);
    }
}

void MemoryWatch::granule(std::uintptr_t at, std::uint8_t bytes, bool write) {
    bool fresh = false;
    const std::uint32_t number = index_.at(at, static_cast<std::uint32_t>(granules_.size()), fresh).value;
    if (fresh) {
        granules_.emplace_back();
        granules_.back().at = at;
    }
    Granule& granule = granules_[number];
    if (granule.region == nobody) {
        if (granule.epoch == epoch_) { return; }  // MW3
        meet(granule);
        if (granule.region == nobody) { return; }
    }
    const unsigned done = write ? granule.last_written : granule.last_read | granule.last_written;
    if (granule.last == who_ && (bytes & ~done) == 0 && granule.shared == 0) { return; }
    const Region& region = regions_[granule.region];
    if (region.kind == Kind::runtime || (region.born_in == step_ && region.maker == who_)) { return; }  // MW3, MW2
    first_use(granule, bytes, write);
}

/// Who owns the memory of a granule that nobody has used, or that was nobody's.
void MemoryWatch::meet(Granule& granule) {
    const std::uint32_t region = find_region(granule.at * 8);
    // An object may begin within a granule: a capture behind the runtime's part never does, a block of the heap neither.
    if (region == nobody) {
        granule.epoch = epoch_;
        return;
    }
    granule.region = region;
    granule.next = regions_[region].granules;
    regions_[region].granules = static_cast<std::uint32_t>(&granule - granules_.data());
    const SharedMemory::Granule known = memory_->find(key_of(regions_[region], granule.at));
    granule.shared = known.shared;
    granule.cuts = known.cuts;
}

/// Something that the running coroutine has not done to these bytes yet.
void MemoryWatch::first_use(Granule& granule, std::uint8_t bytes, bool write) {
    if (granule.last != who_) {
        granule.last = who_;
        granule.last_read = granule.last_written = 0;
    }
    (write ? granule.last_written : granule.last_read) |= bytes;
    for (unsigned i = 0; i < 8; ++i) {
        if ((bytes >> i & 1U) == 0) { continue; }
        if (granule.first[i] == 0) { granule.first[i] = who_; }
        if (granule.first[i] != who_ || who_ == many) { granule.used_by_more |= static_cast<std::uint8_t>(1U << i); }
    }
    if (write) { granule.written |= bytes; }
    const unsigned begins = bytes & ~(static_cast<unsigned>(bytes) << 1);
    const unsigned ends = (static_cast<unsigned>(bytes) << 1) & ~static_cast<unsigned>(bytes);
    const auto cuts = static_cast<std::uint8_t>((granule.cuts | begins | ends) & 0xfeU);
    const auto shared = static_cast<std::uint8_t>(granule.shared | (granule.used_by_more & granule.written));
    const bool news = shared != granule.shared || (shared != 0 && cuts != granule.cuts);
    granule.cuts = cuts;
    granule.shared = shared;
    if (news) { share(granule); }
    if ((granule.shared & bytes) != 0 && regions_[granule.region].kind != Kind::runtime) { tell(granule, bytes, write); }
}

void MemoryWatch::share(Granule& granule) {
    Region& region = regions_[granule.region];
    if (region.kind == Kind::heap && holds_runtime_object(region.low, region.high - region.low)) {
        region.kind = Kind::runtime;  // MW3
        return;
    }
    memory_->grow(key_of(region, granule.at), {granule.shared, granule.cuts});
}

/// A touch for each piece that these bytes are made of, once per step.
void MemoryWatch::tell(Granule& granule, std::uint8_t bytes, bool write) {
    if (granule.told_step != step_) {
        granule.told_step = step_;
        granule.told_read = granule.told_written = 0;
    }
    const unsigned told = write ? granule.told_written : granule.told_read | granule.told_written;
    const unsigned wanted = bytes & granule.shared & ~told;
    if (wanted == 0) { return; }
    (write ? granule.told_written : granule.told_read) |= static_cast<std::uint8_t>(wanted);
    const Region region = regions_[granule.region];  // a copy: whoever hears of it may make more
    const std::uintptr_t at = granule.at * 8;
    unsigned piece = 0;
    const unsigned cuts = granule.cuts;
    bool said = false;
    for (unsigned i = 0; i < 8; ++i) {
        if (i == 0 || (cuts >> i & 1U) != 0) {
            piece = i;
            said = false;
        }
        if (said || (wanted >> i & 1U) == 0) { continue; }
        said = true;
        const Cell cell = cell_of(region, at + piece);
        if (!memory_->has_name(cell)) { memory_->name(cell, text_of(region, at + piece)); }
        target_->on_touch(cell, write ? TouchMode::write : TouchMode::read);
    }
}

// ── names ──

std::int64_t MemoryWatch::offset_of(const Region& region, std::uintptr_t address) const {
    return static_cast<std::int64_t>(address - region.base);
}

Cell MemoryWatch::cell_of(const Region& region, std::uintptr_t address) const {
    const auto offset = static_cast<std::uint64_t>(offset_of(region, address)) & 0xffffffffU;
    return heddle::cell(region.object, field_of(static_cast<std::uint8_t>(region.kind)), region.number << 32 | offset);
}

std::uint64_t MemoryWatch::key_of(const Region& region, std::uintptr_t at) const { return cell_of(region, at * 8).value; }

std::string MemoryWatch::text_of(const Region& region, std::uintptr_t address) const {
    const Scheduler* scheduler = ambient_scheduler();
    std::string object;
    if (region.kind == Kind::host) {
        object = "host";
    } else if (region.kind == Kind::thread) {
        object = Modules::thread_variables().module;
    } else if (region.kind == Kind::global) {
        for (const Modules::Segment& segment : Modules::segments()) {
            if (segment.base == region.base) { object = segment.module; }
        }
    } else if (scheduler != nullptr && scheduler->labels() != nullptr) {
        object = scheduler->labels()->text(region.object);
    }
    std::string text = object + "." + std::string(field_of(static_cast<std::uint8_t>(region.kind))) + "[";
    if (region.kind == Kind::heap) { text += std::to_string(region.number) + "+"; }
    text += std::to_string(offset_of(region, address));
    if (region.kind == Kind::global) {
        if (const std::string symbol = Modules::symbol(address); !symbol.empty()) { text += ": " + symbol; }
    }
    return text + "]";
}

}  // namespace heddle::sim
