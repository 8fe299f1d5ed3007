// SPDX-License-Identifier: Apache-2.0
// The command line: syntax, help, and what is refused because it does not exist yet.
#include "heddle/tools/simrun/detail/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/duration_text.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::detail {
namespace {

using Text = std::optional<std::string>;

constexpr std::string_view not_built = ", which is not built yet";

/// Options as they were typed. One variable serves an option wherever it may stand.
struct Typed {
    Text seed, replay, level, order, time, reactor, record, strategy, bound, budget, out, jobs, planted;
    Text reduction, sharing, audit_sharing, shard, resume, depth, hang;
    std::string scenario, trace, other_trace;
    std::string only;
    std::vector<std::string> results;
    Text of, faults;
    bool no_audit = false, restless = false, one_question = false;
    bool json = false, force = false, trap = false, update = false, all = false, samplers = false;
};

std::uint64_t whole_number(const std::string& where, std::string_view text, std::uint64_t min, std::uint64_t max) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max) {
        refuse(where, "a whole number from " + std::to_string(min) + " to " + std::to_string(max),
               trace::one_line(text));
    }
    return value;
}

/// One of `words`.
std::size_t one_of(const std::string& where, const std::string& text, const std::vector<std::string_view>& words) {
    const auto found = std::ranges::find(words, text);
    if (found != words.end()) { return static_cast<std::size_t>(found - words.begin()); }
    std::string expected;
    for (std::size_t i = 0; i < words.size(); ++i) {
        expected += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    }
    refuse(where, expected, trace::one_line(text));
}

double seconds_of(const std::string& where, const std::string& text) {
    const std::optional<double> seconds = trace::seconds_of(text);
    if (!seconds) { refuse(where, "a time (500ms, 30s, 5m), above 0", trace::one_line(text)); }
    return *seconds;
}

/// A time, or a number of schedules.
Budget budget_of(const std::string& text) {
    constexpr std::uint64_t runs_max = 1'000'000'000'000'000;
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
        return {0, whole_number("--budget", text, 1, runs_max)};
    }
    const std::optional<double> seconds = trace::seconds_of(text);
    if (!seconds) {
        refuse("--budget", "a time (500ms, 30s, 5m, 2h) or a number of schedules (100000), above 0", trace::one_line(text));
    }
    return {*seconds, 0};
}

/// "K", "delay:K" or "reversal:K", where the strategy has such a bound.
void read_bound(const std::string& text, Arguments& arguments) {
    std::string_view number = text;
    const bool systematic = arguments.strategy == sim::Strategy::exhaustive;
    if (!systematic && arguments.strategy != sim::Strategy::delay) {
        refuse("--bound", "a strategy with a bound (exhaustive, delay)",
               "--strategy " + std::string(sim::to_string(arguments.strategy)) + ", which has none");
    }
    for (const sim::BoundKind kind : {sim::BoundKind::delay, sim::BoundKind::reversal}) {
        const std::string prefix = std::string(sim::to_string(kind)) + ":";
        if (!text.starts_with(prefix)) { continue; }
        if (!systematic && kind == sim::BoundKind::reversal) {
            refuse("--bound", "K, or delay:K with --strategy delay", trace::one_line(text));
        }
        if (systematic) { arguments.bound_kind = kind; }
        number.remove_prefix(prefix.size());
    }
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) {
        refuse("--bound", "K, delay:K or reversal:K, K from 0 to 1000000", trace::one_line(text));
    }
    arguments.bound = static_cast<std::uint32_t>(whole_number("--bound", number, 0, 1'000'000));
}

/// "i/n", with i from 0 to n-1.
sim::Part shard_of(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) { refuse("--shard", "i/n, with i from 0 to n-1", trace::one_line(text)); }
    sim::Part part;
    part.count = whole_number("--shard", std::string_view(text).substr(slash + 1), 1, 1'000'000);
    part.index = whole_number("--shard", std::string_view(text).substr(0, slash), 0, part.count - 1);
    return part;
}

