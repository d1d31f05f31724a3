"""Whole runs in a real browser."""

import hashlib
from collections.abc import Mapping

import pytest

from tests.webagent.kept import Kept
from tests.webagent.processes import descendants, left_of
from webagent.agents.registry import make_agent
from webagent.agents.running import run_episode
from webagent.trajectory.records import EndReason, Outcome, RunRecord, StepRecord

pytestmark = pytest.mark.browser


class Watching(Kept):
    """A sink that also notes which processes were there meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: dict[int, str] = {}

    def __call__(self, step: StepRecord, blobs: Mapping[str, bytes]) -> None:
        super().__call__(step, blobs)
        self.processes.update(descendants())


def play(task: str, agent: str, *, sink: Watching, max_steps: int = 10) -> RunRecord:
    return run_episode(task, make_agent(agent), run_id="r1", sink=sink, seed=3, max_steps=max_steps)


@pytest.mark.parametrize(
    ("task", "n_steps"),
    [("miniwob.login-user", 3), ("miniwob.click-link", 1), ("miniwob.use-autocomplete", 3)],
)
def test_the_oracle_solves_tasks_and_every_step_is_recorded(task, n_steps):
    sink = Watching()
    record = play(task, "oracle", sink=sink)
    assert (record.outcome, record.end_reason) == (Outcome.SUCCESS, EndReason.TASK_ENDED)
    assert record.reward == 1.0
    assert record.evidence is not None
    assert record.goal
    assert [step.index for step in sink.steps] == list(range(n_steps))
    for step in sink.steps:
        (action,) = step.actions
        assert (action.status, action.error) == ("ok", None)
        assert action.target is not None
        assert action.target.box is not None
        assert action.started_at is not None
        assert action.ended_at is not None
        assert step.thought
        assert step.before is not None
        assert step.before.screenshot is not None
        assert step.before.a11y_tree is not None
        for blob in (step.before.screenshot, step.before.a11y_tree):
            assert hashlib.sha256(sink.blobs[blob.sha256]).hexdigest() == blob.sha256
        tree = sink.blobs[step.before.a11y_tree.sha256].decode()
        assert f"[{action.target.bid}]" in tree
    assert sink.steps[-1].after is not None
    assert len(sink.processes) > 1
    assert left_of(sink.processes) == []


def test_a_run_whose_sink_fails_leaves_no_browser():
    class FullDisk(Exception):
        """Nothing more can be kept."""

    class Failing(Watching):
        def __call__(self, step: StepRecord, blobs: Mapping[str, bytes]) -> None:
            super().__call__(step, blobs)
            raise FullDisk

    sink = Failing()
    with pytest.raises(FullDisk):
        play("miniwob.click-test", "looping", sink=sink)
    assert len(sink.processes) > 1
    assert left_of(sink.processes) == []
