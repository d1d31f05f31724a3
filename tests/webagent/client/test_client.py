"""The client: patience, the spool, what it makes of an environment's observations."""

import io
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from webagent import client
from webagent.client import ApiError, Client, Push, Recorder, UnreachableError, resend
from webagent.client.push import png
from webagent.client.spool import Sender, Spooled


class Stub(BaseHTTPRequestHandler):
    """Answers what it was told to, and notes what it was asked."""

    answers: list[tuple[int, dict[str, str], Any]] = []
    asked: list[tuple[str, str, dict[str, str], bytes]] = []
    url = ""

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.asked.append((self.command, self.path, dict(self.headers), body))
        status, headers, content = self.answers.pop(0)
        words = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(words))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(words)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def stub() -> Iterator[type[Stub]]:
    Stub.answers, Stub.asked = [], []
    server = HTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    Stub.url = f"http://127.0.0.1:{server.server_port}"
    yield Stub
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("webagent.client.api.time.sleep", slept.append)
    return slept


class Site:
    """A server that keeps what is pushed, as the real one does; `fails` is raised once each."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[int, Any]] = {}
        self.ended: dict[str, Any] = {}
        self.keys: dict[str, str] = {}
        self.fails: list[Exception] = []
        self.cancels = False

    def _go(self) -> None:
        if self.fails:
            raise self.fails.pop(0)

    def _answer(self, run: str) -> dict[str, Any]:
        steps = len(self.runs[run])
        return {"id": run, "next_step": steps, "is_to_cancel": self.cancels, "lease_seconds": 900}

    def open_run(self, head: Any, *, key: str | None = None) -> Any:
        self._go()
        run = self.keys.setdefault(str(key), f"run-{len(self.keys)}")
        self.runs.setdefault(run, {})
        return self._answer(run)

    def push_state(self, run: str) -> Any:
        return self._answer(run)

    def push_step(self, run: str, index: int, step: Any) -> Any:
        self._go()
        if run in self.ended:
            raise ApiError(410, {"type": "urn:crosscheck:problem:run-ended"})
        assert index == len(self.runs[run])
        self.runs[run][index] = step
        return self._answer(run)

    def heartbeat(self, run: str) -> Any:
        return self._answer(run)

    def end_run(self, run: str, ending: Any) -> Any:
        self._go()
        if self.ended.setdefault(run, ending) != ending:
            raise ApiError(409, {"type": "urn:crosscheck:problem:run-ended"})
        return self._answer(run)


class World:
    """An environment of three steps, in BrowserGym's form."""

    spec = type("Spec", (), {"id": "browsergym/miniwob.click-test"})()

    def __init__(self) -> None:
        self.taken, self.extra_reward = 0, 0.0
        self.is_closed = False

    def _see(self) -> dict[str, Any]:
        return {
            "goal_object": ({"type": "text", "text": "Click."},),
            "chat_messages": (
                {"role": "assistant", "message": "Hi!"},
                {"role": "user", "message": "Click."},
                *([{"role": "assistant", "message": "42"}] if self.taken == 3 else []),
            ),
            "url": f"http://x.test/{self.taken}",
            "open_pages_titles": ("A", "B"),
            "active_page_index": np.array([1]),
            "axtree_txt": "RootWebArea 'B'\n\t[7] button 'Go'",
            "screenshot": np.full((4, 6, 3), self.taken, dtype=np.uint8),
            "extra_element_properties": {"7": {"bbox": [1.0, 2.0, 3.0, 4.0]}, "8": {"bbox": None}},
            "last_action_error": "no such element" if self.taken == 1 else "",
            "focused_element_bid": "",
        }

    def reset(self, seed: int | None = None) -> Any:
        self.taken = 0
        return self._see(), {}

    def step(self, action: str) -> Any:
        if action == "break":
            raise RuntimeError("the browser is gone")
        self.taken += 1
        reward = (self.taken == 3) + self.extra_reward
        return self._see(), reward, self.taken == 3, False, {}

    def close(self) -> None:
        self.is_closed = True


