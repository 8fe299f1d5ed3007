// SPDX-License-Identifier: Apache-2.0
// Bridge oracle: the books of work pools, of both halves at once: what one thread could not see of the other.
//
//   look ──▶ jobs queued, running: INV-THR-03        jobs with a future: somewhere between submit and settle, INV-THR-01
//
// INV-THR-01, 03.
// Choice points: none.
#include "heddle/core/bridge/work_pool_state.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

class BridgeOracle final : public Judge {
protected:
    void reset() override {}

    void look(const Scheduler& scheduler, const Event&, bool) override {
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            const auto* pool = dynamic_cast<const WorkPoolState*>(&object);
            if (pool == nullptr) { return; }
            const Label label = pool->object_label();
            const WorkStatistics books = pool->books();
            expect(books.pending <= pool->queue_size(), "INV-THR-03", "more jobs wait than the queue holds", label);
            expect(books.running <= pool->workers(), "INV-THR-03", "more jobs run than there are threads", label);
            expect(books.workers <= pool->workers(), "INV-THR-03", "more threads live than were started", label);
            // A thread that dies has its job in its hands until it posts it; without one, each job is somewhere.
            expect(books.workers < pool->workers() || pool->registered() <= books.pending + books.running + pool->posted(), "INV-THR-01",
                   "a future waits for a job that is neither queued nor running nor on its way back", label);
        });
    }
};

}  // namespace

std::unique_ptr<sim::Oracle> make_bridge_oracle() { return std::make_unique<BridgeOracle>(); }

}  // namespace heddle::prop
