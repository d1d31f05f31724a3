"""Labels submitted by eight people at once over HTTP, against eight who write the rows by bare SQL.

The web server runs as `manage.py serve` runs it, each person is a process that sends the label
form and waits for the answer. `BENCHMARK_LABELS` says about how many labels. Processor time is told
apart for the web server, the people's own processes and the database, since labels a second depend
on what else the machine does.
"""

import copy
import itertools
import os
import resource
import socket
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

from celery import current_app
from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from judging.models import Assignment, Dispute, Label, ReferenceVerdict, Study, StudyItem
from runs.models import AuditEntry, Run, Step
from tests.benchmarks.clock import tell
from tests.benchmarks.crowds import Pieces, at_once
from tests.benchmarks.goals import lowered, record
from tests.faults.web import Web, session_of
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import make_run
from tests.runs.live_workers import Site

CLIENTS = 8
GOAL = 192
"""What the best comparable tool took on the machine that goals are set for; see `goals.BARE_MS`."""
GOAL_SLOWEST_MS = 300
PAIRS = list(itertools.combinations(range(CLIENTS), 2))
LABELS = int(os.environ.get("BENCHMARK_LABELS", "2240"))
TOKEN = "0123456789abcdef" * 2
RATIONALE = "The basket holds the hose that the task asked for, in the colour it asked for."
STEPS = 4


@dataclass(frozen=True, slots=True)
class Form:
    """One label as a person sends it; in every fourth pair the second one differs."""

    assignment: Assignment
    guideline: int
    is_second: bool
    key: str

    @property
    def success(self) -> str:
        differs = self.is_second and self.assignment.item_id % 4 == 0
        return "failure" if differs else "success"

    @property
    def body(self) -> str:
        """The same as it is sent."""
        return urlencode(self.fields, doseq=True)

    @property
    def fields(self) -> dict[str, Any]:
        """What the page's form holds."""
        failed = self.success == "failure"
        return {
            "assignment": self.assignment.pk,
            "key": self.key,
            "version": "",
            "guideline": self.guideline,
            "seconds": "31.5",
            "success": self.success,
            "causes": ["loop"] if failed else [],
            "failure_step": "3" if failed else "",
            "confidence": "2",
            "rationale": RATIONALE,
        }


def run() -> None:
    """What eight people reach, and what it takes of the processor."""
    _, forms = _study()
    bare = at_once([bare_writes(some) for some in forms])
    study, forms = _study()
    with _web() as web:
        sessions = [session_of(person) for person in annotators_of(study)]
        address = f"/studies/{study.pk}/annotate/"
        _warm(web, sessions)
        before = _processor_seconds(web)
        ours = at_once(
            [_submits(web, *pair, address) for pair in zip(sessions, forms, strict=True)]
        )
        after = _processor_seconds(web)
    _check(study)
    took = {part: 1000 * (after[part] - before[part]) / len(ours.lengths) for part in after}
    told = ", ".join(f"{part} {each:.2f} ms" for part, each in took.items())
    record(
        f"labels by {CLIENTS} people ({connection.vendor})",
        ours.rate,
        goal=lowered(GOAL),
        unit="labels/s",
        bare=bare.rate,
        is_most=False,
    )
    slowest, bare_slowest = (1000 * max(each.lengths) for each in (ours, bare))
    record(
        f"slowest of them ({connection.vendor})", slowest, goal=GOAL_SLOWEST_MS, bare=bare_slowest
    )
    tell(f"a label by {CLIENTS} people at once", 1000 / ours.rate, 1000 / bare.rate, "ms")
    sys.stdout.write(
        f"  {ours.rate:.0f} labels/s, bare {bare.rate:.0f}/s; a person "
        f"waits {1000 * median(ours.lengths):.0f} ms, one in twenty longer than "
        f"{1000 * quantiles(ours.lengths, n=20)[-1]:.0f} ms\n  processor time of a label: {told}\n"
    )


