"""The world of levers in the database: its model, its successful runs, and hints from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalogue.tasks.rows import store_task
from runs.knowledge.hints.writing import start_hint_writing
from runs.knowledge.learning import carry_out
from runs.launching.experiments.plans import Plan
from runs.launching.running import execute
from runs.models import Hint, LearningJob, Run, Task
from tests.judging.evaluating.asked_models import models_file
from tests.runs.factories import make_agent as stored_agent
from tests.runs.factories import make_run
from tests.webagent import lever_model, lever_suite
from tests.webagent.llm.stub import LLMStub, running_stub
from webagent.agents import registry as models
from webagent.agents.registry import make_agent
from webagent.knowledge.entries import Level
from webagent.trajectory.records import ActionRecord, AgentRecord, StepRecord, Target

MODEL = "stub-judge"
MAX_STEPS = 4


@contextmanager
def inhabited(folder: Path) -> Iterator[LLMStub]:
    """The world's tasks and its model are here meanwhile; nobody tells workers of anything."""
    lever_suite.register()
    with running_stub() as stub, pytest.MonkeyPatch.context() as patch:
        stub.reply = lever_model.reply
        file = models_file(folder, stub.openai_url, at_a_time=1)
        patch.setattr(settings.ENV, "MODELS_FILE", file)
        patch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)
        yield stub
        models._shared.client().close()


def base() -> AgentRecord:
    return make_agent("generic", {"model": MODEL, "max_steps": MAX_STEPS}).describe()


def tasks(*names: str) -> tuple[Task, ...]:
    """All tasks of the world, or those of these names."""
    wanted = [f"{lever_suite.PREFIX}.{name}" for name in names] or lever_suite.task_names()
    return tuple(store_task(lever_suite.task_record(name)) for name in wanted)


def plan(name: str, **more: object) -> Plan:
    values = {"tasks": tasks(), "agents": (base(),), "max_steps": MAX_STEPS} | more
    return Plan(name=name, **values)  # type: ignore[arg-type]


def successes() -> list[Run]:
    """One successful run of every task: a single click on the right lever."""
    return [
        make_run(
            task=task,
            agent=stored_agent("oracle", model=""),
            goal=task.goal,
            pictures=False,
            steps=[{"record": _click(right).to_json()}],
        )
        for task in tasks()
        for _site, _goal, right in [lever_suite.TASKS[task.external_id]]
    ]


def _click(label: str) -> StepRecord:
    target = Target(bid="21", role="button", text=label)
    action = ActionRecord(
        raw="click('21')", dialect="browsergym", name="click", args=("21",), target=target
    )
    return StepRecord(run_id="made", index=0, actions=(action,))


def carried_out(experiment: int) -> list[Run]:
    """Every run of the experiment, once all of them have ended."""
    runs = Run.objects.filter(experiment=experiment)
    for pk in list(
        runs.filter(status="queued").order_by("created_at", "pk").values_list("pk", flat=True)
    ):
        execute(pk)
    return list(runs.order_by("task", "agent", "trial"))


def hints_from(runs: list[Run], *levels: Level) -> LearningJob:
    """Hints of these levels, or of all, from these runs."""
    job = start_hint_writing(
        model=MODEL,
        run_ids=[run.pk for run in runs],
        levels=levels or tuple(Level),
        verdict="reward",
        verdict_name="imported reward",
        verdict_rule="Success is a reward above 0.",
    )
    carry_out(job.pk)
    return LearningJob.objects.get(pk=job.pk)


def written(job: LearningJob) -> list[Hint]:
    return list(Hint.objects.filter(job=job).select_related("source__task__task_set"))
