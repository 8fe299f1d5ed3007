// SPDX-License-Identifier: Apache-2.0
// Pool oracle: places are counted once, promises are kept, nobody waits beside a free place, and every resource is destroyed once.
//
//   granted ──▶ promised ──grant_spent / handed_on──▶ no longer            look ──▶ compared with the books of every pool
//
// INV-POOL-01 to 06, 13, 18, 20, 30, INV-ALL-04, 08. Who is granted first (INV-POOL-07) is the wait oracle's.
// Choice points: none.
#include <set>

#include "heddle/core/sync/pool_state.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

class PoolOracle final : public Judge {
protected:
    void reset() override { promised_.clear(); }

    void follow(const Event& event) override {
        if (event.note != PoolState::side) { return; }
        if (event.kind == EventKind::granted) { ++promised_[event.what]; }
        if (event.kind == EventKind::grant_spent || event.kind == EventKind::handed_on) { --promised_[event.what]; }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        visit_pools(scheduler, [&](const PoolState& pool) { look_at(pool); });
    }

    void settled(const Scheduler& scheduler) override {
        visit_pools(scheduler, [&](const PoolState& pool) {
            const Label label = pool.object_label();
            expect(pool.reserved() == 0, "INV-ALL-04", "a place is promised at rest", label);
            expect(pool.waiting() == 0 || (pool.idle() == 0 && pool.active() == pool.max()), "INV-POOL-06",
                   "somebody waits at rest although there is a resource, or room for one", label);
            // Whoever has a permit has a place, too; who parked has given it back (POOL-72).
            if (const Threshold* threshold = threshold_of(pool); threshold != nullptr) {
                expect(threshold->permits_out() <= pool.active(), "INV-POOL-30", "a permit is out at rest that nobody can end", label);
            }
        });
    }

    void ended(const Scheduler& scheduler) override {
        visit_pools(scheduler, [&](const PoolState& pool) {
            const Label label = pool.object_label();
            expect(pool.waiters().empty(), "INV-ALL-08", "a waiter of a pool is left behind the run", label);
            if (!pool.has_closed() || pool.active() > 0 || pool.left_behind() > 0) { return; }
            expect(pool.idle() == 0 && pool.created() == pool.destroyed(), "INV-POOL-13",
                   "a closed pool has a resource that nobody destroyed", label);
        });
    }

private:
    void look_at(const PoolState& pool) {
        const Label label = pool.object_label();
        std::set<std::uint64_t> numbers;
        std::size_t checking = 0;
        pool.visit_idle([&](std::uint64_t number) {
            expect(numbers.insert(number).second, "INV-POOL-01", "a resource is idle twice", label);
        });
        pool.visit_places([&](const PoolPlace& place) {
            checking += place.state == PlaceState::checking ? 1 : 0;
            const bool has_one = place.state != PlaceState::creating;
            expect(!has_one || numbers.insert(place.number).second, "INV-POOL-04", "a resource is in two places", label);
            expect((place.resource != nullptr || place.detached) == has_one, "INV-POOL-01", "a place and its resource do not match", label);
            expect(place.admission.permit == 0 || place.state == PlaceState::leased || place.state == PlaceState::releasing, "INV-POOL-30",
                   "a permit is out with a place that nobody holds", label);
        });
        const std::uint64_t exist = pool.created() - pool.destroyed() - pool.left_behind();
        expect(numbers.size() == exist, "INV-POOL-01", "a resource is counted nowhere, or one that is gone still counts", label);
        expect(pool.idle() + pool.active() <= pool.max() && exist <= pool.max(), "INV-POOL-02", "more resources exist than the pool allows", label);
        expect(pool.active() + pool.reserved() <= pool.max(), "INV-POOL-03", "more places are taken and promised than there are", label);
        expect(checking <= 1, "INV-POOL-20", "two health checks run at once", label);
        if (pool.has_closed()) {
            expect(pool.reserved() == 0 && pool.waiting() == 0, "INV-POOL-18", "somebody waits for a closed pool", label);
        } else {
            const std::int64_t* promised = promised_.find(label);
            expect(static_cast<std::int64_t>(pool.reserved()) == (promised != nullptr ? *promised : 0), "INV-POOL-03",
                   "the promised places are not those of the waiters in their window", label);
            expect(pool.free_places() == 0 || pool.waiting() == 0, "INV-POOL-05", "a place is free while somebody waits for one", label);
        }
        if (const Threshold* threshold = threshold_of(pool); threshold != nullptr) {
            expect(threshold->permits_out() <= threshold->options().probes, "INV-POOL-30", "more permits are out than probes are allowed", label);
        }
    }

    [[nodiscard]] static const Threshold* threshold_of(const PoolState& pool) {
        return dynamic_cast<const Threshold*>(pool.circuit().strategy().get());
    }

    template <class F>
    static void visit_pools(const Scheduler& scheduler, F&& visit) {
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            if (const auto* pool = dynamic_cast<const PoolState*>(&object); pool != nullptr) { visit(*pool); }
        });
    }

    LabelTable<std::int64_t> promised_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_pool_oracle() { return std::make_unique<PoolOracle>(); }

}  // namespace heddle::prop
