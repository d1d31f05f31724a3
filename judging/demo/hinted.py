"""The demo's experiment of hints: an agent that believes what it is told, with hints and without.

The hints are those that were written from the study's runs. No model takes part: the agent reads
its tips by rule, so a hint that fits shows it the way, and one that does not leads it astray.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from django.db import transaction

from judging.demo import Entry
from judging.demo.lessons import MODEL
from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.registry import predefined_evaluators
from runs.launching.experiments.hint_plans import HintPlan, HintPool, plan_hints
from runs.launching.experiments.plans import Plan, read_seeds
from runs.models import Hint, HintChoice, HintSet, Run
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


COLUMNS = ("level", "relatedness", "method")
"""Of a set, as its runs tell them."""


class OtherHintsError(Exception):
    """The runs were recorded with other hints than those that are written here."""


def plan_of(runs: Sequence[tuple[Entry, Run]]) -> HintPlan:
    """What is launched to record the runs, once hints have been written."""
    hints = _written()
    plan = Plan(
        name=NAME,
        tasks=tuple(run.task for entry, run in runs if entry.teaches == TEACHING),
        agents=(Visitor().describe(),),
        seeds=read_seeds("1", 1),
    )
    return plan_hints(plan, HintPool(hints[0].job, hints, list(Level)), RELATEDNESSES)


def complete() -> None:
    """Store what the shipped runs say that they were told, and evaluate them.

    Raises:
        OtherHintsError: such hints were not written here.
    """
    shipped = Run.objects.filter(experiment__name=NAME).select_related("task")
    with transaction.atomic():
        _store_sets(shipped)
    evaluator = next(each for each in predefined_evaluators() if each.identity.name == EVALUATOR)
    evaluate_runs(shipped, evaluator, version_of(evaluator))


def _store_sets(shipped: Iterable[Run]) -> None:
    """As the runs say themselves, whose agents name the sets by their keys."""
    hints = {(str(hint.source_id), hint.level): hint for hint in _written()}
    choices: defaultdict[HintSet, list[HintChoice]] = defaultdict(list)
    for run in shipped:
        if not (said := run.record.get("extra", {}).get("hint")):
            continue
        hint = hints.get((said["source_run"], said["level"]))
        if hint is None or hint.text != said["text"]:
            raise OtherHintsError(f"run {run.pk} was told what was not written: record it anew")
        told, _is_new = HintSet.objects.get_or_create(
            key=said["set"],
            defaults={"job": hint.job} | {name: said[name] for name in COLUMNS},
        )
        choices[told].append(
            HintChoice(task=run.task, hint=hint, score=said["score"], n_tied=said["tied"])
        )
    for told, chosen in choices.items():
        if not told.choices.exists():
            for choice in chosen:
                choice.hint_set = told
            HintChoice.objects.bulk_create(chosen)


def _written() -> list[Hint]:
    hints = Hint.objects.filter(job__model=MODEL)
    return list(hints.select_related("job", "source__task__task_set"))
