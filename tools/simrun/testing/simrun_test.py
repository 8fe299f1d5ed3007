# SPDX-License-Identifier: Apache-2.0
"""Tests of simrun's commands that run and search scenarios, which they call as a user does.

usage: simrun_test.py [CLASS …]     with SAMPLE_SIMRUN and OWN_SIMRUN naming the programs of this folder
"""

import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from command import OWN, SAMPLE, Call, CommandTest


class Help(CommandTest):
    def test_every_command_has_help_with_an_example(self):
        for command in ("list", "run", "explore", "replay", "shrink", "diff", "sweep", "merge"):
            self.assertIn(f"example: simrun {command}", self.call(command, "--help").out)
        self.assertIn("example: simrun --seed 1234 --replay", self.call("--help").out)

    def test_version_names_program_and_format(self):
        self.assertRegex(self.call("--version").out, r"^simrun \d+\.\d+\.\d+, trace format \d+\n$")

    def test_an_unknown_word_or_option_is_refused(self):
        for line in ("fly", "--fly", "list --fly", "explore", "diff one", "replay", "run", "list more"):
            with self.subTest(line):
                self.refused(*line.split())

    def test_what_is_not_built_yet_is_refused_by_name(self):
        for arguments, name in (
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
            ["explore", "sample/quiet", "--reduction", "some"],
            ["explore", "sample/quiet", "--reduction", "source", "--strategy", "random"],
            ["explore", "sample/quiet", "--reduction", "source", "--bound", "1"],
            ["selfcheck"],  # this program has no programs with known counts
            ["selfcheck", "--only", "nothing"],
            ["explore", "sample/quiet", "--budget", "0"],
            ["explore", "sample/quiet", "--budget", "0s"],
            ["explore", "sample/quiet", "--budget", "-5s"],
            ["explore", "sample/quiet", "--budget", "nans"],
            ["explore", "sample/quiet", "--budget", "1e9s"],
            ["explore", "sample/quiet", "--budget", "10 parsecs"],
            ["explore", "sample/quiet", "--bound", "-1"],
            ["explore", "sample/quiet", "--bound", "2", "--strategy", "random"],
            ["explore", "sample/quiet", "--bound", "2", "--strategy", "portfolio"],
            ["explore", "sample/quiet", "--bound", "reversal:2", "--strategy", "delay"],
            ["explore", "sample/quiet", "--bound", "delay:"],
            ["explore", "sample/quiet", "--bound", "delay:x"],
            ["explore", "sample/quiet", "--bound", "reversal:1000001"],
            ["explore", "sample/quiet", "--bound", "preemption:2"],
            ["explore", "sample/quiet", "--bound", "delay:2", "--reduction", "source"],
            ["explore", "sample/quiet", "--strategy", "psychic"],
            ["explore", "sample/quiet", "--strategy", "pct", "--depth", "0"],
            ["explore", "sample/quiet", "--strategy", "pct", "--depth", "65"],
            ["explore", "sample/quiet", "--strategy", "pos", "--depth", "3"],
            ["explore", "sample/quiet", "--depth", "3"],
            ["explore", "sample/quiet", "--strategy", "surw", "--reduction", "source"],
            ["selfcheck", "--samplers"],  # this program has no programs with known means
            ["selfcheck", "--seed", "1"],
            ["explore", "sample/quiet", "--order", "either"],
            ["sweep", "sample/quiet", "--of", "everything"],
            ["sweep", "sample/quiet", "--faults", "3"],
            ["sweep", "sample/quiet", "--faults", "0"],
            ["sweep", "sample/quiet", "--budget", "0"],
            ["sweep", "sample/quiet", "--strategy", "random"],
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
        told = self.call("replay", "uv.json").out
        self.assertIn("recorded on libuv", told)
        self.assertRegex(told, r"met all \d+ crossings of the reactor's door in their order")

    def test_a_recording_of_libuv_that_no_longer_fits_says_where_it_was_left(self):
        self.call("run", "sample/quiet", "--reactor", "libuv", "--record", "uv.json")
        path = self.folder / "uv.json"
        trace = json.loads(path.read_text())
        at = next(i for i, crossing in enumerate(trace["door"]) if crossing["kind"] == "shutdown")
        trace["door"][at]["kind"] = "refresh_clock"
        path.write_text(json.dumps(trace))
        told = self.call("replay", "uv.json", status=3).out
        self.assertIn(f"DIVERGED from the recording at crossing {at} ", told)
        self.assertIn("expected", told)
        self.assertIn("found", told)

    def test_a_recording_that_has_lost_its_beginning_is_refused(self):
        self.call("run", "sample/quiet", "--reactor", "libuv", "--record", "uv.json")
        path = self.folder / "uv.json"
        trace = json.loads(path.read_text())
        trace["door"] = trace["door"][2:]
        trace["door_omitted"] = "2"
        path.write_text(json.dumps(trace))
        self.assertIn("lost its first 2 crossings", self.call("replay", "uv.json", status=2).err)

    def test_a_violation_on_libuv_ends_the_run_where_it_happens(self):
        done = self.call("run", "box_office/last_ticket", "--reactor", "libuv", program=OWN, status=1)
        self.assertIn("VIOLATED CHECK: expected tickets >= 0", done.out)
        trace = json.loads((self.folder / "box_office-last_ticket-CHECK.trace.json").read_text())
        self.assertEqual(trace["recipe"]["reactor"], "libuv")
        self.assertEqual(trace["outcome"]["kind"], "violation")


class Sweep(CommandTest):
    def test_what_stands_every_fault_is_said_to_stand_each_and_every_two(self):
        done = self.call("sweep", "sample/quiet")
        self.assertIn("complete: each alone, and every two of them", done.out)
        self.assertIn("nothing violated", done.out)
        result = self.call("sweep", "sample/quiet", "--json").json
        self.assertTrue(result["complete"])
        self.assertGreater(result["places"], 2)
        self.assertEqual(result["singles"], result["places"])
        self.assertGreater(result["pairs"], 0)
        self.assertEqual(result["runs"], 1 + result["singles"] + result["pairs"])
        self.assertEqual(self.files(), [])

    def test_each_place_that_violates_is_a_line_and_a_trace_that_replays(self):
        done = self.call("sweep", "sample/careless", "--of", "cancel", "--faults", "1", status=1)
        lines = [line for line in done.out.split("\n") if line.startswith("main/guest:cancelled#")]
        self.assertGreaterEqual(len(lines), 1)
        for line in lines:
            self.assertIn("CHECK: expected *taken == 0", line)
        again = Call(["sh", "-c", done.last_line], self.folder)
        self.assertEqual(again.status, 1, again.err)
        self.assertIn("reproduced, bit for bit", again.out)
        name = self.files()[0]
        trace = json.loads((self.folder / name).read_text())
        self.assertEqual(trace["recipe"]["knobs"], {"sweep": "cancel"})
        self.assertEqual(len(trace["decisions"]), 1)
        self.assertTrue(trace["decisions"][0]["at"].startswith("main/guest:cancelled"))

    def test_what_stands_one_fault_may_fall_to_two(self):
        self.call("sweep", "sample/brittle", "--of", "fail", "--faults", "1")
        result = self.call("sweep", "sample/brittle", "--json", status=1).json
        self.assertEqual(result["places"], 3)
        self.assertEqual([len(violation["places"]) for violation in result["violations"]], [2, 2, 2])
        self.assertIn("main:step and main:step#2", self.call("sweep", "sample/brittle", "--force", status=1).out)

    def test_a_budget_that_is_spent_is_told(self):
        done = self.call("sweep", "sample/quiet", "--budget", "2")
        self.assertIn("not complete: the budget of 2 is spent", done.out)
        self.assertFalse(self.call("sweep", "sample/quiet", "--budget", "2", "--json").json["complete"])

    def test_a_trace_says_in_words_what_was_swept(self):
        self.call("sweep", "sample/brittle", status=1)
        name = self.files()[0]
        edited = self.edited(name, lambda trace: trace["recipe"]["knobs"].update(sweep="nothing"))
        self.refused("replay", edited, names=["/recipe/knobs/sweep", "cancel, fail, both or shutdown"])


class Explore(CommandTest):
    def test_a_search_that_sees_everything_is_complete(self):
        result = self.call("explore", "sample/quiet", "--json").json
        self.assertTrue(result["complete"])
        self.assertEqual(result["strategy"], "portfolio")
        self.assertEqual(result["risks"], [])
        result = self.call("explore", "sample/quiet", "--strategy", "exhaustive", "--json").json
        self.assertTrue(result["complete"])
        self.assertEqual(result["violations"], [])
        self.assertEqual(result["runs"], result["traces"] + 1)  # the baseline, once in each order
        for member in ("scenario", "seed", "strategy", "order", "time", "rests_on", "bound", "redundant", "cut",
                       "seconds", "schedules_per_second", "sizes", "risks"):
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
        for strategy in ("portfolio", "exhaustive", "random", "pct", "pos", "surw", "delay", "coverage"):
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

    def test_a_bound_on_delays_or_reversals_is_named_and_not_called_complete(self):
        for bound in ("delay:1", "reversal:1"):
            search = ["explore", "sample/vast", "--bound", bound, "--order", "faithful"]
            result = self.call(*search, "--json").json
            self.assertEqual(result["bound"], bound)
            self.assertFalse(result["complete"])
            out = self.call(*search).out
            self.assertIn("bounded by " + bound, out)
            self.assertNotIn("complete", out)
        # One of forty questions is answered 1.
        self.assertEqual(self.call("explore", "sample/vast", "--bound", "delay:1", "--order", "faithful", "--json").json["runs"], 41)

    def test_what_may_have_been_missed_is_estimated(self):
        search = ["explore", "sample/vast", "--budget", "3000", "--order", "faithful"]
        risk = self.call(*search, "--strategy", "random", "--json").json["risks"][0]
        self.assertEqual(risk["samples"], 3000)
        self.assertEqual(risk["unseen"]["value"], 1)  # ten to the forty schedules: none comes twice
        self.assertAlmostEqual(risk["violation_at_most"], 3 / 3000, places=4)
        self.assertIn("the next one is new with a chance of 1", self.call(*search, "--strategy", "random").out)
        size = self.call(*search, "--strategy", "exhaustive", "--json").json["sizes"][0]
        self.assertAlmostEqual(size["schedules"]["value"] / 1e40, 1, places=6)
        self.assertIn("about 1.0e+40 schedules", self.call(*search, "--strategy", "exhaustive").out)

    def test_a_program_that_is_no_function_of_its_choices_fails_the_harness(self):
        done = self.call("explore", "sample/unstable", status=4)
        self.assertIn("the harness failed", done.err)
        self.assertEqual(self.call("explore", "sample/unstable", "--json", status=4).json["status"], 4)

    def test_progress_goes_to_standard_error_in_whole_lines(self):
        done = self.call("explore", "sample/vast", "--budget", "11s", "--json")
        self.assertRegex(done.err, r"^(faithful|any) +\d+ schedules  \d+/s  \d+ distinct")
        self.assertNotIn("\r", done.err)
        self.assertNotIn("\x1b", done.err)
        self.assertLessEqual(done.err.count("\n"), 3)


class Reduced(CommandTest):
    def test_contradictions_are_refused(self):
        for arguments in (
            ["explore", "sample/quiet", "--reduction", "some"],
            ["explore", "sample/quiet", "--reduction", "source", "--strategy", "random"],
            ["explore", "sample/quiet", "--reduction", "source", "--bound", "1"],
            ["explore", "sample/quiet", "--reduction", "source", "--sharing", "some"],
            ["explore", "sample/quiet", "--sharing", "any"],
            ["selfcheck"],  # this program has no programs with known counts
            ["selfcheck", "--only", "nothing"],
        ):
            with self.subTest(arguments):
                self.refused(*arguments)

    def test_a_reduced_search_says_how_many_traces_it_ran(self):
        for reduction in ("none", "source", "optimal"):
            done = self.call("explore", "sample/quiet", "--order", "any", "--reduction", reduction, "--json").json
            self.assertTrue(done["complete"], done)
            self.assertEqual(done["reduction"], reduction)
            self.assertEqual(done["rests_on"], "declared")
            self.assertGreaterEqual(done["traces"], 1)

    def test_a_reduced_search_need_not_rest_on_declarations(self):
        arguments = ("explore", "sample/quiet", "--order", "any", "--reduction", "source", "--json")
        declared = self.call(*arguments).json
        done = self.call(*arguments, "--sharing", "any").json
        self.assertTrue(done["complete"], done)
        self.assertEqual(done["rests_on"], "any")
        self.assertGreaterEqual(done["traces"], declared["traces"])

    def test_a_reduced_search_finds_the_violation_and_its_trace_replays(self):
        done = self.call("explore", "sample/lease", "--reduction", "source", status=1)
        self.assertEqual(Call(["sh", "-c", done.last_line], self.folder).status, 1)


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


class Deadlocks(CommandTest):
    def test_who_waits_for_whom_is_told(self):
        for arguments in (["explore", "sample/crossed"], ["replay", "sample-crossed-DEADLOCK.trace.json"]):
            out = self.call(*arguments, status=1).out
            self.assertIn("Who waits for whom (3 coroutines):", out)
            self.assertRegex(out, r"main/left waits at main/left:lock.* since step \d+")
            self.assertIn("no step of this run gave up, filled or notified main/b", out)

    def test_a_circle_is_told(self):
        out = self.call("explore", "sample/circle", status=1).out
        self.assertIn("circle: main/left waits for main/right waits for main/left", out)
        self.assertIn("the end of main/left would wake it", out)


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
