"""A real episode of MiniWoB++ in BrowserGym, pushed while it happens to a real server."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from browsergym.core.env import BrowserEnv
from browsergym.miniwob import ALL_MINIWOB_TASKS
from PIL import Image

from runs.accounts.tokens import create_token
from runs.models import Run, Scope
from runs.storage.blobs import open_blob, read_blob
from tests.runs.factories import make_user
from webagent.client import Client, Recorder
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import start_playwright, stop_playwright
from webagent.environment.browsergym_environment import LocalSite
from webagent.environment.miniwob import BASE_URL, HOST, pages_directory

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


MOST_CLICKS = 10


class Said(NamedTuple):
    """What the environment said of one step, and what was seen before it."""

    before: dict[str, Any]
    action: str
    reward: float
    after: dict[str, Any]


def episode(url: str, key: str, pages: str, spool: Path) -> list[Said]:
    """Click beside the button, then on it. Playwright wants a thread of its own.

    BrowserGym gives a click half a second, which a busy machine may need for itself: it is tried
    again then.
    """
    task = next(one for one in ALL_MINIWOB_TASKS if one.get_task_id() == "miniwob.click-test")
    start_playwright(BrowserSettings(), Hosts(local={HOST: pages}), plain=True)
    env: Any = BrowserEnv(
        task_entrypoint=task,
        task_kwargs={"base_url": BASE_URL},
        headless=True,
        slow_mo=0,
        pre_observation_delay=0.05,
    )
    named = {"task_set": "miniwob", "id": "miniwob.click-test", "goal": "Click the button."}
    env = Recorder(env, Client(url, key), task=named, agent={"name": "two clicks"}, spool=spool)
    said: list[Said] = []
    try:
        before, _info = env.reset(seed=5)
        has_ended, action = False, "click('nowhere')"
        while not has_ended and len(said) < MOST_CLICKS:
            if said:
                action = f"click({button(before)!r})"
                env.note(thought="This one.", model="model-x", input_tokens=12)
            after, reward, has_ended, *_ = env.step(action)
            said.append(Said(before, action, reward, after))
            before = after
    finally:
        env.close()
        stop_playwright()
    return said


def button(seen: dict[str, Any]) -> str:
    """BrowserGym's id of the button."""
    nodes = seen["axtree_object"]["nodes"]
    return next(str(node["browsergym_id"]) for node in nodes if node["role"]["value"] == "button")


def test_the_stored_run_is_what_the_environment_said(live_server: Any, tmp_path: Path) -> None:
    owner = make_user("engineer")
    scopes = [Scope.RUNS_WRITE, Scope.RUNS_READ]
    _row, key = create_token(owner=owner, name="pusher", scopes=scopes, days=1)
    site = LocalSite(pages_directory())
    try:
        with ThreadPoolExecutor(max_workers=1) as apart:
            said = apart.submit(episode, live_server.url, key, site.address, tmp_path).result()
    finally:
        site.close()
    run = Run.objects.get()
    assert (run.status, run.outcome, run.end_reason) == ("finished", "success", "task_ended")
    assert (run.reward, run.seed, run.created_by) == (1.0, 5, owner)
    assert run.goal == said[0].before["goal_object"][0]["text"]
    steps = list(run.steps.order_by("index"))
    assert [step.action for step in steps] == [one.action for one in said]
    assert [step.reward for step in steps] == [one.reward for one in said]
    assert [one.reward for one in said] == [0.0] * (len(said) - 1) + [1.0]
    assert [step.error for step in steps] == [one.after["last_action_error"] for one in said]
    assert "nowhere" in steps[0].error
    assert [step.url for step in steps] == [one.before["url"] for one in said]
    for step, one in zip(steps, said, strict=True):
        assert np.array_equal(pixels(step.screenshot_id), one.before["screenshot"])
        assert re.search(r"\[\w+\] button", read_blob(step.tree_id or "").decode())
    last = steps[-1]
    assert np.array_equal(pixels(last.after_screenshot_id), said[-1].after["screenshot"])
    bid = button(said[-1].before)
    box = said[-1].before["extra_element_properties"][bid]["bbox"]
    assert last.box == pytest.approx(list(box))
    assert (last.target, last.thought, last.input_tokens) == ('button "Click Me!"', "This one.", 12)
    assert list(tmp_path.iterdir()) == []
    client = Client(live_server.url, key)
    assert [one["id"] for one in client.runs(outcome="success")] == [str(run.pk)]
    assert [one["action"] for one in client.steps(str(run.pk))] == [one.action for one in said]


def pixels(sha256: str | None) -> Any:
    with open_blob(sha256 or "") as file, Image.open(file) as image:
        return np.asarray(image)
