"""The recorder for browser-use, called as its hooks are, with what it really wrote."""

import asyncio
import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webagent.client.test_client import Site
from webagent.client.browser_use import BrowserUseRecorder
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.pushed.runs import Ending, PushedStep
from webagent.trajectory.formats.pushed.steps import recorded_step
from webagent.trajectory.intake import Bounds
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import Observation, StepRecord

SAMPLES = Path(__file__).parents[2] / "data" / "browser_use"


class Item:
    """An item of `agent.history.history`: written out as it stands in the file."""

    def __init__(self, written: dict[str, Any], pictures: Path) -> None:
        self._written = written
        path = written["state"].get("screenshot_path")
        file = pictures / Path(path or "none").name
        picture = base64.b64encode(file.read_bytes()).decode() if file.is_file() else None
        # Older generations hold the picture itself.
        is_beside = "screenshot_path" in written["state"]
        self.state = SimpleNamespace(**{"get_screenshot": lambda: picture} if is_beside else {})

    def model_dump(self) -> dict[str, Any]:
        return self._written


def pushed(sample: str, tmp_path: Path) -> tuple[list[Any], Any]:
    """The steps and the end that the server gets of a sample."""
    site = Site()
    path = next((SAMPLES / sample).glob("*.json"))
    items = json.loads(path.read_text())["history"]
    agent = SimpleNamespace(history=SimpleNamespace(history=[]), stop=lambda: None)
    recorder = BrowserUseRecorder(site, task="The task.", spool=tmp_path)  # type: ignore[arg-type]
    for written in items:
        agent.history.history.append(Item(written, path.parent / "screenshots"))
        asyncio.run(recorder.step(agent))
    recorder.done(agent.history)
    recorder.close()
    (steps,) = site.runs.values()
    assert list(tmp_path.iterdir()) == []
    return [steps[index] for index in range(len(items))], site.ended["run-0"]


@pytest.mark.parametrize("sample", ["find_price", "loop", "v0148_find_price", "error"])
def test_what_it_sends_is_what_the_server_takes(sample: str, tmp_path: Path) -> None:
    steps, end = pushed(sample, tmp_path)
    for index, step in enumerate(steps):
        sent = PushedStep.model_validate(step)
        recorded_step(sent, run_id="r", index=index, goal="g", model=None, bounds=Bounds())
    assert Ending.model_validate(end)


def test_a_run_with_its_pictures_and_its_answer(tmp_path: Path) -> None:
    steps, end = pushed("find_price", tmp_path)
    assert [call["name"] for step in steps for call in step["calls"]][:2] == ["navigate", "click"]
    assert steps[0]["thought"] == "Start at the shop."
    assert steps[1]["observation"]["url"] == "http://127.0.0.1:8951/index.html"
    assert any(step["observation"].get("screenshot") for step in steps)
    assert (end["outcome"], end["end_reason"]) == ("unknown", "agent_stopped")
    assert end["final_answer"]


@pytest.mark.parametrize("sample", ["find_price", "loop", "v0148_find_price", "error"])
def test_a_pushed_run_says_what_its_file_says(sample: str, tmp_path: Path) -> None:
    steps, end = pushed(sample, tmp_path)
    with open_runs(SAMPLES / sample) as source:
        (bundle,) = [found for found in source if isinstance(found, RunBundle)]
    mine = [
        recorded_step(
            PushedStep.model_validate(step),
            run_id="r",
            index=index,
            goal="",
            model=None,
            bounds=Bounds(),
        ).step
        for index, step in enumerate(steps)
    ]
    assert [said(step) for step in mine[: len(bundle.steps)]] == [
        said(step) for step in bundle.steps
    ]
    assert end.get("final_answer") == bundle.run.final_answer
    assert end.get("claimed_success") == bundle.run.claimed_success


def said(step: StepRecord) -> Any:
    """What a step says, however it came."""
    seen = step.before or Observation()
    picture = seen.screenshot.sha256 if seen.screenshot else None
    actions = [(action.name, action.named_args, action.error) for action in step.actions]
    return seen.url, seen.title, picture, step.thought, actions, step.started_at
