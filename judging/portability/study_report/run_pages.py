"""The page of one run: what was done, and what people and evaluators said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from judging.analysis.audits.explanations import explain
from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import FAILURE, SUCCESS, shown
from judging.models import (
    CauseTag,
    DisputeMessage,
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    StepComment,
    StudyItem,
)
from judging.portability.study_report.choices import Choices, People, picture
from judging.statistics.confusion import cell
from judging.studies.protocols import cause_choices
from runs.models import Step

TEXT_CHARS = 6000
"""Of a thought, an action or an error; what is longer is cut, and says so."""


def run_page_of(
    item: StudyItem, *, choices: Choices, people: People, tells_labels: bool
) -> dict[str, Any]:
    """What the page shows of an item read with its run, task, agent and verdict.

    Args:
        tells_labels: whether the labels of the run are open to whoever asked for the report.
    """
    run = item.run
    reference: ReferenceVerdict | None = getattr(item, "verdict", None)
    labels = _labels(item, people) if tells_labels else []
    return {
        "item": item,
        "run": run,
        "reference": reference,
        "decided_by": people(reference.decided_by.username)
        if reference and reference.decided_by
        else "",
        "labels": labels,
        "messages": _messages(item, people) if tells_labels else [],
        "evaluations": _evaluations(item, reference.verdict if reference else ""),
        "steps": _steps(item, choices, people, tells_labels=tells_labels),
        "thoughts": choices.thoughts,
    }


def _labels(item: StudyItem, people: People) -> list[dict[str, Any]]:
    """Each label with its annotator's name and its causes in words."""
    names = dict(cause_choices(item.study.taxonomy))
    labels = (
        Label.objects.independent()
        .filter(item=item)
        .select_related("annotator", "guideline")
        .prefetch_related("ticks__milestone")
        .order_by("submitted_at", "pk")
    )
    return [
        {
            "by": people(label.annotator.username),
            "label": label,
            "causes": [str(names.get(cause, cause)) for cause in label.causes],
        }
        for label in labels
    ]


def _messages(item: StudyItem, people: People) -> list[tuple[str, DisputeMessage]]:
    messages = DisputeMessage.objects.filter(dispute__item=item).select_related("author")
    return [(people(message.author.username), message) for message in messages]


def _evaluations(item: StudyItem, reference: str) -> list[dict[str, Any]]:
    """Each evaluator's verdict, its cell, and how its error is tagged."""
    said = (
        Evaluation.objects.filter(run=item.run_id, is_current=True)
        .exclude(evaluator__kind=EvaluatorVersion.Kind.MODES)
        .select_related("evaluator")
        .order_by("evaluator__name", "evaluator__version", "evaluator__config_hash")
    )
    current = CauseTag.objects.filter(item=item, is_current=True).exclude(repair="")
    tags = {(tag.evaluator_name, tag.error): tag for tag in current}
    cells = [_cell(each.verdict, reference) for each in said]
    return [
        {
            "evaluation": each,
            "cell": place,
            "explanation": explain(each),
            "tag": tags.get((each.evaluator.name, place)),
        }
        for each, place in zip(said, cells, strict=True)
    ]


def _cell(verdict: str, reference: str) -> str:
    if reference not in (SUCCESS, FAILURE):
        return ""
    return shown(cell(reference == SUCCESS, PASSED_BY_VERDICT.get(verdict)))


def _steps(
    item: StudyItem, choices: Choices, people: People, *, tells_labels: bool
) -> list[dict[str, Any]]:
    comments: dict[int, list[tuple[str, str]]] = defaultdict(list)
    if tells_labels:
        remarks = StepComment.objects.filter(item=item, is_repeat=False)
        for remark in remarks.select_related("author"):
            comments[remark.step_index].append((people(remark.author.username), remark.text))
    steps = item.run.steps.select_related("screenshot__thumbnail").defer("record")
    return [_step(step, choices, comments[step.index]) for step in steps.order_by("index")]


def _step(step: Step, choices: Choices, comments: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """One step; `thumbnail` is its picture as a blob, None where there is none."""
    thumbnail = step.screenshot.thumbnail if step.screenshot else None
    return {
        "step": step,
        "thumbnail": thumbnail,
        "picture": picture(thumbnail.pk) if thumbnail else "",
        "thought": _cut(step.thought) if choices.thoughts else "",
        "action": _cut(step.action),
        "error": _cut(step.error),
        "comments": comments,
    }


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARS:
        return text
    left_out = len(text) - TEXT_CHARS
    return f"{text[:TEXT_CHARS]}… " + _("(%(n)d more characters)") % {"n": left_out}
