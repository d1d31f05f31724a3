"""Log lines of a task carry its number and that of the request that asked for it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from webagent.logs.context import facts_now, logged_with

REQUEST_ID = "request_id"
_under_way: dict[str, AbstractContextManager[None]] = {}


@before_task_publish.connect
def _send_request_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    request_id = facts_now().get(REQUEST_ID)
    if headers is not None and request_id:
        headers[REQUEST_ID] = request_id


@task_prerun.connect
def _begin(task_id: str, task: Any, **_: Any) -> None:
    known = logged_with(task_id=task_id, task=task.name, request_id=task.request.get(REQUEST_ID))
    known.__enter__()
    _under_way[task_id] = known


@task_postrun.connect
def _end(task_id: str, **_: Any) -> None:
    """After Celery's own line about a failure."""
    if known := _under_way.pop(task_id, None):
        known.__exit__(None, None, None)
