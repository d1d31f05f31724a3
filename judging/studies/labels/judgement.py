"""What a person says of a run: the judgement, with milestones ticked in their three spellings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeInt, TypeAdapter, ValidationError

from judging.models import (
    MilestoneTick,
    Success,
)
from webagent.milestones.findings import Finding

REACHED, NOT_REACHED = "yes", "no"


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


@dataclass(frozen=True, slots=True)
class Tick:
    """What a person says of one milestone, named by its key; steps by their indices."""

    milestone: int
    achieved: bool
    step: int | None = None
    lost_step: int | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person says of a run."""

    success: Success
    confidence: int | None = None
    causes: list[str] = field(default_factory=list)
    failure_step: int | None = None
    rationale: str = ""
    ticks: tuple[Tick, ...] = ()

    @property
    def columns(self) -> dict[str, Any]:
        """What stands in the label's own row; the ticks have theirs."""
        return {
            "success": self.success,
            "confidence": self.confidence,
            "causes": self.causes,
            "failure_step": self.failure_step,
            "rationale": self.rationale,
        }


@dataclass(frozen=True, slots=True)
class Submission:
    """A judgement with how it came about.

    Attributes:
        key: made once per form shown; the same key twice is one submission.
        version: of the person's label that the form changes; None for a first label.
        seconds: active time since the last save; None where the page could not measure it.
        guideline: key of the version that was on the page; the newest counts where it is none.
    """

    judgement: Judgement
    key: str
    version: int | None = None
    seconds: float | None = None
    guideline: int | None = None
