// SPDX-License-Identifier: Apache-2.0
// SimIo: handles and operations of a SimReactor, on a simulated kernel (RCT-40 to RCT-57).
//
//   submit ─▶ SimHandle ──▶ answered at once ──────────────────────▶ Submission::done    (a bounded number per tick and handle)
//                  └──────▶ Request ── its object is ready ─▶ a candidate of the poll batch ─▶ go_on ─▶ one delivery
//                               └── closed by its waiter: nobody hears of it, no memory of the caller is used
//
// IO1  A request's source exists from its submission to its one delivery, and counts meanwhile (RCT-15).
// IO2  A request becomes a candidate when its kernel object says that it might go on; what it then does, it does in the
//      poll phase: which of those that are ready is served next is CP-READY.
// IO3  What is answered without the world (a closed handle, an error found at submission after too many answers at
//      once) is a candidate like the others, and due at once.
// IO4  A part of a write that goes out is a delivery to nobody, named after the request: what peers see of it has a step.
// Choice points: those of the kernel's objects and of the poll phase; `late` under T2: does what is under way take the least of its
// latency, or the most?
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/seam/reactor.hpp"
#include "heddle/simreactor/net/network.hpp"
#include "heddle/simreactor/reactor/detail/slots.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim::detail {

class SimHandle;
class SimIo;

/// A place in the table of requests; none is 0.
using RequestKey = std::uint64_t;

struct Request {
    SourceId source;
    OperationKind kind = OperationKind::none;
    Label label;
    SimHandle* handle = nullptr;  // null once it is answered
    bool queued = false;          // it is in the reactor's ready list
    bool is_answered = false;
    bool is_cancelled = false;
    Completion completion{};
    std::unique_ptr<Answer> answer{};
    std::vector<std::span<std::byte>> buffers{};         // read, receive
    std::vector<std::span<const std::byte>> pieces{};    // write: what is left
    std::size_t total = 0;
    std::size_t done = 0;
    std::uint32_t task = 0;  // a worker's, or waiting for one: its place + 1
    UniqueFunction<void()> dropped{};  // runs if it goes before a worker has done anything for it
};

class SimHandle : public KernelWatcher {
public:
    SimHandle(SimIo& io, HandleKind handle_kind, int fd) : kind(handle_kind), io_(io), descriptor_(fd) {}
    SimHandle(const SimHandle&) = delete;
    SimHandle& operator=(const SimHandle&) = delete;
    virtual ~SimHandle() = default;

    virtual Submission submit(const Operation& operation, const SourceOptions& options) = 0;
    /// Whether the request might go on now. Looks, and changes nothing.
    [[nodiscard]] virtual bool is_ready(RequestKey request) const = 0;
    /// Does what can be done of it now: ends it, or a part of it.
    virtual void go_on(RequestKey request) = 0;
    /// Its waiter is gone, or has its answer. @returns false if it cannot be stopped any more
    virtual bool forget(RequestKey request) = 0;
    /// Reactor::try_read, Reactor::try_write: of streams alone.
    virtual std::int64_t try_read(std::span<std::byte> buffer);
    virtual std::int64_t try_write(std::span<const std::byte> data);
    [[nodiscard]] virtual HandleInfo info() const = 0;
    /// Everything in flight ends with ECANCELED; the object is closed.
    virtual void close() = 0;

    [[nodiscard]] int descriptor() const { return descriptor_; }

    const HandleKind kind;
    HandleId id{};

protected:
    /// At once while there are turns left, else in a tick (RCT-73).
    Submission answer(const Completion& completion, const SourceOptions& options, OperationKind operation);
    [[nodiscard]] bool take_turn();
    [[nodiscard]] bool has_turn() const;
    [[noreturn]] void refuse(const Operation& operation) const;

    SimIo& io_;
    int descriptor_;

private:
    static constexpr std::uint32_t turns_max = 32;  // as on libuv (G12)
    std::uint64_t turns_tick_ = 0;
    std::uint32_t turns_ = 0;
};

class SimIo final : public KernelHost {
public:
    /// @param machine  null: one of its own, in a network of its own
    SimIo(SimReactor& reactor, Machine* machine);
    ~SimIo();

    [[nodiscard]] Machine& machine() { return *machine_; }
    [[nodiscard]] Network& network() { return machine_->network(); }
    [[nodiscard]] std::uint64_t tick() const { return tick_; }
    void begin_tick() { ++tick_; }

    // ── what SimReactor passes on ──

    HandleId open_handle(const HandleOptions& options);
    void close_handle(HandleId handle);
    [[nodiscard]] SimHandle* find(HandleId handle);
    Submission submit(const Operation& operation, const SourceOptions& options);
    void close_request(SourceId source);
    bool cancel_request(SourceId source);
    void close_all();
    /// What was under way to this machine does not come: nobody turns the loop any more.
    void forget_flights();

