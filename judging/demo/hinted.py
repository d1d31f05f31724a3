"""The demo's experiment of hints: an agent that believes what it is told, with hints and without.

The hints are those that were written from the study's runs. No model takes part: the agent reads
its tips by rule, so a hint that fits shows it the way, and one that does not leads it astray.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from django.db import transaction

from judging.demo import DemoError, Entry
from judging.demo.lessons import MODEL
from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.registry import predefined_evaluators
from runs.launching.experiments.hint_plans import HintPlan, HintPool, plan_hints, store_hint_set
from runs.launching.experiments.plans import Plan, read_seeds
from runs.models import Hint, Run
from runs.models.experiments import HINTS_KEY
from webagent.agents.errands.visitor import Visitor
from webagent.knowledge.entries import Level, Relatedness

HINTS_FILE = Path(__file__).parent / "hints.zip"

NAME = "Demo: what hints change"
DESCRIPTION = (
    "Demo data. A scripted visitor of shop, forum and map goes by the words of the goal, or by the"
    " hint that it is given, line by line: one from the same task, from a task of the same site, or"
    " from another site. No language model takes part; the figures say nothing of any."
)
TEACHING = "hints"
"""What the plan says of runs that hints are written from; their tasks are the experiment's."""
RELATEDNESSES = (
    Relatedness.SAME_TASK,
    Relatedness.SAME_SITE_HIGHEST,
    Relatedness.OTHER_SITE_LOWEST,
)
ARMS = 1 + len(Level) * len(RELATEDNESSES)
EVALUATOR = "webarena-strict"
"""Whose word is taken: on these tasks it is right, and needs no judge."""


def n_runs(entries: Iterable[Entry]) -> int:
    """One for each task with every hint, and one without."""
    return ARMS * sum(entry.teaches == TEACHING for entry in entries)


def plan_of(runs: Sequence[tuple[Entry, Run]]) -> HintPlan:
    """What is launched to record the runs, once hints have been written."""
    written = Hint.objects.filter(job__model=MODEL)
    hints = list(written.select_related("job", "source__task__task_set"))
    plan = Plan(
        name=NAME,
        tasks=tuple(run.task for entry, run in runs if entry.teaches == TEACHING),
        agents=(Visitor().describe(),),
        seeds=read_seeds("1", 1),
    )
    return plan_hints(plan, HintPool(hints[0].job, hints, list(Level)), RELATEDNESSES)


def complete(runs: Sequence[tuple[Entry, Run]]) -> None:
    """Store the sets of hints that the shipped runs were told, and evaluate these runs.

    Raises:
        DemoError: they were told others than those that are planned here.
    """
    shipped = Run.objects.filter(experiment__name=NAME).select_related("task", "agent")
    plan = plan_of(runs)
    told = {run.agent.config.get(HINTS_KEY) for run in shipped} - {None}
    if told != {picked.key for picked in plan.conditions}:
        raise DemoError("the shipped runs were told other hints: record them anew")
    with transaction.atomic():
        for picked in plan.conditions:
            store_hint_set(picked, plan.plan.tasks, plan.job)
    evaluator = next(each for each in predefined_evaluators() if each.identity.name == EVALUATOR)
    evaluate_runs(shipped, evaluator, version_of(evaluator))
