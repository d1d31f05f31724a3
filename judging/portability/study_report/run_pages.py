"""The page of one run: what was done, and what people and evaluators said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from judging.analysis.audits.cells import shown
from judging.analysis.audits.explanations import Explanation, explain
from judging.analysis.audits.matrices import PASSED_BY_VERDICT
from judging.analysis.audits.population import FAILURE, SUCCESS
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelShown:
    """One label, under the name that the report gives its annotator."""

    by: str
    label: Label
    causes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationShown:
    """One evaluator's verdict, its cell, and how its error is tagged."""

    evaluation: Evaluation
    cell: str
    explanation: Explanation
    tag: CauseTag | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """One step; `thumbnail` is the hash of its picture, empty where there is none."""

    step: Step
    thumbnail: str
    picture: str
    width: int | None
    height: int | None
    thought: str
    action: str
    error: str
    comments: Sequence[tuple[str, str]]


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


def _labels(item: StudyItem, people: People) -> list[LabelShown]:
    names = dict(cause_choices(item.study.taxonomy))
    labels = (
        Label.objects.independent()
        .filter(item=item)
        .select_related("annotator", "guideline")
        .prefetch_related("ticks__milestone")
        .order_by("submitted_at", "pk")
    )
    return [
        LabelShown(
            by=people(label.annotator.username),
            label=label,
            causes=[str(names.get(cause, cause)) for cause in label.causes],
        )
        for label in labels
    ]


def _messages(item: StudyItem, people: People) -> list[tuple[str, DisputeMessage]]:
    messages = DisputeMessage.objects.filter(dispute__item=item).select_related("author")
    return [(people(message.author.username), message) for message in messages]


def _evaluations(item: StudyItem, reference: str) -> list[EvaluationShown]:
    said = (
        Evaluation.objects.filter(run=item.run_id, is_current=True)
        .exclude(evaluator__kind=EvaluatorVersion.Kind.MODES)
        .select_related("evaluator")
        .order_by("evaluator__name", "evaluator__version", "evaluator__config_hash")
    )
    tags = {
        (tag.evaluator_name, tag.error): tag
        for tag in CauseTag.objects.filter(item=item, is_current=True).exclude(repair="")
    }
    return [_evaluation(each, reference, tags) for each in said]


def _evaluation(
    each: Evaluation, reference: str, tags: Mapping[tuple[str, str], CauseTag]
) -> EvaluationShown:
    place = ""
    if reference in (SUCCESS, FAILURE):
        place = shown(cell(reference == SUCCESS, PASSED_BY_VERDICT.get(each.verdict)))
    return EvaluationShown(
        evaluation=each,
        cell=place,
        explanation=explain(each),
        tag=tags.get((each.evaluator.name, place)),
    )


def _steps(
    item: StudyItem, choices: Choices, people: People, *, tells_labels: bool
) -> list[StepShown]:
    comments: dict[int, list[tuple[str, str]]] = defaultdict(list)
    if tells_labels:
        remarks = StepComment.objects.filter(item=item, is_repeat=False)
        for remark in remarks.select_related("author"):
            comments[remark.step_index].append((people(remark.author.username), remark.text))
    steps = item.run.steps.select_related("screenshot__thumbnail").defer("record")
    return [_step(step, choices, comments[step.index]) for step in steps.order_by("index")]


def _step(step: Step, choices: Choices, comments: Sequence[tuple[str, str]]) -> StepShown:
    thumbnail = step.screenshot.thumbnail if step.screenshot else None
    return StepShown(
        step=step,
        thumbnail=thumbnail.pk if thumbnail else "",
        picture=picture(thumbnail.pk) if thumbnail else "",
        width=thumbnail.width if thumbnail else None,
        height=thumbnail.height if thumbnail else None,
        thought=_cut(step.thought) if choices.thoughts else "",
        action=_cut(step.action),
        error=_cut(step.error),
        comments=comments,
    )


def _cut(text: str) -> str:
    if len(text) <= TEXT_CHARS:
        return text
    left_out = len(text) - TEXT_CHARS
    return f"{text[:TEXT_CHARS]}… " + _("(%(n)d more characters)") % {"n": left_out}