// ── the options, wherever they stand ──

class Syntax {
public:
    explicit Syntax(std::string_view about) : app_(std::string(about)) {
        app_.set_version_flag("--version", std::string("simrun ") + HEDDLE_VERSION + ", trace format " +
                                               std::to_string(trace::format_version));
        app_.require_subcommand(0, 1);
        app_.footer(
            "Exit status: 0 nothing violated, 1 violation found or reproduced, 2 unusable input, 3 replay diverged, 4 "
            "harness failed.\n"
            "`simrun COMMAND --help` tells the options of a command.\n\n"
            "example: simrun --seed 1234 --replay found.trace.json");
        seed(app_, "what the trace leaves open (see replay --help)");
        app_.add_option("--replay", typed_.replay, "replay this trace; the same as the command replay")
            ->type_name("TRACE");
        replay_options(app_);
        shared(app_);
        list();
        run();
        explore();
        replay();
        shrink();
        diff();
        sweep();
        selfcheck();
        merge();
        audit();
    }

    CLI::App& app() { return app_; }
    Typed& typed() { return typed_; }
    [[nodiscard]] bool is(const char* name) const { return app_.get_subcommand(name)->parsed(); }

private:
    CLI::App& command(const char* name, const char* about, const char* example) {
        CLI::App* command = app_.add_subcommand(name, about);
        command->footer(std::string("example: ") + example);
        shared(*command);
        return *command;
    }

    void shared(CLI::App& app) {
        app.add_flag("--json", typed_.json, "the result as one JSON value on standard output");
    }
    void force(CLI::App& app) { app.add_flag("--force", typed_.force, "write over existing files"); }
    void seed(CLI::App& app, const char* about) { app.add_option("--seed", typed_.seed, about)->type_name("N"); }
    void scenario(CLI::App& app) {
        app.add_option("scenario", typed_.scenario, "subject/name, or subject/name:key=value,key=value")
            ->required()
            ->type_name("");
        app.add_option("--planted", typed_.planted, "with this planted bug instead of the scenario's own")
            ->type_name("ID");
    }
    void order_and_time(CLI::App& app, const char* order) {
        app.add_option("--order", typed_.order, order)->type_name("ORDER");
        app.add_option("--time", typed_.time, "T0: equal timers in one order; T1: in any; T2: within intervals; T3: the same, and "
                       "no timer overtakes an elder one; T4: at any time (T1)")
            ->type_name("T");
    }
    void replay_options(CLI::App& app) {
        app.add_option("--level", typed_.level, "strict: stop at the first divergence; adaptive: hold to the constraints alone, after an edit; continue: go "
                       "on (strict)")
            ->type_name("LEVEL");
        app.add_flag("--trap", typed_.trap, "SIGTRAP at the violating step, for a debugger");
        app.add_flag("--update", typed_.update, "write the trace anew with what happened");
    }

    void list() { command("list", "scenarios, their parameters and what they are about", "simrun list --json"); }

    void run() {
        CLI::App& app = command("run", "one world: the baseline run, or a random one with --seed",
                                "simrun run program/any --seed 7 --record run.trace.json");
        scenario(app);
        seed(app,
             "answers every choice at random; without it every answer is what production does. On libuv the operating "
             "system "
             "answers, and the seed is only noted");
        app.add_option("--reactor", typed_.reactor, "sim or libuv (sim)")->type_name("NAME");
        app.add_option("--record", typed_.record, "write the run as a trace")->type_name("FILE");
        order_and_time(app, "faithful: production's queue; any: any ready coroutine may run next (faithful)");
        force(app);
    }

