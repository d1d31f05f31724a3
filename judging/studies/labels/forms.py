"""The label form with what was on screen, its draft, the reason for a skip, remarks on steps."""

import copy
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from itertools import groupby
from typing import Any, Self, TypeVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from judging.models import Assignment, Guideline, Success
from judging.studies.labels.services import Submission, draft_of, own_label
from judging.studies.labels.ticks import (
    NO_STEP,
    TickRow,
    clean_ticks,
    drafted_ticks,
    field_name,
    milestones_asked,
    refuse_unknown_steps,
    tick_fields_of,
)
from judging.studies.protocols import cause_choices
from runs.models import Step

Form = TypeVar("Form", bound=type[forms.Form])


def with_shared_fields(form: Form) -> Form:
    """Decorates a form that is made so often that copying its fields is what takes long.

    Django copies each field with its widget, words and checks, for a form may change them. One of
    this class has to copy a field itself before it does.
    """
    form.base_fields = _Shared(form.base_fields)
    return form


class _Shared(dict[str, forms.Field]):
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self)


MAX_TEXT = 5000
CONFIDENCE = [("1", _("a guess")), ("2", _("fairly sure")), ("3", _("sure"))]
NEEDS_REASON = {Success.UNSURE, Success.NOT_EXECUTABLE}
DRAFT_FIELDS = ("success", "confidence", "failure_step", "rationale")


