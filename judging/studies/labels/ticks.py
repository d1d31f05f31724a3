"""Milestones ticked in a label: as rows, form fields and records."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from judging.models import Assignment, Label, MilestoneTick, Success
from runs.models import Milestone
from webagent.milestones.findings import Finding

REACHED, NOT_REACHED = "yes", "no"
NO_STEP = gettext_lazy("This run has no such step.")


class _Written(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    name: str
    achieved: bool = True
    step: NonNegativeInt | None = None
    lost_step: NonNegativeInt | None = None


_ITEMS: TypeAdapter[list[str | _Written]] = TypeAdapter(list[str | _Written])


def field_name(milestone_id: int, part: str = "") -> str:
    """The form's field of a milestone: the answer, or its `step` or `lost_step`."""
    return f"milestone_{milestone_id}" + (f"_{part}" if part else "")


def tick_fields(ticks: Iterable[MilestoneTick]) -> dict[str, str | int]:
    """The ticks as the form's fields hold them."""
    fields: dict[str, str | int] = {}
    for tick in ticks:
        fields[field_name(tick.milestone_id)] = REACHED if tick.achieved else NOT_REACHED
        for part, step in (("step", tick.step), ("lost_step", tick.lost_step)):
            if step is not None:
                fields[field_name(tick.milestone_id, part)] = step
    return fields


def written_tick(tick: MilestoneTick) -> dict[str, str | bool | int]:
    """The tick as a label's record holds it, by the milestone's name."""
    steps = {"step": tick.step, "lost_step": tick.lost_step}
    known = {name: step for name, step in steps.items() if step is not None}
    return {"name": tick.milestone.name, "achieved": tick.achieved, **known}


def read_ticks(record: object) -> dict[str, MilestoneTick]:
    """Ticks by the name of their milestone, without label and milestone yet.

    Names alone are read as reached at an unknown step; what is no list of ticks says nothing.
    """
    try:
        items = _ITEMS.validate_python(record)
    except ValidationError:
        return {}
    read = [_Written(name=item) if isinstance(item, str) else item for item in items]
    return {
        one.name: MilestoneTick(
            achieved=one.achieved,
            step=one.step if one.achieved else None,
            lost_step=one.lost_step if one.achieved else None,
        )
        for one in read
    }


def ticked_finding(tick: MilestoneTick, n_steps: int) -> Finding:
    """What the person found, of a run of so many steps.

    A milestone reached at an unknown step counts from the last one: it was reached by then.
    """
    name, last = tick.milestone.name, n_steps - 1
    if not tick.achieved or last < 0:
        return Finding(name=name)
    reached = last if tick.step is None else min(tick.step, last)
    lost = tick.lost_step
    return Finding(
        name=name,
        achieved_at=reached,
        lost_at=lost if lost is not None and reached < lost <= last else None,
        evidence_step=reached,
    )


class Tick(NamedTuple):
    """What a person says of one milestone, named by its key; steps by their indices."""

    milestone: int
    achieved: bool
    step: int | None = None
    lost_step: int | None = None


def store_ticks(label: Label, ticks: Iterable[Tick]) -> None:
    MilestoneTick.objects.bulk_create(
        MilestoneTick(
            label=label,
            milestone_id=tick.milestone,
            achieved=tick.achieved,
            step=tick.step,
            lost_step=tick.lost_step,
        )
        for tick in ticks
    )


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
        fields[f"{name}_step"] = _step_field(_("Step"), "step")
        fields[f"{name}_lost_step"] = _step_field(_("lost at"), "lost_step")
    return fields


def clean_ticks(
    form: forms.Form, milestones: Sequence[Milestone], cleaned: Mapping[str, Any]
) -> tuple[Tick, ...]:
    """What was ticked, with errors added to the form at the field that is wrong."""
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
    form: forms.Form, milestones: Sequence[Milestone], cleaned: dict[str, Any], known: Set[int]
) -> None:
    """Add an error wherever a step is named that the run does not have."""
    for milestone in milestones:
        for part in ("step", "lost_step"):
            name = field_name(milestone.pk, part)
            if cleaned.get(name) is not None and cleaned[name] not in known:
                form.add_error(name, NO_STEP)


def drafted_ticks(data: QueryDict) -> dict[str, str]:
    """What has been ticked so far, whatever it is, in bounded size."""
    names = [name for name in data if _FIELD.fullmatch(name)][:MAX_DRAFTED]
    # Without NUL, which PostgreSQL keeps in no column.
    return {name: str(data[name])[:10].replace("\0", "") for name in names if data[name]}


def _step_field(label: str, part: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=0,
        widget=forms.NumberInput(attrs={"data-part": part}),
        error_messages={"invalid": NO_STEP, "min_value": NO_STEP},
    )