    void explore() {
        CLI::App& app =
            command("explore", "search the schedules of a scenario; a failure is shrunk and written as a trace",
                    "simrun explore pool/lease:clients=3 --budget 1m --out traces");
        scenario(app);
        app.add_option("--strategy", typed_.strategy,
                       "portfolio: all others in turns; exhaustive: by number of deviations from production, 0, 1, 2, …; samplers: "
                       "random, pct, pos, surw, coverage, and delay: few deviations (portfolio; exhaustive where a bound or a "
                       "reduction is given)")
            ->type_name("NAME");
        app.add_option("--depth", typed_.depth, "of pct: so many steps have to come in one order, 1 to 64 (3)")->type_name("D");
        order_and_time(app, "faithful, any, or both, one after the other (both)");
        app.add_option("--bound", typed_.bound,
                       "K: deviations in one schedule; delay:K: answer i counts i; reversal:K: races decided otherwise "
                       "(exhaustive: no bound; delay: 2)")
            ->type_name("K");
        app.add_option("--budget", typed_.budget, "a time (30s, 5m) or a number of schedules (30s)")->type_name("B");
        seed(app, "for the world and the strategies with chance (1)");
        app.add_option(
               "--jobs", typed_.jobs,
               "worker processes, which may crash; 0: none, the search runs in this process, for debuggers (1)")
            ->type_name("N");
        app.add_option("--hang-after", typed_.hang, "a run that does nothing for so long is killed, and told as HANG (10s)")
            ->type_name("TIME");
        app.add_flag("--no-audit", typed_.no_audit, "do not repeat some of the runs in fresh processes to see whether they are the same");
        app.add_option("--out", typed_.out, "folder for traces; made if missing (.)")->type_name("DIR");
        force(app);
        app.add_option("--reduction", typed_.reduction,
                       "every trace, depth first: none: all schedules; source: at most one of each trace, and some redundant ones; "
                       "optimal: fewer redundant ones. Without it schedules come by their number of deviations")
            ->type_name("NAME");
        app.add_option("--sharing", typed_.sharing,
                       "what a reduction rests on. declared: coroutines share what Shared and touch say; "
                       "any: they may share everything (declared, and what hooks in the program's sources see)")
            ->type_name("NAME");
        app.add_option("--audit-sharing", typed_.audit_sharing,
                       "with a reduction, in any order: one in N traces is looked at for what coroutines share undeclared")
            ->type_name("N");
        app.add_option("--shard", typed_.shard,
                       "the i-th of n parts, for array jobs; its result goes to OUT/shard-i-of-n.json, and `simrun merge OUT` adds up")
            ->type_name("I/N");
        app.add_option("--resume", typed_.resume, "keep the state of the search in this folder, or go on from there")->type_name("DIR");
    }

    void replay() {
        CLI::App& app =
            command("replay", "run the schedule of a trace again", "simrun replay found.trace.json --level continue");
        app.add_option("trace", typed_.trace, "a trace")->required()->type_name("");
        seed(app,
             "with --level continue: answers choices beyond the end of the recorded run. A strict replay leaves "
             "nothing open: what "
             "the trace does not list is what production does");
        replay_options(app);
    }

    void shrink() {
        CLI::App& app = command("shrink", "fewer decisions, same violation",
                                "simrun shrink found.trace.json --out small.trace.json");
        app.add_option("trace", typed_.trace, "a trace of a violation")->required()->type_name("");
        app.add_option("--out", typed_.out, "where to write (beside the trace)")->type_name("FILE");
        force(app);
    }

    void diff() {
        CLI::App& app = command(
            "diff", "the first difference of two traces, with its neighbours; status 0 if they are one run, else 3",
            "simrun diff expected.trace.json found.trace.json");
        app.add_option("trace", typed_.trace, "a trace")->required()->type_name("");
        app.add_option("other", typed_.other_trace, "another one")->required()->type_name("");
    }

