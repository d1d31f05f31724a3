"""`manage.py check_integrity`: does everything hold that always holds?"""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.interface.terminal import progress_bar
from runs.operations.integrity import all_invariants, checked_rows, checks


class Command(BaseCommand):
    help = (
        "Find rows and files that break an invariant, one line for each. Exit code 1 if there "
        "are any. Changes nothing and may run at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--hashes", action="store_true", help="also compare files with their hashes"
        )
        parser.add_argument(
            "--format", choices=("text", "json"), default="text", help="json: an object a line"
        )

    def handle(self, *, hashes: bool, format: str, **_: Any) -> None:
        n_found = 0
        with progress_bar(shown=sys.stderr.isatty()) as progress:
            parts = checks(hashes=hashes)
            bar = progress.add_task("checks", total=len(parts))
            for part in parts:
                for violation in part:
                    progress.stop()  # what was found stands on lines of its own
                    n_found += 1
                    as_json = json.dumps(asdict(violation)) if format == "json" else ""
                    self.stdout.write(as_json or self.style.ERROR(str(violation)))
                progress.advance(bar)
        self._sum_up(n_found, format)
        if n_found:
            sys.exit(1)

    def _sum_up(self, n_found: int, format: str) -> None:
        rows, n_invariants = checked_rows(), len(all_invariants())
        if format == "json":
            summary = {"violations": n_found, "invariants": n_invariants, "rows": rows}
            self.stdout.write(json.dumps(summary))
            return
        counted = ", ".join(f"{n} {model}" for model, n in rows.items() if n)
        self.stdout.write(f"Checked {n_invariants} invariants over {counted or 'no rows'}.")
        self.stdout.write(f"Violations: {n_found}.")
