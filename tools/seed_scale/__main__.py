"""Fill an empty database with made-up runs (15 steps and 3 evaluations each), experiments and
studies, to measure pages on. The same seed makes the same rows.

    python -m tools.seed_scale --runs 1000000
"""

import argparse
import os
import sys
from collections.abc import Sequence

import django


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill the database of the settings; ends with 1 and a reason where that is refused."""
    from runs.interface.terminal import progress_bar
    from tools.seed_scale.filling import SeedingError, fill

    asked = _parser().parse_args(arguments)
    try:
        with progress_bar() as progress:
            bar = progress.add_task("runs", total=asked.runs)
            fill(
                asked.runs,
                seed=asked.seed,
                anyway=asked.anyway,
                on_runs=lambda n: progress.advance(bar, n),
            )
    except SeedingError as error:
        sys.stderr.write(f"This database is not filled: {error}.\n")
        return 1
    sys.stdout.write(f"Stored {asked.runs} runs.\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.seed_scale", description=__doc__)
    parser.add_argument("--runs", type=_at_least_one, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--anyway", action="store_true", help="also where runs are that are not seeded"
    )
    return parser


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.local")
    django.setup()
    sys.exit(main())
