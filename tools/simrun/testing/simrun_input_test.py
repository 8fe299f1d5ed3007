# SPDX-License-Identifier: Apache-2.0
"""Tests of what simrun refuses: traces from outside that are damaged, foreign or hostile.

usage: simrun_input_test.py [CLASS …]     with SAMPLE_SIMRUN and OWN_SIMRUN naming the programs of this folder
"""

import copy
import sys
import time
import unittest

from command import OWN, SAMPLE, CommandTest


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
            ("time", "T5"),
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


if __name__ == "__main__":
    if not SAMPLE or not OWN:
        sys.exit("SAMPLE_SIMRUN and OWN_SIMRUN name the programs to test")
    unittest.main(verbosity=2)
