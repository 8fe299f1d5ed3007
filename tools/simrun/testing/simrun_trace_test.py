# SPDX-License-Identifier: Apache-2.0
"""Tests of what simrun does with traces: replay, shrink, diff, and the files that it writes.

usage: simrun_trace_test.py [CLASS …]     with SAMPLE_SIMRUN and OWN_SIMRUN naming the programs of this folder
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from command import OWN, SAMPLE, Call, CommandTest


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


if __name__ == "__main__":
    if not SAMPLE or not OWN:
        sys.exit("SAMPLE_SIMRUN and OWN_SIMRUN name the programs to test")
    unittest.main(verbosity=2)
