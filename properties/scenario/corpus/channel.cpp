// SPDX-License-Identifier: Apache-2.0
// Corpus, channel: what a send that succeeded or failed says about its value, and who may take what was promised.
//
//   BUG-090  true-async/php-async#127                       a send fails and its value is received
//   BUG-091  true-async/php-async#240 (channel tests 073, 074)   a value woken for one who is cancelled
//   BUG-093  true-async/php-async#240 (channel tests 076–079, 083, 085, 087)   newcomers take what was promised
//   BUG-094  true-async/php-async#240 (channel tests 082, 084)   a delivery that throws, a failure that delivers
//   BUG-095  true-async/php-async#108                       a rendezvous send that needs no receiver
//   BUG-096  true-async/php-async@474d1a6                   the future of a receive is dropped
//   BUG-099  Kotlin/kotlinx.coroutines#359, userver-framework/userver@6dee86750   a sender left behind a close
//   BUG-102  true-async/php-async#192                       an iteration that throws where it ends
//
// Where chance enters: sim::choose, who runs next.
#include <optional>
#include <string>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using heddle::Channel;

/// What an operation ended with: a value, or why not.
struct Ending {
    std::optional<int> value{};
    ErrorValue error{};
    [[nodiscard]] bool ok() const { return !error; }
    [[nodiscard]] bool is_closed() const { return holds<ChannelError>(error); }
    [[nodiscard]] bool is_cancelled() const { return error.is_cancellation(); }
};

Coroutine<> send_into(const char* name, const Channel<int>& channel, int value, Ending& ending) {
    return spawn(Name::of(name), [&channel, &ending, value] { ending.error = caught([&] { channel.send(value); }); });
}
Coroutine<> receive_from(const char* name, const Channel<int>& channel, Ending& ending) {
    return spawn(Name::of(name), [&channel, &ending] { ending.error = caught([&] { ending.value = channel.receive(); }); });
}

void close_meets_a_rendezvous() {
    const Channel<int> channel;
    Ending a;
    Ending b;
    auto sender = send_into("a", channel, 1, a);
    if (sim::choose(2, "a parks first") == 1) { let_all_run(); }
    auto receiver = receive_from("b", channel, b);
    if (sim::choose(2, "b goes first") == 1) { let_all_run(); }
    channel.close();
    join(sender, receiver);
    HEDDLE_CHECK(a.ok() == b.value.has_value());  // both, or neither
    HEDDLE_CHECK(a.ok() || (a.is_closed() && b.is_closed()));
    HEDDLE_CHECK(!b.value || *b.value == 1);
    HEDDLE_CHECK(channel.count() == 0);
}

void receiver_cancelled_in_its_window() {
    const Channel<int> channel({.capacity = 1});
    Ending b;
    Ending d;
    auto first = receive_from("b", channel, b);
    let_all_run();
    auto second = receive_from("d", channel, d);
    let_all_run();
    channel.send(1);
    const bool cancelled = sim::choose(2, "b is cancelled in the window") == 1;
    if (cancelled) { first.cancel(); }
    let_all_run();
    HEDDLE_CHECK(cancelled ? b.is_cancelled() && d.value == 1 : b.value == 1 && !d.value);
    if (!cancelled) { channel.send(2); }
    join(first, second);
    HEDDLE_CHECK(cancelled || d.value == 2);
    HEDDLE_CHECK(channel.count() == 0);
}

void newcomer_meets_a_promised_value() {
    const Channel<int> channel({.capacity = 1});
    Ending b;
    Ending n;
    auto waiting = receive_from("b", channel, b);
    let_all_run();
    channel.send(1);
    Coroutine<> newcomer;
    std::optional<Future<int>> future;
    switch (sim::choose(3, "the newcomer receives, has a future, iterates")) {
        case 0: newcomer = receive_from("n", channel, n); break;
        case 1: future = channel.receive_async(); break;
        default:
            newcomer = spawn("n", [&] {
                for (const int value : channel) {
                    n.value = value;
                    break;
                }
            });
    }
    HEDDLE_CHECK(channel.try_receive().result == ReceiveResult::empty);
    let_all_run();
    HEDDLE_CHECK(b.value == 1);
    channel.send(2);
    if (future) { n.value = future->await(); }
    if (newcomer) { join(newcomer); }
    join(waiting);
    HEDDLE_CHECK(n.value == 2);
}

