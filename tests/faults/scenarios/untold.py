"""A process dies between storing work and telling a worker of it."""

import subprocess
import sys

from runs.models import ImportJob, Run
from tests.faults.findings import Findings
from tests.faults.history import Answer, Kind
from tests.faults.scenarios import Place, Scenario
from tests.faults.storm import Storm
from tests.faults.traffic import zip_of
from tests.runs.factories import make_user
from tests.runs.live_workers import ROOT


def untold(place: Place, times: int, findings: Findings) -> None:
    """Half of them die before the row is there, half of them after; the sweep finds the latter."""
    with place.site() as site:
        storm = Storm(site, findings)
        user = make_user("engineer")
        with storm.at_work():
            storm.start_other_worker()
            for number in range(times):
                when = ("before commit", "before telling")[number % 2]
                file = site.data_dir / f"sent {number}.zip"
                file.write_bytes(zip_of(number))
                call = storm.history.ask("web", Kind.ADD, f"upload {file.name}", file.name)
                command = [sys.executable, "-m", "tests.faults.dying", when, user.username]
                died = subprocess.run(
                    [*command, str(file)], cwd=ROOT, env=site.environment, check=False
                )
                assert died.returncode == -9, f"it ended with {died.returncode}"
                jobs = ImportJob.objects.filter(file_name=file.name)
                if when == "before commit":
                    storm.history.answer(call, Answer.REFUSED)
                    continue
                storm.history.answer(call, Answer.DONE)
                storm.recover(jobs.filter(state="finished").exists)
        findings.times = times
        findings.more["runs imported"] += Run.objects.filter(source_format="native").count()
    findings.check()


UNTOLD = (
    Scenario(
        "killed before telling",
        6,
        "kill -9 of the process that takes in a file, before the commit or right after it",
        10,
        untold,
    ),
)
