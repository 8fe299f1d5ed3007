// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/interpreter.hpp"

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using std::chrono::milliseconds;

/// Upper bound of the waits for a scope, so that most programs end by themselves.
constexpr milliseconds scope_patience{30};

void expect(bool condition, const char* invariant, const char* message) {
    if (!condition) { report_violation({invariant, message, __FILE__, __LINE__}); }
}

/// What the coroutines of a program share besides the runtime's own objects: the handles and the scopes that they leave for each other.
constexpr std::array<std::string_view, ProgramData::coroutines_max> handle_cells{"handle 0", "handle 1", "handle 2", "handle 3",
                                                                                 "handle 4", "handle 5", "handle 6", "handle 7"};
constexpr std::array<std::string_view, ProgramData::slots> scope_cells{"scope 0", "scope 1", "scope 2"};

/// What one awaiter of a coroutine got: every other one gets the same.
struct Delivered {
    bool known = false;
    int value = 0;
    std::exception_ptr error{};
};

/// The outcome of a finished coroutine, as its handles show it.
struct Ended {
    int value = 0;
    std::exception_ptr error{};
    friend bool operator==(const Ended&, const Ended&) = default;
};

/// One run of a program; its coroutines share it, and the last of them takes it along.
class Run : public std::enable_shared_from_this<Run> {
public:
    Run(std::shared_ptr<const ProgramData> program, std::shared_ptr<Journal> journal)
        : program_(std::move(program)), journal_(std::move(journal)) {
        handles_.resize(program_->coroutines.size());
        scopes_.resize(ProgramData::slots);
        Scheduler& scheduler = current_runtime("program").scheduler();
        for (std::uint32_t i = 0; i < ProgramData::events; ++i) { events_.push_back(OneShotEvent::make(scheduler, "event")); }
        if (uses_objects(*program_)) { objects_.emplace(journal_.get()); }
    }

    /// The whole body of one coroutine; returns its number.
    int body(std::uint32_t index) {
        try {
            execute(program_->coroutines[index], {{}, true, index});
        } catch (const Cancellation&) {
            if (journal_ != nullptr) { journal_->note(index, "cancelled"); }
            throw;
        }
        return static_cast<int>(index);
    }

private:
    struct Place {
        ScopeRef scope{};        // where `spawn` goes; empty: the current one
        bool suspends = true;
        std::uint32_t who = 0;   // number of the coroutine, for the journal
    };

    void execute(const Block& block, const Place& place) {
        for (const Step& step : block) { execute(step, place); }
    }

    void execute(const Step& step, const Place& place) {
        look_at_outcomes();
        const auto& n = step.numbers;
        switch (step.what) {
            case Do::yield: yield(); return;
            case Do::sleep: sleep(milliseconds(n[0])); return;
            case Do::spawn: spawn_one(n[0], n[1] == 1, true, place); return;
            case Do::go: spawn_one(n[0], false, false, place); return;
            case Do::await: await_one(n[0], n[1]); return;
            case Do::both: await_two(n[0], n[1], n[2]); return;
            case Do::cancel:
                if (const Coroutine<int> target = handle(n[0]); target) { target.cancel("cancelled by the program"); }
                return;
            case Do::set: events_[n[0]]->complete(static_cast<std::int64_t>(n[0])); return;
            case Do::wait: wait(n[0], n[1]); return;
            case Do::protect: protect_block(step.blocks[0], place); return;
            case Do::cleanup: cleanup_block(step.blocks[0], step.blocks[1], place); return;
            case Do::attempt: attempt(step.blocks[0], step.blocks[1], place); return;
            case Do::fail: throw std::runtime_error("E" + std::to_string(n[0]));
            case Do::scope: in_scope(step, place); return;
            case Do::request:
                touch(scope_cells[n[0]], TouchMode::read);
                if (const ScopeRef scope = scopes_[n[0]]; scope) { request(scope, n[1] + 1, milliseconds(n[2])); }
                return;
            case Do::finally: add_finally(step.blocks[0]); return;
            case Do::microtask:
                add_microtask([self = shared_from_this(), &block = step.blocks[0]] { self->execute(block, {{}, false}); });
                return;
            case Do::anywhere:
                sim::anywhere([self = shared_from_this(), &block = step.blocks[0]] { self->execute(block, {{}, false}); });
                return;
            case Do::either: execute(step.blocks[sim::choose(2, "either")], place); return;
            case Do::shutdown: heddle::shutdown(); return;
            case Do::group: in_group(step, place); return;
            case Do::count_: return;
            default: on_object(step, place); return;
        }
    }

