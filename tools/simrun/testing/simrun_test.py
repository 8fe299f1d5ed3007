# SPDX-License-Identifier: Apache-2.0
"""Tests of the command simrun, which they run as a user does: by its arguments, exit status, output and files.

usage: simrun_test.py [CLASS …]     with SAMPLE_SIMRUN and OWN_SIMRUN naming the programs of this folder

Each test works in a folder of its own. The exit statuses: 0 nothing violated, 1 a violation, 2 unusable input,
3 diverged, 4 the harness failed.
"""

import copy
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SAMPLE = os.environ.get("SAMPLE_SIMRUN", "")
OWN = os.environ.get("OWN_SIMRUN", "")


class Call:
    """One finished call of a program."""

    def __init__(self, arguments, folder, seconds=120):
        done = subprocess.run(arguments, cwd=folder, capture_output=True, timeout=seconds, check=False)
        self.status = done.returncode
        self.bytes = done.stdout
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def last_line(self):
        return self.out.rstrip("\n").split("\n")[-1]

    @property
    def json(self):
        return json.loads(self.out)


class CommandTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="simrun-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def call(self, *arguments, status=0, program=None, seconds=120):
        done = Call([program or SAMPLE, *arguments], self.folder, seconds)
        self.assertEqual(done.status, status, f"{arguments}\nstdout: {done.out[-3000:]}\nstderr: {done.err[-3000:]}")
        return done

    def refused(self, *arguments, names=()):
        """Status 2, nothing on standard output, and one line that names everything in `names`."""
        done = self.call(*arguments, status=2)
        self.assertEqual(done.out, "")
        self.assertEqual(done.err.count("\n"), 1, done.err)
        self.assertLess(len(done.err), 2000)
        for name in names:
            self.assertIn(name, done.err)
        return done

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def found(self, scenario="sample/lease", *arguments):
        """A trace of a violation, as explore writes it."""
        result = self.call("explore", scenario, "--json", *arguments, status=1).json
        return result["violations"][0]["trace"]

    def edited(self, trace, change, name="edited.trace.json"):
        """A copy of a trace with a change made to its JSON."""
        document = json.loads((self.folder / trace).read_text())
        change(document)
        (self.folder / name).write_text(json.dumps(document))
        return name


class Help(CommandTest):
    def test_every_command_has_help_with_an_example(self):
        for command in ("list", "run", "explore", "replay", "shrink", "diff"):
            self.assertIn(f"example: simrun {command}", self.call(command, "--help").out)
        self.assertIn("example: simrun --seed 1234 --replay", self.call("--help").out)

    def test_version_names_program_and_format(self):
        self.assertRegex(self.call("--version").out, r"^simrun \d+\.\d+\.\d+, trace format \d+\n$")

    def test_an_unknown_word_or_option_is_refused(self):
        for line in ("fly", "--fly", "list --fly", "explore", "diff one", "replay", "run", "list more"):
            with self.subTest(line):
                self.refused(*line.split())

    def test_what_is_not_built_yet_is_refused_by_name(self):
        explore = ["explore", "sample/quiet"]
        for arguments, name in (
            (explore + ["--strategy", "portfolio"], "--strategy"),
            (explore + ["--strategy", "pos"], "--strategy"),
            (explore + ["--strategy", "surw"], "--strategy"),
            (explore + ["--strategy", "pct"], "--strategy"),
            (explore + ["--time", "T3"], "--time"),
            (explore + ["--time", "T4"], "--time"),
            (explore + ["--reduction", "source"], "--reduction"),
            (explore + ["--reduction", "optimal"], "--reduction"),
            (explore + ["--sharing", "any"], "--sharing"),
            (explore + ["--shard", "1/2"], "--shard"),
            (explore + ["--resume", "there"], "--resume"),
            (explore + ["--jobs", "2"], "--jobs"),
            (explore + ["--bound", "reversal:2"], "--bound"),
            (["replay", "x.json", "--level", "adaptive"], "--level"),
            (["--replay", "x.json", "--level", "adaptive"], "--level"),
            (["selfcheck"], "selfcheck"),
            (["sweep", "sample/quiet"], "sweep"),
            (["merge", "a"], "merge"),
            (["explain", "x.json"], "explain"),
        ):
            with self.subTest(arguments):
                self.refused(*arguments, names=[name, "not built yet"])

    def test_values_out_of_range_are_refused(self):
        for arguments in (
            ["run", "sample/quiet", "--seed", "-1"],
            ["run", "sample/quiet", "--seed", "18446744073709551616"],
            ["run", "sample/quiet", "--seed", "x"],
            ["run", "sample/quiet", "--reactor", "epoll"],
            ["run", "sample/quiet", "--reactor", "libuv", "--order", "any"],
            ["explore", "sample/quiet", "--budget", "0"],
            ["explore", "sample/quiet", "--budget", "0s"],
            ["explore", "sample/quiet", "--budget", "-5s"],
            ["explore", "sample/quiet", "--budget", "nans"],
            ["explore", "sample/quiet", "--budget", "1e9s"],
            ["explore", "sample/quiet", "--budget", "10 parsecs"],
            ["explore", "sample/quiet", "--bound", "-1"],
            ["explore", "sample/quiet", "--bound", "2", "--strategy", "random"],
            ["explore", "sample/quiet", "--order", "either"],
            ["--replay", "a", "list"],
            ["--seed", "1", "list"],
        ):
            with self.subTest(arguments):
                self.refused(*arguments)


