"""People and workers at work while something breaks: every call of theirs goes into the history."""

import http.client
import io
import itertools
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

from judging.models import Study
from runs.launching.reruns.services import queue_run
from runs.models import Run, RunStatus, User
from tests.faults import waiting_suite
from tests.faults.history import Answer, Call, History, Kind
from tests.faults.web import Reply, Visitor, form_value
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_user
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.writer import write_zip

T = TypeVar("T")

AT_WORK = 5
RUNS_A_STUDY = 20
OUR_PAUSE_S = 0.2
NO_ANSWER = (OSError, http.client.HTTPException)
_numbers = itertools.count(1)


def again(read: Callable[[], T], limit_s: float = 90) -> T:
    """What the look at the database says, as soon as the database says anything."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            return read()
        except (OperationalError, InterfaceError):
            if time.monotonic() > deadline:
                raise
            connections["default"].close()
            time.sleep(0.2)


@dataclass
class Traffic:
    """Labellers, uploaders and somebody who queues runs, until `stop`."""

    port: int
    history: History
    complaints: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    last_done: float = 0.0
    """When a form was last answered with success, by the clock that never steps."""
    replies: Counter[str] = field(default_factory=Counter)
    """How many requests were answered how: by class of status, `refused` or `broken off`."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _study: Study | None = None
    _people: list[User] = field(default_factory=list)

    def start(self, *, labellers: int = 0, uploaders: int = 0, runs: bool = False) -> None:
        self._people = [make_user("annotator") for _ in range(labellers)]
        for person in self._people:
            self._go(self._label, Visitor(self.port, person))
        for _ in range(uploaders):
            self._go(self._upload, Visitor(self.port, make_user("engineer")))
        if runs:
            self._go(self._queue_runs)

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join(120)

    def _go(self, work: Callable[..., None], *arguments: object) -> None:
        def carry_on() -> None:
            try:
                work(*arguments)
            except Exception as error:  # noqa: BLE001 - a client that breaks is a finding
                self.complaints.append(f"{work.__name__}: {type(error).__name__}: {error}")
            finally:
                connections["default"].close()

        thread = threading.Thread(target=carry_on, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _label(self, person: Visitor) -> None:
        while not self._stopped.is_set():
            study = self._open_study()
            page = self._ask(partial(person.get, f"/studies/{study.pk}/annotate/"))
            if page is None:
                continue
            if page.status != 200 or 'name="key"' not in page.body:
                if page.status == 200:
                    self._next_study(study)
                time.sleep(OUR_PAUSE_S)
                continue
            self._submit(person, study, page)

    def _submit(self, person: Visitor, study: Study, page: Reply) -> None:
        """Send the form until it is answered, as somebody does who presses the button again."""
        said = secrets.token_hex(8)
        place = form_value(page.body, "assignment")
        key = form_value(page.body, "key")
        fields = {"assignment": place, "key": key, "success": "success", "rationale": said}
        address = f"/studies/{study.pk}/annotate/"
        while True:
            call = self.history.ask(str(person.user), Kind.ADD, f"label of place {place}", said)
            reply = self._ask(lambda: person.post(address, fields))
            done = reply is not None and reply.status == 302 and reply.location == address
            self._note(call, reply, done)
            if call.answer is not Answer.UNKNOWN or self._stopped.is_set():
                return

    def _upload(self, person: Visitor) -> None:
        while not self._stopped.is_set():
            name = f"{secrets.token_hex(8)}.zip"
            content = zip_of(next(_numbers))
            call = self.history.ask(str(person.user), Kind.ADD, f"upload {name}", name)
            reply = self._ask(partial(send_file, person, content, name))
            self._note(call, reply, reply is not None and "/imports/" in reply.location)
            time.sleep(random.uniform(0, 1.5))

    def _queue_runs(self) -> None:
        while not self._stopped.is_set():
            with suppress(OperationalError, InterfaceError):
                # Attempts at the same trial are of one family: those that go on count.
                active = Run.objects.filter(
                    task__external_id=waiting_suite.TASK, status__in=RunStatus.active()
                ).count()
                for _ in range(AT_WORK + 1 - active):
                    self.runs.append(a_waiting_run())
            connections["default"].close()
            time.sleep(OUR_PAUSE_S)

    def _ask(self, request: Callable[[], Reply]) -> Reply | None:
        """The reply; None where there was none."""
        try:
            reply = request()
        except NO_ANSWER as error:
            self._count("refused" if isinstance(error, ConnectionRefusedError) else "broken off")
            time.sleep(OUR_PAUSE_S)
            return None
        self._count(f"{reply.status // 100}xx")
        if reply.status >= 500 and reply.status != 503:
            self.complaints.append(f"answered {reply.status}: {reply.body[:200]!r}")
        if reply.status == 503:
            time.sleep(OUR_PAUSE_S)
        return reply

    def _count(self, kind: str) -> None:
        with self._lock:
            self.replies[kind] += 1

    def _note(self, call: Call, reply: Reply | None, done: bool) -> None:
        if done:
            self.history.answer(call, Answer.DONE)
            self.last_done = time.monotonic()
        elif reply is None or reply.status >= 500:
            self.history.answer(call, Answer.UNKNOWN)
        else:
            self.history.answer(call, Answer.REFUSED)

    def _open_study(self) -> Study:
        with self._lock:
            if self._study is None:
                self._study = again(self._new_study)
            return self._study

    def _next_study(self, used_up: Study) -> None:
        with self._lock:
            if self._study == used_up:
                self._study = again(self._new_study)

    def _new_study(self) -> Study:
        runs = [
            make_run(steps=1, pictures=False, content_hash=secrets.token_hex(32))
            for _ in range(RUNS_A_STUDY)
        ]
        return make_study(runs=runs, annotators=self._people)


def a_waiting_run(steps: int = 15) -> Run:
    """A queued run of which no worker has been told; the sweep will tell one."""
    return queue_run(
        task=waiting_suite.TASK,
        agent="looping",
        agent_config={"action": "noop(1)"},
        seed=1,
        max_steps=steps,
    )


def zip_of(number: int) -> bytes:
    """A file of one run, another one for each number."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.zip"
        write_zip(path, [run_bundle(1_000 + number)])
        return path.read_bytes()


def send_file(person: Visitor, content: bytes, name: str) -> Reply:
    file = io.BytesIO(content)
    file.name = name
    return person.post("/imports/", {"file": file, "format": "auto", "experiment_name": ""})
