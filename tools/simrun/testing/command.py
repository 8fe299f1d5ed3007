# SPDX-License-Identifier: Apache-2.0
"""Calls of the command simrun as a user makes them, in a folder of their own: by arguments, exit status, output and files.

The exit statuses: 0 nothing violated, 1 a violation, 2 unusable input, 3 diverged, 4 the harness failed.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SAMPLE = os.environ.get("SAMPLE_SIMRUN", "")
OWN = os.environ.get("OWN_SIMRUN", "")
HARD = os.environ.get("HARD_SIMRUN", "")


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