    void on_object(const Step& step, const Place& place) {
        const auto& n = step.numbers;
        ProgramObjects& objects = *objects_;
        ProgramObjects::Body body([&] { execute(step.blocks[0], place); });
        switch (step.what) {
            case Do::lock: objects.lock(place.who, n[0], body); return;
            case Do::permit: objects.permit(place.who, 1 + n[0], body); return;
            case Do::change: objects.change(n[0] == 1); return;
            case Do::news: objects.news(n[0]); return;
            case Do::send: objects.send(place.who, n[0], n[1]); return;
            case Do::receive: objects.receive(place.who, n[0], n[1]); return;
            case Do::try_send: objects.try_send(place.who, n[0]); return;
            case Do::try_receive: objects.try_receive(place.who, n[0]); return;
            case Do::later: objects.receive_later(n[0]); return;
            case Do::obtain: objects.obtain(n[0], n[1]); return;
            case Do::close: objects.close(n[0]); return;
            case Do::settle: objects.settle(n[0]); return;
            case Do::future: objects.await_future(n[0]); return;
            case Do::use: objects.use(place.who, n[0], n[1], n[2], body); return;
            case Do::try_use: objects.try_use(place.who, n[0], n[1], body); return;
            case Do::close_pool: objects.close_pool(n[0]); return;
            default: expect(false, "PD3", "a step that nobody knows"); return;
        }
    }

    /// Its tasks are coroutines of the program; behind the block it is waited for, whatever comes.
    void in_group(const Step& step, const Place& place) {
        const auto& n = step.numbers;
        const auto inside = std::make_shared<std::size_t>(0);
        TaskGroupOptions options;
        options.concurrency = n[0];
        with_group<void>(options, [&](TaskGroup<void>& group) {
            for (const std::uint32_t index : {n[1], n[2]}) {
                touch("spawns", TouchMode::add);
                if (++spawns_ > ProgramData::spawns_max) { break; }
                group.spawn([self = shared_from_this(), index, inside, most = n[0]] {
                    struct Leave {
                        std::size_t& count;
                        ~Leave() { --count; }
                    } leave{++*inside};
                    expect(most == 0 || *inside <= most, "INV-GRP-01", "more tasks run than the group allows");
                    static_cast<void>(self->body(index));
                });
            }
            execute(step.blocks[0], place);
        });
        expect(*inside == 0, "INV-GRP-14", "a group was left with a task inside");
    }

    /// What a finished coroutine ended with is there, and stays. Past the handles, which would tell a search that the program looks.
    void look_at_outcomes() {
        for (const Coroutine<int>& one : handles_) {
            if (!one || !one.core().is_completed()) { continue; }
            const ErrorValue error = one.core().error();
            const std::optional<int>& result = static_cast<detail::CoroutineOf<int>&>(one.core()).result();
            const Ended now{result.value_or(-1), error ? error.exception() : nullptr};
            expect(result.has_value() != static_cast<bool>(error), "INV-SCHED-10", "a finished coroutine has no outcome, or two");
            const auto [known, is_new] = ended_.emplace(one.id(), now);
            expect(is_new || known->second == now, "INV-SCHED-10", "the outcome of a finished coroutine changed");
        }
    }

    [[nodiscard]] Coroutine<int> handle(std::uint32_t index) const {
        touch(handle_cells[index], TouchMode::read);
        return index < handles_.size() ? handles_[index] : Coroutine<int>();
    }

    void sleep(milliseconds duration) {
        const Instant before = true_now();
        sleep_for(duration);
        expect(now() - before >= duration, "INV-RCT-12", "a sleep ended early");
    }

    /// The cached time may lag behind: what a wait is measured from is refreshed when it begins (RCT-22).
    static Instant true_now() {
        Reactor& reactor = current_runtime("now").scheduler().reactor();
        reactor.refresh_clock();
        return reactor.now();
    }

