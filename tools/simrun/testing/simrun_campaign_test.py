# SPDX-License-Identifier: Apache-2.0
"""Tests of searches in several processes, in shards, and over several calls: the same counts as one search in one go.

usage: simrun_campaign_test.py [CLASS …]     with SAMPLE_SIMRUN and HARD_SIMRUN naming the programs of this folder
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from command import HARD, SAMPLE, Call, CommandTest

DEVIATIONS = ["--strategy", "exhaustive"]
COUNTED = "sample/counted:workers=5"  # 5! orders of five writers, and a value each that two of them choose


class Jobs(CommandTest):
    def explore(self, *arguments, status=0):
        return self.call("explore", *arguments, "--json", status=status, seconds=240).json

    def test_several_workers_count_what_one_counts(self):
        for arguments in (["--reduction", "source"], ["--reduction", "none"], DEVIATIONS):
            with self.subTest(arguments):
                one = self.explore(COUNTED, "--order", "any", *arguments, "--jobs", "1")
                self.assertTrue(one["complete"])
                for jobs in ("0", "2", "3"):
                    many = self.explore(COUNTED, "--order", "any", *arguments, "--jobs", jobs)
                    self.assertTrue(many["complete"])
                    self.assertEqual(many["traces"], one["traces"])
                    if arguments == DEVIATIONS:
                        self.assertEqual(many["runs"], one["runs"])

    def test_both_orders_count_alike_in_several_workers(self):
        for arguments in (["--reduction", "source"], DEVIATIONS):
            one = self.explore("sample/quiet:workers=3", *arguments)
            two = self.explore("sample/quiet:workers=3", *arguments, "--jobs", "2")
            self.assertEqual((one["traces"], one["complete"]), (two["traces"], two["complete"]))

    def test_several_workers_find_what_one_finds(self):
        for jobs in ("1", "2", "3"):
            result = self.explore("sample/needle", "--order", "faithful", "--jobs", jobs, "--force", *DEVIATIONS, status=1)
            self.assertEqual(len(result["violations"]), 1)
            self.assertEqual(result["violations"][0]["decisions"], 2)

    def test_samplers_in_several_workers_draw_different_schedules(self):
        one = self.explore("sample/vast", "--strategy", "random", "--budget", "2000")
        two = self.explore("sample/vast", "--strategy", "random", "--budget", "2000", "--jobs", "2")
        self.assertEqual(one["runs"], two["runs"])
        self.assertEqual(two["traces"], one["traces"])  # all of them, as nearly none comes twice

    def test_what_samplers_in_several_workers_may_have_missed_is_of_all_of_them(self):
        arguments = ["sample/vast", "--strategy", "random", "--budget", "2000"]
        for jobs in ("1", "2"):
            result = self.explore(*arguments, "--order", "faithful", "--jobs", jobs)
            risk, = result["risks"]
            self.assertEqual((risk["samples"], risk["distinct"]), (2000, result["traces"]))
            both = self.explore(*arguments, "--jobs", jobs)["risks"]
            self.assertEqual([risk["order"] for risk in both], ["faithful", "any"])
            self.assertEqual(sum(risk["samples"] for risk in both), 2000)

    def test_a_portfolio_in_several_workers_finds_ends_and_names_the_weakest_assumption(self):
        for jobs in ("0", "1", "2"):
            for scenario, mode in (("sample/lease", "faithful"), ("sample/order", "any")):
                result = self.explore(scenario, "--jobs", jobs, "--force", status=1)
                self.assertEqual([violation["mode"] for violation in result["violations"]], [mode])
            result = self.explore("sample/quiet", "--jobs", jobs)
            self.assertEqual((result["complete"], result["strategy"]), (True, "portfolio"))

    def test_an_equal_call_finds_an_equal_result(self):
        calls = [self.explore("sample/vast", "--strategy", "random", "--budget", "3000", "--jobs", "2") for _ in range(2)]
        self.assertEqual(calls[0]["traces"], calls[1]["traces"])

    def test_a_crash_in_one_of_several_workers_is_told(self):
        for arguments in (["--reduction", "source"], DEVIATIONS):
            result = self.call("explore", "order/segv", "--order", "any", "--json", "--jobs", "2", "--force", *arguments, status=1,
                               program=HARD).json
            self.assertEqual(len(result["violations"]), 1)
            self.assertFalse(result["complete"])

    def test_what_does_not_go_together_is_refused(self):
        for arguments in (["--jobs", "2", "--reduction", "optimal"], ["--jobs", "2", "--bound", "reversal:1"], ["--jobs", "-1"], ["--jobs", "many"], ["--jobs", "99999"]):
            self.refused("explore", "sample/quiet", *arguments, names=["--jobs"])

    def test_an_interrupt_ends_all_workers(self):
        for arguments in (["--reduction", "none"], ["--strategy", "random"], []):
            with subprocess.Popen([SAMPLE, "explore", "sample/vast", "--jobs", "2", "--json", "--budget", "100s", *arguments],
                                  cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                time.sleep(1)
                children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=False).stdout.split()
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 0, err)
            self.assertTrue(json.loads(out)["interrupted"])
            self.assertGreater(len(children), 0)
            for child in children:
                self.assertFalse(pathlib.Path(f"/proc/{int(child)}/exe").exists())

    def test_no_worker_outlives_a_killed_search(self):
        with subprocess.Popen([SAMPLE, "explore", "sample/vast", "--jobs", "2", "--budget", "100s"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(2.5)  # long enough for checkpoints
            group = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit() and is_below(int(entry.name), process.pid)]
            process.kill()
        self.assertGreaterEqual(len(group), 4)
        time.sleep(0.5)
        for pid in group:
            self.assertFalse(is_simrun(pid), pid)


def is_simrun(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/exe").resolve() == pathlib.Path(SAMPLE).resolve()
    except OSError:
        return False


def is_below(pid, above):
    while pid > 1:
        try:
            pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            return False
        if pid == above:
            return True
    return False


class Shards(CommandTest):
    def shards(self, count, *arguments, status=0):
        for index in range(count):
            self.call("explore", *arguments, "--shard", f"{index}/{count}", "--out", "results", status=status)

    def test_shards_add_up_to_the_whole(self):
        for arguments in (["--reduction", "source"], ["--reduction", "none"], DEVIATIONS):
            with self.subTest(arguments):
                shutil.rmtree(self.folder / "results", ignore_errors=True)
                whole = self.call("explore", COUNTED, "--order", "any", *arguments, "--json").json
                self.shards(3, COUNTED, "--order", "any", *arguments)
                merged = self.call("merge", "results", "--json").json
                self.assertTrue(merged["complete"])
                self.assertEqual(merged["traces"], whole["traces"])

    def test_shards_of_samplers_are_a_union(self):
        self.shards(3, "sample/quiet:workers=4", "--strategy", "random", "--budget", "500", "--order", "any")
        merged = self.call("merge", "results", "--json").json
        whole = self.call("explore", "sample/quiet:workers=4", "--order", "any", *DEVIATIONS, "--json").json
        self.assertEqual(merged["runs"], 1500)
        self.assertLessEqual(merged["traces"], whole["traces"])

    def test_violations_are_a_union(self):
        # Both parts of a search by deviations share the runs in which it is found.
        self.shards(2, "sample/order", "--order", "any", *DEVIATIONS, status=1)
        merged = self.call("merge", "results", "--json", status=1).json
        self.assertEqual(len(merged["violations"]), 1)
        again = Call(["sh", "-c", self.call("merge", "results", status=1).last_line], self.folder)
        self.assertEqual(again.status, 1, again.err)

    def test_a_missing_shard_is_named(self):
        self.shards(3, COUNTED, "--reduction", "source", "--order", "any")
        (self.folder / "results" / "shard-1-of-3.json").unlink()
        out = self.call("merge", "results").out
        self.assertIn("missing: 1", out)
        self.assertIn("not complete", out)

    def test_damaged_results_are_refused(self):
        self.shards(2, COUNTED, "--reduction", "none", "--order", "any")
        path = self.folder / "results" / "shard-1-of-2.json"
        good = path.read_text()
        for bad in ("", "{}", good[: len(good) // 2], good.replace('"runs"', '"rums"'), good.replace('"shard":1', '"shard":7'),
                    good.replace("heddle-campaign", "something"), good.replace('"seed":"1"', '"seed":"2"')):
            path.write_text(bad)
            self.refused("merge", "results", names=["shard-1-of-2"])
        path.write_text(good)
        seen = path.with_suffix(".seen")
        bytes_ = seen.read_bytes()
        for bad in (b"", bytes_[:-1], bytes_[:40] + b"x" + bytes_[41:]):
            seen.write_bytes(bad)
            self.refused("merge", "results", names=["shard-1-of-2.seen"])
        self.refused("merge", "nowhere", names=["nowhere"])
        (self.folder / "empty").mkdir()
        self.refused("merge", "empty", names=["empty"])

    def test_what_is_no_shard_is_refused(self):
        for text in ("3/3", "1", "-1/3", "a/b", "0/0", "1/2/3"):
            self.refused("explore", "sample/quiet", "--shard", text, names=["--shard"])
        self.refused("explore", "sample/quiet", "--shard", "0/2", "--jobs", "0", names=["--shard"])
        self.refused("explore", "sample/quiet", "--shard", "0/2", "--reduction", "optimal", names=["--shard"])
        self.refused("explore", "sample/quiet", "--shard", "0/2", "--bound", "reversal:1", names=["--shard"])

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
    def test_gnu_parallel_runs_shards(self):
        whole = self.call("explore", COUNTED, "--order", "any", "--reduction", "source", "--json").json
        command = f"{SAMPLE} explore {COUNTED} --order any --reduction source --shard {{}}/4 --out results"
        done = Call(["parallel", "--will-cite", command, ":::", "0", "1", "2", "3"], self.folder)
        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(self.call("merge", "results", "--json").json["traces"], whole["traces"])


class Resume(CommandTest):
    def test_a_search_in_pieces_is_the_search_in_one(self):
        for reduction in ("source", "none"):
            with self.subTest(reduction):
                whole = self.call("explore", COUNTED, "--order", "any", "--reduction", reduction, "--json").json
                for calls in range(1, 2000):
                    piece = self.call("explore", COUNTED, "--order", "any", "--reduction", reduction, "--json", "--resume", f"at-{reduction}",
                                      "--budget", str(17 + calls % 5 * (1 if reduction == "source" else 40))).json
                    if piece["complete"]:
                        break
                self.assertGreater(calls, 2)
                self.assertEqual(piece["traces"], whole["traces"])
                # And it stays what it is.
                again = self.call("explore", COUNTED, "--order", "any", "--reduction", reduction, "--json", "--resume", f"at-{reduction}").json
                self.assertEqual((again["traces"], again["complete"], again["runs"]), (piece["traces"], True, piece["runs"]))

    def test_a_killed_search_goes_on_from_its_last_state(self):
        with subprocess.Popen([SAMPLE, "explore", "sample/counted:workers=8", "--order", "any", "--reduction", "source", "--resume", "kept",
                               "--budget", "100s", "--jobs", "2"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            for _ in range(300):
                if (self.folder / "kept" / "campaign.json").exists():
                    break
                time.sleep(0.1)
            process.kill()
        state = json.loads((self.folder / "kept" / "campaign.json").read_text())
        before = state["orders"][0]["traces"]
        self.assertGreater(before, 0)
        result = self.call("explore", "sample/counted:workers=8", "--order", "any", "--reduction", "source", "--resume", "kept", "--budget", "1s",
                           "--json").json
        self.assertGreater(result["traces"], before)

    def test_samplers_go_on_with_other_seeds(self):
        arguments = ["explore", "sample/vast", "--strategy", "random", "--budget", "500", "--order", "faithful", "--json", "--resume", "kept"]
        first = self.call(*arguments).json
        second = self.call(*arguments).json
        self.assertEqual(second["runs"], 2 * first["runs"])
        self.assertEqual(second["traces"], 2 * first["traces"])

    def test_violations_are_kept(self):
        arguments = ["explore", "sample/order", "--order", "any", "--strategy", "random", "--budget", "500", "--json", "--resume", "kept"]
        first = self.call(*arguments, status=1).json
        second = self.call(*arguments, status=1).json
        self.assertEqual(len(first["violations"]), 1)
        self.assertGreaterEqual(len(second["violations"]), 1)
        self.assertTrue((self.folder / second["violations"][0]["trace"]).exists())

    def test_another_search_in_the_folder_is_refused(self):
        self.call("explore", COUNTED, "--order", "any", "--reduction", "source", "--resume", "kept")
        for arguments in ([COUNTED, "--order", "any", "--reduction", "none"], [COUNTED, "--order", "faithful", "--reduction", "source"],
                          [COUNTED, "--order", "any", "--reduction", "source", "--seed", "7"],
                          ["sample/quiet", "--order", "any", "--reduction", "source"],
                          [COUNTED, "--order", "any", "--reduction", "source", "--shard", "0/2"]):
            self.refused("explore", *arguments, "--resume", "kept", names=["campaign.json"])
        self.refused("explore", "sample/quiet", *DEVIATIONS, "--resume", "kept", names=["--resume"])

    def test_a_damaged_folder_is_refused(self):
        self.call("explore", COUNTED, "--order", "any", "--reduction", "source", "--resume", "kept", "--budget", "10")
        path = self.folder / "kept" / "campaign.json"
        good = path.read_text()
        for bad in ("", "[]", good[: len(good) // 2], good.replace('"question"', '"answer"', 1), good.replace('"owner":0', '"owner":9', 1)):
            path.write_text(bad)
            self.refused("explore", COUNTED, "--order", "any", "--reduction", "source", "--resume", "kept", names=["campaign.json"])
        path.write_text(good)
        self.call("explore", COUNTED, "--order", "any", "--reduction", "source", "--resume", "kept")

    def test_two_searches_in_one_folder_are_refused(self):
        with subprocess.Popen([SAMPLE, "explore", "sample/vast", "--strategy", "random", "--resume", "kept", "--budget", "100s"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            for _ in range(100):
                if (self.folder / "kept" / ".campaign.json.lock").exists():
                    break
                time.sleep(0.05)
            time.sleep(0.2)
            self.refused("explore", "sample/vast", "--strategy", "random", "--resume", "kept", names=["campaign.json", "another simrun"])
            process.send_signal(signal.SIGINT)
            process.wait(30)

    def test_a_folder_that_cannot_be_written_is_refused(self):
        (self.folder / "file").write_text("")
        self.refused("explore", COUNTED, "--order", "any", "--reduction", "source", "--resume", "file", names=["file"])

    def test_a_full_disk_loses_nothing_that_was_found(self):
        # A file system of a few pages, where this user may have one.
        script = (f"mount -t tmpfs -o size=16k none full && cd full && head -c 16384 /dev/zero >fill 2>/dev/null; "
                  f"{SAMPLE} explore sample/order --order any")
        (self.folder / "full").mkdir()
        probe = Call(["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=16k none full"], self.folder)
        if probe.status != 0:
            self.skipTest("no file systems of one's own here")
        done = Call(["unshare", "-rm", "sh", "-c", script], self.folder)
        self.assertEqual(done.status, 4, done.out + done.err)
        self.assertIn("No space left", done.err)
        self.assertIn('"scenario": "sample/order"', done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
