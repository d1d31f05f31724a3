"""Client of the API of Crosscheck, in one file that needs nothing but Python itself.

Copy it beside your agent, or import it from here:

    client = Client("https://crosscheck.example", token)
    env = Recorder(gym.make("browsergym/miniwob.click-test"), client, agent={"name": "mine"})

From then on every episode of `env` is a run that can be watched while it happens. The agent waits
for nothing: steps go to a folder on the disk first and from there to the server, in threads of
their own. What could not be sent stays in the folder:
`python -m webagent.client resend FOLDER` sends it later.
"""

from __future__ import annotations

import argparse
import atexit
import base64
import email.utils
import http.client
import io
import json
import logging
import os
import queue
import random
import re
import shutil
import socket
import struct
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

try:
    import fcntl
except ImportError:  # pragma: no cover  # elsewhere nobody else is kept from the folder
    fcntl = None  # type: ignore[assignment]

Json = dict[str, Any]
logger = logging.getLogger("crosscheck")

TRIES = 6
LONGEST_WAIT_S = 60.0
AGAIN = frozenset({429, 500, 502, 503, 504})
SPOOL = "crosscheck-spool"
MOST_WAITING = 64
"""Steps in memory at a time, until they are on the disk."""
MOST_BYTES = 2 * 1024**3
"""So much of a run may lie in a spool; then what arrived is forgotten, and then no more kept."""