    void spawn_one(std::uint32_t index, bool high, bool keeps, const Place& place) {
        touch("spawns", TouchMode::add);  // the bound is out of reach of programs that are searched
        if (++spawns_ > ProgramData::spawns_max) { return; }
        Runtime& runtime = ambient_scheduler()->runtime();
        SpawnOptions options;
        options.name = Name("co");
        options.priority = high ? Priority::high : Priority::normal;
        if (place.scope) { options.scope = place.scope; }
        const auto started = std::make_shared<bool>(false);
        auto entry = [self = shared_from_this(), index, started] {
            *started = true;
            return self->body(index);
        };
        // Spawning from a microtask or a post is the runtime's privilege (SCH-13).
        Coroutine<int> born = runtime.spawn_with(options, std::move(entry), SourceLocation::current(), !place.suspends);
        expect(!*started, "INV-SCHED-06", "the new coroutine ran inside its spawn");
        if (!keeps) { return; }
        touch(handle_cells[index], TouchMode::write);
        handles_[index] = std::move(born);
    }

    void await_one(std::uint32_t index, std::uint32_t ms) {
        const Coroutine<int> target = handle(index);
        if (!target || target.core().is_running()) { return; }
        Delivered& delivered = delivered_[target.id()];
        const bool over = target.is_completed();
        const std::uint64_t switches = current_runtime("await").statistics().switches;
        const Instant before = ms > 0 ? true_now() : now();
        std::exception_ptr thrown;
        int value = 0;
        try {
            value = ms > 0 ? heddle::await(target, Timeout(milliseconds(ms))) : target.await();
        } catch (const OperationCanceled&) {
            // The timeout, unless the target ended with one of its own.
            if (ms > 0 && !over && !target.is_completed()) {
                expect(now() - before >= milliseconds(ms), "INV-AWAIT-04", "a timeout ended a wait early");
            }
            throw;
        } catch (const Cancellation&) {
            // Ours, or the target's outcome: told apart by identity.
            if (target.is_completed() && target.error() && target.error().exception() == std::current_exception()) {
                thrown = std::current_exception();
            } else {
                throw;
            }
        } catch (const std::exception&) {
            thrown = std::current_exception();
        }
        if (over) {
            expect(current_runtime("await").statistics().switches == switches, "INV-AWAIT-02", "awaiting what was over switched");
        }
        expect(!delivered.known || (delivered.value == value && delivered.error == thrown), "INV-AWAIT-01",
               "two awaiters of one coroutine got different outcomes");
        delivered = {true, value, thrown};
        if (thrown) { std::rethrow_exception(thrown); }
    }

    void await_two(std::uint32_t first, std::uint32_t second, std::uint32_t ms) {
        const Coroutine<int> a = handle(first);
        const Coroutine<int> b = handle(second);
        if (!a || !b || a.core().is_running() || b.core().is_running()) { return; }
        EventSource* const inputs[] = {&a.core(), &b.core()};
        if (ms > 0) {
            await_all(inputs, Timeout(milliseconds(ms)));
        } else {
            await_all(inputs);
        }
    }

    void wait(std::uint32_t event, std::uint32_t ms) {
        if (ms == 0) {
            await_event(events_[event]);
            return;
        }
        const Instant before = true_now();
        try {
            await_event(events_[event], Timeout(milliseconds(ms)));
        } catch (const OperationCanceled&) {
            expect(now() - before >= milliseconds(ms), "INV-AWAIT-04", "a timeout ended a wait early");
            throw;
        }
    }

    void protect_block(const Block& block, const Place& place) {
        const CoroutineHandle self = current_coroutine();
        const std::uint32_t before = self.core().protection_depth();
        struct Back {
            const CoroutineHandle& self;
            std::uint32_t before;
            // Removed meanwhile by shutdown, deadlock or epilogue: 0, whatever it was.
            ~Back() {
                const std::uint32_t after = self.core().protection_depth();
                expect(after == before || after == 0, "INV-PRT-02", "protection depth is not back behind a region");
            }
        } back{self, before};
        std::exception_ptr error;  // what the body threw, a cancellation aside
        try {
            protect([&] {
                try {
                    execute(block, place);
                } catch (const std::exception&) {
                    error = std::current_exception();
                    throw;
                }
            });
        } catch (...) {
            expect(!error || std::current_exception() == error, "INV-PRT-03", "an error left a protected region as something else");
            throw;
        }
        expect(!error, "INV-PRT-03", "an error got lost in a protected region");
    }

