#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums what the searches of a nightly say of their faults, kind by kind: how often each could have struck, and how often it did.

usage: ci/fault_totals.py SIMRUN_LOG...
Status 1 if there is a kind that never struck although it could have; kinds that never could are named, too. The lines are those that
`simrun explore` prints: "  faults: connection_reset 3 of 120, disk_full 0 of 7".
"""
import re
import sys

KINDS = ("connect_refused connect_timed_out connect_unreachable connection_reset connection_aborted descriptors_exhausted "
         "datagram_lost datagram_doubled datagram_late name_unknown name_try_again disk_error disk_full flush_failed short_read").split()


def main(logs):
    totals = {kind: [0, 0] for kind in KINDS}
    for log in logs:
        with open(log, encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.startswith("  faults: "):
                    continue
                for kind, struck, opportunities in re.findall(r"(\w+) (\d+) of (\d+)", line):
                    if kind not in totals:
                        print(f"{log}: a kind of fault that is not known here: {kind}", file=sys.stderr)
                        return 2
                    totals[kind][0] += int(struck)
                    totals[kind][1] += int(opportunities)
    for kind, (struck, opportunities) in totals.items():
        print(f"   {kind:24} {struck:12} of {opportunities}")
    never = [kind for kind, (struck, opportunities) in totals.items() if struck == 0 and opportunities > 0]
    absent = [kind for kind, (_, opportunities) in totals.items() if opportunities == 0]
    if absent:
        print("   no search had an opportunity of: " + ", ".join(absent))
    if never:
        print("   never taken: " + ", ".join(never))
    return 1 if never or absent else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
