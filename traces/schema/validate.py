#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks traces against the schema of their version, trace.v1.schema.json or trace.v2.schema.json, with a validator that knows nothing of our own reader.

usage: validate.py --corpus FOLDER [--samples PROGRAM]

  1  every FOLDER/**/*.trace.json fits the schema;
  2  so do the samples that PROGRAM writes, and together they contain every member and every kind that the schema names: what
     the library cannot write has no place in the schema;
  3  broken copies of the samples do not fit: without that, 1 and 2 could not fail.
"""
import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

VERSIONS = (1, 2)


def load(path):
    """A trace; duplicate members are an error, as they are for our reader."""

    def members(pairs):
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError(f"duplicate member among {names}")
        return dict(pairs)

    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=members)


def problem(validator, trace):
    """The first error as one line, or None."""
    errors = sorted(validator.iter_errors(trace), key=lambda error: list(map(str, error.absolute_path)))
    if not errors:
        return None
    pointer = "".join(f"/{part}" for part in errors[0].absolute_path)
    return f"{pointer or '(document)'}: {errors[0].message[:200]}"


def resolved(schema, part):
    while "$ref" in part:
        part = {**schema["$defs"][part["$ref"].rsplit("/", 1)[1]], **{k: v for k, v in part.items() if k != "$ref"}}
    return part


def named_by_schema(schema, part=None, pointer=""):
    """Every member ("/decisions/*/at") and every word of an enumeration ("/recipe/order=any") of the schema."""
    part = resolved(schema, part or schema)
    for word in part.get("enum", []):
        yield f"{pointer}={word}"
    for name, member in part.get("properties", {}).items():
        yield f"{pointer}/{name}"
        yield from named_by_schema(schema, member, f"{pointer}/{name}")
    if "items" in part:
        yield from named_by_schema(schema, part["items"], f"{pointer}/*")


def used_by(value, pointer=""):
    """The same of a trace."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield f"{pointer}/{name}"
            yield from used_by(member, f"{pointer}/{name}")
    elif isinstance(value, list):
        for member in value:
            yield from used_by(member, f"{pointer}/*")
    else:
        yield f"{pointer}={value}"


def places(value, path=()):
    """Every object and array of a trace, and every value in them."""
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, path + (key,))


def at(trace, path):
    for key in path:
        trace = trace[key]
    return trace


def broken_copies(trace, required):
    """Copies with one thing wrong each, and what it is."""
    for path, value in places(trace):
        if isinstance(value, dict):
            if path and path[-1] in ("parameters", "knobs"):
                continue  # any name is one there
            bad = copy.deepcopy(trace)
            at(bad, path)["colour"] = "blue"
            yield f"unknown member in {path}", bad
            for name in value:
                if name in required(path):
                    bad = copy.deepcopy(trace)
                    del at(bad, path)[name]
                    yield f"no {name} in {path}", bad
        elif path:
            for wrong in (None, True, 1.5, -1, ["x"], {"x": "y"}):
                bad = copy.deepcopy(trace)
                at(bad, path[:-1])[path[-1]] = wrong
                yield f"{wrong!r} at {path}", bad
    for wrong in (None, 1, "text", [], [trace], {}):
        yield f"{wrong!r:.20} as a trace", wrong
    for path, wrong in {
        ("version",): 3,
        ("version",): "1",
        ("format",): "other",
        ("recipe", "seed"): "007",
        ("recipe", "scenario"): "",
        ("recipe", "order"): "sideways",
        ("recipe", "time"): "T5",
        ("decisions", 0, "kind"): "whim",
        ("decisions", 0, "choose"): 0,
        ("decisions", 0, "count"): 1,
        ("decisions", 0, "set"): "89ABCDEF",
        ("outcome", "kind"): "ok",
        ("outcome", "mode"): "any+luck",
        ("events", 0, "kind"): "danced",
        ("hash", "value"): "123",
        ("door", 0, "kind"): "knocked",
        ("door", 0, "flags"): "hidden pending",
        ("door", 0, "bytes"): "0",
    }.items():
        bad = copy.deepcopy(trace)
        at(bad, path[:-1])[path[-1]] = wrong
        yield f"{wrong!r} at {path}", bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--samples", type=pathlib.Path, help="program that writes sample traces into a folder")
    arguments = parser.parse_args()

    schemas = {}
    for version in VERSIONS:
        path = pathlib.Path(__file__).with_name(f"trace.v{version}.schema.json")
        schemas[version] = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schemas[version])
    validators = {version: jsonschema.Draft202012Validator(schema) for version, schema in schemas.items()}
    latest = VERSIONS[-1]
    failures = []

    def validator_for(trace):
        version = trace.get("version") if isinstance(trace, dict) else None
        return validators.get(version if isinstance(version, int) else latest, validators[latest])

    def check(paths):
        for path in paths:
            try:
                trace = load(path)
                found = problem(validator_for(trace), trace)
            except ValueError as error:
                found = str(error)
            if found:
                failures.append(f"{path}: {found}")

    corpus = sorted(arguments.corpus.glob("**/*.trace.json"))
    check(corpus)
    refused = 0
    if arguments.samples:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([arguments.samples, folder], check=True)
            samples = sorted(pathlib.Path(folder).glob("*.trace.json"))
            check(samples)
            used = {name for path in samples for name in used_by(load(path))}
            # Words that only choose between worlds or ends: the samples show one or two of each.
            free = ("/recipe/order=", "/recipe/time=", "/outcome/kind=", "/outcome/mode=", "/constraints/values/*/kind=")
            # The latest version has all members and words of the earlier ones.
            for version, schema in schemas.items():
                for name in named_by_schema(schema):
                    if name not in used and not name.startswith(free):
                        failures.append(f"version {version}: {name} is in no sample")

            full = load(pathlib.Path(folder) / "full.trace.json")

            def required(path):
                schema = schemas[latest]
                part = resolved(schema, schema)
                for key in path:
                    part = resolved(schema, part["items"] if isinstance(key, int) else part["properties"][key])
                return part.get("required", [])

            for what, bad in broken_copies(full, required):
                refused += 1
                if problem(validator_for(bad), bad) is None:
                    failures.append(f"version {latest}: accepts {what}")

    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(corpus)} traces of the corpus fit the schema, {refused} broken ones were tried, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