class Listing(CommandTest):
    def test_a_plain_call_says_what_it_is_and_what_it_can_run(self):
        out = self.call().out
        self.assertIn("simulated world", out)
        self.assertIn("sample/lease", out)

    def test_list_shows_parameters_with_their_bounds(self):
        out = self.call("list").out
        self.assertIn("clients=1  clients at work (1 to 4)", out)
        self.assertIn("planted bug SAMPLE-01", out)

    def test_list_is_an_array_for_machines(self):
        for arguments in (["list", "--json"], ["--json"], ["--json", "list"]):
            scenarios = self.call(*arguments).json
            lease = next(entry for entry in scenarios if entry["name"] == "sample/lease")
            self.assertEqual(lease["about"], "a cancellation leaks a connection")
            self.assertEqual(lease["parameters"][0]["name"], "clients")


class Run(CommandTest):
    def test_the_baseline_run_ends_well_and_is_told(self):
        out = self.call("run", "sample/quiet:workers=3").out
        self.assertIn("sample/quiet:workers=3", out)
        self.assertIn("worker#3", out)
        self.assertEqual(self.files(), [])

    def test_a_run_is_recorded_and_replays(self):
        self.call("run", "sample/quiet", "--seed", "7", "--record", "run.json")
        out = self.call("replay", "run.json").out
        self.assertIn("reproduced, bit for bit", out)

    def test_equal_seeds_give_equal_traces(self):
        self.call("run", "sample/quiet:workers=6", "--seed", "7", "--order", "any", "--record", "a.json")
        self.call("run", "sample/quiet:workers=6", "--seed", "7", "--order", "any", "--record", "b.json")
        self.call("run", "sample/quiet:workers=6", "--seed", "8", "--order", "any", "--record", "c.json")
        a, b, c = ((self.folder / name).read_bytes() for name in ("a.json", "b.json", "c.json"))
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_a_violation_is_written_and_the_last_line_replays_it(self):
        for seed in range(1, 200):
            done = Call([SAMPLE, "run", "sample/order", "--order", "any", "--seed", str(seed)], self.folder)
            if done.status == 1:
                break
        self.assertEqual(done.status, 1)
        self.assertEqual(self.files(), ["sample-order-CHECK.trace.json"])
        again = Call(["sh", "-c", done.last_line], self.folder)
        self.assertEqual(again.status, 1, again.err)

    def test_an_error_that_nobody_takes_is_a_violation(self):
        calls = [Call([SAMPLE, "run", "sample/throws", "--seed", str(seed)], self.folder) for seed in range(1, 9)]
        self.assertEqual({call.status for call in calls}, {0, 1})
        self.assertIn("sample-throws-UNHANDLED.trace.json", self.files())

    def test_the_result_for_machines(self):
        result = self.call("run", "sample/quiet", "--json").json
        self.assertEqual(result["outcome"]["kind"], "ok")
        self.assertEqual(result["reactor"], "sim")
        self.assertIsNone(result["trace"])

    def test_the_same_program_runs_on_libuv(self):
        self.call("run", "sample/lease:clients=3", "--reactor", "libuv")
        result = self.call("run", "sample/quiet", "--reactor", "libuv", "--record", "uv.json", "--json").json
        self.assertEqual(result["outcome"]["kind"], "ok")
        recipe = json.loads((self.folder / "uv.json").read_text())["recipe"]
        self.assertEqual(recipe["reactor"], "libuv")
        self.assertIn("recorded on libuv", self.call("replay", "uv.json").out)

    def test_a_violation_on_libuv_ends_the_run_where_it_happens(self):
        done = self.call("run", "box_office/last_ticket", "--reactor", "libuv", program=OWN, status=1)
        self.assertIn("VIOLATED CHECK: expected tickets >= 0", done.out)
        trace = json.loads((self.folder / "box_office-last_ticket-CHECK.trace.json").read_text())
        self.assertEqual(trace["recipe"]["reactor"], "libuv")
        self.assertEqual(trace["outcome"]["kind"], "violation")


