// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/footprint_subjects.hpp"

#include <chrono>
#include <memory>
#include <string>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/say.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Ref<OneShotEvent> new_event() { return OneShotEvent::make(current_runtime("a subject").scheduler(), "event"); }

/// An object of main's, which ends with the run: whoever of several owners is the last to let go of it is seen by no footprint.
template <class T, class... Arguments>
T* kept(Arguments&&... arguments) {
    const auto object = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    coroutine_context().set(ContextKey::unique("kept"), object);
    return object.get();
}

/// What an error does to who meets it: it says so.
template <class F>
void told(F&& body) {
    try {
        std::forward<F>(body)();
        say("done");
    } catch (const Cancellation&) {
        say("cancelled");
        throw;
    } catch (const std::exception& error) { say(error.what()); }
}

std::string word(std::string_view text, std::int64_t number) { return std::string(text) + std::to_string(number); }

// ── coroutines, events, tokens ──

void add_waits(std::vector<Subject>& all) {
    all.push_back({"event", [] {
        const Ref<OneShotEvent> event = new_event();
        for (int i = 0; i < 2; ++i) {
            spawn("waits", [event] { say(word("got", await_event(*event).value)); });
        }
        for (int i = 0; i < 2; ++i) {
            spawn("ends", [event, i] { say(event->complete(i) ? "first" : "late"); });
        }
    }});
    all.push_back({"event_fails", [] {
        const Ref<OneShotEvent> event = new_event();
        spawn("waits", [event] {
            told([&] { await_event(*event); });
            yield();
        });
        spawn("ends", [event] { say(event->complete() ? "first" : "late"); });
        spawn("fails", [event] { say(event->fail(ErrorValue::make<AsyncError>("it failed")) ? "first" : "late"); });
    }});
    all.push_back({"first_of_two", [] {
        const Ref<OneShotEvent> one = new_event();
        const Ref<OneShotEvent> two = new_event();
        spawn("waits", [one, two] {
            say(word("first", static_cast<std::int64_t>(await_any({one.get(), two.get()}))));
            yield();
        });
        spawn("one", [one] { one->complete(); });
        spawn("two", [two] { two->complete(); });
    }});
    all.push_back({"both_of_two", [] {
        const Ref<OneShotEvent> one = new_event();
        const Ref<OneShotEvent> two = new_event();
        spawn("waits", [one, two] {
            EventSource* const inputs[] = {one.get(), two.get()};
            await_all(inputs);
        });
        spawn("one", [one] { one->complete(); });
        spawn("two", [two] { two->complete(); });
    }});
    all.push_back({"token", [] {
        const Ref<OneShotEvent> event = new_event();
        const Ref<OneShotEvent> stop = new_event();
        spawn("waits", [event, stop] {
            told([&] { await_event(*event, Token(*stop)); });
            yield();
        });
        spawn("ends", [event] { event->complete(); });
        spawn("stops", [stop] { stop->complete(); });
    }});
    all.push_back({"join", [] {
        auto worker = spawn("worker", [] {
            yield();
            return 3;
        });
        spawn("one", [worker] { say(word("got", worker.await())); });
        spawn("two", [worker] { say(word("got", worker.await())); });
    }});
    all.push_back({"probes", [] {
        auto worker = spawn("worker", [] { yield(); });
        spawn("looks", [worker] {
            say(worker.is_completed() ? "completed" : "not yet");
            yield();
            say(to_string(worker.state()));
        });
        spawn("cancels", [worker] {
            worker.cancel();
            say(worker.is_cancellation_requested() ? "requested" : "too late");
        });
    }});
    all.push_back({"results", [] {
        auto worker = spawn("worker", [] { return 7; });
        for (int i = 0; i < 2; ++i) {
            spawn("looks", [worker] { say(worker.result() ? "there" : "none"); });
        }
        spawn("errors", [worker] { say(worker.error() ? "error" : "none"); });
    }});
    all.push_back({"cancel", [] {
        const Ref<OneShotEvent> event = new_event();
        auto target = spawn("target", [event] { told([&] { await_event(*event); }); });
        spawn("cancels", [target] { target.cancel(); });
        spawn("ends", [event] { event->complete(); });
    }});
    all.push_back({"cancel_twice", [] {
        auto target = spawn("target", [] {
            try {
                yield();
            } catch (const Cancellation& reason) {
                say(reason.what());
                yield();
            }
        });
        spawn("one", [target] { target.cancel("one"); });
        spawn("two", [target] { target.cancel("two"); });
    }});
    all.push_back({"protect", [] {
        auto target = spawn("target", [] {
            protect([] { yield(); });
            yield();
        });
        spawn("cancels", [target] { target.cancel(); });
        spawn("looks", [target] { say(target.is_cancelled() ? "cancelled" : "not"); });
    }});
    all.push_back({"finally", [] {
        auto target = spawn("target", [] { yield(); });
        spawn("adds", [target] {
            target.finally([](const CoroutineHandle&) { touch("log", TouchMode::write); });
        });
        spawn("writes", [] { touch("log", TouchMode::write); });
    }});
    all.push_back({"two_finallys", [] {
        auto target = spawn("target", [] { yield(); });
        for (int i = 0; i < 2; ++i) {
            spawn("adds", [target, i] {
                target.finally([i](const CoroutineHandle&) { say(word("finally", i)); });
            });
        }
    }});
    all.push_back({"microtask", [] {
        for (int i = 0; i < 2; ++i) {
            spawn("posts", [] {
                add_microtask([] { touch("log", TouchMode::write); });
            });
        }
        spawn("writes", [] { touch("log", TouchMode::write); });
    }});
    all.push_back({"shared", [] {
        Shared<int>* const number = kept<Shared<int>>(0);
        for (int i = 1; i <= 2; ++i) {
            spawn("adds", [number, i] {
                const int before = *number;
                *number = before * 3 + i;
                yield();
                say(word("is", *number));
            });
        }
    }});
}