    void sweep() {
        CLI::App& app = command("sweep", "one thing goes wrong at every place where it could, then two; each place that violates is told",
                                "simrun sweep sync/pool --of fail --out traces");
        scenario(app);
        app.add_option("--of", typed_.of,
                       "cancel: a coroutine is cancelled, at the end of every step; fail: an operation, or a hook that asks sim::fails, "
                       "fails; both of these; shutdown: the runtime begins to shut down, at the end of every step (both)")
            ->type_name("WHAT");
        app.add_option("--faults", typed_.faults, "so many in one run, 1 or 2 (2)")->type_name("N");
        app.add_option("--budget", typed_.budget, "a time (30s, 5m) or a number of runs (30s)")->type_name("B");
        app.add_option("--out", typed_.out, "folder for traces; made if missing (.)")->type_name("DIR");
        force(app);
    }

    void selfcheck() {
        CLI::App& app = command("selfcheck", "count the traces of programs whose number is known; status 0 if all are equal",
                                "simrun selfcheck --only litmus/lastzero");
        app.add_flag("--all", typed_.all, "the large ones, too: minutes instead of seconds");
        app.add_flag("--samplers", typed_.samplers, "instead: schedules that each sampler needs to known bugs, 200 campaigns each; minutes");
        seed(app, "of the campaigns of --samplers (1)");
        app.add_option("--only", typed_.only, "those whose name has this part")->type_name("TEXT");
    }

    void merge() {
        CLI::App& app = command("merge", "the results of all shards of a search as one", "simrun merge results");
        app.add_option("result", typed_.results, "folders with results of shards, or the files themselves")->required()->type_name("");
    }

    /// Called by a search, with a socket; never by people.
    void audit() {
        CLI::App& app = *app_.add_subcommand("audit", "")->group("");
        scenario(app);
        seed(app, "");
        order_and_time(app, "");
        app.add_flag("--restless", typed_.restless);
        app.add_flag("--one-question", typed_.one_question);
    }

    CLI::App app_;
    Typed typed_;
};

// ── from what was typed to values ──

Command command_of(const Syntax& syntax, const Typed& typed) {
    struct Named {
        const char* name;
        Command command;
    };
    constexpr std::array commands{Named{"list", Command::list},       Named{"run", Command::run},
                                  Named{"explore", Command::explore}, Named{"replay", Command::replay},
                                  Named{"shrink", Command::shrink},   Named{"diff", Command::diff},
                                  Named{"sweep", Command::sweep},
                                  Named{"selfcheck", Command::selfcheck}, Named{"merge", Command::merge},
                                  Named{"audit", Command::audit}};
    for (const Named& named : commands) {
        if (!syntax.is(named.name)) { continue; }
        if (typed.replay) {
            refuse("--replay", "no other command beside it", std::string("the command ") + named.name);
        }
        return named.command;
    }
    return typed.replay ? Command::replay : Command::about;
}

/// What may stand before a command serves that command, or is refused with it.
void refuse_strangers(Command command, const Typed& typed) {
    const bool seeds = command == Command::audit || command == Command::run || command == Command::explore ||
                       command == Command::replay || typed.samplers;
    if (typed.seed && !seeds) {
        refuse("--seed", "a command that runs something (run, explore, replay)", "another one");
    }
    const bool replays = command == Command::replay;
    if (!replays && (typed.level || typed.trap || typed.update)) {
        refuse(typed.level ? "--level" : typed.trap ? "--trap" : "--update", "the command replay", "another one");
    }
}

