"""Writers to SQLite queue, and nothing that one of them does keeps the others out."""

import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from runs.models import User
from runs.operations import write_turns

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("PostgreSQL locks rows, and queues who waits for them"),
    pytest.mark.slow,
]
FORKED = multiprocessing.get_context("fork")
PATIENCE_S = 30


@contextmanager
def a_stranger_writes() -> Iterator[None]:
    """Another program, which knows no queue, holds the database."""
    path = str(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def times_out_after(seconds: float) -> Iterator[None]:
    [queued] = [each for each in connection.execute_wrappers if hasattr(each, "_timeout_s")]
    before, queued._timeout_s = queued._timeout_s, seconds
    yield
    queued._timeout_s = before


def test_a_connection_that_is_made_anew_queues_once():
    for _ in range(3):
        connection.close()
        connection.ensure_connection()
    queued = [each for each in connection.execute_wrappers if isinstance(each, write_turns._InTurn)]
    assert len(queued) == 1


def test_the_queue_is_that_of_the_database_that_is_open(tmp_path, monkeypatch):
    connection.ensure_connection()
    connection.close()
    other = str(tmp_path / "other.sqlite3")
    with monkeypatch.context() as patched:
        patched.setitem(connection.settings_dict, "NAME", other)
        with transaction.atomic():
            assert os.path.exists(other + write_turns.QUEUE_FILE)
        connection.close()
    with transaction.atomic():
        User.objects.create(username="here again")


def test_without_a_file_for_the_queue_it_goes_on(tmp_path, monkeypatch):
    connection.ensure_connection()
    [turn] = [each for each in connection.execute_wrappers if hasattr(each, "queue")]
    monkeypatch.setattr(turn, "queue", str(tmp_path / "gone" / "queue"))
    with transaction.atomic():
        User.objects.create(username="written")
    assert User.objects.exists()


def test_who_came_first_writes_first():
    """Each comes while another writes; SQLite alone lets whoever looks next go first."""
    order: list[int] = []

    def write(number: int) -> None:
        with transaction.atomic():
            order.append(number)
            time.sleep(0.01)
        connection.close()

    threads = [threading.Thread(target=write, args=[number]) for number in range(6)]
    with a_stranger_writes():
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        assert not order
    for thread in threads:
        thread.join(PATIENCE_S)
    assert order[0] == 0
    assert sorted(order) == list(range(6))


def test_transactions_nest_fail_and_follow_each_other():
    with transaction.atomic(), transaction.atomic():
        User.objects.create(username="kept")
    with suppress(ZeroDivisionError), transaction.atomic():
        User.objects.create(username="dropped")
        raise ZeroDivisionError
    with transaction.atomic():
        with suppress(ZeroDivisionError), transaction.atomic():
            User.objects.create(username="dropped too")
            raise ZeroDivisionError
        User.objects.create(username="kept too")
    assert set(User.objects.values_list("username", flat=True)) == {"kept", "kept too"}


def test_threads_and_processes_lose_nothing_of_each_other():
    user = User.objects.create(username="counted", first_name="0")

    def count() -> None:
        for number in range(10):
            with suppress(ZeroDivisionError), transaction.atomic():
                now = User.objects.get(pk=user.pk)
                now.first_name = str(int(now.first_name) + 1)
                now.save()
                if number % 5 == 4:
                    raise ZeroDivisionError
        connection.close()

    connection.close()  # no two processes share one
    counting: list[Any] = [
        *(FORKED.Process(target=count) for _ in range(2)),
        *(threading.Thread(target=count) for _ in range(4)),
    ]
    for each in counting:
        each.start()
    for each in counting:
        each.join(PATIENCE_S)
    user.refresh_from_db()
    assert user.first_name == "48"


def test_a_process_that_dies_in_its_turn_keeps_nobody_out():
    def die() -> None:
        with transaction.atomic():
            User.objects.create(username="lost")
            os._exit(1)

    connection.close()
    process = FORKED.Process(target=die)
    process.start()
    process.join(PATIENCE_S)
    with transaction.atomic():
        assert not User.objects.exists()


def test_a_stranger_who_writes_is_waited_for_no_longer_than_the_time_out():
    connection.ensure_connection()
    begun = time.monotonic()
    with (
        a_stranger_writes(),
        times_out_after(0.3),
        pytest.raises(OperationalError, match="locked"),
        transaction.atomic(),
    ):
        pytest.fail("nobody may write now")
    assert time.monotonic() - begun >= 0.3
    with transaction.atomic():
        User.objects.create(username="after all")


def test_one_statement_alone_still_waits_as_sqlite_does():
    """The sleep is off only while a transaction begins."""
    with transaction.atomic():
        pass
    ((waits_ms,),) = connection.connection.execute("PRAGMA busy_timeout").fetchall()
    assert waits_ms == 20_000