@with_shared_fields
class LabelForm(forms.Form):
    """One run's label. Causes and the step of failure belong to a failure."""

    success = forms.ChoiceField(
        label=_("Did the agent do what the task asked?"),
        choices=Success.choices,
        widget=forms.RadioSelect(attrs={"form": "label-form"}),
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), _("Choose success, failure, unsure or not executable.")
        ),
    )
    causes = forms.MultipleChoiceField(
        label=_("Why it failed"), required=False, widget=forms.CheckboxSelectMultiple
    )
    failure_step = forms.IntegerField(
        label=_("Failed at step"),
        required=False,
        min_value=0,
        error_messages={"invalid": NO_STEP, "min_value": NO_STEP},
    )
    confidence = forms.TypedChoiceField(
        label=_("How sure are you?"),
        choices=CONFIDENCE,
        required=False,
        coerce=int,
        empty_value=None,
        widget=forms.RadioSelect,
    )
    rationale = forms.CharField(
        label=_("reason"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    assignment = forms.IntegerField(widget=forms.HiddenInput)
    key = forms.CharField(max_length=64, widget=forms.HiddenInput)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    guideline = forms.IntegerField(required=False, widget=forms.HiddenInput)
    seconds = forms.FloatField(required=False, widget=forms.HiddenInput)
    seen = forms.CharField(required=False, widget=forms.HiddenInput(attrs={"data-seen": True}))

    def __init__(self, data: QueryDict | None = None, *, for_: Assignment, key: str = "") -> None:
        self.for_assignment = for_
        self.milestones = milestones_asked(for_)
        super().__init__(data, initial=self._initial(for_, key) if data is None else None)
        self.fields.update(tick_fields_of(self.milestones))
        causes = copy.copy(self.fields["causes"])  # and its widget: both hold the choices
        assert isinstance(causes, forms.MultipleChoiceField)  # noqa: S101 - narrows the type
        causes.widget = copy.copy(causes.widget)
        causes.choices = cause_choices(for_.item.study.taxonomy)
        self.fields["causes"] = causes

    def _initial(self, assignment: Assignment, key: str) -> dict[str, Any]:
        # What is in work is not labelled, or it would not have been given to the person.
        is_change = assignment.state == Assignment.State.SUBMITTED
        label = own_label(assignment) if is_change else None
        filled = draft_of(label) if label and not assignment.draft else assignment.draft
        return {
            **filled,
            "assignment": assignment.pk,
            "key": key,
            "version": label.version if label else None,
            "guideline": self.newest.pk if self.newest else None,
        }

    @property
    def newest(self) -> Guideline | None:
        """The guidelines in force."""
        return self.for_assignment.item.study.newest_guideline

    def tick_rows(self) -> Iterator[TickRow]:
        """The fields of each milestone, for the template."""
        for milestone in self.milestones:
            name = field_name(milestone.pk)
            yield TickRow(milestone, self[name], self[f"{name}_step"], self[f"{name}_lost_step"])

    def clean_failure_step(self) -> int | None:
        step: int | None = self.cleaned_data["failure_step"]
        if step is not None and step not in self.steps:
            raise forms.ValidationError(NO_STEP)
        return step

    @cached_property
    def steps(self) -> frozenset[int]:
        """The run's steps, by number."""
        steps = Step.objects.filter(run=self.for_assignment.item.run_id)
        return frozenset(steps.values_list("index", flat=True))

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("success") in NEEDS_REASON and not data.get("rationale", "").strip():
            self.add_error("rationale", _("Required."))
        if data.get("success") == Success.FAILURE:
            self._ask_for_details(data)
        else:
            data["causes"], data["failure_step"] = [], None
        if data.get("seen"):
            self._read_seen(data)
        if self.milestones:
            refuse_unknown_steps(self, self.milestones, data, self.steps)
            data["ticks"] = clean_ticks(self, self.milestones, data)
        return data

    def _read_seen(self, data: dict[str, Any]) -> None:
        try:
            data["seen"] = read_seen(data["seen"], self.steps)
        except ValueError:
            # Not of the field, which is hidden.
            words = _("What was on screen cannot be read. Reload the page and submit again.")
            self.add_error(None, words)

    def _ask_for_details(self, data: dict[str, Any]) -> None:
        """Refuse a failure without its step, cause and reason where the study wants them."""
        study = self.for_assignment.item.study
        if not study.asks_failure_details:
            return
        if data.get("failure_step") is None and "failure_step" not in self.errors:
            self.add_error("failure_step", _("Give the step at which it went wrong."))
        if study.taxonomy and not data.get("causes"):
            self.add_error("causes", _("Choose at least one."))
        if not data.get("rationale", "").strip():
            self.add_error("rationale", _("Required."))

    def submission(self) -> Submission:
        """What the valid form says."""
        names = {each.name for each in fields(Submission)}
        said = {name: value for name, value in self.cleaned_data.items() if name in names}
        success, rationale = Success(said["success"]), said["rationale"].strip()
        return Submission(**said | {"success": success, "rationale": rationale})


def read_draft(data: QueryDict) -> dict[str, Any]:
    """What has been filled in so far, whatever it is, in bounded size."""
    draft: dict[str, Any] = {
        name: _storable(str(data[name]))[:MAX_TEXT] for name in DRAFT_FIELDS if data.get(name)
    }
    if (seen := data.get("seen", "")) and looks_seen(seen):
        draft["seen"] = seen
    causes = [_storable(cause)[:100] for cause in data.getlist("causes")[:50]]
    return draft | ({"causes": causes} if causes else {}) | drafted_ticks(data)


def _storable(text: str) -> str:
    """The text without NUL, which PostgreSQL keeps in no column; a label with one is refused."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def read_seconds(data: QueryDict) -> float | None:
    """Active seconds since the last save, or None where the page did not say."""
    try:
        return float(data.get("seconds", ""))
    except ValueError:
        return None


class SkipForm(forms.Form):
    """Why a run is skipped."""

    assignment = forms.IntegerField(widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("reason"),
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": _("Required.")},
    )


class CommentForm(forms.Form):
    """A remark on a step."""

    assignment = forms.IntegerField(widget=forms.HiddenInput)
    step_index = forms.IntegerField(label=_("Step"), min_value=0)
    text = forms.CharField(
        label=_("Comment"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": _("Required.")},
    )

    def __init__(self, *args: Any, of: Assignment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run_id = of.item.run_id

    def clean_step_index(self) -> int:
        step: int = self.cleaned_data["step_index"]
        if not Step.objects.filter(run=self.run_id, index=step).exists():
            raise forms.ValidationError(NO_STEP)
        return step


ANSWER, END, NOTHING = _WORDS = ("answer", "end", "nothing")
"""What of a run was on screen, in words such as `0-3 7 end answer`: steps by number, `end` where
the last is among them, `answer` where the final answer was in sight; `nothing` where none was;
empty where no page told."""
MAX_SEEN = 5000
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def looks_seen(text: str) -> bool:
    """Whether it is made of such words, whatever the steps of the run are."""
    words = text.split()
    return len(text) <= MAX_SEEN and all(word in _WORDS or _SPAN.fullmatch(word) for word in words)


def read_seen(text: str, steps: frozenset[int]) -> str:
    """The same words, with `end` where it belongs.

    Args:
        text: what the page told, steps in order.
        steps: the run's own, by number.

    Raises:
        ValueError: it is anything else, or names a step that the run does not have.
    """
    words = text.split()
    if not words:
        return ""
    if len(text) > MAX_SEEN:
        raise ValueError("too long")
    seen, before, ordered = set[int](), -1, sorted(steps)
    for word in words:
        if word in _WORDS:
            continue
        span = _SPAN.fullmatch(word)
        if span is None:
            raise ValueError(word)
        first, last = int(span[1]), int(span[2] or span[1])
        if first not in steps or last not in steps or not before < first <= last:
            raise ValueError(word)
        seen.update(ordered[bisect_left(ordered, first) : bisect_right(ordered, last)])
        before = last
    told = _spans(seen, steps)
    told += [END] if steps and max(steps) in seen else []
    told += [ANSWER] if ANSWER in words else []
    return " ".join(told) or NOTHING


def _spans(seen: set[int], steps: frozenset[int]) -> list[str]:
    """Steps that follow one another in the run, from the first to the last of each stretch."""
    spans = []
    for is_seen, stretch in groupby(sorted(steps), key=seen.__contains__):
        if is_seen:
            first, *others = stretch
            spans.append(f"{first}-{others[-1]}" if others else f"{first}")
    return spans
