"""What the page of a dispute shows: its forms, and labels as A and B without their authors."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from django import forms
from django.db.models import Exists, F, OuterRef, Q, QuerySet
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
    StudyMember,
    Success,
)
from judging.models.labels import DisputeQuerySet, LabelQuerySet
from judging.studies.access import AUDIT
from judging.studies.blinding import disputes_open_to, is_blinded_to
from judging.studies.disputes.services import is_adjudicator
from judging.studies.protocols import guideline_context, named_causes
from runs.models import Run, User
from runs.models.visibility import run_policy
from runs.viewer.timeline.timeline import timeline_context

MAX_TEXT = 5000
VERDICT_KEYS = {value: place for place, value in enumerate(Success.values, 1)}
"""The keys that choose verdicts, as on the page that labels."""
LOOKED_THROUGH = 10
"""For each decided dispute that is listed, so many of the latest are looked through."""


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


Status = StudyItem.Status


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


def own_disputes(user: User) -> DisputeQuerySet:
    """Disputes over the person's own labels, or in studies that they adjudicate."""
    return disputes_open_to(user).filter(item__in=_own_items(user))


def _own_items(user: User) -> QuerySet[Any, Any]:
    labelled = Label.objects.independent().filter(annotator=user)
    judged = StudyMember.objects.filter(user=user, part=StudyMember.Part.ADJUDICATOR, left_at=None)
    in_judged = Dispute.objects.filter(item__study__in=judged.values("study"))
    # A list of the person's own, and no choice between two: that would be asked of every dispute.
    return labelled.order_by().values("item").union(in_judged.order_by().values("item"), all=True)


def waiting_disputes(
    user: User, most: int, studies: Collection[int] = (), text: str = ""
) -> DisputeQuerySet:
    """Disputes that wait and that the person may open, the oldest first.

    Args:
        most: so many of the oldest are looked through.
        studies: only of these, where there are any.
        text: only those whose goal holds it.
    """
    waiting = Dispute.objects.waiting()
    if studies:
        waiting = waiting.filter(item__study__in=studies)
    if user.has_perm(AUDIT):
        # As a list, found by an index: from the items SQLite would begin with those of all studies.
        waiting = waiting.filter(item__study__in=Study.objects.filter(is_open__in=[True]))
    else:
        waiting = waiting.filter(item__in=_own_items(user))
    keys = list(waiting.values_list("pk", flat=True)[:most])
    return disputes_open_to(user).filter(_holds(text), pk__among=keys).order_by("opened_at")


def decided_disputes(
    user: User, most: int, studies: Collection[int] = (), text: str = ""
) -> DisputeQuerySet:
    """The latest decided ones that the person may open, at most so many.

    Args:
        studies: only of these, where there are any.
        text: only those whose goal holds it.
    """
    looked_through = LOOKED_THROUGH * most
    if not user.has_perm(AUDIT):
        own = Dispute.objects.decided().filter(item__in=_own_items(user))
        if studies:
            own = own.filter(item__study__in=studies)
        keys = list(own.values_list("pk", flat=True)[:looked_through])
        opened = disputes_open_to(user).filter(_holds(text), pk__among=keys).decided()
        latest_own = list(opened.values_list("pk", flat=True)[:most])
        return Dispute.objects.filter(pk__among=latest_own).decided()
    # Begins with the latest verdicts and asks of each: sorting disputes would read them all.
    of_verdict = disputes_open_to(user).filter(item=OuterRef("item"), item__status=Status.SETTLED)
    latest = ReferenceVerdict.objects.filter(Exists(of_verdict)).order_by("-decided_at", "-pk")
    asked = latest.values_list("item", "item__study")
    asked = asked[: looked_through if studies or text else most]
    items = [item for item, study in asked if not studies or study in studies]
    order = ("-item__verdict__decided_at", "-item__verdict")
    if text:
        found = Dispute.objects.filter(_holds(text), item__among=items).order_by(*order)
        items = list(found.values_list("item", flat=True)[:most])
    return Dispute.objects.filter(item__among=items[:most]).order_by(*order)


def _holds(text: str) -> Q:
    """Whether what a dispute is listed by holds the text; without a text, all do."""
    if not text:
        return Q()
    return (
        Q(item__run__goal__icontains=text)
        | Q(item__run__goal="", item__run__task__goal__icontains=text)
        | Q(
            item__run__goal="",
            item__run__task__goal="",
            item__run__task__external_id__icontains=text,
        )
    )


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