def recorder(site: Site, spool: Path) -> Recorder:
    return Recorder(World(), site, agent={"name": "mine"}, spool=spool)  # type: ignore[arg-type]


def test_a_copy_under_another_name_needs_nothing_but_python(tmp_path: Path) -> None:
    copy = tmp_path / "crosscheck_client"
    shutil.copytree(Path(client.__file__).parent, copy, ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "spool").mkdir()
    code = (
        "import sys; before = set(sys.modules)\n"
        "import crosscheck_client, crosscheck_client.browser_use, crosscheck_client.__main__ as m\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert new <= sys.stdlib_module_names | {'crosscheck_client'}, new\n"
        "sys.exit(m.main(['resend', 'spool', '--url', 'http://127.0.0.1:1']))"
    )
    # -I -S: neither this project nor its packages can be found.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append('.')\n{code}"],
        cwd=tmp_path,
        env={"CROSSCHECK_TOKEN": "key"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_patient_and_asks_once(stub: Any, waits: list[float]) -> None:
    stub.answers += [
        (429, {"Retry-After": "7"}, {"detail": "wait"}),
        (503, {}, {"detail": "away"}),
        (201, {}, {"id": "r"}),
    ]
    assert Client(stub.url, "key").open_run({"a": 1}) == {"id": "r"}
    assert waits[0] == 0
    assert waits[1] == 7
    assert 0.7 < waits[2] < 1.3
    keys = {headers["Idempotency-Key"] for _method, _path, headers, _body in stub.asked}
    assert len(keys) == 1
    assert stub.asked[0][2]["Authorization"] == "Bearer key"


def test_what_is_refused_is_said_by_field(stub: Any, waits: list[float]) -> None:
    problem = {
        "type": "urn:crosscheck:problem:step-refused",
        "detail": "Step 3 is awaited.",
        "errors": [{"field": "next_step", "reason": "3"}],
    }
    stub.answers.append((409, {}, problem))
    with pytest.raises(ApiError, match="409: Step 3 is awaited") as refused:
        Client(stub.url, "key").push_step("r", 9, {})
    assert (refused.value.kind, refused.value.errors) == ("step-refused", {"next_step": "3"})
    assert len(stub.asked) == 1


def test_the_token_follows_no_redirect(stub: Any, waits: list[float]) -> None:
    stub.answers.append((302, {"Location": f"{stub.url}/elsewhere"}, {}))
    with pytest.raises(ApiError, match="302"):
        Client(stub.url, "key").run("r")
    assert len(stub.asked) == 1


def test_who_cannot_be_reached_is_given_up(waits: list[float]) -> None:
    with pytest.raises(UnreachableError, match="after 6 tries"):
        Client("http://127.0.0.1:9", "key").run("r")
    assert len(waits) == 6


def test_lists_are_read_to_their_end(stub: Any) -> None:
    stub.answers += [
        (200, {}, {"items": [{"id": 1}], "next": "abc"}),
        (200, {}, {"items": [{"id": 2}], "next": None}),
    ]
    assert [run["id"] for run in Client(stub.url, "key").runs(outcome="success")] == [1, 2]
    assert [path for _method, path, *_ in stub.asked] == [
        "/api/v1/runs?outcome=success",
        "/api/v1/runs?outcome=success&cursor=abc",
    ]


@pytest.mark.parametrize("channels", [3, 4])
def test_pixels_become_a_png(channels: int) -> None:
    pixels = np.arange(5 * 7 * channels, dtype=np.uint8).reshape(5, 7, channels)
    with Image.open(io.BytesIO(png(pixels))) as image:
        assert np.array_equal(np.asarray(image), pixels)


def test_an_episode_is_pushed_as_it_went(tmp_path: Path) -> None:
    site = Site()
    env = recorder(site, tmp_path)
    env.reset(seed=3)
    env.note(thought="I click.", input_tokens=5)
    for _ in range(3):
        env.step("click('7')")
    (steps,) = site.runs.values()
    assert [step["action"] for step in steps.values()] == ["click('7')"] * 3
    first = steps[0]
    assert (first["thought"], first["input_tokens"]) == ("I click.", 5)
    assert first["error"] == "no such element"
    seen = first["observation"]
    assert (seen["url"], seen["title"], seen["boxes"]) == (
        "http://x.test/0",
        "B",
        {"7": [1.0, 2.0, 3.0, 4.0]},
    )
    assert "thought" not in steps[1]
    assert "after" not in steps[1]
    assert steps[2]["after"]["url"] == "http://x.test/3"
    (end,) = site.ended.values()
    assert end == {
        "outcome": "success",
        "end_reason": "task_ended",
        "reward": 1.0,
        "final_answer": "42",
        "final_url": "http://x.test/3",
    }
    assert list(tmp_path.iterdir()) == []
    assert env.taken == 3


def test_numbers_of_numpy_and_what_is_none_are_sent_as_json_has_them(tmp_path: Path) -> None:
    site = Site()
    env = recorder(site, tmp_path)
    env.reset(seed=np.int64(3))
    env.note(extra={"score": np.float32("nan"), "tries": np.int64(2), "path": tmp_path})
    env.step("noop()")
    env.close()
    (steps,) = site.runs.values()
    assert steps[0]["extra"] == {"score": None, "tries": 2, "path": str(tmp_path)}


def test_a_reward_that_is_no_number_says_nothing_of_the_outcome(tmp_path: Path) -> None:
    site = Site()
    with recorder(site, tmp_path) as env:
        env.env.extra_reward = float("nan")
        env.reset()
        env.step("noop()")
    (end,) = site.ended.values()
    assert (end["outcome"], end.get("reward")) == ("unknown", None)


def test_an_agent_that_stops_early_leaves_what_it_saw_last(tmp_path: Path) -> None:
    site = Site()
    with recorder(site, tmp_path) as env:
        env.reset()
        env.step("noop()")
    (steps,) = site.runs.values()
    assert [step.get("action") for step in steps.values()] == ["noop()", None]
    assert steps[1]["observation"]["url"] == "http://x.test/1"
    (end,) = site.ended.values()
    assert (end["outcome"], end["end_reason"]) == ("failure", "agent_stopped")
    assert env.env.is_closed


def test_what_breaks_is_an_error_and_reaches_the_agent(tmp_path: Path) -> None:
    site = Site()
    env = recorder(site, tmp_path)
    env.reset()
    with pytest.raises(RuntimeError, match="the browser is gone"):
        env.step("break")
    (end,) = site.ended.values()
    assert (end["outcome"], end["end_reason"]) == ("error", "exception")
    assert end["error"] == {"message": "RuntimeError: the browser is gone", "origin": "environment"}
    assert "reward" not in end


def test_who_is_asked_to_stop_says_that_the_episode_is_over(tmp_path: Path) -> None:
    site = Site()
    site.cancels = True
    env = recorder(site, tmp_path)
    env.reset()
    assert env._push is not None
    deadline = time.monotonic() + 60
    while not env._push.is_to_cancel:
        assert time.monotonic() < deadline, "nobody heard that the run is to stop"
        time.sleep(0.005)
    *_, truncated, _info = env.step("noop()")
    assert truncated
    (end,) = site.ended.values()
    assert (end["outcome"], end["end_reason"]) == ("incomplete", "cancelled")


def test_no_network_breaks_no_agent_and_all_is_sent_later(tmp_path: Path) -> None:
    site = Site()
    site.fails = [UnreachableError("no route")] * 50
    env = Recorder(World(), site, agent={"name": "mine"}, spool=tmp_path, wait_s=5)  # type: ignore[arg-type]
    env.reset()
    for _ in range(3):
        env.step("click('7')")
    assert site.ended == {}
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.glob("step-*.json"))) == 3
    site.fails = []
    assert resend(site, tmp_path) == {folder.name: "sent as run-0"}  # type: ignore[arg-type]
    assert [len(site.runs["run-0"]), site.ended["run-0"]["outcome"]] == [3, "success"]
    assert list(tmp_path.iterdir()) == []


