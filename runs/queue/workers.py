"""Who carries out work in the background: signs of life in the database, and waking messages.

A message names no run: whichever worker takes one asks the database whose turn it is, so losing one
costs time, never a run. `inspect ping` needs a broker that carries answers, which the file-system
one does not. What a worker's process does for this is in
`runs.operations.processes.worker_processes`.
"""

import logging
import threading
from datetime import timedelta

from celery import current_app
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from runs.models import LeasedWork, Run, WorkerBeat
from runs.models.leased_work import DEFAULT, MOST_TOLD_AGAIN
from runs.models.runs.queue import from_now
from webagent.environment.registry import prepare_browser

logger = logging.getLogger(__name__)

FORGOTTEN_AFTER_S = 24 * 3600
BROWSER, JUDGE = "browser", "judge"
"""The queues of what needs a browser, and of what waits for a model."""
SWEEP = "sweep"
"""What brings back the work of dead workers; it is done by the clock, and no queue of messages."""

_stopping = threading.Event()
_is_worker = threading.Event()


def beat(
    worker: str,
    queues: list[str],
    slots: int = 1,
    *,
    busy: int = 0,
    room_for_s: float | None = None,
) -> None:
    """Note that the worker is well now, and forget those that are long gone.

    Args:
        slots: how many tasks it does at a time.
        busy: how many it does now.
        room_for_s: for how long it could have done another one; None where that is not known.
    """
    room_since = None if room_for_s is None else from_now(-room_for_s)
    WorkerBeat.objects.bulk_create(
        [
            WorkerBeat(
                name=worker, queues=queues, slots=slots, busy=busy, room_since=room_since, at=Now()
            )
        ],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["queues", "slots", "busy", "room_since", "at"],
    )
    WorkerBeat.objects.filter(at__lt=from_now(-FORGOTTEN_AFTER_S)).delete()


def all_queues() -> set[str]:
    """Every queue of messages that needs a worker."""
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    return {settings.CELERY_TASK_DEFAULT_QUEUE} | routed


def all_duties() -> set[str]:
    """Everything that some living process must see to: all queues, and the sweep."""
    return all_queues() | {SWEEP}


def unserved_queues() -> set[str]:
    """Duties of which no worker gave a sign of life within the last three beats."""
    return all_duties().difference(*_living().values_list("queues", flat=True))


def queues_without_room(patience_s: float) -> set[str]:
    """Queues whose workers live, and of which none has had room for another task for so long."""
    room: dict[str, bool] = {}
    beats = _living().annotate(now=Now())
    for queues, slots, busy, since, now in beats.values_list(
        "queues", "slots", "busy", "room_since", "now"
    ):
        is_new = since is not None and now - since < timedelta(seconds=patience_s)
        has_room = busy < slots and not is_new
        for queue in queues:
            room[queue] = room.get(queue, False) or has_room
    return {queue for queue, has_room in room.items() if not has_room}


def beat_ages() -> dict[str, float | None]:
    """Seconds since a worker of each duty last said that it is well; None where none ever did."""
    ages: dict[str, float | None] = dict.fromkeys(sorted(all_duties()))
    beats = WorkerBeat.objects.annotate(now=Now()).values_list("queues", "at", "now")
    for queues, at, now in beats:
        age = round((now - at).total_seconds(), 1)
        for queue in queues:
            known = ages.get(queue)
            ages[queue] = age if known is None else min(known, age)
    return ages


def browsers() -> int:
    """How many runs all living workers together can have under way."""
    return sum(
        slots for queues, slots in _living().values_list("queues", "slots") if BROWSER in queues
    )


def idle_browsers() -> int | None:
    """How many more runs they could take now; None if no worker lives that takes any."""
    every = browsers()
    busy = Run.objects.held_here().count()
    return max(every - busy, 0) if every else None


def _living() -> QuerySet[WorkerBeat]:
    return WorkerBeat.objects.filter(at__gt=from_now(-3 * settings.ENV.HEARTBEAT_S))


def is_stopping() -> bool:
    return _stopping.is_set()


def stop_soon() -> None:
    """From now on this process takes up nothing, and ends what it does as soon as it can."""
    _stopping.set()


def mark_as_worker() -> None:
    _is_worker.set()


def prepare_next_run() -> None:
    """Have what every run needs started while nobody waits, in a worker's process."""
    if _is_worker.is_set():
        prepare_browser()


EXECUTE_NEXT = "runs.tasks.execute_next_run"
MOST_MESSAGES = 100


def wake_workers(most: int = MOST_MESSAGES) -> None:
    """Send as many messages as there are due runs and idle browsers to take them.

    One even if all seem busy, as long as there are any: a dead worker's runs look like work. Call
    it once the rows are committed. Without a broker they stay for the next sweep.
    """
    idle = idle_browsers()
    if idle is None:
        return
    due = Run.objects.due_somewhere(min(most, max(idle, 1)))
    for number in range(due):
        if not ask_for(EXECUTE_NEXT, queue=BROWSER):
            logger.warning(
                "The broker cannot be reached; %d runs wait for the next sweep.", due - number
            )
            return


def ask_for(task: str, *, queue: str = DEFAULT) -> bool:
    """Have the task carried out soon; False without a broker.

    One that no worker took meanwhile is void, for the next one has been sent by then.
    """
    void_after_s = settings.ENV.LEASE_S + settings.CLOCKS_DIFFER_S
    try:
        current_app.send_task(task, queue=queue, retry=False, expires=void_after_s)
    except OperationalError:
        return False
    return True


def dispatch(kind: type[LeasedWork], task: str, *, most_again: int = MOST_TOLD_AGAIN) -> None:
    """Send the message for all work of the kind whose message is missing or lost.

    Args:
        task: name of the task, which takes the id of a piece of work.
        most_again: for no more than so many a message is sent again. A worker that is through with
            one has one more sent, so that it need not wait for a sweep after each of them.
    """
    told = kind.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S, most_again=most_again)
    for number, work in enumerate(told):
        try:
            current_app.send_task(task, (str(work.pk),), retry=False, queue=work.queue)
        except OperationalError:
            logger.warning(
                "The broker cannot be reached; each waiting %s waits for the next sweep.",
                kind._meta.verbose_name,
            )
            kind.objects.undispatch(work.pk for work in told[number:])
            return