void newcomer_meets_a_promised_slot() {
    const Channel<int> channel({.capacity = 1});
    Ending s1;
    Ending s2;
    channel.send(0);
    auto first = send_into("s1", channel, 1, s1);
    let_all_run();
    HEDDLE_CHECK(channel.receive() == 0);
    auto second = send_into("s2", channel, 2, s2);  // a newcomer
    const bool cancelled = sim::choose(2, "s1 is cancelled in the window") == 1;
    if (cancelled) { first.cancel(); }
    HEDDLE_CHECK(channel.try_send(9) == SendResult::full);
    HEDDLE_CHECK(channel.receive() == (cancelled ? 2 : 1));
    if (!cancelled) { HEDDLE_CHECK(channel.receive() == 2); }
    join(first, second);
    HEDDLE_CHECK(s1.ok() != cancelled && s2.ok());
}

void delivery_and_what_comes_behind_it() {
    const Channel<int> channel;
    Ending a;
    bool interrupted = false;
    auto sender = spawn("a", [&] {
        a.error = caught([&] { channel.send(1); });
        interrupted = caught([] { yield(); }).is_cancellation();
    });
    let_all_run();
    const std::uint32_t order = sim::choose(2, "cancelled before the take");
    const std::uint32_t event = sim::choose(3, "nothing, close, cancel");
    const auto happen = [&] {
        if (event == 1) { channel.close(); }
        if (event == 2) { sender.cancel(); }
    };
    if (order == 1) { happen(); }
    const auto taken = channel.try_receive();
    if (order == 0) { happen(); }
    join(sender);
    HEDDLE_CHECK(static_cast<bool>(taken) == (order == 0 || event == 0));
    if (taken) {
        HEDDLE_CHECK(a.ok());  // delivered is delivered
        HEDDLE_CHECK(interrupted == (event == 2));
    } else {
        HEDDLE_CHECK(event == 1 ? a.is_closed() : a.is_cancelled());
        HEDDLE_CHECK(channel.count() == 0);
    }
}

void rendezvous_waits_for_its_receiver() {
    const Channel<int> channel;
    int x = 0;
    auto sender = spawn("a", [&] {
        channel.send(1);
        x = 1;
    });
    yield();
    if (sim::choose(2, "once more") == 1) { yield(); }
    HEDDLE_CHECK(x == 0);
    HEDDLE_CHECK(channel.receive() == 1);
    join(sender);
    HEDDLE_CHECK(x == 1);
}

void dropped_receive_future() {
    const Channel<int> channel({.capacity = 1});
    std::optional<Future<int>> f = channel.receive_async();
    f->ignore();
    const std::uint32_t when = sim::choose(3, "dropped before the send, in the window, never");
    if (when == 0) { f.reset(); }
    auto sender = spawn("a", [&] { channel.send(1); });
    if (sim::choose(2, "the send has run") == 1) { let_all_run(); }
    if (when == 1) { f.reset(); }
    if (when == 2) {
        HEDDLE_CHECK(f->await() == 1);
        channel.send(2);
    }
    const Future<int> g = channel.receive_async();
    HEDDLE_CHECK(g.await() == (when == 2 ? 2 : 1));
    join(sender);
    HEDDLE_CHECK(channel.count() == 0);
}

void sender_arrives_at_a_close() {
    const Channel<int> channel({.capacity = 1});
    channel.send(0);
    Ending parked;
    Ending late;
    auto waiting = send_into("s", channel, 1, parked);
    let_all_run();
    const std::uint32_t when = sim::choose(3, "another sender arrives before, at, behind the close");
    Coroutine<> another;
    if (when == 0) {
        another = send_into("a", channel, 2, late);
        let_all_run();
    }
    if (when == 1) { another = send_into("a", channel, 2, late); }
    channel.close();
    if (when == 2) { another = send_into("a", channel, 2, late); }
    join(waiting, another);
    HEDDLE_CHECK(parked.is_closed() && late.is_closed());
    HEDDLE_CHECK(channel.receive() == 0);
    HEDDLE_CHECK(channel.try_receive().result == ReceiveResult::closed);
}

