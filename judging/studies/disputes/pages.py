"""What the page of a dispute shows: its forms, and labels as A and B without their authors."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from django import forms
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.models import (
    Dispute,
    DisputeMessage,
    Guideline,
    Label,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
    Success,
)
from judging.models.labels import LabelQuerySet
from judging.studies.blinding import is_blinded_to
from judging.studies.disputes.services import is_adjudicator
from judging.studies.protocols import guideline_context, named_causes
from runs.models import Run, User
from runs.models.visibility import run_policy
from runs.viewer.timeline.timeline import timeline_context

MAX_TEXT = 5000
VERDICT_KEYS = {value: place for place, value in enumerate(Success.values, 1)}
"""The keys that choose verdicts, as on the page that labels."""


class MessageForm(forms.Form):
    """A contribution; annotators may add the verdict they now propose."""

    text = forms.CharField(
        label=gettext_lazy("Comment"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": gettext_lazy("Required.")},
    )
    proposal = forms.ChoiceField(
        label=gettext_lazy("The verdict you propose"),
        required=False,
        choices=[("", gettext_lazy("none")), *ReferenceVerdict.Verdict.choices],
    )


class DecisionForm(forms.Form):
    """The adjudicator's verdict and why."""

    verdict = forms.ChoiceField(
        label=gettext_lazy("reference verdict"),
        choices=ReferenceVerdict.Verdict.choices,
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose one.")},
    )
    rationale = forms.CharField(
        label=gettext_lazy("reason"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": gettext_lazy("Required.")},
    )


@dataclass(frozen=True, slots=True)
class Side:
    """One label as it is shown: under a letter, with its author only once all is decided.

    Attributes:
        name: of the author; empty while the dispute is open.
    """

    letter: str
    label: Label
    causes: Sequence[str]
    comments: Sequence[StepComment]
    is_own: bool
    name: str
    is_overruled: bool


@dataclass(frozen=True, slots=True)
class Contribution:
    """A message of the discussion, by a letter, the adjudicator, or a name once decided."""

    message: DisputeMessage
    author: str
    is_own: bool


def sides_of(dispute: Dispute, user: User, verdict: ReferenceVerdict | None) -> list[Side]:
    """The labels in an order that stays and reveals nothing."""
    item = dispute.item
    labels = list(
        Label.objects.independent()
        .filter(item=item)
        .select_related("annotator", "guideline")
        .prefetch_related("ticks__milestone")
        .order_by("pk")
    )
    random.Random(dispute.order_seed).shuffle(labels)  # noqa: S311 - stable is what it must be
    comments: dict[int, list[StepComment]] = {}
    for comment in StepComment.objects.filter(item=item, is_repeat=False):
        comments.setdefault(comment.author_id, []).append(comment)
    return [
        Side(
            letter=letter,
            label=label,
            causes=named_causes(item.study.taxonomy, label.causes),
            comments=comments.get(label.annotator_id, []),
            is_own=label.annotator_id == user.pk,
            name=str(label.annotator) if verdict else "",
            is_overruled=verdict is not None and _overrules(verdict, label),
        )
        for letter, label in zip(ascii_uppercase, labels, strict=False)
    ]


def _overrules(verdict: ReferenceVerdict, label: Label) -> bool:
    """Whether others decided against the label: who agreed in discussion gave it up themselves."""
    return verdict.origin != ReferenceVerdict.Origin.CONSENSUS and label.success != verdict.verdict


def contributions(dispute: Dispute, sides: Sequence[Side], user: User) -> list[Contribution]:
    """The discussion in order."""
    letters = {side.label.annotator_id: side.letter for side in sides}
    is_decided = any(side.name for side in sides)
    return [
        Contribution(
            message=message,
            author=str(message.author)
            if is_decided
            else letters.get(message.author_id) or _("adjudicator"),
            is_own=message.author_id == user.pk,
        )
        for message in dispute.messages.select_related("author")
    ]


def dispute_context(
    dispute: Dispute, user: User, *, sent: MessageForm | DecisionForm | None = None
) -> dict[str, Any]:
    """The timeline, both labels, the discussion, and what this person may do about it.

    Args:
        sent: a form with errors, to be shown again.
    """
    item = dispute.item
    run = Run.objects.visible_to(user, [item.run_id]).select_related("task__task_set").get()
    verdict = ReferenceVerdict.objects.filter(item=item).select_related("decided_by").first()
    sides = sides_of(dispute, user, verdict)
    can_act = verdict is None and item.study.is_open
    judges = can_act and is_adjudicator(item=item, user=user)
    is_labeller = any(side.is_own for side in sides)
    listed = Study.objects.listed_for(user).filter(pk=item.study_id)
    newest = Guideline.objects.filter(study__in=listed).order_by("-version").first()
    decision = (sent if isinstance(sent, DecisionForm) else DecisionForm()) if judges else None
    message = sent if isinstance(sent, MessageForm) else MessageForm()
    return {
        "dispute": dispute,
        "study": item.study,
        "run": run,
        "goal": run.goal or run.task.goal,
        "sides": sides,
        "verdict": verdict,
        "contributions": contributions(dispute, sides, user),
        "message_form": message if can_act and (judges or is_labeller) else None,
        "may_propose": is_labeller,
        "decision_form": decision,
        "verdict_options": [
            (option, VERDICT_KEYS[option.data["value"]]) for option in decision["verdict"]
        ]
        if decision
        else [],
        **guideline_context(newest),
        **timeline_context(run, user),
    }


def overruled_labels(user: User, items: QuerySet[Any, Any] | None = None) -> LabelQuerySet:
    """The person's labels that the reference verdict of their run contradicts, newest first.

    Only of runs to which no other study blinds them, and not where annotators agreed in discussion.

    Args:
        items: only labels of these are looked for, where they are given.
    """
    # First, since of each that is left the database asks the rest.
    contradicted = (
        Label.objects.independent()
        .filter(annotator=user, item__status=StudyItem.Status.SETTLED)
        .exclude(success=F("item__verdict__verdict"))
        .exclude(item__verdict__origin=ReferenceVerdict.Origin.CONSENSUS)
    )
    if items is not None:
        contradicted = contradicted.filter(item__in=items)
    runs = dict(contradicted.order_by().values_list("pk", "item__run"))
    seen = Run.objects.filter(
        run_policy().visible(user, set(runs.values())), pk=OuterRef("item__run")
    )
    return (
        Label.objects.filter(Exists(seen), pk__among=runs)
        .exclude(is_blinded_to("item__run", user))
        .select_related(
            "item__run__task", "item__study", "item__verdict__decided_by", "item__dispute"
        )
        .order_by("-item__verdict__decided_at")
    )
