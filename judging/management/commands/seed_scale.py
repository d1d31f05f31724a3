"""`manage.py seed_scale --runs N`: a database as large as a lab's whole history."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.demo.seeding.filling import SeedingError, fill
from runs.management.progress import progress_bar


class Command(BaseCommand):
    help = (
        "Fill an empty database with made-up runs (15 steps and 3 evaluations each), experiments"
        " and studies, to measure pages on. The same seed makes the same rows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, required=True)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--anyway", action="store_true", help="also where runs are that are not seeded"
        )

    def handle(self, *, runs: int, seed: int, anyway: bool, **_: Any) -> None:
        if runs < 1:
            raise CommandError("--runs must be at least 1")
        try:
            with progress_bar() as progress:
                bar = progress.add_task("runs", total=runs)
                fill(runs, seed=seed, anyway=anyway, on_runs=lambda n: progress.advance(bar, n))
        except SeedingError as error:
            raise CommandError(f"This database is not filled: {error}.") from None
        self.stdout.write(f"Stored {runs} runs.")
