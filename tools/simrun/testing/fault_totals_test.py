# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/fault_totals.py, which says which kinds of fault a night's searches took, and which never.

usage: fault_totals_test.py [CLASS …]     with SAMPLE_SIMRUN naming the program of this folder
"""

import pathlib
import re
import sys
import unittest

from command import SAMPLE, Call, CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "ci" / "fault_totals.py"


def kinds():
    """As the simulator names them."""
    source = (ROOT / "simreactor" / "net" / "fault_plan.cpp").read_text()
    return re.findall(r'"(\w+)"', re.search(r"> names\{(.*?)\};", source, re.DOTALL).group(1))


class FaultTotals(CommandTest):
    def total(self, status, *lines):
        """Of logs with one such line each."""
        logs = []
        for number, line in enumerate(lines):
            path = self.folder / f"{number}.log"
            path.write_text(f"io/echo: complete\n  faults: {line}\n  nothing violated\n")
            logs.append(str(path))
        done = Call([sys.executable, str(SCRIPT), *logs], self.folder)
        self.assertEqual(done.status, status, done.out + done.err)
        return done

    def test_a_night_that_took_every_kind_is_well(self):
        out = self.total(0, *[f"{kind} 1 of 5" for kind in kinds()], f"{kinds()[0]} 2 of 7").out
        self.assertRegex(out, rf"{kinds()[0]} +3 of 12")
        self.assertNotIn("never", out)

    def test_a_kind_that_never_struck_is_named(self):
        first, second, *others = kinds()
        out = self.total(1, ", ".join([f"{first} 0 of 9"] + [f"{kind} 1 of 5" for kind in others])).out
        self.assertIn(f"never taken: {first}\n", out)
        self.assertIn(f"no search had an opportunity of: {second}\n", out)

    def test_a_kind_that_it_does_not_know_is_an_error(self):
        self.assertIn("earthquake", self.total(2, "earthquake 1 of 2").err)

    def test_searches_say_their_faults(self):
        out = self.call("explore", "sample/faulty", "--bound", "1").out
        self.assertRegex(out, r"\n  faults: .*name_unknown \d+ of \d+")


if __name__ == "__main__":
    if not SAMPLE:
        sys.exit("SAMPLE_SIMRUN names the program to test")
    unittest.main(verbosity=2)
