"""Cause many faults on SQLite and on PostgreSQL with Redis, and write what was found.

    python -m tests.faults [--times 1.0] [--only 1,4] [--database sqlite|postgresql|both]
                           [--report FILE] [--together] [--no-tests]

`--times` scales how often each scenario causes its fault. Beside the scenarios, the tests that are
marked with `fault` are run. Ends with 1 if a promise was broken, or something was not tried.
"""

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.fault_reports import FaultRecord, FaultReport
from tests.faults.findings import ROOT, version

SERVICES = [sys.executable, "scripts/with_services.py"]


def main() -> int:
    asked = _arguments()
    databases = ["sqlite", "postgresql"] if asked.database == "both" else [asked.database]
    records: list[FaultRecord] = []
    untried: list[str] = []
    with TemporaryDirectory(prefix="report-") as folder:
        for database in databases:
            found, broke_off = _on(database, asked, Path(folder))
            records += found
            untried += broke_off
    made = FaultReport(made_at=datetime.now(UTC), version=version(), records=tuple(records))
    asked.report.write_text(made.model_dump_json(indent=1))
    _sum_up(made, asked.report)
    sys.stdout.writelines(f"NOT TRIED: {what}\n" for what in untried)
    return 0 if records and not untried and all(record.held for record in records) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--times", type=float, default=1.0, help="1 is a whole campaign")
    parser.add_argument("--only", default="", help="numbers of failures, such as 1,4")
    parser.add_argument("--name", default="", help="only scenarios with this in their name")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--report", type=Path, default=Path("fault_report.json"))
    parser.add_argument(
        "--together", action="store_true", help="all storms on one site, which takes less time"
    )
    parser.add_argument("--no-tests", action="store_true", help="scenarios only")
    return parser.parse_args()


def _on(
    database: str, asked: argparse.Namespace, folder: Path
) -> tuple[list[FaultRecord], list[str]]:
    """What scenarios and marked tests found on this database, and what of it broke off."""
    services = SERVICES if database == "postgresql" else []
    of_scenarios, of_tests = folder / f"{database}-scenarios", folder / f"{database}-tests"
    scenarios = [sys.executable, "-m", "tests.faults.on_one", str(of_scenarios)]
    scenarios += [str(asked.times), asked.only, asked.name]
    scenarios += ["together" if asked.together else ""]
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "fault", "--fault-report", str(of_tests)]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL", "DATA_DIR")
    }
    untried = []
    run = partial(subprocess.run, cwd=ROOT, env=environment, check=False)
    if code := run([*services, *scenarios]).returncode:
        untried.append(f"scenarios on {database} ended with {code}")
    # 1: some failed, which the report has.
    if not asked.no_tests and (code := run([*services, *tests]).returncode) not in (0, 1):
        untried.append(f"tests on {database} ended with {code}")
    found = [file for file in (of_scenarios, of_tests) if file.exists()]
    reports = [FaultReport.model_validate_json(file.read_bytes()) for file in found]
    records = [record for report in reports for record in report.records]
    return records, untried


def _sum_up(made: FaultReport, file: Path) -> None:
    counts = {
        name: sum(getattr(record, name) for record in made.records)
        for name in ("times", "acknowledged", "lost", "doubled", "left_over")
    }
    broken = sum(not record.held for record in made.records)
    words = ", ".join(
        f"{n} {'faults' if name == 'times' else name.replace('_', ' ')}"
        for name, n in counts.items()
    )
    sys.stdout.write(f"{len(made.records)} tests, {broken} broken; {words}. {file}\n")


if __name__ == "__main__":
    sys.exit(main())