class Explore(CommandTest):
    def test_a_search_that_sees_everything_is_complete(self):
        result = self.call("explore", "sample/quiet", "--json").json
        self.assertTrue(result["complete"])
        self.assertEqual(result["violations"], [])
        self.assertEqual(result["runs"], result["traces"] + 1)  # the baseline, once in each order
        for member in ("scenario", "seed", "strategy", "order", "time", "rests_on", "bound", "redundant", "cut",
                       "seconds", "schedules_per_second"):
            self.assertIn(member, result)
        self.assertIn("complete: ", self.call("explore", "sample/quiet").out)
        self.assertEqual(self.files(), [])

    def test_a_failure_is_told_so_that_it_can_be_understood(self):
        out = self.call("explore", "sample/lease", status=1).out
        self.assertIn("VIOLATED CHECK: expected *in_use == 0", out)
        self.assertIn("sample_simrun.cpp:", out)
        self.assertIn("faithful: production can do this today", out)
        self.assertIn("client", out)
        self.assertRegex(out, r"by schedule \d+ of the search")
        self.assertIn("What makes it happen (2 decisions;", out)
        self.assertIn("1. what comes from outside does not come yet", out)
        self.assertIn("2. what comes from outside arrives here", out)

    def test_the_last_line_is_a_command_that_replays_the_failure(self):
        for scenario in ("sample/lease:clients=2", "sample/order", "sample/throws", "sample/needle"):
            done = self.call("explore", scenario, "--out", "a folder's", status=1)
            again = Call(["sh", "-c", done.last_line], self.folder)
            self.assertEqual(again.status, 1, again.out + again.err)
            self.assertIn("reproduced, bit for bit", again.out)
            self.assertEqual(again.last_line, done.last_line)

    def test_the_weakest_assumption_is_named(self):
        for scenario, mode in (("sample/lease", "faithful"), ("sample/order", "any")):
            result = self.call("explore", scenario, "--json", status=1).json
            self.assertEqual(result["violations"][0]["mode"], mode)
        self.assertTrue(self.call("explore", "sample/order", "--order", "faithful", "--json").json["complete"])

    def test_every_strategy_finds_and_shrinks(self):
        for strategy in ("exhaustive", "random", "delay"):
            with self.subTest(strategy):
                name = self.found("sample/needle", "--strategy", strategy, "--order", "faithful")
                trace = json.loads((self.folder / name).read_text())
                self.assertEqual([decision["choose"] for decision in trace["decisions"]], [2, 2])
                self.assertEqual(trace["recipe"]["strategy"], strategy)

    def test_equal_searches_write_equal_traces(self):
        names = [self.found("sample/needle", "--strategy", "random", "--seed", "5") for _ in range(2)]
        self.assertEqual(names, ["sample-needle-CHECK.trace.json", "sample-needle-CHECK-2.trace.json"])
        first, second = ((self.folder / name).read_bytes() for name in names)
        self.assertEqual(first, second)

    def test_a_budget_of_schedules_is_kept(self):
        result = self.call("explore", "sample/vast", "--budget", "1000", "--json").json
        self.assertEqual(result["runs"], 1000)
        self.assertFalse(result["complete"])
        one = self.call("explore", "sample/vast", "--budget", "1", "--json").json
        self.assertEqual(one["runs"], 1)
        self.assertFalse(one["complete"])

    def test_a_budget_of_time_is_kept_and_shared_by_both_orders(self):
        began = time.monotonic()
        out = self.call("explore", "sample/vast", "--budget", "300ms").out
        self.assertLess(time.monotonic() - began, 60)
        self.assertIn("the budget of 300ms is spent", out)
        self.assertIn("nothing violated", out)

    def test_a_bound_is_named_and_not_called_complete(self):
        search = ["explore", "sample/vast", "--bound", "1", "--order", "faithful"]
        result = self.call(*search, "--json").json
        self.assertEqual(result["bound"], "1")
        self.assertFalse(result["complete"])
        self.assertEqual(result["runs"], 1 + 40 * 9)
        self.assertIn("complete up to 1 deviation from production", self.call(*search).out)

    def test_a_program_that_is_no_function_of_its_choices_fails_the_harness(self):
        done = self.call("explore", "sample/unstable", status=4)
        self.assertIn("the harness failed", done.err)
        self.assertEqual(self.call("explore", "sample/unstable", "--json", status=4).json["status"], 4)

    def test_progress_goes_to_standard_error_in_whole_lines(self):
        done = self.call("explore", "sample/vast", "--budget", "11s", "--json")
        self.assertRegex(done.err, r"^faithful +\d+ schedules  \d+/s  \d+ distinct")
        self.assertNotIn("\r", done.err)
        self.assertNotIn("\x1b", done.err)
        self.assertLessEqual(done.err.count("\n"), 3)


