# SPDX-License-Identifier: Apache-2.0
"""Tests of searches through programs that crash, hang or eat memory: nothing is lost, and the search goes on.

usage: simrun_crash_test.py [CLASS …]     with HARD_SIMRUN naming the program of this folder
"""

import json
import sys
import unittest

from command import HARD, Call, CommandTest


class Crashes(CommandTest):
    def explore(self, scenario, *arguments, status=1, seconds=120):
        how = [] if {"--strategy", "--reduction"} & set(arguments) else ["--strategy", "exhaustive"]
        return self.call("explore", scenario, "--json", *how, *arguments, status=status, program=HARD, seconds=seconds).json

    def test_every_way_to_die_is_found_shrunk_and_replayed(self):
        for name, invariants in (
            ("segv", {"SIGSEGV", "SANITIZER"}),
            ("abort", {"SIGABRT", "SANITIZER"}),
            ("overflow", {"SIGSEGV", "SIGABRT", "SANITIZER"}),
            ("exit", {"EXIT"}),
            ("kill", {"SIGKILL"}),
        ):
            with self.subTest(name):
                result = self.explore(f"crash/{name}", "--budget", "3000", "--order", "faithful")
                self.assertEqual(len(result["violations"]), 1)
                violation = result["violations"][0]
                self.assertIn(violation["invariant"], invariants)
                self.assertEqual(violation["decisions"], 2)
                self.assertEqual(violation["mode"], "faithful")
                trace = json.loads((self.folder / violation["trace"]).read_text())
                self.assertEqual(trace["outcome"]["kind"], "crashed")
                self.assertEqual(trace["outcome"]["who"], "main/worker")
                again = Call(["sh", "-c", violation["replay"]], self.folder)
                self.assertEqual(again.status, 1, again.err)
                self.assertIn("reproduced, bit for bit", again.out)
                self.assertIn(f"CRASHED {violation['invariant']}", again.out)

    def test_what_hangs_is_killed_and_told(self):
        for name in ("hang", "sleep"):
            with self.subTest(name):
                result = self.explore(f"order/{name}", "--order", "any", "--hang-after", "500ms")
                self.assertEqual(result["violations"][0]["invariant"], "HANG")
                self.assertEqual(result["violations"][0]["mode"], "any")

    def test_the_search_goes_on_behind_a_crash(self):
        result = self.explore("crash/late", "--order", "faithful", "--budget", "100000")
        self.assertIn(result["violations"][0]["invariant"], ("SIGSEGV", "SANITIZER"))
        self.assertEqual(result["runs"], 1024)
        self.assertEqual(result["deaths"], 1)
        self.assertFalse(result["complete"])

    def test_every_kind_of_crash_is_told_and_the_violation_behind_them(self):
        result = self.explore("crash/two", "--order", "faithful")
        self.assertEqual(len(result["violations"]), 3)
        self.assertEqual([each["invariant"] for each in result["violations"]].count("CHECK"), 1)
        self.assertEqual(len(self.files()), 3)

    def test_a_crash_before_the_first_choice_is_told(self):
        result = self.explore("crash/at_once", "--order", "faithful")
        self.assertEqual(result["violations"][0]["decisions"], 0)

    def test_samplers_and_reductions_survive_crashes(self):
        for arguments in (["--strategy", "random", "--budget", "400"], ["--strategy", "portfolio", "--budget", "400"], ["--reduction", "source"], ["--reduction", "optimal"],
                          ["--reduction", "none"]):
            with self.subTest(arguments):
                result = self.explore("order/segv", "--order", "any", "--force", *arguments)
                self.assertGreaterEqual(result["deaths"], 1)
                self.assertEqual(len(result["violations"]), 1)

    def test_a_crash_is_told_with_the_order_in_which_it_happens(self):
        result = self.explore("order/segv", "--strategy", "portfolio", "--budget", "400")
        self.assertEqual(result["violations"][0]["mode"], "any")
        self.assertGreaterEqual(result["deaths"], 1)

    def test_a_person_reads_scenario_step_and_signal(self):
        out = self.call("explore", "crash/segv", "--order", "faithful", "--strategy", "exhaustive", status=1, program=HARD).out
        self.assertRegex(out, r"CRASHED S(IGSEGV|ANITIZER): ")
        self.assertRegex(out, r"where    step \d+ in main/worker")
        self.assertIn("crash/segv", out)

    def test_a_crash_is_shrunk_by_hand_as_well(self):
        self.call("run", "crash/segv", program=HARD)
        found = self.explore("crash/segv", "--order", "faithful")["violations"][0]["trace"]
        out = self.call("shrink", found, status=1, program=HARD).out
        self.assertIn("shrunk from 2 decisions to 2", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
