"""The fields of a label form that ask for the milestones of the run's task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.models import Assignment, Success
from judging.studies.labels.judgement import NOT_REACHED, REACHED, Tick, field_name
from runs.models import Milestone

ASKED_FOR = (Success.SUCCESS, Success.FAILURE)
"""Verdicts with which every milestone is to be answered; with the others it may be left open."""
ANSWERS = [(REACHED, gettext_lazy("reached")), (NOT_REACHED, gettext_lazy("not reached"))]
_FIELD = re.compile(r"milestone_\d{1,18}(_step|_lost_step)?")
MAX_DRAFTED = 300


class TickRow(NamedTuple):
    """One milestone as the form shows it."""

    milestone: Milestone
    answer: forms.BoundField
    step: forms.BoundField
    lost_step: forms.BoundField


def milestones_asked(assignment: Assignment) -> Sequence[Milestone]:
    """The milestones that the person is asked for; none where the study does not ask."""
    if not assignment.item.study.asks_milestones:
        return []
    return list(assignment.item.run.task.milestones.in_force())


def tick_fields_of(milestones: Sequence[Milestone]) -> dict[str, forms.Field]:
    """The form's fields, by name."""
    fields: dict[str, forms.Field] = {}
    for milestone in milestones:
        name = field_name(milestone.pk)
        fields[name] = forms.ChoiceField(
            label=milestone.name, choices=ANSWERS, required=False, widget=forms.RadioSelect
        )
        fields[f"{name}_step"] = _step_field(_("at step"), "step")
        fields[f"{name}_lost_step"] = _step_field(_("lost at"), "lost_step")
    return fields


def tick_rows(form: forms.Form, milestones: Sequence[Milestone]) -> Iterator[TickRow]:
    """The bound fields, by milestone."""
    for milestone in milestones:
        name = field_name(milestone.pk)
        yield TickRow(milestone, form[name], form[f"{name}_step"], form[f"{name}_lost_step"])


def clean_ticks(
    form: forms.Form, milestones: Sequence[Milestone], cleaned: Mapping[str, Any]
) -> tuple[Tick, ...]:
    """What was ticked, with errors added to the form at the field that is wrong."""
    if not milestones:
        return ()
    ticks = []
    for milestone in milestones:
        name = field_name(milestone.pk)
        answer = cleaned.get(name)
        if not answer:
            if cleaned.get("success") in ASKED_FOR and name not in form.errors:
                form.add_error(name, _("Answer whether it was reached."))
            continue
        if answer == NOT_REACHED:
            ticks.append(Tick(milestone.pk, achieved=False))
            continue
        step, lost = cleaned.get(f"{name}_step"), cleaned.get(f"{name}_lost_step")
        if step is None and f"{name}_step" not in form.errors:
            form.add_error(f"{name}_step", _("At which step?"))
        elif step is not None and lost is not None and lost <= step:
            form.add_error(f"{name}_lost_step", _("It can only be lost after it was reached."))
        ticks.append(Tick(milestone.pk, achieved=True, step=step, lost_step=lost))
    return tuple(ticks)


def refuse_unknown_steps(
    form: forms.Form, milestones: Sequence[Milestone], cleaned: dict[str, Any], known: set[int]
) -> None:
    """Add an error wherever a step is named that the run does not have."""
    for milestone in milestones:
        for part in ("step", "lost_step"):
            name = field_name(milestone.pk, part)
            if cleaned.get(name) is not None and cleaned[name] not in known:
                form.add_error(name, _("This run has no such step."))


def drafted_ticks(data: QueryDict) -> dict[str, str]:
    """What has been ticked so far, whatever it is, in bounded size."""
    names = [name for name in data if _FIELD.fullmatch(name)][:MAX_DRAFTED]
    # Without NUL, which PostgreSQL keeps in no column.
    return {name: str(data[name])[:10].replace("\0", "") for name in names if data[name]}


def _step_field(label: str, part: str) -> forms.IntegerField:
    words = _("Give the number of a step.")
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=0,
        widget=forms.NumberInput(attrs={"data-part": part}),
        error_messages={"invalid": words, "min_value": words},
    )
