"""`python -m tests.fuzz NAME... [--examples N] [--first SEED]`: damage real input, look on.

NAME is an importer, or `all` of them. Ends with 1 if something was found. The same numbers make
the same examples, so what is found can be found again. The API has a walk of its own: docs/api.md.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"

import django

django.setup()

from tests.fuzz.importers import IMPORTERS  # noqa: E402 (needs the settings)
from tests.fuzz.running import fuzz  # noqa: E402 (likewise)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="+", choices=[*IMPORTERS, "all"], metavar="NAME")
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    asked = parser.parse_args()
    names = list(IMPORTERS) if "all" in asked.names else asked.names
    seeds = range(asked.first, asked.first + asked.examples)
    found = 0
    for name in names:
        tally = fuzz(IMPORTERS[name], seeds)
        found += tally.found.total()
        sys.stdout.write(
            f"{name}: {tally.examples} examples in {tally.seconds:.0f} s, {tally.taken} runs or"
            f" rows taken, slowest {tally.slowest:.1f} s, found {tally.found.total()}\n"
        )
        for fault, times in tally.found.most_common():
            sys.stdout.write(f"  {times} x {fault}  ({tally.seeds[fault]})\n")
        sys.stdout.flush()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