class ApiError(Exception):
    """The server refused a request."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.kind = str(problem.get("type", "")).rpartition(":")[2]
        self.detail = str(problem.get("detail", "")) or f"status {status}"
        self.errors: dict[str, str] = {
            str(each.get("field")): str(each.get("reason")) for each in problem.get("errors") or ()
        }
        told = "; ".join(f"{field}: {reason}" for field, reason in self.errors.items())
        super().__init__(f"{status}: {self.detail}" + (f" ({told})" if told else ""))


class UnreachableError(Exception):
    """No answer came, however often the request was sent."""


class Client:
    """Asks one server, in the name of one token.

    A request that got no answer, or that the server had no time for (429, 5xx), is sent again with
    growing pauses, or after as long as the server asks for. It carries a key, so that it has its
    effect once.
    """

    def __init__(
        self, url: str, token: str, *, timeout_s: float = 30.0, tries: int = TRIES
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        self._tries = tries

    # Reading and launching

    def runs(self, **filters: Any) -> Iterator[Json]:
        """Every run that the token's owner may see, newest first."""
        return self.pages("/runs", **filters)

    def run(self, run_id: str) -> Json:
        """One run."""
        return self.ask("GET", f"/runs/{run_id}")

    def steps(self, run_id: str) -> Iterator[Json]:
        """The steps of a run, in order."""
        return self.pages(f"/runs/{run_id}/steps")

    def studies(self) -> Iterator[Json]:
        """The studies that the token's owner has a part in."""
        return self.pages("/studies")

    def verdicts(self, study: int, **filters: Any) -> Iterator[Json]:
        """The reference verdicts of a study."""
        return self.pages(f"/studies/{study}/verdicts", **filters)

    def evaluations(self, study: int, **filters: Any) -> Iterator[Json]:
        """What evaluators said of the runs of a study."""
        return self.pages(f"/studies/{study}/evaluations", **filters)

    def matrices(self, study: int, **filters: Any) -> Json:
        """Each evaluator against the reference verdicts of a study."""
        return self.ask("GET", f"/studies/{study}/matrices", query=filters)

    def launch_reruns(self, runs: Sequence[str], **options: Any) -> Json:
        """Run these again: agent, trials, seeds, max_steps, policy, experiment."""
        return self.ask("POST", "/reruns", {"runs": list(runs), **options})

    def reruns(self, launch: str) -> Json:
        """How far runs are that were launched together."""
        return self.ask("GET", f"/reruns/{launch}")

    def launch_evaluation(self, evaluator: str, **what: Any) -> Json:
        """Evaluate a study or some runs: study or runs, model, limits of cost."""
        return self.ask("POST", "/batches", {"evaluator": evaluator, **what})

    def evaluation(self, batch: str) -> Json:
        """How far a launched evaluation is."""
        return self.ask("GET", f"/batches/{batch}")

    def pages(self, path: str, **filters: Any) -> Iterator[Json]:
        """Every item of a list, whatever it is of, page by page."""
        cursor = None
        while True:
            wanted = {**filters, "cursor": cursor}
            page = self.ask("GET", path, query=wanted)
            yield from page["items"]
            cursor = page.get("next")
            if not cursor:
                return

    # Pushing

    def open_run(self, head: Json, *, key: str | None = None) -> Json:
        """Begin a run; `id` of the answer is its own. See `docs/pushing.md` for its words."""
        return self.ask("POST", "/runs", head, key=key)

    def push_step(self, run_id: str, index: int, step: Json) -> Json:
        """Add a step; the same one twice is kept once."""
        return self.ask("PUT", f"/runs/{run_id}/steps/{index}", step)

    def heartbeat(self, run_id: str) -> Json:
        """Say that the run goes on."""
        return self.ask("PUT", f"/runs/{run_id}/heartbeat")

    def end_run(self, run_id: str, ending: Json) -> Json:
        """End the run; from then on it never changes."""
        return self.ask("PUT", f"/runs/{run_id}/end", ending)

    def push_state(self, run_id: str) -> Json:
        """Where a pushed run stands: which step is awaited, whether somebody asked to stop."""
        return self.ask("GET", f"/runs/{run_id}/push")

    def import_archive(self, archive: Path, *, wait_s: float = 0) -> Json:
        """Push whole runs: a zip in the native or any other known format.

        Waits up to `wait_s` seconds for its end; ask `/imports/ID` for how far it is.
        """
        job = self.ask("POST", "/imports", archive.read_bytes(), kind="application/zip")
        deadline = time.monotonic() + wait_s
        while job["state"] in ("queued", "running") and time.monotonic() < deadline:
            time.sleep(0.5)
            job = self.ask("GET", f"/imports/{job['id']}")
        return job

    # One request

    def ask(
        self,
        method: str,
        path: str,
        body: Json | bytes | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        kind: str = "application/json",
        key: str | None = None,
        tries: int | None = None,
    ) -> Json:
        """The answer to one request.

        Raises:
            ApiError: the server refused it.
            UnreachableError: no answer came.
        """
        given = {name: str(value) for name, value in (query or {}).items() if value is not None}
        address = f"{self.url}/api/v1{path}" + (
            f"?{urllib.parse.urlencode(given)}" if given else ""
        )
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        data = body if isinstance(body, bytes) else None
        if data is None and body is not None:
            data = json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
        if data is not None:
            headers["Content-Type"] = kind
        if method == "POST":
            headers["Idempotency-Key"] = key or uuid.uuid4().hex
        request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310  # the caller's own server
        return self._patiently(request, tries or self._tries)

    def _patiently(self, request: urllib.request.Request, tries: int) -> Json:
        wait_s, why = 0.0, ""
        for again in range(tries):
            time.sleep(wait_s)
            wait_s = min(0.5 * 2**again, LONGEST_WAIT_S) * random.uniform(0.75, 1.25)  # noqa: S311
            try:
                with _HERE.open(request, timeout=self._timeout_s) as answer:
                    return dict(json.load(answer))
            except urllib.error.HTTPError as error:
                refused = ApiError(error.code, _problem(error))
                if error.code not in AGAIN:
                    raise refused from None
                why = str(refused)
                wait_s = max(wait_s, _asked_to_wait(error.headers.get("Retry-After")))
            except (OSError, http.client.HTTPException, ValueError) as error:
                # No answer, or one that breaks off.
                why = str(error)
        raise UnreachableError(f"{request.full_url} after {tries} tries: {why}")


