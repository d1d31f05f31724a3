"""Processes and servers are killed while people label and upload, and runs are under way."""

import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.faults import nemeses
from tests.faults.fault_reports import Database
from tests.faults.findings import Findings
from tests.faults.history import Afterwards, History
from tests.faults.nemeses import Nemesis
from tests.faults.scenarios import Place, Scenario
from tests.faults.storm import Storm

PEOPLE = 3
COMPILER = shutil.which("cc")
"""Without it no clocks are stepped. (libfaketime 0.9.10 breaks `time.sleep` of Python 3.11 where it
leaves the clock that never steps alone.)"""


def blow(
    place: Place,
    times: int,
    findings: Findings,
    *,
    nemesis: Nemesis,
    labellers: int = PEOPLE,
    uploaders: int = 2,
    runs: bool = True,
    breaks_database: bool = False,
    steps_clocks: bool = False,
) -> None:
    """Cause the fault so often while all of these are at work; then compare."""
    with ExitStack() as stack:
        postgresql = stack.enter_context(place.postgresql()) if breaks_database else None
        redis = stack.enter_context(place.redis())
        site = stack.enter_context(place.site(redis, postgresql))
        if steps_clocks:
            clock = nemeses.clock_of(site)
            clock.write_text("+600\n")
            site.environment |= {
                "LD_PRELOAD": str(_compiled(place.folder)),
                "CLOCK_FILE": str(clock),
            }
        storm = Storm(site, findings, redis, postgresql)
        findings.times = 0
        with storm.at_work(labellers=labellers, uploaders=uploaders, runs=runs):
            while findings.times < times:
                findings.times += nemesis(storm)
        findings.left_over += nemeses.processes_left(storm)
    findings.check()


def _compiled(folder: Path) -> Path:
    """The library by which the clocks of programs are set."""
    assert COMPILER is not None
    made, source = folder / "clock.so", Path(nemeses.__file__).with_name("clock.c")
    command = [COMPILER, "-shared", "-fPIC", "-O2", "-o", str(made), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return made


ON_POSTGRESQL = (Database.POSTGRESQL,)
STORMS = (
    Scenario(
        "children killed",
        1,
        "kill -9 of processes that carry out runs, three at a time, while files are imported",
        100,
        partial(blow, nemesis=nemeses.kill_children, labellers=0),
    ),
    Scenario(
        "workers killed",
        1,
        "kill -9 of a whole worker in the middle of runs and imports",
        20,
        partial(blow, nemesis=nemeses.kill_worker, labellers=0),
    ),
    Scenario(
        "web processes killed",
        3,
        "kill -9 of web processes, and of all of the web server, while people label and upload",
        60,
        partial(blow, nemesis=nemeses.kill_web, runs=False),
    ),
    Scenario(
        "messages forgotten",
        2,
        "the broker loses every message while people upload and runs are queued",
        20,
        partial(blow, nemesis=nemeses.empty_broker, labellers=0),
    ),
    Scenario(
        "broker killed",
        2,
        "kill -9 of Redis, back after two seconds and empty, while people upload and runs go on",
        15,
        partial(blow, nemesis=nemeses.kill_broker, labellers=0),
        ON_POSTGRESQL,
    ),
    Scenario(
        "broker full",
        17,
        "Redis has no room for two seconds, while people upload and runs go on",
        15,
        partial(blow, nemesis=nemeses.fill_broker, labellers=0),
        ON_POSTGRESQL,
    ),
    Scenario(
        "database restarted",
        3,
        "PostgreSQL stopped immediately and started, while people label and upload and runs go on",
        20,
        partial(blow, nemesis=nemeses.restart_database, breaks_database=True),
        ON_POSTGRESQL,
    ),
    Scenario(
        "connections cut",
        3,
        "all connections to PostgreSQL are ended while people label and upload and runs go on",
        30,
        partial(blow, nemesis=nemeses.cut_connections),
        ON_POSTGRESQL,
    ),
    Scenario(
        "messages ten times over",
        4,
        "every message is delivered ten times to four processes",
        200,
        partial(blow, nemesis=nemeses.tell_ten_times, labellers=0),
    ),
    Scenario(
        "workers frozen",
        5,
        "SIGSTOP of processes that carry out runs, past their lease, then SIGCONT",
        24,
        partial(blow, nemesis=nemeses.freeze, labellers=0, uploaders=0),
    ),
)
CLOCKS = (
    Scenario(
        "clocks stepped",
        14,
        "the clocks of web and workers jump by twenty minutes, to ten ahead of the database's and"
        " ten behind, while people label and upload and runs go on",
        10,
        partial(blow, nemesis=nemeses.step_clock, steps_clocks=True),
    ),
)


@dataclass
class Part:
    """One nemesis of a storm of all: what it found, and which calls were made meanwhile."""

    scenario: Scenario
    findings: Findings
    first: int
    last: int = 0
    seconds: float = 0.0


def blow_in_turn(place: Place, scale: float) -> list[Part]:
    """All nemeses on one site, one after the other: what each of them found.

    What is wrong with the site afterwards is said of each of them, for nobody knows of which.
    """
    on_server = place.database is Database.POSTGRESQL
    wanted = [scenario for scenario in STORMS if place.database in scenario.databases]
    parts: list[Part] = []
    overall = Findings()
    with ExitStack() as stack:
        postgresql = stack.enter_context(place.postgresql()) if on_server else None
        redis = stack.enter_context(place.redis())
        site = stack.enter_context(place.site(redis, postgresql))
        storm = Storm(site, overall, redis, postgresql)
        try:
            with storm.at_work(labellers=PEOPLE, uploaders=2, runs=True):
                for scenario in wanted:
                    parts.append(Part(scenario, Findings(times=0), len(storm.history.calls)))
                    _carry_out(storm, parts[-1], scale)
                storm.findings = overall
            overall.left_over += nemeses.processes_left(storm)
        except Exception as error:  # noqa: BLE001 - whatever breaks is what was found
            overall.complain([f"{type(error).__name__}: {error}"])
        # What it never came to is as broken as what it broke on.
        parts += [Part(scenario, Findings(times=0), 0) for scenario in wanted[len(parts) :]]
        for part in parts:
            if hasattr(storm, "after"):
                during = History()
                during.calls = storm.history.calls[part.first : part.last]
                keys = {call.key for call in during.calls}
                there = {key: storm.after.values[key] for key in keys & storm.after.values.keys()}
                part.findings.compare(during, Afterwards(there))
            part.findings.left_over += overall.left_over
            part.findings.complain(overall.problems)
    return parts


def _carry_out(storm: Storm, part: Part, scale: float) -> None:
    scenario = part.scenario
    started, storm.findings = time.monotonic(), part.findings
    assert isinstance(scenario.carry_out, partial)
    while part.findings.times < max(1, round(scenario.times * scale)):
        part.findings.times += scenario.carry_out.keywords["nemesis"](storm)
    part.last, part.seconds = len(storm.history.calls), time.monotonic() - started
    sys.stdout.write(f"{scenario.name}: {part.findings.times} faults in {part.seconds:.0f} s\n")
    sys.stdout.flush()