class Replay(CommandTest):
    def test_two_replays_print_the_same_bytes(self):
        trace = self.found()
        for arguments in (["replay", trace], ["--seed", "1234", "--replay", trace], ["replay", trace, "--json"]):
            first = self.call(*arguments, status=1)
            second = self.call(*arguments, status=1)
            self.assertEqual(first.bytes, second.bytes)
            self.assertEqual(first.err, "")

    def test_a_reproduced_violation_is_status_1_and_changes_no_file(self):
        trace = self.found()
        before = (self.folder / trace).read_bytes()
        result = self.call("--seed", "1234", "--replay", trace, "--json", status=1).json
        self.assertTrue(result["reproduced"])
        self.assertTrue(result["same_run"])
        self.assertEqual(result["outcome"]["invariant"], "CHECK")
        self.assertEqual(self.files(), [trace])
        self.assertEqual((self.folder / trace).read_bytes(), before)

    def test_a_trace_that_no_longer_fits_diverges(self):
        trace = self.found()

        def other_point(document):
            document["decisions"][0]["at"] = "main:gone"

        def other_count(document):
            document["decisions"][0]["count"] = 7

        def other_end(document):
            document["outcome"]["invariant"] = "INV-WAKE-01"

        for change, words in (
            (other_point, ["DIVERGED early-end", "arrival at main:gone", "found", "before it", "after it"]),
            (other_count, ["DIVERGED", "value-domain-changed"]),
            (other_end, ["DIVERGED", "INV-WAKE-01", "CHECK"]),
        ):
            edited = self.edited(trace, change)
            done = self.call("replay", edited, status=3)
            for word in words:
                self.assertIn(word, done.out)
            self.assertFalse(self.call("replay", edited, "--json", status=3).json["reproduced"])

    def test_continue_goes_on_after_a_divergence(self):
        trace = self.found()

        def more(document):
            document["decisions"].insert(0, {"at": "main:gone", "kind": "value", "choose": 1, "count": 2})

        edited = self.edited(trace, more)
        self.call("replay", edited, status=3)
        done = self.call("replay", edited, "--level", "continue", status=1)
        self.assertIn("went on after the first divergence", done.out)
        self.assertTrue(done.last_line.endswith("--level continue"))

    def test_the_seed_answers_what_lies_beyond_the_recorded_end(self):
        self.call("run", "sample/vast", "--record", "all.json")

        def earlier_end(document):
            document["outcome"]["choices"] = "20"

        edited = self.edited("all.json", earlier_end)
        hashes = {}
        for seed in ("1", "2"):
            updated = self.edited(edited, lambda document: None, f"seed{seed}.json")
            self.call("replay", updated, "--level", "continue", "--seed", seed, "--update")
            decisions = json.loads((self.folder / updated).read_text())["decisions"]
            self.assertGreater(len(decisions), 5)
            self.assertNotIn("main:choose#20", [decision["at"] for decision in decisions])
            hashes[seed] = decisions
        self.assertNotEqual(hashes["1"], hashes["2"])

    def test_update_writes_what_happened(self):
        trace = self.found()
        original = (self.folder / trace).read_bytes()

        def older(document):
            document["hash"]["value"] = "0" * 16
            document["outcome"]["message"] = "as it was"

        edited = self.edited(trace, older)
        self.call("replay", edited, "--update", status=1)
        self.assertEqual((self.folder / edited).read_bytes(), original)

    def test_update_follows_a_program_that_changed(self):
        trace = self.found()

        def gone(document):
            document["decisions"][0]["at"] = "main:gone"

        edited = self.edited(trace, gone)
        done = self.call("replay", edited, "--update")
        self.assertIn("not reproduced", done.out)
        self.assertIn("trace written anew", done.out)
        self.call("replay", edited)
        self.assertEqual(json.loads((self.folder / edited).read_text())["outcome"]["kind"], "ok")

    def test_a_trap_stops_at_the_violating_step(self):
        trace = self.found()
        done = Call([SAMPLE, "replay", trace, "--trap"], self.folder)
        self.assertEqual(done.status, -signal.SIGTRAP)
        self.call("run", "sample/quiet", "--record", "well.json")
        self.call("replay", "well.json", "--trap")