class _NowhereElse(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for one server alone."""

    def redirect_request(self, *_: Any) -> None:
        return None


_HERE = urllib.request.build_opener(_NowhereElse)


def _problem(error: urllib.error.HTTPError) -> Json:
    try:
        told = json.load(error)
    except (OSError, http.client.HTTPException, ValueError):
        return {"detail": error.reason}
    return told if isinstance(told, dict) else {"detail": error.reason}


def _asked_to_wait(words: str | None) -> float:
    """Seconds of a `Retry-After`: a number of them, or a date."""
    if not words:
        return 0.0
    if words.isdecimal():
        return min(float(words), LONGEST_WAIT_S)
    try:
        until = email.utils.parsedate_to_datetime(words)
    except ValueError:
        return 0.0
    return min(max((until - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_WAIT_S)


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
        aside.write_text(json.dumps(plain(content), ensure_ascii=False), "utf-8", "replace")
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
        while (step := self.run.step(self.next_step)) is not None:
            if not self._push(step):
                return self.send_all()
        ending = self.run.read("end.json")
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


class Push:
    """A run that is pushed in the background. Nothing here raises, and next to nothing waits."""

    def __init__(
        self,
        client: Client,
        head: Json,
        *,
        spool: str | Path = SPOOL,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._client = client
        self._most_bytes = most_bytes
        self._waiting: queue.Queue[tuple[int, Json] | None] = queue.Queue(MOST_WAITING)
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._sender: Sender | None = None
        self._full = False
        self._bytes = 0
        self.steps = 0
        self.problem = ""
        """Why the run is not pushed any more; empty while all is well."""
        self._run = Spooled.begun(Path(spool), head)
        self._lock = self._run.hold()
        self._writer = threading.Thread(target=self._write, name="crosscheck-write", daemon=True)
        self._pusher = threading.Thread(target=self._push, name="crosscheck-push", daemon=True)
        self._writer.start()
        self._pusher.start()
        atexit.register(self._flush)

    @property
    def run_id(self) -> str | None:
        """The run's id on the server; None until it is known there."""
        return self._sender.run_id if self._sender else None

    @property
    def is_to_cancel(self) -> bool:
        """Whether somebody there asked the run to stop."""
        return bool(self._sender and self._sender.is_to_cancel)

    def step(self, step: Json) -> None:
        """Add a step. Pictures may be arrays of pixels; they become PNGs on the way."""
        if self._full or self.problem:
            return
        self._waiting.put((self.steps, step))
        self.steps += 1

    def end(self, ending: Json, *, wait_s: float = 30.0) -> bool:
        """End the run; whether all of it arrived within so long. The rest stays in the spool."""
        self._flush()
        atexit.unregister(self._flush)
        try:
            self._run.write("end.json", ending)
        except OSError as error:
            self.problem = self.problem or f"its end cannot be kept: {error}"
        self._closing.set()
        self._wake.set()
        self._pusher.join(wait_s)
        arrived = bool(self._sender and self._sender.is_whole)
        if arrived:
            self._run.remove()
        else:
            logger.warning(
                "Not all of the run was sent; it lies in %s. %s", self._run.folder, self.problem
            )
        if self._lock is not None:
            self._lock.close()
        return arrived

    def _flush(self) -> None:
        """Have everything on the disk, also where a program ends without ending its run."""
        if self._writer.is_alive():
            self._waiting.put(None)
            self._writer.join()

    def _write(self) -> None:
        """From memory to the disk."""
        while (item := self._waiting.get()) is not None:
            index, step = item
            try:
                content = _ready(step)
                self._make_room()
                if not self._full:
                    self._run.keep_step(index, content)
                    self._bytes += sum(
                        len(str(v)) for v in (content.get("observation") or {}).values()
                    )
            except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
                self._full, self.problem = True, f"{type(error).__name__}: {error}"
                logger.warning("Step %s cannot be kept: %s", index, error)
            self._wake.set()

    def _make_room(self) -> None:
        if self._bytes < self._most_bytes:
            return
        if self._sender is not None:
            self._run.forget_before(self._sender.next_step)
        self._bytes = self._run.size()
        if self._bytes >= self._most_bytes:
            self._full, self.problem = True, "the spool is full"
            logger.warning("The spool %s is full: no more steps are kept.", self._run.folder)

    def _push(self) -> None:
        """From the disk to the server, again and again until all of it is there."""
        while True:
            closing = self._closing.is_set()
            try:
                self._sender = self._sender or Sender(self._client, self._run)
                if self._sender.send_all():
                    return
                self._sender.beat()
            except UnreachableError as error:
                logger.warning("The run is kept in %s: %s", self._run.folder, error)
                if closing:
                    return
            except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
                self.problem = f"{type(error).__name__}: {error}"
                logger.warning("The run is not pushed any more: %s", error)
                return
            self._wake.wait(timeout=5.0)
            self._wake.clear()


class Recorder:
    """An environment of BrowserGym or Gymnasium whose episodes are pushed while they happen.

    It behaves as the environment that it wraps; where somebody asks the run to stop, `step` says
    that the episode was truncated.

    Args:
        task: {"task_set", "id"} of a task that the server has, or {"goal"} for a new one. By
            default the environment's own name (`browsergym/miniwob.click-test`) and goal.
        agent: {"name", "version", "config"}.
        models: names of the language models that it asks.
        spool: the folder for what is on its way.
    """

    def __init__(
        self,
        env: Any,
        client: Client,
        *,
        agent: Json,
        task: Json | None = None,
        experiment: str | None = None,
        models: Sequence[str] = (),
        max_steps: int | None = None,
        spool: str | Path = SPOOL,
        wait_s: float = 30.0,
    ) -> None:
        self.env = env
        self._client = client
        self._task = task
        self._head = {
            "agent": agent,
            "experiment": experiment,
            "models": list(models),
            "max_steps": max_steps,
        }
        self._spool = spool
        self._wait_s = wait_s
        self._push: Push | None = None
        self._before: Any = None
        self._note: Json = {}
        self._rewards = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._end_by(error, "unknown")
        self.close()

    @property
    def run_id(self) -> str | None:
        """The id of the run that goes on; None until the server has told it."""
        return self._push.run_id if self._push else None

    def note(self, **fields: Any) -> None:
        """Tell of the next step what only the agent knows.

        thought, model, input_tokens, output_tokens, cost, extra.
        """
        self._note.update(fields)

    def reset(self, **options: Any) -> Any:
        self._end_early()
        observation, info = self.env.reset(**options)
        self._before, self._rewards, self._note = observation, 0.0, {}
        goal = _goal(observation)
        head = {
            **{key: value for key, value in self._head.items() if value},
            "task": self._task or _task_of(self.env, goal),
            "goal": goal,
            "seed": options.get("seed"),
        }
        try:
            self._push = Push(self._client, head, spool=self._spool)
        except Exception as error:  # noqa: BLE001  # the agent goes on whatever happens here
            logger.warning("The run is not recorded: %s", error)
        return observation, info

    def step(self, action: Any) -> Any:
        started = _now()
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except BaseException as error:
            self._end_by(error, "environment")
            raise
        if self._push is None:
            return observation, reward, terminated, truncated, info
        self._rewards += float(reward)
        is_over = bool(terminated or truncated)
        text = action if isinstance(action, str) else repr(action)
        step = {
            "observation": _seen(self._before, text),
            "action": text,
            "dialect": "browsergym" if isinstance(action, str) else "gymnasium",
            "error": _field(observation, "last_action_error") or None,
            "reward": float(reward),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
            "started_at": started,
            "ended_at": _now(),
            **self._note,
        }
        if is_over:
            step["after"] = _seen(observation, "")
        self._push.step(step)
        self._before, self._note = observation, {}
        if is_over:
            gave_up = _last_role(observation) == "infeasible"
            reason = "task_ended" if terminated else "max_steps"
            self.end(end_reason="agent_gave_up" if gave_up else reason)
        elif self._push.is_to_cancel:
            truncated = True
            self.end(outcome="incomplete", end_reason="cancelled")
        return observation, reward, terminated, truncated, info

    def end(
        self, *, outcome: str | None = None, end_reason: str = "unknown", **ending: Any
    ) -> None:
        """End the run of this episode. Without an outcome, any reward is success, as BrowserGym
        has it.
        """
        push, self._push = self._push, None
        if push is None:
            return
        told = {
            "outcome": outcome or ("success" if self._rewards > 0 else "failure"),
            "end_reason": end_reason,
            "reward": self._rewards,
            "final_answer": _answer(self._before),
            "final_url": _field(self._before, "url") or None,
            **ending,
        }
        push.end({k: v for k, v in told.items() if v is not None}, wait_s=self._wait_s)

    def close(self) -> None:
        self._end_early()
        self.env.close()

    def _end_early(self) -> None:
        """The agent stopped, or began anew, before the environment said that it is over."""
        if self._push is None:
            return
        # What it saw last, and did nothing about.
        self._push.step({"observation": _seen(self._before, ""), **self._note})
        self.end(end_reason="agent_stopped")

    def _end_by(self, error: BaseException, origin: str) -> None:
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            self.end(outcome="incomplete", end_reason="cancelled", reward=None)
        else:
            told = {"message": message, "origin": origin}
            self.end(outcome="error", end_reason="exception", reward=None, error=told)


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


def _ready(step: Json) -> Json:
    """The step as JSON: pictures as PNG in base64, trees as text, nothing that is unknown."""
    ready = {key: value for key, value in step.items() if value is not None}
    for side in ("observation", "after"):
        if seen := ready.get(side):
            ready[side] = _ready_observation(seen)
    return ready


def _bare(step: Json, error: ApiError) -> Json:
    """The step without what a server might refuse, and why it did."""
    kept = ("action", "dialect", "error", "reward", "terminated", "truncated")
    bare = {name: step[name] for name in kept if name in step}
    return {**bare, "extra": {"refused": str(error)[:2_000]}}


def _ready_observation(seen: Json) -> Json:
    ready = dict(seen)
    for name in ("screenshot", "marked_screenshot"):
        picture = ready.get(name)
        if picture is not None and not isinstance(picture, str):
            ready[name] = base64.b64encode(png(picture)).decode("ascii")
    if not isinstance(ready.get("axtree"), str | None):
        ready["axtree"] = _flat_tree(ready["axtree"])
    return {key: value for key, value in ready.items() if value not in (None, "", {})}


def plain(value: Any) -> Any:
    """The value as JSON has it: numbers of numpy as numbers, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value - value != 0:
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def png(picture: Any) -> bytes:
    """A PNG of an array of pixels (height, width, 3 or 4 bytes), of a Pillow image, or as it is."""
    if isinstance(picture, bytes | bytearray):
        return bytes(picture)
    if hasattr(picture, "save"):
        file = io.BytesIO()
        picture.save(file, "PNG")
        return file.getvalue()
    height, width, channels = picture.shape
    colour = {3: 2, 4: 6}[channels]
    pixels = picture.astype("uint8").tobytes()
    row = width * channels
    lines = b"".join(b"\0" + pixels[at : at + row] for at in range(0, len(pixels), row))
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 4)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )


def _flat_tree(tree: Any) -> str | None:
    """BrowserGym's accessibility tree as the text that its agents read."""
    try:
        from browsergym.utils.obs import flatten_axtree_to_str  # noqa: PLC0415  # only where it is
    except ImportError:
        return None
    return str(flatten_axtree_to_str(tree))


def _seen(observation: Any, action: str) -> Json:
    """What a step needs of an observation, nothing of it worked on yet."""
    if isinstance(observation, str):
        return {"axtree": observation}
    if not isinstance(observation, Mapping):
        return {"screenshot": observation} if hasattr(observation, "shape") else {}
    titles, active = (
        _field(observation, "open_pages_titles"),
        _field(observation, "active_page_index"),
    )
    place = int(active[0]) if active is not None and len(active) else 0
    known = _field(observation, "extra_element_properties") or {}
    named = re.findall(r"""['"](\w+)['"]""", action[:10_000])
    boxes = {bid: list(known[bid]["bbox"]) for bid in named if known.get(bid, {}).get("bbox")}
    return {
        "url": _field(observation, "url"),
        "title": titles[place] if titles and place < len(titles) else None,
        "axtree": observation.get("axtree_txt") or _field(observation, "axtree_object"),
        "screenshot": _field(observation, "screenshot"),
        "focused": _field(observation, "focused_element_bid") or None,
        "boxes": boxes,
        "at": _now(),
    }


def _field(observation: Any, name: str) -> Any:
    return observation.get(name) if isinstance(observation, Mapping) else None


def _goal(observation: Any) -> str | None:
    parts = _field(observation, "goal_object") or ()
    words = [str(part.get("text")) for part in parts if part.get("type") == "text"]
    return "\n".join(words) or _field(observation, "goal") or None


def _task_of(env: Any, goal: str | None) -> Json:
    """The environment's own name as a task: `browsergym/miniwob.click-test` is of `miniwob`."""
    name = str(getattr(getattr(env, "spec", None), "id", None) or "").removeprefix("browsergym/")
    if not name:
        return {"goal": goal or "An episode without a goal."}
    return {"task_set": name.partition(".")[0], "id": name, "goal": goal or name}


def _last_role(observation: Any) -> str:
    messages = _field(observation, "chat_messages") or ()
    return str(messages[-1].get("role")) if messages else ""


def _answer(observation: Any) -> str | None:
    """The last thing that the agent told the user; the greeting before the goal is no answer."""
    messages = list(_field(observation, "chat_messages") or ())
    roles = [message.get("role") for message in messages]
    first = roles.index("user") if "user" in roles else -1
    said = [m.get("message") for m in messages[first + 1 :] if m.get("role") == "assistant"]
    return str(said[-1]) if said else None


def _now() -> str:
    return datetime.now(UTC).isoformat()


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m webagent.client resend FOLDER`: send what lies in a spool."""
    parser = argparse.ArgumentParser(prog="webagent.client", description=main.__doc__)
    parser.add_argument("command", choices=["resend"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(SPOOL))
    parser.add_argument("--url", default=os.environ.get("CROSSCHECK_URL"))
    given = parser.parse_args(arguments)
    token = os.environ.get("CROSSCHECK_TOKEN")
    if not given.url or not token:
        parser.error("set CROSSCHECK_URL (or --url) and CROSSCHECK_TOKEN")
    became = resend(Client(given.url, token), given.folder)
    for name, words in became.items():
        sys.stdout.write(f"{name}: {words}\n")
    return int(any(words.startswith("stays") for words in became.values()))


if __name__ == "__main__":
    sys.exit(main())
