"""Rows for tests: plain functions with defaults for everything that a test does not care about."""

import io
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from PIL import Image, ImageDraw

from runs.models import (
    AgentConfiguration,
    Blob,
    DeletedRun,
    Event,
    Experiment,
    Run,
    RunStatus,
    Step,
    Task,
    TaskSet,
    User,
)
from tests.runs.storage.stores import store_blob
from webagent.trajectory.actions import ActionKind

PASSWORD = "correct horse battery"
START = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
_numbers = itertools.count(1)


def make_user(role: str = "engineer", username: str | None = None, **fields: Any) -> User:
    """A person with a role: annotator, adjudicator, engineer or admin."""
    name = username or f"{role}{next(_numbers)}"
    user = User.objects.create_user(name, password=PASSWORD, **fields)
    user.groups.add(Group.objects.get(name=role))
    if role == "admin":
        user.is_staff = user.is_superuser = True
        user.save()
    return user


def client_of(user: User, **how: Any) -> Client:
    """A client in which the person is logged in; that they did so is written down nowhere."""
    client = Client(**how)
    session = client.session
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return client


def make_picture(words: str = "page", size: tuple[int, int] = (320, 200)) -> Blob:
    """A stored PNG that shows the words; other words make another picture."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((20, 20), words, fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return store_blob(file.getvalue(), "image/png")


def make_text(text: str, media_type: str = "text/plain") -> Blob:
    """A stored text, such as an accessibility tree."""
    return store_blob(text.encode(), media_type)


def make_task(external_id: str | None = None, site: str = "shopping", **fields: Any) -> Task:
    task_set, _ = TaskSet.objects.get_or_create(name="webarena", version="raw")
    values = {"goal": "Find the cheapest hose and put it in the basket", **fields}
    values.setdefault("task_set", task_set)
    return Task.objects.create(
        external_id=external_id or f"task-{next(_numbers)}", site=site, **values
    )


def make_agent(name: str = "generic", model: str = "model-a", **fields: Any) -> AgentConfiguration:
    key = f"{name}/{model}/{sorted(fields.items())}"
    agent, _ = AgentConfiguration.objects.get_or_create(
        config_hash=key[:64], defaults={"name": name, "model": model, **fields}
    )
    return agent


def make_experiment(name: str | None = None) -> Experiment:
    return Experiment.objects.create(name=name or f"experiment {next(_numbers)}")


def make_run(
    *,
    steps: int | Sequence[dict[str, Any]] = 3,
    task: Task | None = None,
    agent: AgentConfiguration | None = None,
    pictures: bool = True,
    events: Sequence[dict[str, Any]] = (),
    **fields: Any,
) -> Run:
    """A finished run with steps; `steps` is their number or the fields of each.

    With `pictures` every step has a screenshot of its own and a tree.
    """
    task = task or make_task()
    wanted = [{} for _ in range(steps)] if isinstance(steps, int) else list(steps)
    values: dict[str, Any] = {
        "status": RunStatus.FINISHED,
        "outcome": Run.Outcome.SUCCESS,
        "end_reason": Run.EndReason.TASK_ENDED,
        "reward": 1.0,
        "goal": task.goal,
        "seconds": 0.9 * len(wanted),
        "started_at": timezone.now(),
        "source_format": "native",
        "has_anomaly": bool(events),
        "n_steps": len(wanted),
        "n_screenshots": len(wanted) if pictures else 0,
        **fields,
    }
    if repeated := values.get("retry_of") or values.get("rerun_of"):
        values["family"] = repeated.root
    run = Run.objects.create(task=task, agent=agent or make_agent(), **values)
    Step.objects.bulk_create(
        _step(run, index, given, pictures) for index, given in enumerate(wanted)
    )
    Event.objects.bulk_create(Event(run=run, **event) for event in events)
    return run


def delete_run(run: Run) -> None:
    """Delete an ended run with its rows; only what is named among the deleted may go."""
    DeletedRun.objects.create(run_id=run.pk, reason="a test")
    run.delete()


def _step(run: Run, index: int, given: dict[str, Any], pictures: bool) -> Step:
    values: dict[str, Any] = {
        "kind": ActionKind.CLICK,
        "action": f"click('a{index}')",
        "thought": f"I think about step {index}.",
        "url": f"http://shop.local/page/{index}",
        "box": [40, 60, 80, 24],
        "point": [80, 72],
        "target": 'button "Next"',
        "seconds": 0.9,
        "started_at": START + timedelta(seconds=index),
        **given,
    }
    if pictures:
        values.setdefault("screenshot", make_picture(f"run {run.pk} step {index}"))
        values.setdefault("tree", make_text(f"RootWebArea 'page {index}'\n\t[a{index}] button"))
    return Step(run=run, index=index, **values)