class Shrink(CommandTest):
    def trace_with_needless_decisions(self):
        for seed in range(1, 500):
            run = [SAMPLE, "run", "sample/needle", "--seed", str(seed), "--record", "long.trace.json"]
            if Call(run, self.folder).status == 1:
                return "long.trace.json"
            (self.folder / "long.trace.json").unlink()
        self.fail("no seed violates sample/needle")

    def test_needless_decisions_are_left_out(self):
        trace = self.trace_with_needless_decisions()
        self.assertGreater(len(json.loads((self.folder / trace).read_text())["decisions"]), 2)
        done = self.call("shrink", trace, "--out", "small.json", status=1)
        self.assertRegex(done.out, r"shrunk from \d+ decisions to 2 in \d+ runs; none of them can be left out")
        decisions = json.loads((self.folder / "small.json").read_text())["decisions"]
        self.assertEqual([decision["choose"] for decision in decisions], [2, 2])
        self.assertEqual(Call(["sh", "-c", done.last_line], self.folder).status, 1)

    def test_the_result_stands_beside_the_trace_without_out(self):
        trace = self.trace_with_needless_decisions()
        result = self.call("shrink", trace, "--json", status=1).json
        self.assertEqual(result["trace"], "long.shrunk.trace.json")
        self.assertEqual(result["decisions"], 2)
        self.assertTrue(result["minimal"])
        self.assertEqual(self.call("shrink", trace, "--json", status=1).json["trace"], "long.shrunk-2.trace.json")

    def test_only_a_violation_can_be_shrunk(self):
        self.call("run", "sample/quiet", "--record", "well.json")
        self.refused("shrink", "well.json", names=["well.json: /outcome/kind"])

    def test_a_trace_that_no_longer_fits_is_not_shrunk(self):
        trace = self.found()

        def gone(document):
            document["decisions"][0]["at"] = "main:gone"

        done = self.call("shrink", self.edited(trace, gone), "--out", "never.json", status=3)
        self.assertIn("early-end", done.out)
        self.assertNotIn("never.json", self.files())