def spooled(tmp_path: Path, steps: int, **ending: Any) -> Spooled:
    run = Spooled.begun(tmp_path, {"task": {"goal": "g"}, "agent": {"name": "a"}})
    for index in range(steps):
        run.keep_step(index, {"action": f"noop({index})"})
    if ending:
        run.write("end.json", ending)
    return run


class LateEnd(Spooled):
    """A run whose last step and end are kept right after the step was looked for in vain."""

    def step(self, index: int) -> Any:
        found = super().step(index)
        if found is None and self.read("end.json") is None:
            self.keep_step(index, {"action": "late"})
            self.write("end.json", {"outcome": "success", "end_reason": "task_ended"})
        return found


def test_a_step_that_is_kept_while_the_end_is_looked_for_is_not_lost(tmp_path: Path) -> None:
    site = Site()
    run = LateEnd(spooled(tmp_path, 2).folder)
    sender = Sender(site, run)  # type: ignore[arg-type]
    assert not sender.send_all()
    assert sender.send_all()
    assert [step["action"] for step in site.runs["run-0"].values()][-1] == "late"
    assert len(site.runs["run-0"]) == 3


def test_a_killed_recorder_leaves_a_run_that_ends_as_killed(tmp_path: Path) -> None:
    site, run = Site(), spooled(tmp_path, 2)
    held = run.hold()
    assert held is not None
    assert resend(site, tmp_path) == {run.folder.name: "is being recorded"}  # type: ignore[arg-type]
    held.close()
    resend(site, tmp_path)  # type: ignore[arg-type]
    assert site.ended == {"run-0": {"outcome": "incomplete", "end_reason": "killed"}}


