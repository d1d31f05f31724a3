"""The part of a campaign on the database that the environment names; see `__main__`."""

import os
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webagent.settings.test")
django.setup()

from django.db import connection  # noqa: E402 (after Django is set up)

from tests.faults.fault_reports import FaultRecord, FaultReport  # noqa: E402 (after Django is set up)
from tests.faults.findings import Findings, ground, record, version  # noqa: E402
from tests.faults.scenarios import Place, Scenario  # noqa: E402
from tests.faults.scenarios.every import SCENARIOS  # noqa: E402
from tests.faults.scenarios.storms import STORMS, blow_in_turn  # noqa: E402


def carry_out(scenario: Scenario, scale: float) -> FaultRecord:
    """Cause the fault on a site of its own, and what was found."""
    findings, started = Findings(), time.monotonic()
    database, _ = ground()
    with TemporaryDirectory(prefix="faults-") as folder:
        Path(folder).chmod(0o755)
        try:
            place = Place(Path(folder), database)
            scenario.carry_out(place, max(1, round(scenario.times * scale)), findings)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever breaks is what was found
            if not findings.problems:
                findings.complain([f"{type(error).__name__}: {error}"])
    return record(
        failure=scenario.failure,
        test=scenario.name,
        injected=scenario.injects,
        findings=findings,
        held=not findings.problems,
        seconds=time.monotonic() - started,
    )


def told(found: FaultRecord) -> str:
    """One line for the terminal."""
    p95 = "–" if found.recovery_p95_s is None else f"{found.recovery_p95_s:.1f} s"
    verdict = "held" if found.held else f"BROKEN: {'; '.join(found.problems[:3])}"
    return (
        f"{found.failure:>2} {found.test} on {found.database}: {found.times} faults,"
        f" {found.acknowledged} acknowledged, {found.kept} kept, {found.lost} lost,"
        f" {found.doubled} doubled, recovery p95 {p95}, {found.seconds:.0f} s: {verdict}"
    )


def chosen(only: Iterable[int]) -> list[Scenario]:
    """The scenarios of these failures (of all if none is named) for this database."""
    database, _ = ground()
    wanted = set(only)
    return [
        scenario
        for scenario in SCENARIOS
        if database in scenario.databases and (not wanted or scenario.failure in wanted)
    ]


def together(scale: float) -> list[FaultRecord]:
    """All storms on one site, one after the other: no process is started twice for nothing."""
    database, _ = ground()
    with TemporaryDirectory(prefix="faults-") as folder:
        Path(folder).chmod(0o755)
        return [
            record(
                failure=part.scenario.failure,
                test=part.scenario.name,
                injected=part.scenario.injects,
                findings=part.findings,
                held=not part.findings.problems,
                seconds=part.seconds,
            )
            for part in blow_in_turn(Place(Path(folder), database), scale)
        ]


def main(file: Path, scale: float, only: list[int], name: str, is_together: bool) -> None:
    records: list[FaultRecord] = []

    def note(found: list[FaultRecord]) -> None:
        records.extend(found)
        sys.stdout.write("".join(told(each) + "\n" for each in found))
        sys.stdout.flush()
        report = FaultReport(made_at=datetime.now(UTC), version=version(), records=tuple(records))
        file.write_text(report.model_dump_json(indent=1))

    # Migrated once: every site is a copy of it.
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    for scenario in chosen(only):
        if name in scenario.name and not (is_together and scenario in STORMS):
            note([carry_out(scenario, scale)])
    if is_together:
        note(together(scale))


if __name__ == "__main__":
    main(
        file=Path(sys.argv[1]),
        scale=float(sys.argv[2]),
        only=[int(number) for number in sys.argv[3].split(",") if number],
        name=sys.argv[4],
        is_together=sys.argv[5] == "together",
    )
