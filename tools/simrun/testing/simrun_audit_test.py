# SPDX-License-Identifier: Apache-2.0
"""Tests of the audit: programs that depend on something that is not one of their choices are noticed, others are not.

usage: simrun_audit_test.py [CLASS …]     with SAMPLE_SIMRUN and HARD_SIMRUN naming the programs of this folder
"""

import sys
import unittest

from command import HARD, CommandTest


class Audit(CommandTest):
    def test_a_leak_of_each_kind_is_noticed_with_its_place(self):
        for leak in ("clock", "random", "pointers", "unordered", "uninitialised", "environment"):
            with self.subTest(leak):
                done = self.call("explore", f"leak/{leak}", "--strategy", "random", "--budget", "20000", "--order", "faithful", status=4, program=HARD)
                self.assertIn("the harness failed", done.err)
                self.assertIn("not one of its choices", done.err)

    def test_the_first_difference_is_named(self):
        done = self.call("explore", "leak/environment", "--strategy", "random", "--budget", "2000", "--order", "faithful", status=4, program=HARD)
        self.assertIn("first difference", done.err)
        self.assertIn("leaked", done.err)

    def test_a_program_without_leaks_passes(self):
        for arguments in (["--strategy", "random", "--budget", "5000"], ["--budget", "5000"], ["--strategy", "exhaustive"], ["--reduction", "source"], ["--jobs", "2", "--strategy", "random",
                                                                                                       "--budget", "4000"]):
            result = self.call("explore", "leak/none", "--json", *arguments, program=HARD).json
            self.assertGreater(result["audited"], 0, arguments)

    def test_who_wants_no_audit_has_none(self):
        result = self.call("explore", "leak/none", "--json", "--budget", "1000", "--no-audit", program=HARD).json
        self.assertEqual(result["audited"], 0)

    def test_leaks_are_noticed_in_reduced_searches_too(self):
        self.call("explore", "leak/environment", "--reduction", "source", "--jobs", "2", "--order", "faithful", status=4, program=HARD)


if __name__ == "__main__":
    unittest.main(verbosity=2)