class Diff(CommandTest):
    def test_one_run_is_status_0(self):
        trace = self.found()
        self.assertEqual(self.call("diff", trace, trace).out, "the same run\n")
        self.assertTrue(self.call("diff", trace, trace, "--json").json["same"])

    def test_two_runs_are_status_3_with_the_first_difference(self):
        self.call("run", "sample/quiet:workers=4", "--record", "a.json")
        self.call("run", "sample/quiet:workers=4", "--seed", "3", "--order", "any", "--record", "b.json")
        done = self.call("diff", "a.json", "b.json", status=3)
        self.assertIn("expected", done.out)
        result = self.call("diff", "a.json", "b.json", "--json", status=3).json
        self.assertFalse(result["same"])
        self.assertIn("expected", result["divergence"])


class BadInput(CommandTest):
    """Traces from outside: status 2 and one line with file, JSON pointer, what was expected and what was found."""

    def setUp(self):
        super().setUp()
        self.trace = self.found("sample/lease:clients=2")

    def refused_trace(self, name, *words):
        for arguments in (["replay", name], ["--seed", "1234", "--replay", name], ["shrink", name]):
            self.refused(*arguments, names=[name, "expected", "found", *words])
        machine = self.call("replay", name, "--json", status=2).json
        self.assertEqual(machine["status"], 2)
        self.assertIn(name, machine["error"])

    def refused_change(self, change, *words):
        self.refused_trace(self.edited(self.trace, change), *words)

    def test_files_that_are_no_traces(self):
        text = (self.folder / self.trace).read_text()
        for name, content in (
            ("empty", ""),
            ("cut", text[: len(text) // 2]),
            ("cut_early", text[:1]),
            ("no_json", "this is not JSON"),
            ("binary", "\x00\x01\x02"),
            ("array", "[]"),
            ("number", "1e999"),
            ("deep", '{"format": ' + "[" * 1_000_000),
            ("deep_objects", '{"a":' * 1_000_000),
            ("two", text + text),
        ):
            with self.subTest(name):
                (self.folder / name).write_text(content)
                self.refused_trace(name)

    def test_what_is_no_file(self):
        self.refused_trace("missing.json")
        (self.folder / "folder").mkdir()
        self.refused_trace("folder")

    def test_a_file_of_a_gigabyte_is_not_read(self):
        with open(self.folder / "huge.json", "wb") as huge:
            huge.truncate(1 << 30)
        began = time.monotonic()
        self.refused_trace("huge.json", str(1 << 30))
        self.assertLess(time.monotonic() - began, 60)

    def test_members_that_do_not_belong(self):
        def version(document):
            document["version"] = 2

        def unknown(document):
            document["extra"] = 1

        def unknown_below(document):
            document["recipe"]["extra"] = 1

        def wrong_type(document):
            document["decisions"] = "none"

        def wrong_number(document):
            document["decisions"][0]["choose"] = 99

        def negative(document):
            document["decisions"][0]["count"] = -1

        def too_large(document):
            document["recipe"]["seed"] = "18446744073709551616"

        def missing(document):
            del document["outcome"]

        def twice(document):
            document["decisions"][1] = copy.deepcopy(document["decisions"][0])

        self.refused_change(version, "/version")
        self.refused_change(unknown, "/extra")
        self.refused_change(unknown_below, "/recipe/extra")
        self.refused_change(wrong_type, "/decisions")
        self.refused_change(wrong_number, "/decisions/0/choose")
        self.refused_change(negative, "/decisions/0/count")
        self.refused_change(too_large, "/recipe/seed")
        self.refused_change(missing)
        self.refused_change(twice, "/decisions/1/at")

    def test_recipes_that_this_program_cannot_follow(self):
        def in_recipe(member, value):
            return lambda document: document["recipe"].__setitem__(member, value)

        for member, value in (
            ("scenario", "sample/nobody"),
            ("scenario", "planted/nobody"),
            ("planted", "MUT-99"),
            ("reactor", "epoll"),
            ("time", "T3"),
            ("time", "T4"),
            ("resolution_ns", "0"),
            ("resolution_ns", "9223372036854775807"),
            ("jitter_ns", "5"),
            ("latency_max_ns", "9223372036854775807"),
            ("slack_ns", "5"),
            ("time_max_ns", "5"),
            ("steps_max", "18446744073709551615"),
        ):
            with self.subTest(member=member, value=value):
                self.refused_change(in_recipe(member, value), "/recipe/" + member)
        self.refused_change(in_recipe("knobs", {"a/b": "1"}), "/recipe/knobs/a~1b")

    def test_parameters_that_the_scenario_does_not_have_or_misses(self):
        def parameters(values):
            return lambda document: document["recipe"].__setitem__("parameters", values)

        self.refused_change(parameters({}), "/recipe/parameters", "clients")
        self.refused_change(parameters({"clients": "2", "more": "1"}), "/recipe/parameters/more")
        self.refused_change(parameters({"clients": "5"}), "/recipe/parameters/clients", "1 to 4")
        self.refused_change(parameters({"clients": "two"}), "/recipe/parameters/clients")
        self.refused_change(parameters({"clients": "9" * 40}), "/recipe/parameters/clients")

    def test_a_program_that_cannot_be_read(self):
        self.call("run", "sample/written:program=abba", "--record", "abba.json")
        self.call("replay", "abba.json")

        def other(document):
            document["recipe"]["parameters"]["program"] = "xyz\n"

        self.refused("replay", self.edited("abba.json", other), names=["/recipe/parameters", "letters a and b"])

    def test_scenarios_on_the_command_line(self):
        for text, word in (
            ("nobody", "nobody"),
            ("sample/lease:clients", "key=value"),
            ("sample/lease:clients=9", "1 to 4"),
            ("sample/lease:clients=1,clients=2", "clients"),
            ("sample/lease:customers=1", "customers"),
            ("sample/written:program=a,b", "letters"),
            ("planted/nobody", "planted/nobody"),
            ("", "scenario"),
        ):
            with self.subTest(text):
                self.refused("run", text, names=[word])
                self.refused("explore", text, names=[word])

    def test_names_with_control_characters_stay_on_one_line(self):
        self.refused("replay", "a\nb\x1b[31m")


class Files(CommandTest):
    def test_nothing_is_written_over_without_force(self):
        self.call("run", "sample/quiet", "--record", "one.json")
        before = (self.folder / "one.json").read_bytes()
        self.refused("run", "sample/quiet:workers=3", "--record", "one.json", names=["one.json", "--force"])
        self.assertEqual((self.folder / "one.json").read_bytes(), before)
        self.call("run", "sample/quiet:workers=3", "--record", "one.json", "--force")
        self.assertNotEqual((self.folder / "one.json").read_bytes(), before)

        trace = self.found()
        self.refused("shrink", trace, "--out", "one.json", names=["one.json"])
        self.call("shrink", trace, "--out", "one.json", "--force", status=1)

    def test_a_search_takes_the_next_free_name_or_the_first_with_force(self):
        name = "sample-lease-CHECK"
        for expected in (f"{name}.trace.json", f"{name}-2.trace.json", f"{name}-3.trace.json"):
            self.assertEqual(self.found(), expected)
        self.assertEqual(self.found("sample/lease", "--force"), f"{name}.trace.json")
        self.assertEqual(len(self.files()), 3)

    def test_a_link_that_leads_nowhere_is_no_free_name(self):
        os.symlink("elsewhere", self.folder / "sample-lease-CHECK.trace.json")
        self.assertEqual(self.found(), "sample-lease-CHECK-2.trace.json")

    def test_folders_are_made_and_checked_before_the_search(self):
        self.assertEqual(self.found("sample/lease", "--out", "a/b"), "a/b/sample-lease-CHECK.trace.json")
        (self.folder / "file").write_text("")
        self.refused("explore", "sample/vast", "--out", "file", names=["--out"])
        self.refused("explore", "sample/vast", "--out", "file/below", names=["--out"])
        self.refused("run", "sample/quiet", "--record", "a")
        self.refused("run", "sample/quiet", "--record", "no/such/folder.json", names=["no/such/folder.json"])

    def test_output_that_cannot_be_written_fails_the_harness(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([SAMPLE, "list"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 4)


class Planted(CommandTest):
    def test_a_planted_bug_is_handed_on_to_the_program_that_has_it(self):
        done = self.call("explore", "planted/SAMPLE-01", status=1)
        self.assertIn("planted SAMPLE-01", done.out)
        self.assertTrue(done.last_line.startswith(SAMPLE + " --seed"), done.last_line)
        again = Call(["sh", "-c", done.last_line], self.folder)
        self.assertEqual(again.status, 1, again.err)
        self.assertEqual(again.last_line, done.last_line)

    def test_a_bug_is_planted_only_where_it_is_named(self):
        self.assertEqual(self.call("explore", "planted/SAMPLE-01", "--planted", "", "--json").json["violations"], [])
        self.call("explore", "planted/SAMPLE-01", "--planted", "SAMPLE-01", status=1)
        self.refused("explore", "sample/quiet", "--planted", "MUT-99", names=["MUT-99"])

    def test_a_program_alone_says_that_it_has_no_such_bug(self):
        alone = self.folder / "alone"
        alone.write_bytes(pathlib.Path(SAMPLE).read_bytes())
        alone.chmod(0o755)
        done = self.call("explore", "planted/SAMPLE-01", status=2, program=str(alone))
        self.assertEqual(done.err.count("\n"), 1)
        self.assertIn("SAMPLE-01", done.err)


class OwnProgram(CommandTest):
    def test_a_binary_with_its_own_scenario_is_a_simrun(self):
        listed = self.call("list", "--json", program=OWN).json
        self.assertEqual([entry["name"] for entry in listed], ["box_office/last_ticket"])
        done = self.call("explore", "box_office/last_ticket", program=OWN, status=1)
        self.assertIn("VIOLATED CHECK: expected tickets >= 0", done.out)
        self.assertEqual(self.files(), ["box_office-last_ticket-CHECK.trace.json"])
        self.assertEqual(Call(["sh", "-c", done.last_line], self.folder).status, 1)
        self.call("replay", self.files()[0], program=OWN, status=1)
        # The other program does not know the scenario.
        self.refused("replay", self.files()[0], names=["/recipe/scenario"])


class Interrupts(CommandTest):
    def test_an_interrupt_ends_a_search_with_what_was_found(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            running = subprocess.Popen([SAMPLE, "explore", "sample/vast", "--budget", "10m", "--json"], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(1)
            self.assertIsNone(running.poll())
            running.send_signal(number)
            out, _ = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 0)
            result = json.loads(out)
            self.assertTrue(result["interrupted"])
            self.assertFalse(result["complete"])
            self.assertGreater(result["runs"], 0)


if __name__ == "__main__":
    if not SAMPLE or not OWN:
        sys.exit("SAMPLE_SIMRUN and OWN_SIMRUN name the programs to test")
    unittest.main(verbosity=2)