// ── scopes ──

void add_scopes(std::vector<Subject>& all) {
    all.push_back({"scope_join", [] {
        Scope* const scope = kept<Scope>();
        for (int i = 0; i < 2; ++i) {
            scope->spawn("child", [] { yield(); });
        }
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            scope->await_completion(*never);
            say("joined");
        });
    }});
    all.push_back({"scope_cancel", [] {
        Scope* const scope = kept<Scope>();
        for (int i = 0; i < 2; ++i) {
            scope->spawn("child", [] { yield(); });
        }
        spawn("cancels", [scope] { scope->cancel(); });
        spawn("spawns", [scope] { told([&] { scope->spawn("late", [] {}); }); });
    }});
    all.push_back({"scope_probes", [] {
        Scope* const scope = kept<Scope>();
        scope->spawn("child", [] { yield(); });
        spawn("cancels", [scope] { scope->cancel(); });
        spawn("looks", [scope] {
            say(scope->is_cancelled() ? "cancelled" : "not");
            say(scope->is_closed() ? "closed" : "not");
            say(scope->is_finished() ? "finished" : "not");
        });
    }});
    all.push_back({"scope_tree", [] {
        Scope* const scope = kept<Scope>();
        spawn("inherits", [scope] {
            told([&] {
                Scope child = scope->inherit();
                child.spawn("grandchild", [] { yield(); });
                yield();
            });
        });
        spawn("counts", [scope] { say(word("children", static_cast<std::int64_t>(scope->child_scopes().size()))); });
        spawn("cancels", [scope] { scope->cancel(); });
    }});
    all.push_back({"scope_tree_ends", [] {
        Scope* const scope = kept<Scope>();
        Scope* const child = kept<Scope>(scope->inherit());
        scope->spawn("own", [] { yield(); });
        child->spawn("below", [] { yield(); });
        spawn("disposes", [scope] { scope->dispose(); });
    }});
    all.push_back({"scope_tree_join", [] {
        Scope* const scope = kept<Scope>();
        Scope* const child = kept<Scope>(scope->inherit());
        scope->spawn("own", [] {});
        child->spawn("below", [] { yield(); });
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            told([&] { scope->await_completion(*never); });
        });
        spawn("cancels", [child] { child->cancel(); });
    }});
    all.push_back({"scope_after_cancellation", [] {
        Scope* const scope = kept<Scope>();
        scope->spawn("child", [] {
            cleanup([] { yield(); });
        });
        scope->spawn("child", [] { yield(); });
        spawn("cancels", [scope] {
            scope->cancel();
            scope->await_after_cancellation();
            say("drained");
        });
    }});
    all.push_back({"scope_finally", [] {
        Scope* const scope = kept<Scope>();
        scope->spawn("child", [] { yield(); });
        spawn("adds", [scope] {
            scope->finally([](ScopeRef) { say("finally"); });
        });
        spawn("cancels", [scope] { scope->cancel(); });
    }});
    all.push_back({"scope_handlers", [] {
        Scope* const scope = kept<Scope>();
        scope->set_exception_handler([](ScopeRef, CoroutineHandle, const ErrorValue&) { say("one"); });
        scope->spawn("fails", [] { throw std::runtime_error("failed"); });
        spawn("sets", [scope] {
            scope->set_exception_handler([](ScopeRef, CoroutineHandle, const ErrorValue&) { say("two"); });
        });
        spawn("looks", [scope] { say(scope->is_cancelled() ? "cancelled" : "not"); });
    }});
    all.push_back({"scope_error", [] {
        Scope* const scope = kept<Scope>();
        scope->spawn("fails", [] {
            yield();
            throw std::runtime_error("failed");
        });
        scope->spawn("sibling", [] { told([] { yield(); }); });
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            told([&] { scope->await_completion(*never); });
        });
    }});
    all.push_back({"scope_settings", [] {
        Scope* const scope = kept<Scope>();
        scope->as_not_safely();
        scope->spawn("child", [] { told([] { yield(); }); });
        spawn("allows", [scope] { scope->allow_zombies(); });
        spawn("cancels", [scope] { scope->cancel(); });
    }});
    all.push_back({"zombies", [] {
        Scope* const scope = kept<Scope>();
        scope->allow_zombies();
        scope->spawn("child", [] { yield(); });
        spawn("disposes", [scope] { scope->dispose_safely(); });
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            told([&] { scope->await_completion(*never); });
        });
    }});
    all.push_back({"births", [] {
        Scope* const scope = kept<Scope>();
        for (int i = 0; i < 2; ++i) {
            spawn("spawns", [scope] { told([&] { scope->spawn("born", [] {}); }); });
        }
        spawn("cancels", [scope] { scope->cancel(); });
    }});
}

