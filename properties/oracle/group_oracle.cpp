// SPDX-License-Identifier: Apache-2.0
// Group oracle: limits of task groups and sets, and nobody who waits for one that has ended.
//
//   look ──▶ running, queued, places promised: INV-GRP-01, 02        at rest ──▶ INV-GRP-08, INV-SET-02        end ──▶ INV-ALL-08
//
// INV-GRP-01, 02, 04, 08, INV-SET-02, INV-ALL-08.
// Choice points: none.
#include "heddle/core/sync/task_group_state.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

class GroupOracle final : public Judge {
protected:
    void reset() override {}

    void look(const Scheduler& scheduler, const Event&, bool) override {
        visit_groups(scheduler, [&](const GroupState& group) {
            const Label label = group.object_label();
            expect(group.concurrency() == 0 || group.running() <= group.concurrency(), "INV-GRP-01", "more tasks run than the group allows", label);
            expect(group.queue_limit() == 0 || group.queued() + group.granted_places() <= group.queue_limit(), "INV-GRP-01",
                   "more tasks are queued, or places promised, than the group allows", label);
            expect(group.queued() == 0 || !group.has_slot(), "INV-GRP-02", "a task is queued beside a free slot", label);
            expect(group.is_closed() || !group.has_room() || group.waiting_spawners() == 0, "INV-GRP-02",
                   "a place is free beside a parked caller", label);
            expect(!group.is_closed() || (group.waiting_spawners() == 0 && group.granted_places() == 0), "INV-GRP-05",
                   "a closed group has callers that wait to add a task", label);
            std::size_t running = 0;
            std::size_t queued = 0;
            group.visit_tasks([&](const GroupTask& task) {
                running += task.state == TaskState::running ? 1 : 0;
                queued += task.state == TaskState::queued ? 1 : 0;
                const bool settled = task.state == TaskState::succeeded || task.state == TaskState::failed;
                expect(task.is_settled() == settled, "INV-GRP-04", "a task is settled without a completion number, or not settled with one", label);
            });
            expect(running == group.running() && queued == group.queued(), "INV-GRP-04", "the counts are not those of the tasks", label);
        });
    }

    void settled(const Scheduler& scheduler) override {
        visit_groups(scheduler, [&](const GroupState& group) {
            const Label label = group.object_label();
            expect(group.granted_places() == 0, "INV-ALL-04", "a place of a group is promised at rest", label);
            if (!group.is_consuming()) {
                expect(!group.is_finished() || group.pending_waits() == 0, "INV-GRP-08", "somebody waits for a group that is finished", label);
                bool any_settled = false;
                group.visit_tasks([&](const GroupTask& task) { any_settled = any_settled || task.is_settled(); });
                expect(!any_settled || !group.has_pending_race(), "INV-GRP-08", "a race is pending although a task has settled", label);
            } else {
                expect(!group.is_terminal() || group.pending_waits() == 0, "INV-SET-02", "a join is pending on a set that has ended", label);
            }
            expect(!group.is_finished() || !group.is_closed() || group.waiting_for_completion() == 0, "INV-GRP-08",
                   "somebody waits for the completion of a group that is finished", label);
        });
    }

    void ended(const Scheduler& scheduler) override {
        visit_groups(scheduler, [&](const GroupState& group) {
            expect(group.waiting_spawners() == 0 && group.waiting_for_completion() == 0, "INV-ALL-08",
                   "a waiter of a group is left behind the run", group.object_label());
            expect(group.running() == 0, "INV-GRP-13", "a task of a group is left behind the run", group.object_label());
        });
    }

private:
    template <class F>
    static void visit_groups(const Scheduler& scheduler, F&& visit) {
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            if (const auto* group = dynamic_cast<const GroupState*>(&object); group != nullptr) { visit(*group); }
        });
    }
};

}  // namespace

std::unique_ptr<sim::Oracle> make_group_oracle() { return std::make_unique<GroupOracle>(); }

}  // namespace heddle::prop