    [[nodiscard]] bool is_deliverable(RequestKey key);
    void forget_ready(RequestKey key);
    [[nodiscard]] Label label_of(RequestKey key) { return requests_.find(key)->label; }
    void deliver(RequestKey key);
    void arrive(std::uint32_t flight, Instant latest);

    // ── what handles need ──

    HandleId add(std::unique_ptr<SimHandle> handle);
    /// A handle around an object, with a descriptor. @returns 0 and `error`, a positive errno value, if there is none left
    HandleId open_stream(std::shared_ptr<KernelObject> object, HandleKind kind, int& error);
    [[nodiscard]] Request* find_request(RequestKey key) { return requests_.find(key); }
    /// IO1. @returns the request's key
    RequestKey open_request(SimHandle* handle, OperationKind kind, const SourceOptions& options);
    [[nodiscard]] SourceId source_of(RequestKey key) { return requests_.find(key)->source; }
    /// It might go on.
    void wake(RequestKey key);
    /// Ends it, in the poll phase.
    void finish(RequestKey key, const Completion& completion, std::unique_ptr<Answer> answer = nullptr);
    /// A part of it has taken effect (IO4).
    void tell_part(RequestKey key);
    /// A delivery of a request that goes on.
    void report(RequestKey key, Completion completion, std::unique_ptr<Answer> answer);
    /// Takes a handle out of the table without closing it: the handle is destroyed.
    void forget_handle(HandleId handle) { handles_.remove(Slots<std::unique_ptr<SimHandle>>::slot_of(handle.value)); }
    /// Its answer is there, and comes in a tick (IO3).
    void defer(RequestKey key, const Completion& completion);
    /// A request that is answered already, and told in a tick.
    SourceId open_deferred(const Completion& completion, const SourceOptions& options, OperationKind kind);
    /// What a worker does for a request; it fills in the completion. Null: nobody waits for it any more.
    using Work = UniqueFunction<void(Request*)>;
    RequestKey submit_work(SimHandle* handle, OperationKind kind, const SourceOptions& options, Work work);
    void give_to_pool(RequestKey key, Work work);
    /// The worker is done, or was never needed.
    void work_done(RequestKey key, bool is_cancelled);
    /// @returns false if the worker goes on with it
    bool take_from_pool(Request& request);
    /// Runs kernel operations whose footprints belong to the next delivery.
    template <class Run>
    auto in_kernel(Run run) {
        const bool was = std::exchange(reactor_.in_body_, true);
        auto result = run();
        reactor_.in_body_ = was;
        return result;
    }
    /// Where a request was submitted, for labels of what it makes.
    [[nodiscard]] Label label_for(const SourceOptions& options, OperationKind kind);
    Answer& scratch() {
        scratch_ = Answer{};
        return scratch_;
    }

    // ── KernelHost ──

    [[nodiscard]] Instant true_time() const override { return reactor_.true_time(); }
    Instant later(const Latency& latency, Instant not_before, UniqueFunction<void()> arrive) override;
    std::uint32_t choose(std::string_view name, std::uint32_t count, Label object) override;
    [[nodiscard]] bool offers_faults() const override;
    std::uint32_t choose_fault(std::span<const std::string_view> names, Label object) override;
    Label named(std::string_view text) override;
    Label named_below(Label parent, std::string_view name) override;
    void touch(Cell where, TouchMode mode) override { reactor_.touch(where, mode); }

    // ── children ──

    class Child;
    /// A delivery that runs `owner`, and nobody else hears of.
    void step(SourceOwner& owner, Label label);
    void child_is_over(Child& child);

private:
    class Watch;

    Submission resolve_name(const Operation& operation, const SourceOptions& options);
    Submission resolve_address(const Operation& operation, const SourceOptions& options);
    Submission open_file(const Operation& operation, const SourceOptions& options);
    Submission stat_path(const Operation& operation, const SourceOptions& options);
    Submission watch(const Operation& operation, const SourceOptions& options);
    Submission execute(const Operation& operation, const SourceOptions& options);
    Submission kill(const Operation& operation);
    [[nodiscard]] Child* child(std::int64_t pid);
    void tell(RequestKey key);

    SimReactor& reactor_;
    std::unique_ptr<Network> own_network_;
    Machine* machine_ = nullptr;
    Slots<std::unique_ptr<SimHandle>> handles_;
    Slots<Request> requests_;
    std::vector<UniqueFunction<void()>> flights_;
    std::vector<std::uint32_t> free_flights_;
    Instant latest_;  // of what has just arrived
    std::uint64_t tick_ = 1;
    std::uint64_t unnamed_ = 0;
    Answer scratch_;
};

}  // namespace heddle::sim::detail
