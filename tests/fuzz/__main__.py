"""`python -m tests.fuzz NAME... [--examples N] [--first SEED] [--store]`: damage input, look on.

NAME is an importer, or `all` of them. Ends with 1 if something was found. The same numbers make
the same examples, so what is found can be found again. With `--store` runs go into a database of
its own, twice, their pages are opened, and everything is checked at the end. The API has a walk
of its own: docs/api.md.
"""

import argparse
import os
import sys
from collections.abc import Sequence

os.environ["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"

import django

django.setup()

from tests.fuzz.importers import IMPORTERS, Importer  # noqa: E402 (needs the settings)
from tests.fuzz.running import fuzz  # noqa: E402 (likewise)
from tests.fuzz.storing import broken, scratch_database, storing  # noqa: E402 (likewise)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="+", choices=[*IMPORTERS, "all"], metavar="NAME")
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--store", action="store_true", help="through a database of its own")
    asked = parser.parse_args()
    names = list(IMPORTERS) if "all" in asked.names else asked.names
    importers = [IMPORTERS[name] for name in names]
    seeds = range(asked.first, asked.first + asked.examples)
    if not asked.store:
        return 1 if run(importers, seeds) else 0
    with scratch_database():
        found = run([each for each in map(storing, importers) if each], seeds)
        wrong = broken()
    sys.stdout.write("".join(f"{each}\n" for each in wrong))
    sys.stdout.write(f"violations of integrity: {len(wrong)}\n")
    return 1 if found or wrong else 0


def run(importers: Sequence[Importer], seeds: range) -> int:
    """Feed each importer, and tell what it did wrong; how often it did."""
    found = 0
    for importer in importers:
        tally = fuzz(importer, seeds)
        found += tally.found.total()
        sys.stdout.write(
            f"{importer.name}: {tally.examples} examples in {tally.seconds:.0f} s,"
            f" {tally.taken} runs or rows taken,"
            f" slowest {tally.slowest:.1f} s, found {tally.found.total()}\n"
        )
        for fault, times in tally.found.most_common():
            sys.stdout.write(f"  {times} x {fault}  ({tally.seeds[fault]})\n")
        sys.stdout.flush()
    return found


if __name__ == "__main__":
    sys.exit(main())
