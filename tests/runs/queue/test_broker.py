"""What is ours of the broker: a connection that broke is closed, so that a new one can be made."""

import errno
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Exchange, Queue

from runs.imports.services import dispatch_imports
from runs.models import ImportJob
from runs.queue.redis_broker import RedisTransport
from runs.queue.workers import ask_for
from tests.faults.findings import Findings
from tests.faults.services import Redis
from tests.runs.factories import make_user
from webagent.celery import app  # names the transport


@pytest.fixture
def server() -> Iterator[Redis]:
    made = Redis()
    made.start()
    yield made
    made.kill()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Connection]:
    """The broker over the files of a folder."""
    control = tmp_path / "control"
    control.mkdir()
    folders = dict.fromkeys(("data_folder_in", "data_folder_out"), str(tmp_path))
    with Connection(
        "filesystem://",
        transport="runs.queue.file_broker:FileTransport",
        transport_options={**folders, "control_folder": str(control)},
    ) as connection:
        yield connection


def breaks_when_closed(transport: str, server: Redis) -> bool:
    """Whether closing as a worker of Celery does fails, when Redis died while it was at work."""
    connection = Connection(server.url, transport=transport)
    channel = connection.default_channel
    work = connection.SimpleQueue("work", no_ack=False)
    work.put("a run")
    work.get(timeout=5)  # in hand: nobody has said that it is done
    channel._brpop_start()  # type: ignore[attr-defined]  # and the next one is waited for
    # As for remote control: a queue of its own, on a channel of its own.
    told_to_all = Exchange("control", type="fanout", auto_delete=True)
    Consumer(connection.channel(), [Queue("mine", told_to_all, auto_delete=True)]).consume()
    server.kill()
    with suppress(*connection.connection_errors):
        connection.collect(socket_timeout=5)
    try:
        connection.close()
    except AttributeError:
        return True
    return False


@pytest.mark.fault(2, "Redis dies while its workers have work in hand and wait for more")
def test_a_connection_to_a_redis_that_died_is_closed_to_its_end(
    server: Redis, findings: Findings
) -> None:
    findings.times = 1
    assert not breaks_when_closed("redis", server)


_IS_KEPT_ALIVE = """
import socket
from webagent.celery import app
with app.connection() as connection:
    client = connection.default_channel.client
    made = client.connection_pool.get_connection()
    print(made._sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
"""


@pytest.mark.fault(2, "the machine of Redis is gone, and nobody ends the connections to it")
@pytest.mark.slow
def test_a_connection_to_redis_asks_whether_the_other_side_is_there(
    server: Redis, findings: Findings
) -> None:
    findings.times = 1
    environment = os.environ | {"REDIS_URL": server.url}
    command = [sys.executable, "-c", _IS_KEPT_ALIVE]
    asked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert asked.stdout.strip() == "1", asked.stderr


@pytest.mark.slow
@pytest.mark.fault(17, "Redis has no room for the messages of imports")
@pytest.mark.django_db
def test_a_redis_that_is_full_refuses_messages_and_the_work_waits(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        ImportJob.objects.create(file_name="a.zip", path="a", size=1, created_by=make_user())
    untold = ImportJob.objects.filter(state="queued", dispatched_at=None)
    with Connection(server.url) as connection, redis.Redis.from_url(server.url) as seen:
        send = partial(app.send_task, connection=connection)
        monkeypatch.setattr("runs.queue.workers.current_app.send_task", send)
        with server.full():
            dispatch_imports()
            assert untold.count() == 2
        dispatch_imports()
        assert untold.count() == 0
        assert seen.llen("default") == 2


@pytest.mark.django_db
def test_a_disk_that_is_full_refuses_messages_and_the_work_waits(
    files: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        ImportJob.objects.create(file_name="a.zip", path="a", size=1, created_by=make_user())
    untold = ImportJob.objects.filter(state="queued", dispatched_at=None)
    send = partial(app.send_task, connection=files)
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", send)

    def full(path: Path, text: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        dispatch_imports()
        assert ask_for("runs.tasks.sweep") is False
        assert untold.count() == 2
    assert list(tmp_path.glob("**/*.part")) == []
    dispatch_imports()
    assert untold.count() == 0
    assert len(list(tmp_path.glob("*.default.msg"))) == 2


def test_kombus_own_redis_transport_still_needs_ours(server: Redis) -> None:
    assert breaks_when_closed("kombu.transport.redis:Transport", server), (
        "RedisChannel can go: Kombu closes by itself now"
    )


@pytest.mark.parametrize("address", ["redis://broker:6379/3", "rediss://broker:6380/3"])
def test_the_site_uses_ours_and_encrypts_where_the_address_says_so(address: str) -> None:
    with Connection(address) as connection:
        assert isinstance(connection.transport, RedisTransport)
        assert bool(connection.ssl) == address.startswith("rediss")


@pytest.mark.parametrize("left", ["", "[[", None])
def test_a_table_of_queues_that_was_not_written_to_its_end_stops_no_worker(
    left: str | None, files: Connection, tmp_path: Path
) -> None:
    exchange = f"of-{uuid.uuid4()}"  # Kombu remembers names
    if left is not None:
        (tmp_path / "control" / f"{exchange}.exchange").write_text(left)
    for name in ("default", "default", "other"):
        Queue(name, Exchange(exchange), name, channel=files.channel()).declare()
    channel: Any = files.channel()
    table = channel.get_table(exchange)
    assert sorted(row.queue for row in table) == ["default", "other"]
