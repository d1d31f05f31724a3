"""A step of ours, stored and all, against the same action by bare BrowserGym, in turn."""

from __future__ import annotations

import time
from itertools import cycle
from statistics import median
from typing import Any

from browsergym.core.env import BrowserEnv
from browsergym.miniwob import ALL_MINIWOB_TASKS

from runs.launching.reruns.services import queue_run
from runs.queue.leases import claim
from runs.queue.steps import Heartbeat, StepStore
from tests.benchmarks import orders
from tests.benchmarks.clock import tell
from webagent.agents.running import run_episode
from webagent.environment import miniwob
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import start_playwright, stop_playwright
from webagent.environment.browsergym_environment import LocalSite
from webagent.process.children import OwnThread
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.live import Decision, Observation
from webagent.trajectory.records import AgentRecord

STEPS = 28
SETTLE_S = 0.5
"""What BrowserGym waits after an action unless told otherwise; ours waits as long."""
LIMIT_S = 60


class InTurn:
    """Clicks, writes and scrolls; before each action, bare BrowserGym does the same.

    `ours` and `bare` are the seconds that each step took; of ours, the agent's own part is not.
    """

    def __init__(self, other: Bare) -> None:
        self.ours: list[float] = []
        self.bare: list[float] = []
        self._other = other
        self._left_at = 0.0
        self._turn = cycle(("checkbox", "textbox", "scroll", "button"))

    def act(self, observation: Observation) -> Decision:
        if self._left_at:
            self.ours.append(time.perf_counter() - self._left_at)
        action = self._action(observation)
        started_at = time.perf_counter()
        self._other.step(action)
        self.bare.append(time.perf_counter() - started_at)
        self._left_at = time.perf_counter()
        return Decision(action=action, thought="As the other one.")

    def describe(self) -> AgentRecord:
        return AgentRecord(name="in_turn", version="1")

    def _action(self, observation: Observation) -> str:
        kind = next(self._turn)
        if kind == "scroll":
            return f"scroll(0, {100 if len(self.bare) % 8 < 4 else -100})"
        bid = next(node.bid for node in observation.nodes if node.role == kind and node.bid)
        return (
            f"fill('{bid}', 'order {len(self.bare)}')" if kind == "textbox" else f"click('{bid}')"
        )


def run() -> None:
    orders.use()
    for task, rows in orders.ROWS.items():
        ours, bare = _seconds(task)
        more = median(a - b for a, b in zip(ours, bare, strict=True))
        tell(
            f"a step on a page of {rows} orders, stored ({1000 * more:+.0f} ms, "
            f"{100 * more / median(bare):+.1f} %; goal: at most 5 %)",
            median(ours),
            median(bare),
        )


def _seconds(task: str) -> tuple[list[float], list[float]]:
    """Of each step but the first ones, which warm up: ours, and bare BrowserGym's."""
    with Bare(task) as bare_one:
        agent = InTurn(bare_one)
        _play(task, agent)
    bare = agent.bare[: len(agent.ours)]
    return agent.ours[4:], bare[4:]


def _play(task: str, agent: InTurn) -> None:
    """The run, as a worker carries it out: watched for loops, every step in the database."""
    claimed = claim(queue_run(task=task, agent="looping", max_steps=STEPS).pk)
    assert claimed is not None
    run, lease = claimed
    with Heartbeat(lease) as heartbeat:
        lease.start()
        record = run_episode(
            task,
            agent,
            run_id=str(run.pk),
            sink=StepStore(lease),
            seed=1,
            max_steps=STEPS,
            should_stop=heartbeat.should_stop,
            policy=RecoveryPolicy(),
        )
    if record.end_reason != "max_steps":
        raise RuntimeError(f"the run ended otherwise: {record.end_reason}, {record.error}")
    lease.end("finished")


class Bare:
    """BrowserGym itself on the same page in the same kind of browser, without its chat window."""

    def __init__(self, task: str) -> None:
        is_miniwob = task.startswith("miniwob.")
        self._site = LocalSite(miniwob.pages_directory() if is_miniwob else orders.pages())
        self._host = miniwob.HOST if is_miniwob else orders.HOST
        self._options: Any = {
            "task_entrypoint": _miniwob_task(task) if is_miniwob else orders.OrdersTask,
            "task_kwargs": {"base_url": miniwob.BASE_URL} if is_miniwob else {"task": task},
        }
        self.reset_s = 0.0
        # Where Playwright runs, Django would take the thread for an asynchronous one.
        self._thread = OwnThread("bare")
        self._env: Any = None

    def __enter__(self) -> Bare:
        self._thread.call(self._start, LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.call(self._stop, LIMIT_S)
        self._thread.stop(LIMIT_S)
        self._site.close()

    def step(self, action: str) -> None:
        self._thread.call(lambda: self._env.step(action), LIMIT_S)

    def _start(self) -> None:
        hosts = Hosts(local={self._host: self._site.address})
        start_playwright(BrowserSettings(), hosts, plain=True)
        # MiniWoB++ slows every call down, for people who look on; ours does not.
        self._env = BrowserEnv(**self._options, slow_mo=0, pre_observation_delay=SETTLE_S)
        started_at = time.perf_counter()
        self._env.reset(seed=1)
        self.reset_s = time.perf_counter() - started_at

    def _stop(self) -> None:
        self._env.close()
        stop_playwright()


def _miniwob_task(name: str) -> Any:
    return next(task for task in ALL_MINIWOB_TASKS if task.get_task_id() == name)