def test_sending_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    site, run = Site(), spooled(tmp_path, 3, outcome="success")
    first = Sender(site, run)  # type: ignore[arg-type]
    broken = site.push_step

    def breaks(run: str, index: int, step: Any) -> Any:
        if index == 2:
            raise UnreachableError("gone")
        return broken(run, index, step)

    site.push_step = breaks  # type: ignore[method-assign]
    with pytest.raises(UnreachableError):
        first.send_all()
    site.push_step = broken  # type: ignore[method-assign]
    assert Sender(site, run).send_all()  # type: ignore[arg-type]
    assert list(site.runs) == ["run-0"]
    assert len(site.runs["run-0"]) == 3


def test_a_run_that_was_taken_for_dead_is_sent_anew(tmp_path: Path) -> None:
    site, run = Site(), spooled(tmp_path, 2)
    Sender(site, run).send_all()  # type: ignore[arg-type]
    site.ended["run-0"] = "by the sweep"
    run.keep_step(2, {"action": "noop(2)"})
    run.write("end.json", {"outcome": "success"})
    assert Sender(site, run).send_all()  # type: ignore[arg-type]
    assert {name: len(steps) for name, steps in site.runs.items()} == {"run-0": 2, "run-1": 3}
    assert site.ended["run-1"] == {"outcome": "success"}


def test_a_refused_step_comes_without_its_page(tmp_path: Path) -> None:
    site, run = Site(), spooled(tmp_path, 1)
    Sender(site, run).send_all()  # type: ignore[arg-type]
    run.keep_step(1, {"action": "noop()", "observation": {"screenshot": "x"}})
    site.fails = [ApiError(422, {"detail": "no picture"})]
    Sender(site, run).send_all()  # type: ignore[arg-type]
    assert site.runs["run-0"][1] == {"action": "noop()", "extra": {"refused": "422: no picture"}}


def test_a_full_spool_keeps_no_more_and_stops_nobody(tmp_path: Path) -> None:
    site = Site()
    site.fails = [UnreachableError("no route")] * 99
    push = Push(site, {}, spool=tmp_path, most_bytes=2_000)  # type: ignore[arg-type]
    for _ in range(30):
        push.step({"observation": {"axtree": "x" * 500}})
    assert not push.end({"outcome": "success"}, wait_s=5)
    assert push.problem == "the spool is full"
    (folder,) = tmp_path.iterdir()
    assert 3 <= len(list(folder.glob("step-*.json"))) <= 6