void iteration_meets_a_close() {
    const Channel<int> channel({.capacity = 1});
    int seen = 0;
    bool done = false;
    auto loop = spawn("b", [&] {
        for (const int value : channel) {
            seen += value;
            if (sim::choose(2, "the body suspends") == 1) { yield(); }
        }
        done = true;
    });
    if (sim::choose(2, "it is parked already") == 1) { let_all_run(); }
    channel.send(1);
    if (sim::choose(2, "it is in its body") == 1) { yield(); }
    channel.close();
    join(loop);
    HEDDLE_CHECK(done && seen == 1);
}

void values_of_two_producers() {
    const Channel<int> channel({.capacity = 1});
    auto a = spawn("a", [&] {
        channel.send(10);
        channel.send(11);
    });
    auto b = spawn("b", [&] {
        channel.send(20);
        channel.send(21);
    });
    const bool cancelled = sim::choose(2, "a is cancelled on the way") == 1;
    int last_of_a = 9;
    int last_of_b = 19;
    int count = 0;
    while (count < 4) {
        if (cancelled && count == 1) { a.cancel(); }
        if (cancelled && a.is_completed() && b.is_completed() && channel.count() == 0) { break; }
        const auto taken = channel.try_receive();
        if (!taken) {
            yield();
            continue;
        }
        int& last = *taken.value < 20 ? last_of_a : last_of_b;
        HEDDLE_CHECK(*taken.value > last);  // each in its own order, each once
        last = *taken.value;
        ++count;
    }
    join(a, b);
    HEDDLE_CHECK(last_of_b == 21);
    HEDDLE_CHECK(cancelled || last_of_a == 11);
    HEDDLE_CHECK(!a.error() || a.error().is_cancellation());
}

}  // namespace

std::vector<sim::Scenario> channel_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-090", "true-async/php-async#127",
                     "A close that meets a rendezvous leaves both sides with a delivery, or both without.", 2, {value, dispatch}},
                    close_meets_a_rendezvous),
        scenario_of({"corpus/BUG-091", "true-async/php-async#240",
                     "A value whose receiver is cancelled in its window goes to the next receiver.", 3, {value, dispatch}},
                    receiver_cancelled_in_its_window),
        scenario_of({"corpus/BUG-093", "true-async/php-async#240",
                     "A newcomer, whatever it is, waits behind a receiver that was promised the value.", 3, {value, dispatch}},
                    newcomer_meets_a_promised_value),
        scenario_of({"corpus/BUG-093-senders", "true-async/php-async#240",
                     "A slot that was promised is out of reach for others, and goes on when its sender is cancelled.", 3, {value, dispatch}},
                    newcomer_meets_a_promised_slot),
        scenario_of({"corpus/BUG-094", "true-async/php-async#240",
                     "A send whose value was taken succeeds, whatever comes behind it; one that fails was not received.", 2,
                     {value, dispatch}},
                    delivery_and_what_comes_behind_it),
        scenario_of({"corpus/BUG-095", "true-async/php-async#108", "A send without a buffer returns when its value was taken.", 1,
                     {value, dispatch}},
                    rendezvous_waits_for_its_receiver),
        scenario_of({"corpus/BUG-096", "true-async/php-async@474d1a6",
                     "The future of a receive that is dropped takes no value along, before, at or behind the send.", 2, {value, dispatch}},
                    dropped_receive_future),
        scenario_of({"corpus/BUG-099", "Kotlin/kotlinx.coroutines#359, userver-framework/userver@6dee86750",
                     "A sender that arrives before, at or behind a close fails with it.", 3, {value, dispatch}},
                    sender_arrives_at_a_close),
        scenario_of({"corpus/BUG-102", "true-async/php-async#192",
                     "An iteration ends normally at a close, whether it is parked, ready or in its body.", 2, {value, dispatch}},
                    iteration_meets_a_close),
        scenario_of({"corpus/BUG-093-order", "true-async/php-async#240",
                     "Values of one sender arrive in its order, each once, also when another sender is cancelled.", 3, {value, dispatch}},
                    values_of_two_producers),
    };
}

}  // namespace heddle::prop::corpus