// ── errors and the end ──

void add_ends(std::vector<Subject>& all) {
    all.push_back({"two_errors", [] {
        for (int i = 0; i < 2; ++i) {
            spawn("fails", [i] {
                if (i == 0) { yield(); }
                throw std::runtime_error(word("failed", i));
            });
        }
        spawn("works", [] { yield(); });
    }});
    all.push_back({"kept_error", [] {
        auto fails = spawn("fails", [] { throw std::runtime_error("failed"); });
        spawn("awaits", [held = fails] { told([&] { held.await(); }); });
        spawn("drops", [held = fails]() mutable { held.release(); });
        fails.release();
        yield();
    }});
    all.push_back({"dropped_error", [] {
        auto fails = spawn("fails", [] { throw std::runtime_error("failed"); });
        for (int i = 0; i < 2; ++i) {
            spawn("drops", [held = fails]() mutable { held.release(); });
        }
    }});
    all.push_back({"shutdown", [] {
        spawn("ends", [] { shutdown(); });
        spawn("fails", [] { throw std::runtime_error("failed"); });
        spawn("works", [] { told([] { yield(); }); });
    }});
    all.push_back({"deadlock", [] {
        const Ref<OneShotEvent> event = new_event();
        for (int i = 0; i < 2; ++i) {
            spawn("waits", [event] { told([&] { await_event(*event); }); });
        }
        spawn("works", [] { yield(); });
    }});
    all.push_back({"unwound", [] {
        const Ref<OneShotEvent> event = new_event();
        for (int i = 0; i < 2; ++i) {
            spawn("waits", [event] {
                struct Says {
                    ~Says() { say("unwound"); }
                } says;
                for (int round = 0; round < 3; ++round) {
                    try {
                        await_event(*event);
                    } catch (const Cancellation&) { continue; }
                }
            });
        }
    }});
    all.push_back({"sleep", [] {
        for (int i = 0; i < 2; ++i) {
            spawn("sleeper", [] { sleep_for(1ms); });
        }
    }});
    all.push_back({"timeout", [] {
        const Ref<OneShotEvent> event = new_event();
        spawn("waits", [event] { told([&] { await_event(*event, Timeout(1ms)); }); });
        spawn("ends", [event] { event->complete(); });
    }});
}

// ── primitives ──

void add_locks(std::vector<Subject>& all) {
    all.push_back({"mutex", [] {
        Mutex* const mutex = kept<Mutex>();
        for (int i = 0; i < 3; ++i) {
            spawn("locks", [mutex] {
                const Lock lock(*mutex);
                say("in");
            });
        }
    }});
    all.push_back({"mutex_tried", [] {
        Mutex* const mutex = kept<Mutex>();
        auto holds = spawn("holds", [mutex] {
            const Lock lock(*mutex);
            yield();
        });
        spawn("tries", [mutex] {
            const bool locked = mutex->try_lock();
            say(locked ? "locked" : "taken");
            if (locked) { mutex->unlock(); }
        });
        spawn("cancels", [holds] { holds.cancel(); });
    }});
    all.push_back({"semaphore", [] {
        Semaphore* const semaphore = kept<Semaphore>(2);
        std::vector<Coroutine<>> held;
        for (const std::size_t count : {1U, 2U, 1U}) {
            held.push_back(spawn("acquires", [semaphore, count] {
                const Permit permit(*semaphore, count);
                say("in");
            }));
        }
        spawn("cancels", [second = held[1]] { second.cancel(); });
    }});
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}}) {
        all.push_back({capacity == 0 ? "channel_rendezvous" : "channel", [capacity] {
            Channel<int>* const channel = kept<Channel<int>>(ChannelOptions{.capacity = capacity});
            for (int i = 0; i < 2; ++i) {
                spawn("sends", [channel, i] { told([&] { channel->send(i); }); });
            }
            spawn("receives", [channel] { told([&] { say(word("got", channel->receive())); }); });
            spawn("closes", [channel] { channel->close(); });
        }});
    }
    all.push_back({"channel_probes", [] {
        Channel<int>* const channel = kept<Channel<int>>(ChannelOptions{.capacity = 1});
        spawn("sends", [channel] { told([&] { channel->send(1); }); });
        spawn("tries", [channel] {
            const auto value = channel->try_receive();
            say(value ? "got" : "none");
        });
        spawn("looks", [channel] {
            say(channel->is_closed() ? "closed" : "open");
            say(channel->is_empty() ? "empty" : "not");
        });
        spawn("closes", [channel] { channel->close(); });
    }});
}

