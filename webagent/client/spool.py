"""A run in a folder, and its way from there to the server."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .api import ApiError, Client, Json, UnreachableError

try:
    import fcntl
except ImportError:  # pragma: no cover  # elsewhere nobody else is kept from the folder
    fcntl = None  # type: ignore[assignment]

SPOOL = "crosscheck-spool"


class Spooled:
    """A run in a folder, on its way to the server: its head, its steps, its end, a file each.

    The files stay until the server has the whole run, so that a run which it took for dead can be
    sent anew.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def begun(cls, spool: Path, head: Json) -> Spooled:
        """A new run in the spool."""
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{socket.gethostname()}-{uuid.uuid4().hex}"
        run = cls(spool / name)
        run.folder.mkdir(parents=True)
        run.write("head.json", head)
        return run

    def write(self, name: str, content: Json) -> None:
        """Keep a file, whole or not at all."""
        aside = self.folder / f"{name}.part"
        aside.write_text(json.dumps(_plain(content), ensure_ascii=False), "utf-8", "replace")
        os.replace(aside, self.folder / name)

    def read(self, name: str) -> Json | None:
        """The content of a file; None if there is none."""
        try:
            found = json.loads((self.folder / name).read_text("utf-8"))
        except FileNotFoundError:
            return None
        return dict(found)

    def keep_step(self, index: int, step: Json) -> None:
        self.write(_step_name(index), step)

    def step(self, index: int) -> Json | None:
        return self.read(_step_name(index))

    def forget_before(self, index: int) -> None:
        """Delete steps that arrived, to make room."""
        for path in self.folder.glob("step-*.json"):
            if path.name < _step_name(index):
                path.unlink(missing_ok=True)

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.glob("*.json"))

    def hold(self) -> io.TextIOWrapper | None:
        """Hold the folder until the file is closed; None if another process does."""
        file = (self.folder / "lock").open("w")
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        return file

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _step_name(index: int) -> str:
    return f"step-{index:06d}.json"


class Sender:
    """Brings a spooled run to the server, step by step, in its order."""

    def __init__(self, client: Client, run: Spooled) -> None:
        self.client = client
        self.run = run
        self.run_id: str | None = (run.read("sent.json") or {}).get("id")
        self.next_step = 0
        self.is_whole = False
        self.is_to_cancel = False
        self.lease_s = 60.0
        self.heard_at = time.monotonic()
        self._began_anew = False
        if self.run_id is not None:
            self._ask_where()

    def send_all(self) -> bool:
        """Send whatever is there; whether the server has the whole run now.

        Raises:
            ApiError: it refuses something of it.
            UnreachableError: it cannot be reached; go on later.
        """
        if self.run_id is None:
            self._open()
        # It is kept after the last step: read after the steps, it could end the run before that.
        ending = self.run.read("end.json")
        while (step := self.run.step(self.next_step)) is not None:
            if not self._push(step):
                return self.send_all()
        if ending is not None and not self.is_whole:
            try:
                self._note(self.client.end_run(str(self.run_id), ending))
            except ApiError as error:
                if error.kind != "run-ended" or not self._begin_anew():
                    raise
                return self.send_all()
            self.is_whole = True
        return self.is_whole

    def beat(self) -> None:
        """Say that the run goes on, if nothing was said for a while."""
        if (
            self.run_id
            and not self.is_whole
            and time.monotonic() - self.heard_at > self.lease_s / 3
        ):
            self._note(self.client.heartbeat(self.run_id))

    def _open(self, again: str = "") -> None:
        head = self.run.read("head.json") or {}
        # The folder's name is the key: whoever opens it first, it is one run.
        key = (self.run.folder.name + again)[-200:]
        answer = self.client.open_run(head, key=key)
        self.run_id = str(answer["id"])
        self.run.write("sent.json", {"id": self.run_id})
        self._note(answer)
        self._ask_where()

    def _ask_where(self) -> None:
        answer = self.client.push_state(str(self.run_id))
        self.next_step = int(answer["next_step"])
        self._note(answer)

    def _push(self, step: Json) -> bool:
        """Send the awaited step; False if the run has to begin anew."""
        try:
            self._note(self.client.push_step(str(self.run_id), self.next_step, step))
        except ApiError as error:
            if error.kind == "run-ended" and self._begin_anew():
                return False
            if error.status not in (413, 422):
                raise
            # Better a step without its page than no more steps.
            self._note(self.client.push_step(str(self.run_id), self.next_step, _bare(step, error)))
        self.next_step += 1
        return True

    def _begin_anew(self) -> bool:
        """The server took the run for dead meanwhile: open another, if every step is still here."""
        if self._began_anew or self.run.step(0) is None:
            return False
        self._began_anew = True
        gone = self.run_id
        self.run_id, self.next_step = None, 0
        self._open(again=f" after {gone}")
        return True

    def _note(self, answer: Json) -> None:
        self.heard_at = time.monotonic()
        self.lease_s = float(answer.get("lease_seconds", self.lease_s))
        self.is_to_cancel = self.is_to_cancel or bool(answer.get("is_to_cancel"))


def resend(client: Client, spool: Path) -> dict[str, str]:
    """Send every run that lies in a spool; what became of each, by the folder's name.

    One whose recorder died ends as incomplete. One that is being recorded is left alone.
    """
    became: dict[str, str] = {}
    for folder in sorted(path.parent for path in spool.glob("*/head.json")):
        run = Spooled(folder)
        lock = run.hold()
        if lock is None:
            became[folder.name] = "is being recorded"
            continue
        with lock:
            if run.read("end.json") is None:
                run.write("end.json", {"outcome": "incomplete", "end_reason": "killed"})
            try:
                sender = Sender(client, run)
                sender.send_all()
            except (ApiError, UnreachableError) as error:
                became[folder.name] = f"stays: {error}"
                continue
            became[folder.name] = f"sent as {sender.run_id}"
            run.remove()
    return became


def _bare(step: Json, error: ApiError) -> Json:
    """The step without what a server might refuse, and why it did."""
    kept = ("action", "dialect", "error", "reward", "terminated", "truncated")
    bare = {name: step[name] for name in kept if name in step}
    return {**bare, "extra": {"refused": str(error)[:2_000]}}


def _plain(value: Any) -> Any:
    """The value as JSON has it: numbers of numpy as numbers, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value - value != 0:
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
