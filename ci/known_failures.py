#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sorts the traces that a search has found into known ones and new ones, and makes the new ones ready for the corpus.

usage: known_failures.py FOUND CORPUS READY

FOUND and CORPUS are folders with traces (*.trace.json), at any depth. Two traces are the same failure if scenario, parameters, planted
bug and invariant agree, and what makes it happen: the constraints, or the decisions where a trace has no constraints. Each new failure
is written to READY/<subject>/<scenario>-<invariant>.trace.json, as traces/corpus wants it, and printed with the command that replays it.
Exit status: 0 nothing new, 1 something new, 2 unusable input.
"""

import json
import pathlib
import re
import sys


def identity(trace):
    """What two traces of one failure have in common, as a text."""
    recipe, outcome = trace["recipe"], trace["outcome"]
    constraints = trace.get("constraints", {})
    if constraints.get("order") or constraints.get("values"):
        why = sorted(json.dumps(each, sort_keys=True) for part in ("order", "values") for each in constraints.get(part, []))
    else:
        why = sorted(json.dumps([each["kind"], each["at"], each["choose"], each.get("candidate", "")]) for each in trace.get("decisions", []))
    return json.dumps([recipe["scenario"], recipe.get("parameters", {}), recipe.get("planted", ""), outcome.get("invariant", ""), why],
                      sort_keys=True)


def failures(folder):
    """(path, trace) of every trace below a folder that ended badly."""
    for path in sorted(pathlib.Path(folder).rglob("*.trace.json")):
        try:
            trace = json.loads(path.read_text())
            kind = trace["outcome"]["kind"]
            identity(trace)
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"known_failures: {path}: expected a trace, found {type(error).__name__}: {error}")
        if kind in ("violation", "crashed"):
            yield path, trace


def slug(trace):
    """subject/scenario-invariant, in the letters that file names have."""
    subject, _, name = trace["recipe"]["scenario"].partition("/")
    plain = [re.sub(r"[^A-Za-z0-9_]+", "-", part).strip("-").lower() or "any" for part in (subject, name, trace["outcome"]["invariant"])]
    return plain[0], f"{plain[1]}-{plain[2]}"


def main(found, corpus, ready):
    for folder in (found, corpus):
        if not pathlib.Path(folder).is_dir():
            print(f"known_failures: {folder}: expected a folder, found none", file=sys.stderr)
            return 2
    known = {identity(trace) for _, trace in failures(corpus)}
    ready = pathlib.Path(ready)
    news = 0
    for path, trace in failures(found):
        if ready in path.parents:
            continue
        if identity(trace) in known:
            print(f"known: {path}")
            continue
        known.add(identity(trace))
        subject, name = slug(trace)
        (ready / subject).mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            target = ready / subject / f"{name}{'' if number == 1 else f'-{number}'}.trace.json"
            if not target.exists():
                break
        target.write_bytes(path.read_bytes())
        news += 1
        print(f"new: {trace['recipe']['scenario']}: {trace['outcome']['invariant']}: {trace['outcome'].get('message', '')}\n"
              f"     simrun --seed {trace['recipe']['seed']} --replay {target}")
    return 1 if news else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
