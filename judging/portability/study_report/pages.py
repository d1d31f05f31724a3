"""The pages of a report, and what it tells of whom: the overview, and one page for each run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, product
from string import ascii_uppercase
from typing import Any

from django.utils.translation import gettext as _

from judging.analysis.audits.explanations import Explanation
from judging.analysis.audits.figures import BY_KEY, QUESTIONS, Measured, draw, figures_of
from judging.analysis.audits.judgements import cell_of
from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.people.agreement import Agreement, OnQuestion, Pair, agreement_of
from judging.analysis.audits.people.reports import agreement_report
from judging.analysis.audits.verdict_sources import stubs_of
from judging.analysis.causes.pages import CauseBar, causes_picture
from judging.analysis.causes.tags import CauseAudit, causes_of
from judging.analysis.reports.registry import html_tables
from judging.models import (
    Cause,
    CauseTag,
    DisputeMessage,
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    Repair,
    StepComment,
    Study,
    StudyItem,
)
from judging.studies.protocols import cause_choices, guideline_context, named_causes
from runs.models import Step, User


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What may be left out."""

    names: bool = True
    """Names of people; without them they are A, B, C."""
    thoughts: bool = True
    """What the agents thought."""
    language: str = "en"


class People:
    """How the people of a study are called: by name, or by a letter that stays the same in it."""

    def __init__(self, study: Study, *, named: bool) -> None:
        usernames = User.objects.filter(
            pk__in=study.members.order_by().values("user")
        ) | User.objects.filter(labels__item__study=study)
        known = sorted(set(usernames.values_list("username", flat=True)))
        self._names = {
            name: name if named else _("person %(letter)s") % {"letter": letter}
            for name, letter in zip(known, _letters(), strict=False)
        }
        self._named = named

    def __call__(self, username: str) -> str:
        """The name to print; of somebody from outside the study no letter is known."""
        if username in self._names or not username:
            return self._names.get(username, "")
        return username if self._named else _("somebody else")


def _letters() -> Iterable[str]:
    """A, B, …, Z, AA, AB, …"""
    for length in count(1):
        yield from map("".join, product(ascii_uppercase, repeat=length))


FOLDER = "report"


INDEX = "index.html"


def run_page(number: int) -> str:
    return f"runs/{number:04d}.html"


def picture(sha256: str) -> str:
    return f"pictures/{sha256[:20]}.webp"


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
            "causes": named_causes(item.study.taxonomy, label.causes),
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
    cells = [cell_of(reference, each.verdict) for each in said]
    return [
        {
            "evaluation": each,
            "cell": place,
            "explanation": Explanation(each),
            "tag": tags.get((each.evaluator.name, place)),
        }
        for each, place in zip(said, cells, strict=True)
    ]


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


def overview(audit: Audit, people: People) -> dict[str, Any]:
    """What the page shows; figures come from where the site's own pages have them."""
    study, pages = audit.study, pages_of(audit)
    agreement = named(agreement_of(study), people)
    by_question = agreement_report(agreement)
    return {
        "study": study,
        "audit": audit,
        **guideline_context(study.newest_guideline),
        "causes": [name for _key, name in cause_choices(study.taxonomy)],
        "members": [
            (people(member.user.username), member.get_part_display())
            for member in study.members.select_related("user").order_by("part", "user__username")
        ],
        "stubs": stubs_of(study),
        "n_runs": audit.population.groups.total(),
        "agreement": agreement,
        "tables": html_tables(by_question),
        "notes": by_question.notes,
        "evaluators": [(pages[each.evaluator.pk], each) for each in audit.speaking],
        "figures": [
            (kind, [(found, _cells(pages, found)) for found in row])
            for kind, row in figures_of(audit)
        ],
        "shares_tasks": audit.shares_tasks,
        "corrected": audit.corrected,
        "pictures": [
            (BY_KEY[key], question, draw(audit, key, partial(_cells, pages)))
            for key, question in QUESTIONS.items()
            if audit.speaking
        ],
        "explained": _explained(causes_of(audit), pages),
    }


def pages_of(audit: Audit) -> dict[int, str]:
    """The page of each evaluator that has a verdict, by its key."""
    return {
        each.evaluator.pk: f"evaluators/{number:02d}.html"
        for number, each in enumerate(audit.speaking, start=1)
    }


def named(agreement: Agreement, people: People) -> Agreement:
    """The same with everybody under the name that the report gives them."""

    def pair(found: Pair) -> Pair:
        shown = copy(found)
        shown.first, shown.second = people(found.first), people(found.second)
        return shown

    def question(found: OnQuestion) -> OnQuestion:
        shown = copy(found)
        shown.annotators = [people(name) for name in found.annotators]
        shown.pairs = [pair(each) for each in found.pairs]
        shown.repeats = [pair(each) for each in found.repeats]
        return shown

    return replace(agreement, questions=[question(each) for each in agreement.questions])


def _cells(pages: Mapping[int, str], found: Measured) -> str:
    """Where the runs behind a figure are listed."""
    return f"{pages[found.audit.evaluator.pk]}#{found.measure.cells.split('-')[0]}"


def _explained(found: Iterable[CauseAudit], pages: Mapping[int, str]) -> list[dict[str, Any]]:
    """Why each evaluator that errs was wrong; their pictures have one scale."""
    erring = [each for each in found if each.errors.total]
    most = max((n.total for each in erring for n in each.by_cause.values()), default=0)
    return [_causes(each, pages[each.audit.evaluator.pk], most) for each in erring]


def _causes(found: CauseAudit, page: str, most: int) -> dict[str, Any]:
    """Why one evaluator was wrong, drawn and in numbers."""
    causes = [(str(Cause(cause).label), n.fn, n.fp) for cause, n in found.by_cause.items()]
    bars = [
        CauseBar(name=name, fn=fn, fp=fp, fn_url=f"{page}#fn", fp_url=f"{page}#fp")
        for name, fn, fp in causes
    ]
    return {
        "page": page,
        "found": found,
        "drawn": causes_picture(bars, label=found.audit.evaluator.shown, most=most) if bars else "",
        "causes": causes,
        "repairs": [
            (str(Repair(repair).label), n.fn, n.fp)
            for repair, n in found.by_repair.items()
            if n.total
        ],
    }
