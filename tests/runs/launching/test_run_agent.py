"""`manage.py run_agent`: in a real browser, by the way that reruns go."""

import json
import os
import signal
import threading
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from runs.models import Run
from runs.queue.leases import LeaseRenewer
from webagent.environment.browser import OWNER_VARIABLE

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests agents")]


@pytest.fixture(autouse=True)
def in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats come from a thread, which does not see what a test has not committed."""
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)
    monkeypatch.setenv(OWNER_VARIABLE, "")


def run_agent(*args: str) -> tuple[str, str]:
    """What the command writes to its output and its error output."""
    out, err = StringIO(), StringIO()
    call_command("run_agent", *args, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.browser
def test_trials_are_carried_out_and_said():
    task = ["--task", "miniwob.click-test", "--agent", "oracle", "--seed", "3"]
    out, err = run_agent(*task, "--trials", "2", "--experiment", "Tried", "--json")
    said = json.loads(out)
    assert [(run["seed"], run["trial"]) for run in said] == [(3, 1), (4, 2)]
    assert {(run["outcome"], run["steps"], run["attempt"]) for run in said} == {("success", 1, 1)}
    assert {run["agent"] for run in said} == {"oracle"}
    assert err.count("step 1 of 15: click(") == 2
    stored = Run.objects.order_by("trial")
    assert [str(run.pk) for run in stored] == [run["run"] for run in said]
    assert {run.experiment.name for run in stored if run.experiment} == {"Tried"}
    for run in stored:
        step = run.steps.get()
        assert step.screenshot_id
        assert step.tree_id
        assert step.box
        assert run.source_format == "crosscheck-agent"
        assert run.lease_token == 1


@pytest.mark.browser
def test_ctrl_c_cancels_the_run_and_keeps_its_steps():
    pressed = threading.Timer(4, os.kill, (os.getpid(), signal.SIGINT))
    looping = ["--task", "miniwob.click-test", "--agent", "looping", "--max-steps", "100"]
    pressed.start()
    try:
        with pytest.raises(CommandError, match="Interrupted") as caught:
            run_agent(*looping, "--agent-config", '{"action": "noop(300)"}', "--trials", "3")
    finally:
        pressed.cancel()  # Where the command ended early, it would end the tests.
    assert caught.value.returncode == 130
    run = Run.objects.get()
    assert (run.status, run.outcome) == ("cancelled", "incomplete")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--task", "miniwob.clicktest"], "Did you mean miniwob.click-test"),
        (["--task", "webarena.1"], "browsergym-webarena"),
        (["--agent", "orakel"], "There is no agent 'orakel'. There are: always_na"),
        (["--agent", "replayer"], "does not fit the agent 'replayer'"),
        (["--agent-config", '{"speed": 1}'], "does not fit the agent 'oracle'"),
        (["--agent-config", "fast"], "agent-config"),
        (["--trials", "0"], "--trials"),
    ],
)
def test_what_cannot_be_is_one_clear_line(wrong: list[str], said: str):
    right: dict[str, Any] = {"--task": "miniwob.click-test", "--agent": "oracle"}
    options = {**right, wrong[0]: wrong[1]}
    words = [word for option in options.items() for word in option]
    with pytest.raises(CommandError) as caught:
        run_agent(*words)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not Run.objects.exists()
