// SPDX-License-Identifier: Apache-2.0
// Channel oracle: values are received at most once, in order, and nobody sleeps beside what he waits for.
//
//   value_in n ──▶ inside ──value_out n──▶ received ──value_in n (given back)──▶ inside, before all others ──▶ …
//   look ──▶ the books of every channel: INV-CHAN-01, 02, 11, 12, 14        at rest ──▶ INV-CHAN-03, 18, INV-ALL-04
//
// INV-CHAN-01 to 04, 07, 11, 12, 14, 17 to 19.
// Choice points: none.
#include <deque>
#include <set>
#include <string>

#include "heddle/core/sync/channel_state.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Traffic {
    std::int64_t next_in = 0;          // number of the next value that enters
    std::int64_t next_out = 0;         // of the next that leaves in its turn
    std::deque<std::int64_t> returned; // given back, in order
    std::set<std::int64_t> out;        // with a receiver
    bool closed = false;
    std::int64_t reason = 0;
};

class ChannelOracle final : public Judge {
protected:
    void reset() override { channels_.clear(); }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::value_in: value_in(event); break;
            case EventKind::value_out: value_out(event); break;
            case EventKind::object_closed: {
                Traffic& traffic = channels_[event.what];
                expect(!traffic.closed, "INV-CHAN-14", "a channel was closed twice", event.what);
                traffic.closed = true;
                traffic.reason = event.a;
                break;
            }
            case EventKind::deadlock:
                if (const Scheduler* running = scheduler(); running != nullptr) {
                    visit_channels(*running, [&](const ChannelState& channel) {
                        expect(!channel.is_guarded() || channel.options().hard_timeouts, "INV-CHAN-19",
                               "a deadlock was reported while a channel with a timeout starves", channel.object_label());
                    });
                }
                break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        visit_channels(scheduler, [&](const ChannelState& channel) { look_at(channel); });
    }

    void settled(const Scheduler& scheduler) override {
        visit_channels(scheduler, [&](const ChannelState& channel) {
            const Label label = channel.object_label();
            const bool receivers = channel.waiting_receivers() > 0 || channel.has_pending_future();
            expect(channel.reserved_values() == 0 && channel.reserved_slots() == 0, "INV-ALL-04", "something is promised at rest", label);
            expect(!channel.has_dead_waiter(), "INV-ALL-04", "a dead waiter is queued at rest", label);
            expect(channel.size() + channel.returned() == 0 || !receivers, "INV-CHAN-03", "a value lies beside a waiting receiver", label);
            expect(channel.room() == 0 || channel.is_closed() || channel.waiting_for_slot() == 0, "INV-CHAN-03",
                   "a slot is free beside a waiting sender", label);
            expect(channel.is_guarded() == channel.wants_guard(), "INV-CHAN-18", "the deadlock timer does not match who waits", label);
        });
    }

    void ended(const Scheduler& scheduler) override {
        visit_channels(scheduler, [&](const ChannelState& channel) {
            expect(channel.waiting_receivers() == 0 && channel.waiting_senders() == 0 && !channel.is_guarded(), "INV-ALL-08",
                   "a waiter or a timer of a channel is left behind the run", channel.object_label());
        });
    }

private:
    template <class F>
    static void visit_channels(const Scheduler& scheduler, F&& visit) {
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            if (const auto* channel = dynamic_cast<const ChannelState*>(&object); channel != nullptr) { visit(*channel); }
        });
    }

    void value_in(const Event& event) {
        Traffic& traffic = channels_[event.what];
        if (event.b == 1) {
            expect(traffic.out.erase(event.a) == 1, "INV-CHAN-04", "a value was given back that nobody had", event.what);
            traffic.returned.push_back(event.a);
            return;
        }
        // One whose offer was withdrawn has not entered: its number is used again.
        expect(event.a <= traffic.next_in && event.a >= traffic.next_out, "INV-CHAN-07", "values do not enter in order", event.what);
        expect(!traffic.closed, "INV-CHAN-12", "a value entered a closed channel", event.what);
        traffic.next_in = event.a + 1;
    }

    void value_out(const Event& event) {
        Traffic& traffic = channels_[event.what];
        if (!traffic.returned.empty()) {
            expect(traffic.returned.front() == event.a, "INV-CHAN-07", "a value that was given back did not leave first", event.what);
            traffic.returned.pop_front();
        } else {
            expect(event.a < traffic.next_in, "INV-CHAN-06", "a value left that is not inside", event.what);
            expect(event.a == traffic.next_out, "INV-CHAN-07", "values do not leave in the order in which they entered", event.what);
            ++traffic.next_out;
        }
        expect(traffic.out.insert(event.a).second, "INV-CHAN-04", "a value was received twice", event.what);
    }

    void look_at(const ChannelState& channel) const {
        const Label label = channel.object_label();
        const std::size_t places = channel.is_rendezvous() ? 1 : channel.capacity();
        expect(channel.size() <= places, "INV-CHAN-01", "a channel holds more than its capacity", label);
        expect(channel.reserved_values() <= channel.size() + channel.returned(), "INV-CHAN-01", "more values are promised than there are", label);
        expect(channel.reserved_slots() <= places - channel.size(), "INV-CHAN-01", "more slots are promised than are free", label);
        const bool receivers = channel.waiting_receivers() > 0 || channel.has_pending_future();
        if (channel.is_closed()) {
            expect(!receivers, "INV-CHAN-12", "somebody waits to receive from a closed channel", label);
            expect(channel.waiting_senders() == 0 && !channel.has_offer(), "INV-CHAN-12", "somebody waits to send into a closed channel", label);
            expect(channel.reserved_slots() == 0, "INV-CHAN-12", "a slot of a closed channel is promised", label);
            return;
        }
        expect(channel.free_values() == 0 || !receivers, "INV-CHAN-02", "a value is free, and a receiver waits without a grant", label);
        expect(channel.free_slots() == 0 || channel.waiting_for_slot() == 0, "INV-CHAN-02", "a slot is free, and a sender waits without a grant", label);
        expect(!channel.has_offer() || channel.is_rendezvous(), "INV-CHAN-11", "a buffered channel has an offer", label);
    }

    LabelTable<Traffic> channels_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_channel_oracle() { return std::make_unique<ChannelOracle>(); }

}  // namespace heddle::prop
