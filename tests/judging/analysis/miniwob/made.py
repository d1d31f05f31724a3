"""A small MiniWoB++ experiment whose figures can be counted by hand."""

from typing import Any

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import whole_scope
from runs.models import AgentConfiguration, Experiment, Run, RunStatus, Task, TaskSet
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent

NAMES = ("click-test", "click-tab", "click-tab-2", "use-slider")


def task(name: str) -> Task:
    suite, _ = TaskSet.objects.get_or_create(name="miniwob", version="1")
    return Task.objects.get_or_create(
        task_set=suite, external_id=f"miniwob.{name}", defaults={"goal": "Click."}
    )[0]


def suite(name: str = "Suite") -> tuple[Experiment, AgentConfiguration]:
    """Rewards: click-test 1, 1, 1, 0; click-tab 1, 0.5, 0, -1; click-tab-2 1, 0, none (no
    decision), error of the site; use-slider 1."""
    of, agent = made.experiment(name), make_agent("screen-scripted", model="")
    lost = {"outcome": Run.Outcome.ERROR, "status": RunStatus.FAILED}
    rows: list[tuple[str, float | None, dict[str, Any]]] = [
        *[("click-test", reward, {"n_steps": 1}) for reward in (1.0, 1.0, 1.0, 0.0)],
        *[("click-tab", r, {"n_steps": n}) for r, n in ((1.0, 2), (0.5, 4), (0.0, 9), (-1.0, 9))],
        ("click-tab-2", 1.0, {"n_steps": 3}),
        ("click-tab-2", 0.0, {"n_steps": 10}),
        ("click-tab-2", None, {**lost, "error_origin": "agent", "n_steps": 2}),
        ("click-tab-2", None, {**lost, "error_origin": "environment"}),
        ("use-slider", 1.0, {"n_steps": 1}),
    ]
    made.store(
        made.run_row(of, task(name), agent, reward, seed=n, trial=n + 1, **more)
        for n, (name, reward, more) in enumerate(rows)
    )
    return of, agent


def facts(of: Experiment) -> Facts:
    return Facts(whole_scope(of))