void read_search(const Typed& typed, Arguments& arguments) {
    if (typed.strategy) {
        const std::size_t named = one_of("--strategy", *typed.strategy, sim::strategy_names());
        arguments.strategy = *sim::strategy_from(sim::strategy_names()[named]);
    } else if (typed.bound || typed.reduction) {
        arguments.strategy = sim::Strategy::exhaustive;
    }
    if (typed.bound) { read_bound(*typed.bound, arguments); }
    if (typed.depth) {
        arguments.depth = static_cast<std::uint32_t>(whole_number("--depth", *typed.depth, 1, 64));
        if (arguments.strategy != sim::Strategy::pct) {
            refuse("--depth", "--strategy pct beside it", "--strategy " + std::string(sim::to_string(arguments.strategy)));
        }
    }
    if (typed.budget) {
        arguments.budget = budget_of(*typed.budget);
        arguments.budget_text = *typed.budget;
    }
    if (typed.jobs) { arguments.jobs = static_cast<unsigned>(whole_number("--jobs", *typed.jobs, 0, 1024)); }
    if (typed.hang) { arguments.hang_seconds = seconds_of("--hang-after", *typed.hang); }
    if (typed.reduction) {
        constexpr std::array reductions{sim::Reduction::none, sim::Reduction::source, sim::Reduction::optimal};
        arguments.reduction = reductions.at(one_of("--reduction", *typed.reduction, {"none", "source", "optimal"}));
        if (arguments.strategy != sim::Strategy::exhaustive) {
            refuse("--reduction", "the strategy exhaustive beside it", "--strategy " + std::string(sim::to_string(arguments.strategy)));
        }
        if (arguments.reduction == sim::Reduction::optimal && arguments.jobs > 1) {
            refuse("--jobs", "0 or 1 beside --reduction optimal, whose trees are not divided", *typed.jobs);
        }
        if (arguments.bound) { refuse("--reduction", "no --bound beside it", "--bound " + *typed.bound); }
    }
    if (typed.sharing) {
        arguments.sharing_any = one_of("--sharing", *typed.sharing, {"declared", "any"}) == 1;
        arguments.sharing_declared = !arguments.sharing_any;
        if (arguments.sharing_any && !arguments.reduction) { refuse("--sharing", "a --reduction beside it", "any"); }
    }
    if (typed.of) {
        const std::size_t of = one_of("--of", *typed.of, {"cancel", "fail", "both", "shutdown"});
        arguments.sweep = static_cast<sim::SweepOf>(of);
    }
    if (typed.faults) { arguments.faults = static_cast<std::uint32_t>(whole_number("--faults", *typed.faults, 1, 2)); }
    if (typed.audit_sharing) {
        arguments.audit_sharing = whole_number("--audit-sharing", *typed.audit_sharing, 1, 1'000'000'000);
        if (!arguments.reduction) { refuse("--audit-sharing", "a --reduction beside it", *typed.audit_sharing); }
    }
    arguments.audits = !typed.no_audit;
    arguments.restless = typed.restless;
    arguments.one_question = typed.one_question;
    if (typed.shard) { arguments.shard = shard_of(*typed.shard); }
    if (typed.resume) {
        if (typed.resume->empty()) { refuse("--resume", "a folder", "an empty name"); }
        arguments.resume = *typed.resume;
    }
    const bool divided = typed.shard || typed.resume;
    const char* const which = typed.shard ? "--shard" : "--resume";
    if (divided && arguments.jobs == 0) { refuse(which, "worker processes (--jobs 1 or more)", "--jobs 0"); }
    if (divided && arguments.reduction == sim::Reduction::optimal) {
        refuse(which, "--reduction none or source, as trees of optimal are not divided", "--reduction optimal");
    }
    if (arguments.bound_kind == sim::BoundKind::reversal && (typed.shard || arguments.jobs > 1)) {
        refuse(typed.shard ? "--shard" : "--jobs", "one worker and no shards beside --bound reversal:K, whose search is not divided",
               typed.shard ? *typed.shard : *typed.jobs);
    }
    if (typed.resume && arguments.strategy == sim::Strategy::exhaustive && !arguments.reduction) {
        refuse("--resume", "a sampler, or --reduction none or source: a search by number of deviations keeps its place in memory alone",
               "neither");
    }
}

void read_world(const Typed& typed, Arguments& arguments) {
    if (typed.order) {
        const bool both = arguments.command == Command::explore;
        std::vector<std::string_view> words{"faithful", "any"};
        if (both) { words.emplace_back("both"); }
        const std::size_t order = one_of("--order", *typed.order, words);
        if (order < 2) { arguments.order = static_cast<trace::Order>(order); }
    }
    if (typed.time) {
        arguments.time = static_cast<trace::TimeLevel>(one_of("--time", *typed.time, {"T0", "T1", "T2", "T3", "T4"}));
    }
    if (typed.reactor) { arguments.on_libuv = one_of("--reactor", *typed.reactor, {"sim", "libuv"}) == 1; }
    if (arguments.on_libuv && arguments.order == trace::Order::any) {
        refuse("--order", "faithful, the only order that libuv has", "any");
    }
    if (arguments.on_libuv && typed.time) {
        refuse("--time", "the simulated reactor beside it", "--reactor libuv, where time is real");
    }
}

/// Commands that have a name and a meaning, and nothing behind them.
void refuse_later_commands(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word.starts_with('-')) { continue; }
        for (const std::string_view later : {"explain", "export"}) {
            if (word == later) {
                refuse("command", "list, run, explore, replay, shrink, diff, sweep, selfcheck or merge",
                       std::string(word) + std::string(not_built));
            }
        }
        return;  // the first word is the command, or an option's value, and then CLI11 finds the command
    }
}

}  // namespace