void add_futures(std::vector<Subject>& all) {
    all.push_back({"future", [] {
        FutureState<int>* const state = kept<FutureState<int>>();
        const Future<int> future = state->future();
        spawn("awaits", [future] { told([&] { say(word("got", future.await())); }); });
        spawn("settles", [state] { say(state->try_complete(1) ? "won" : "lost"); });
        spawn("cancels", [future] { say(future.cancel() ? "won" : "lost"); });
        spawn("looks", [future] { say(future.is_completed() ? "there" : "not yet"); });
    }});
    all.push_back({"future_derived", [] {
        FutureState<int>* const state = kept<FutureState<int>>();
        const Future<int> future = state->future();
        spawn("maps", [future] { told([&] { say(word("got", future.map([](int value) { return value + 1; }).await())); }); });
        spawn("settles", [state] { say(state->try_complete(1) ? "won" : "lost"); });
        spawn("cancels", [future] { say(future.cancel() ? "won" : "lost"); });
    }});
    all.push_back({"task_group", [] {
        TaskGroup<int>* const group = kept<TaskGroup<int>>(TaskGroupOptions{});
        for (int i = 0; i < 2; ++i) {
            group->spawn([i] { return i; });
        }
        spawn("races", [group] { told([&] { say(word("first", group->race().await())); }); });
        spawn("cancels", [group] { group->cancel(); });
    }});
    all.push_back({"task_set", [] {
        TaskSet<int>* const set = kept<TaskSet<int>>(TaskGroupOptions{});
        for (int i = 0; i < 2; ++i) {
            set->spawn([i] { return i; });
        }
        for (int i = 0; i < 2; ++i) {
            spawn("joins", [set] { told([&] { say(word("got", set->join_next().await())); }); });
        }
    }});
    all.push_back({"context", [] {
        root_context().set("key", 0);
        for (int i = 1; i <= 2; ++i) {
            spawn("sets", [i] {
                current_context().set("key", i, true);
                yield();
                say(word("is", current_context().get<int>("key")));
            });
        }
        spawn("unsets", [] { current_context().unset("key"); });
    }});
    all.push_back({"pool", [] {
        Pool<int>* const pool = kept<Pool<int>>(PoolOptions<int>{.max = 1, .factory = [] { return 1; }});
        for (int i = 0; i < 2; ++i) {
            spawn("acquires", [pool] {
                told([&] {
                    Lease<int> lease = pool->acquire({});
                    say("in");
                    lease.release();
                });
            });
        }
        spawn("closes", [pool] { told([&] { pool->close(); }); });
    }});
    all.push_back({"circuit", [] {
        Pool<int> pool(PoolOptions<int>{.max = 2, .factory = [] { return 1; }});
        const std::vector<Coroutine<>> users{
            spawn("acquires", [&pool] {
                told([&] {
                    Lease<int> lease = pool.acquire({});
                    say("in");
                    lease.release();
                });
            }),
            spawn("opens", [&pool] { pool.circuit().deactivate(); }),
            spawn("closes", [&pool] { pool.circuit().activate(); }),
            spawn("looks", [&pool] { say(to_string(pool.circuit().state())); }),
        };
        for (const Coroutine<>& one : users) { one.await(); }  // before the pool goes
    }});
}

}  // namespace

std::vector<Subject> runtime_subjects() {
    std::vector<Subject> all;
    add_waits(all);
    add_scopes(all);
    add_ends(all);
    return all;
}

std::vector<Subject> primitive_subjects() {
    std::vector<Subject> all;
    add_locks(all);
    add_futures(all);
    return all;
}

const sim::Program& subject(std::string_view name) {
    static const std::vector<Subject> all = [] {
        std::vector<Subject> both = runtime_subjects();
        for (Subject& one : primitive_subjects()) { both.push_back(std::move(one)); }
        return both;
    }();
    for (const Subject& one : all) {
        if (one.name == name) { return one.program; }
    }
    HEDDLE_ASSERT(false, "a subject that is known");
    return all.front().program;
}

}  // namespace heddle::prop
