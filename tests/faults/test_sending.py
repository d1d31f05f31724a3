"""Work is told of after it is stored, and never where it is not."""

import ast
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections, transaction

from runs.imports.services import start_import
from runs.models import ImportJob, Run
from runs.operations.processes.parts import worker_parts
from runs.queue.sweeping import ask_for_sweep
from runs.queue.workers import SWEEP, all_queues, ask_for, wake_workers
from tests.faults.findings import ROOT, Findings
from tests.judging.studies.test_concurrency import at_once
from tests.runs.factories import make_user
from tests.runs.storage.stores import use_store

SENDS = {"delay", "delay_on_commit", "apply_async", "apply_async_on_commit", "send_task"}
MAY_SEND = {
    ("runs/queue/workers.py", "dispatch"): "takes rows that are there",
    ("runs/queue/workers.py", "wake_workers"): "asks for rows that are there",
    ("runs/queue/workers.py", "ask_for"): "names no row",
    ("judging/evaluating/tasks.py", "_dispatch_run"): "handed to on_commit",
    ("judging/evaluating/tasks.py", "_dispatch"): "handed to on_commit",
}
"""Where messages are sent, and why no worker can come to a row that is not there."""


def sending(path: Path) -> set[str]:
    """The functions of this file that send messages."""
    found: set[str] = set()
    text = path.read_text()
    if not any(name in text for name in SENDS):
        return found
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found |= {
                function.name
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute) and node.attr in SENDS
            }
    return found


def test_messages_are_sent_in_a_few_places_alone() -> None:
    files = [path for app in ("runs", "judging") for path in (ROOT / app).rglob("*.py")]
    found = {(str(path.relative_to(ROOT)), name) for path in files for name in sending(path)}
    assert found <= MAY_SEND.keys(), "send after the commit, and say here why that is so"


def test_the_ban_would_notice(tmp_path: Path) -> None:
    file = tmp_path / "views.py"
    file.write_text("def view(run):\n    execute.delay(run.pk)\n")
    assert sending(file) == {"view"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.fault(6, "transactions that are rolled back, and one that is held open")
def test_no_message_goes_out_before_the_row_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, findings: Findings, tmp_path: Path, settings: Any
) -> None:
    use_store(settings, tmp_path / "blobs")
    settings.UPLOAD_DIR = tmp_path
    user = make_user()
    seen: list[tuple[str, bool]] = []

    def send(name: str, args: tuple[str], **_: Any) -> None:
        # Whoever gets the message has a connection of their own.
        (there,) = at_once(lambda: ImportJob.objects.filter(pk=args[0]).exists())
        seen.append((args[0], there is True))

    def take_in() -> ImportJob:
        file = SimpleUploadedFile("a.zip", b"x", "application/zip")
        return start_import(file=file, user=user, format="auto")

    monkeypatch.setattr("runs.queue.workers.current_app.send_task", send)
    for _ in range(5):
        with transaction.atomic():
            take_in()
            transaction.set_rollback(True)
    assert (seen, ImportJob.objects.count()) == ([], 0)
    with transaction.atomic():
        job = take_in()
        assert seen == []
    assert seen == [(str(job.pk), True)]
    findings.times = 6
    connections["default"].close()


@pytest.mark.fault(14, "a worker whose clock is ten minutes ahead gets messages")
def test_messages_live_longer_than_clocks_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    lives: list[float] = []
    monkeypatch.setattr(current_app, "send_task", lambda *_, expires, **__: lives.append(expires))
    monkeypatch.setattr("runs.queue.workers.idle_browsers", lambda: 1)
    monkeypatch.setattr(Run.objects, "due_somewhere", lambda _most: 1)
    ask_for("any")
    ask_for_sweep()
    wake_workers()
    assert len(lives) == 3
    assert min(lives) >= settings.ENV.LEASE_S + 600


def test_the_sweep_waits_behind_no_other_work() -> None:
    parts = worker_parts([*all_queues(), SWEEP], processes=2)
    assert SWEEP not in all_queues()
    assert [part.name for part in parts if SWEEP in part.name] == [SWEEP]
    assert len(parts) == 3