Arguments parse_arguments(int argc, const char* const* argv, std::string_view about) {
    refuse_later_commands(argc, argv);
    Syntax syntax(about);
    Typed& typed = syntax.typed();
    try {
        syntax.app().parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        throw TextWanted{syntax.app().help()};
    } catch (const CLI::CallForVersion& version) {
        throw TextWanted{std::string(version.what()) + "\n"};
    } catch (const CLI::ParseError& error) { refuse("command line", "what --help says", error.what()); }
    Arguments arguments;
    arguments.command = command_of(syntax, typed);
    arguments.json = typed.json;
    arguments.force = typed.force;
    refuse_strangers(arguments.command, typed);
    if (typed.seed) { arguments.seed = whole_number("--seed", *typed.seed, 0, ~std::uint64_t{0}); }
    arguments.scenario = typed.scenario;
    const std::string& first = typed.replay ? *typed.replay : typed.trace;
    if (!first.empty() || arguments.command == Command::replay || arguments.command == Command::shrink) {
        arguments.traces.push_back(first);
    }
    if (arguments.command == Command::merge) { arguments.traces = typed.results; }
    if (arguments.command == Command::diff) { arguments.traces = {typed.trace, typed.other_trace}; }
    read_world(typed, arguments);
    read_search(typed, arguments);
    if (typed.record) {
        if (typed.record->empty()) { refuse("--record", "a file", "an empty name"); }
        arguments.record = *typed.record;
    }
    if (typed.out && typed.out->empty()) { refuse("--out", "a name", "an empty one"); }
    const bool in_folder = arguments.command == Command::explore && !arguments.resume.empty();
    arguments.out = typed.out.value_or(arguments.command == Command::shrink ? "" : in_folder ? arguments.resume : ".");
    if (in_folder && typed.out && *typed.out != arguments.resume) { refuse("--out", "none beside --resume, which names the folder", *typed.out); }
    arguments.planted = typed.planted;
    if (typed.level) {
        const std::size_t level = one_of("--level", *typed.level, {"strict", "adaptive", "continue"});
        arguments.level = level == 2 ? sim::ReplayMode::carry_on : sim::ReplayMode::strict;
        arguments.adaptive = level == 1;
        if (arguments.adaptive && typed.update) { refuse("--update", "none beside --level adaptive, which keeps to no schedule", "one"); }
    }
    arguments.trap = typed.trap;
    arguments.all = typed.all;
    arguments.only = typed.only;
    arguments.samplers = typed.samplers;
    arguments.update = typed.update;
    return arguments;
}

bool asks_for_json(int argc, const char* const* argv) {
    return std::any_of(argv + std::min(argc, 1), argv + argc, [](std::string_view word) { return word == "--json"; });
}

}  // namespace heddle::detail