    void cleanup_block(const Block& in_destructor, const Block& block, const Place& place) {
        struct Guard {
            Run& run;
            const Block& block;
            ~Guard() {
                bool failed = false;
                try {
                    cleanup([&] {
                        try {
                            run.execute(block, {});
                        } catch (const std::exception&) {
                            failed = true;
                            throw;
                        }
                    });
                } catch (...) {
                    expect(false, "INV-PRT-05", "an exception left a cleanup");
                }
                const Scheduler* scheduler = ambient_scheduler();
                expect(!failed || (scheduler != nullptr && scheduler->has_pending_error()), "INV-PRT-05",
                       "an error that a cleanup withheld was not reported");
            }
        } guard{*this, in_destructor};
        execute(block, place);
    }

    void attempt(const Block& block, const Block& handler, const Place& place) {
        try {
            execute(block, place);
        } catch (const Cancellation&) {
            handle_inside(handler, place);
        } catch (const std::exception&) {
            handle_inside(handler, place);
        }
    }

    /// Runs inside a handler: what is being handled stays so, whatever others catch meanwhile.
    void handle_inside(const Block& handler, const Place& place) {
        const std::exception_ptr handled = std::current_exception();
        const int uncaught = std::uncaught_exceptions();  // not 0 in a destructor that an error runs
        execute(handler, place);
        expect(std::current_exception() == handled, "INV-SCHED-25", "a suspension changed the exception that is being handled");
        expect(std::uncaught_exceptions() == uncaught, "INV-SCHED-25", "a suspension changed the number of uncaught exceptions");
    }

    void in_scope(const Step& step, const Place& place) {
        const auto& n = step.numbers;
        Scope scope = n[2] == 1 ? Scope::inherited() : Scope();
        if (n[1] == 1) {
            scope.allow_zombies();
        } else {
            scope.as_not_safely();
        }
        if (n[3] != 0) {
            scope.set_exception_handler([rethrows = n[3] == 2](ScopeRef, CoroutineHandle, const ErrorValue&) {
                if (rethrows) { throw std::runtime_error("E-handler"); }
            });
        }
        touch(scope_cells[n[0]], TouchMode::write);
        scopes_[n[0]] = scope;
        execute(step.blocks[0], {scope, place.suspends});
        request(scope, n[4], milliseconds(n[5]));
        Timeout patience(scope_patience);
        if (n[6] == 1) { scope.await_completion(patience.event()); }
        if (n[6] == 2 && n[4] != 0 && (n[4] != 4 || scope.is_cancelled())) { scope.await_after_cancellation({}, &patience.event()); }
    }

    static void request(const ScopeRef& scope, std::uint32_t how, milliseconds after) {
        switch (how) {
            case 1: scope.cancel(); return;
            case 2: scope.dispose(); return;
            case 3: scope.dispose_safely(); return;
            case 4: scope.dispose_after_timeout(after); return;
            default: return;
        }
    }

    void add_finally(const Block& block) {
        const CoroutineHandle self = current_coroutine();
        const auto calls = std::make_shared<int>(0);
        self.finally([run = shared_from_this(), &block, calls](const CoroutineHandle& owner) {
            expect(++*calls == 1, "INV-FIN-01", "a finally handler ran twice");
            expect(owner.is_completed(), "INV-FIN-01", "a finally handler ran before its coroutine had finished");
            run->execute(block, {});
        });
    }

    std::shared_ptr<const ProgramData> program_;
    std::shared_ptr<Journal> journal_;
    std::optional<ProgramObjects> objects_;
    std::vector<Coroutine<int>> handles_;  // the last one of each coroutine
    std::vector<ScopeRef> scopes_;
    std::vector<Ref<OneShotEvent>> events_;
    std::map<CoroutineId, Delivered> delivered_;
    std::map<CoroutineId, Ended> ended_;
    std::uint32_t spawns_ = 0;
};

}  // namespace

sim::Program interpret(const ProgramData& program, Holds holds, std::shared_ptr<Journal> journal) {
    return [shared = std::make_shared<const ProgramData>(program), holds, journal = std::move(journal)] {
        if (journal) { journal->begin(); }
        const auto run = std::make_shared<Run>(shared, journal);
        if (holds == Holds::main) { coroutine_context().set(ContextKey::unique("run"), run); }
        static_cast<void>(run->body(0));
    };
}

}  // namespace heddle::prop
