# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/known_failures.py, which tells a night's new failures from known ones.

usage: known_failures_test.py [CLASS …]     with SAMPLE_SIMRUN naming the program of this folder
"""

import json
import pathlib
import shutil
import sys
import unittest

from command import SAMPLE, Call, CommandTest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "ci" / "known_failures.py"


class KnownFailures(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("found", "corpus"):
            (self.folder / name).mkdir()

    def sort(self, status):
        done = Call([sys.executable, str(SCRIPT), "found", "corpus", "ready"], self.folder)
        self.assertEqual(done.status, status, done.out + done.err)
        return done

    def test_a_new_failure_is_made_ready_and_replays_from_there(self):
        self.call("explore", "sample/lease", "--out", "found", status=1)
        out = self.sort(1).out
        self.assertIn("new: sample/lease: CHECK", out)
        ready = self.folder / "ready" / "sample" / "lease-check.trace.json"
        self.assertTrue(ready.exists())
        self.call("replay", str(ready), status=1)

    def test_a_known_failure_is_no_news(self):
        self.call("explore", "sample/lease", "--out", "found", status=1)
        self.sort(1)
        shutil.copytree(self.folder / "ready", self.folder / "corpus", dirs_exist_ok=True)
        shutil.rmtree(self.folder / "ready")
        self.assertIn("known: ", self.sort(0).out)
        self.assertFalse((self.folder / "ready").exists())

    def test_the_same_failure_found_twice_is_one(self):
        for _ in range(2):
            self.call("explore", "sample/lease", "--out", "found", status=1)
        self.sort(1)
        self.assertEqual(len(list((self.folder / "ready").rglob("*.trace.json"))), 1)

    def test_another_decision_is_another_failure(self):
        self.call("explore", "sample/needle", "--out", "found", status=1)
        path = next((self.folder / "found").glob("*.trace.json"))
        trace = json.loads(path.read_text())
        del trace["constraints"]  # as of a failure that none bring about again
        path.write_text(json.dumps(trace))
        self.sort(1)
        shutil.copytree(self.folder / "ready", self.folder / "corpus", dirs_exist_ok=True)
        trace["decisions"][0]["choose"] = 3
        path.write_text(json.dumps(trace))
        self.sort(1)

    def test_constraints_count_before_decisions(self):
        self.call("explore", "sample/needle", "--out", "found", status=1)
        path = next((self.folder / "found").glob("*.trace.json"))
        trace = json.loads(path.read_text())
        trace["constraints"] = {"order": [{"before": "main/a", "after": "main/b"}], "values": []}
        (self.folder / "corpus" / "known.trace.json").write_text(json.dumps(trace))
        trace["decisions"] = []
        path.write_text(json.dumps(trace))
        self.sort(0)

    def test_what_is_no_trace_is_refused(self):
        (self.folder / "found" / "bad.trace.json").write_text("{")
        done = Call([sys.executable, str(SCRIPT), "found", "corpus", "ready"], self.folder)
        self.assertNotEqual(done.status, 0)
        self.assertIn("bad.trace.json", done.err)
        shutil.rmtree(self.folder / "corpus")
        self.assertEqual(Call([sys.executable, str(SCRIPT), "found", "corpus", "ready"], self.folder).status, 2)


if __name__ == "__main__":
    if not SAMPLE:
        sys.exit("SAMPLE_SIMRUN names the program to test")
    unittest.main(verbosity=2)