def _study() -> tuple[Study, list[list[Form]]]:
    """A study in which every two people have as many runs in common, and what each will send."""
    first = make_run(pictures=False, steps=STEPS)
    n_items = max(1, LABELS // 2 // len(PAIRS)) * len(PAIRS)
    study = make_study(runs=[first, *twins_of(first, n_items - 1)], annotators=CLIENTS)
    people = annotators_of(study)
    guideline = study.guidelines.get().pk
    now = timezone.now()
    held = {"opened_at": now - timedelta(minutes=1), "leased_until": now + timedelta(hours=1)}
    forms: list[list[Form]] = [[] for _ in people]
    for item, pair in zip(study.items.order_by("position"), itertools.cycle(PAIRS), strict=False):
        for is_second, number in enumerate(pair):
            assignment = Assignment(item=item, user=people[number], **held)
            form = Form(assignment, guideline, bool(is_second), str(uuid.uuid4()))
            forms[number].append(form)
    Assignment.objects.bulk_create([form.assignment for some in forms for form in some])
    return study, forms


def twins_of(run: Run, n_runs: int) -> list[Run]:
    """So many other runs of the same, stored, with as many steps."""
    twins = [copy.copy(run) for _ in range(n_runs)]
    for twin in twins:
        twin.pk = uuid.uuid4()
    Run.objects.bulk_create(twins)
    Step.objects.bulk_create(
        Step(run=twin, index=index) for twin in twins for index in range(run.steps.count())
    )
    return twins


@contextmanager
def _web() -> Iterator[Web]:
    """The site on the database at hand."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "webagent.settings.test"}
    web = Web(Site(Path(settings.DATA_DIR), environment, current_app))
    web.start()
    try:
        web.wait()
        yield web
    finally:
        web.kill()


class _Browser:
    """Somebody who is logged in, each of whose requests comes by a connection of its own.

    The proxy sends them so, and whichever process of the server is less busy takes one. On
    connections that stay open, whichever was awake first takes all of somebody's: seven of eight
    people had one process once, and the other idled. A request is sent in one piece, and no more of
    the answer is read than is asked for: people's browsers are on other machines, and what they
    take is not to count here.
    """

    def __init__(self, web: Web, session: str) -> None:
        self._address = ("127.0.0.1", web.port)
        self._headers = (
            f"Host: 127.0.0.1:{web.port}\r\n"
            "Connection: close\r\n"
            f"Cookie: csrftoken={TOKEN}; {settings.SESSION_COOKIE_NAME}={session}\r\n"
            f"X-CSRFToken: {TOKEN}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
        )

    def ask(self, method: str, path: str, body: str = "") -> tuple[int, str]:
        """The answer's status, and where it leads."""
        request = (
            f"{method} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n{body}"
        )
        with socket.socket() as connection:
            connection.connect(self._address)
            connection.sendall(request.encode())
            answer = b"".join(iter(partial(connection.recv, 65536), b""))
        head, _, _ = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        return int(first.split()[1]), headers.get("Location", "")


def _warm(web: Web, sessions: Sequence[str]) -> None:
    """Have each thread of the server answered something, and be connected to the database."""
    browsers = [_Browser(web, session) for session in sessions]
    at_once([[partial(each.ask, "GET", "/studies/")] * 10 for each in browsers])


def _submits(web: Web, session: str, forms: Sequence[Form], address: str) -> Pieces:
    """The person's labels."""
    browser = _Browser(web, session)

    def send(body: str) -> None:
        answer = browser.ask("POST", address, body)
        if answer != (302, address):  # on to the next one
            raise RuntimeError(f"a label was answered {answer}")

    return [partial(send, form.body) for form in forms]


def bare_writes(forms: Sequence[Form]) -> Pieces:
    """The rows of each label by bare SQL, in a transaction."""

    def write(statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement, values in statements:
                cursor.execute(statement, values)

    return [partial(write, list(_statements(form))) for form in forms]


def _statements(form: Form) -> Iterator[tuple[str, Sequence[Any]]]:
    now, assignment = timezone.now(), form.assignment
    yield (
        "UPDATE judging_studyitem SET n_labels = n_labels + 1, status = %s WHERE id = %s",
        ("settled" if form.is_second else "open", assignment.item_id),
    )
    yield _insert(
        Label(
            item_id=assignment.item_id,
            annotator_id=assignment.user_id,
            success=form.success,
            confidence=2,
            rationale=RATIONALE,
            seconds=31.5,
            guideline_id=form.guideline,
            submitted_at=now,
            idempotency_key=form.key,
        )
    )
    yield (
        "UPDATE judging_assignment SET state = 'submitted', draft = '{}', leased_until = %s,"
        " seconds = 31.5 WHERE id = %s",
        (now, assignment.pk),
    )
    if form.is_second:
        yield _insert(
            ReferenceVerdict(
                item_id=assignment.item_id,
                run_id=assignment.item.run_id,
                verdict="success",
                origin="agreed",
                decided_at=now,
                run_created_at=now,
            )
        )
    yield _insert(
        AuditEntry(
            kind="label_submitted",
            user_id=assignment.user_id,
            name="annotator",
            via="page",
            about_kind="run",
            about_id=str(assignment.item.run_id),
            words="study 1",
        )
    )


def _insert(row: models.Model) -> tuple[str, Sequence[Any]]:
    fields = [field for field in row._meta.concrete_fields if field.column != "id" or row.pk]
    names = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join(["%s"] * len(fields))
    values = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in fields]
    return f"INSERT INTO {row._meta.db_table} ({names}) VALUES ({places})", values  # noqa: S608 (our own names)


def _processor_seconds(web: Web) -> dict[str, float]:
    """What the web server, the people and, on this machine, the database took until now."""
    took = {
        "web": sum(map(_seconds_of, web.children())),
        "people": sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]),
    }
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [(ours,)] = cursor.fetchall()
        whole = int(_told_of(ours)[1])
        children = Path(f"/proc/{whole}/task/{whole}/children").read_text().split()
        took["database"] = sum(map(_seconds_of, map(int, children))) + _seconds_of(whole)
    return took


def _seconds_of(pid: int) -> float:
    """With those of its children that have ended: connections are not kept for long."""
    with suppress(OSError):
        return sum(map(int, _told_of(pid)[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _told_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _check(study: Study) -> None:
    """Raise unless every label is there and every pair was closed once."""
    items = study.items.count()
    found = {
        "labels": Label.objects.filter(item__study=study).count(),
        "closed": study.items.filter(n_labels=2).exclude(status=StudyItem.Status.OPEN).count() * 2,
        "ended": 2 * ReferenceVerdict.objects.filter(item__study=study).count()
        + 2 * Dispute.objects.filter(item__study=study).count(),
    }
    if set(found.values()) != {2 * items}:
        raise RuntimeError(f"{2 * items} labels were sent: {found}")
