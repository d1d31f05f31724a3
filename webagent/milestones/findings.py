"""Milestones of a task, what was found of each by mechanical checks, and the progress made."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from webagent.milestones.checks import Check, StepView
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.records import BlobRecord, Observation, StepRecord
from webagent.trajectory.values import mapping

MAX_NAME = 200
MAX_WEIGHT = 1_000_000
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME)]


class Rule(BaseModel):
    """When a milestone is reached, and when it is lost again.

    Without `lost_when` an address, a text or an action counts for good once it was there, and so
    does an element that was present. An element's state is lost when the element is seen in
    another one, and a report when it is taken back.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reached_when: Check
    lost_when: Check | None = None


class Definition(BaseModel):
    """One milestone: what it is called, what it weighs, and how it can be told, if at all.

    Attributes:
        name: a statement that is true once it is reached; people and judges read nothing else.
        is_ordered: counts only once all ordered milestones before it were reached.
        rule: None where the steps alone do not tell; then people or a judge have to say.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    is_ordered: bool = False
    rule: Rule | None = None


def weights_of(milestones: Sequence[Definition]) -> dict[str, float]:
    return {milestone.name: milestone.weight for milestone in milestones}


def digest_of(milestones: Sequence[Definition]) -> str:
    """A hash that changes with every change that could make a difference to a verdict."""
    content = [milestone.model_dump(mode="json") for milestone in milestones]
    return json_digest({"milestones": content})


OUT_OF_ORDER = "reached before a milestone that has to come first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a source says of one milestone. Steps are indices into the run's steps.

    Attributes:
        achieved_at: the first step after whose action it held; None if it was never reached.
        lost_at: the first step behind it after whose action it did not; None if it was kept.
        evidence_step: the step to look at, such as the next one, whose page shows it.
        regained: later spans in which it held again, each with the step that ended it, or None.
    """

    name: str
    achieved_at: int | None = None
    lost_at: int | None = None
    rationale: str = ""
    evidence_step: int | None = None
    regained: tuple[tuple[int, int | None], ...] = ()

    def __post_init__(self) -> None:
        if self.achieved_at is None and (self.lost_at is not None or self.regained):
            raise ValueError(f"{self.name}: what was never reached cannot be lost")
        last: int | None = -1
        for start, end in self.spans:
            if last is None or start < max(last, 0) or (end is not None and end <= start):
                raise ValueError(f"{self.name}: its spans are not one after the other")
            last = end

    @property
    def spans(self) -> tuple[tuple[int, int | None], ...]:
        """Where it held: first step, and the step from which it did not, or None to the end."""
        if self.achieved_at is None:
            return ()
        return ((self.achieved_at, self.lost_at), *self.regained)

    def holds_at(self, step: int) -> bool:
        """Whether it held once this step was done."""
        return any(start <= step and (end is None or step < end) for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress rates in percent: after each step, the highest of them, and the last."""

    by_step: tuple[float, ...]
    maximum: float
    final: float

    @property
    def is_success(self) -> bool:
        """Whether all milestones held at the end."""
        return self.final == 100.0


def track(findings: Sequence[Finding], weights: Mapping[str, float], n_steps: int) -> Progress:
    """100 times the weight that was achieved over the whole weight, after each step.

    A milestone without a finding was not reached.

    Raises:
        ValueError: no milestone weighs anything, or one weighs less than nothing; a finding is
            of none of them, of one that has a finding already, or of a step that is not there.
    """
    if any(not weight >= 0 or math.isinf(weight) for weight in weights.values()):
        raise ValueError("a milestone's weight is a number of 0 or more")
    whole = math.fsum(weights.values())
    if not whole > 0 or math.isinf(whole):
        raise ValueError("there is no milestone of any weight")
    names = [finding.name for finding in findings]
    if len(set(names)) < len(names) or not set(names) <= set(weights):
        raise ValueError("every finding is of another one of the milestones")
    steps = [step for one in findings for span in one.spans for step in span if step is not None]
    if max(steps, default=-1) >= n_steps:
        raise ValueError(f"the run has no step {max(steps)}")
    by_step = tuple(
        100.0 * (math.fsum(weights[one.name] for one in findings if one.holds_at(k)) / whole)
        for k in range(n_steps)
    )
    return Progress(by_step, max(by_step, default=0.0), by_step[-1] if by_step else 0.0)


def in_order(findings: Sequence[Finding], milestones: Sequence[Definition]) -> tuple[Finding, ...]:
    """The findings, without what ordered milestones reached before those that come first.

    An ordered milestone counts from a step by which all ordered ones before it had been reached;
    that one of them is lost later takes nothing away. Spans that began before are left out.
    """
    by_name = {finding.name: finding for finding in findings}
    since: int | None = 0
    for milestone in milestones:
        found = by_name.get(milestone.name)
        if not milestone.is_ordered:
            continue
        if found is not None and found.spans:
            found = by_name[milestone.name] = _from(found, since)
        since = None if found is None else found.achieved_at
    return tuple(by_name[finding.name] for finding in findings)


def _from(finding: Finding, since: int | None) -> Finding:
    """The finding with the spans alone that began at `since` or later."""
    spans = [span for span in finding.spans if since is not None and span[0] >= since]
    if len(spans) == len(finding.spans):
        return finding
    if not spans:
        return Finding(
            name=finding.name,
            rationale=f"{finding.rationale} ({OUT_OF_ORDER})".strip(),
            evidence_step=finding.evidence_step,
        )
    (start, end), *later = spans
    return replace(
        finding, achieved_at=start, lost_at=end, regained=tuple(later), evidence_step=start
    )


def looks(
    steps: Sequence[StepRecord], tree_text: Callable[[BlobRecord], str | None]
) -> Iterator[StepView]:
    """The steps as a row of looks: before, action, and after where that was kept.

    A rollback begins a new branch, on which the page is a fresh start; trees are read one by one.

    Args:
        tree_text: the text of an accessibility tree, given its file; None where that is gone.
    """

    def page(step: int, seen: Observation | None, **told: Any) -> StepView:
        tree = tree_text(seen.a11y_tree) if seen and seen.a11y_tree else None
        return StepView(step=step, url=seen.url if seen else None, tree=tree or None, **told)

    branch = 0
    for place, step in enumerate(steps):
        is_fresh = place > 0 and step.branch != branch
        branch = step.branch
        came_of = steps[place - 1].index if place and not is_fresh else step.index
        yield page(came_of, step.before, shown_at=step.index, is_fresh_start=is_fresh)
        yield StepView(
            step=step.index,
            actions=tuple(action for action in step.actions if action.name is not None),
            reported=reported_milestones(step),
        )
        if step.after is not None:
            yield page(step.index, step.after)


def reported_milestones(step: StepRecord) -> dict[str, bool]:
    """What the environment said of its milestones after the step's action."""
    said = mapping((step.extra or {}).get("milestones"))
    return {name: reached for name, reached in said.items() if isinstance(reached, bool)}


@dataclass(frozen=True, slots=True)
class CheckedSteps:
    """What the checks found, and which milestones they had nothing to look at for."""

    findings: tuple[Finding, ...]
    unseen: tuple[str, ...] = ()


@dataclass(slots=True)
class _Watch:
    """One milestone on its way through the looks."""

    milestone: Definition
    rule: Rule
    was_seen: bool = False
    is_held: bool = False
    spans: list[tuple[int, int | None]] = field(default_factory=list)
    evidence: str = ""
    shown_at: int | None = None

    def look(self, seen: StepView, *, may_begin: bool) -> None:
        reached = self.rule.reached_when
        can_see = reached.can_see(seen)
        self.was_seen = self.was_seen or can_see
        if self.is_held and seen.is_fresh_start:
            self._end(seen.step)
        if self.is_held:
            if self._is_lost(seen):
                self._end(seen.step)
        elif may_begin and can_see and reached.finds(seen):
            self.is_held = True
            if not self.spans:
                self.evidence = reached.evidence(seen)
                self.shown_at = seen.step if seen.shown_at is None else seen.shown_at
            self.spans.append((seen.step, None))

    def _is_lost(self, seen: StepView) -> bool:
        lost, reached = self.rule.lost_when, self.rule.reached_when
        if lost is not None:
            return lost.can_see(seen) and bool(lost.finds(seen))
        return reached.can_pass and reached.can_see(seen) and reached.finds(seen) is False

    def _end(self, step: int) -> None:
        """Close the span; what was lost in the step that reached it, held after no step at all."""
        self.is_held = False
        start, _ = self.spans.pop()
        if step > start:
            self.spans.append((start, step))

    @property
    def finding(self) -> Finding:
        if not self.spans:
            return Finding(name=self.milestone.name)
        (start, end), *later = self.spans
        return Finding(
            name=self.milestone.name,
            achieved_at=start,
            lost_at=end,
            rationale=self.evidence,
            evidence_step=self.shown_at,
            regained=tuple(later),
        )


def find_milestones(milestones: Sequence[Definition], looks: Iterable[StepView]) -> CheckedSteps:
    """What the steps show of the milestones that have a rule; the others are left out.

    Ordered milestones begin to count once all ordered ones before them were reached, those
    without a rule aside.

    Args:
        looks: of one run, in order, as `looks` makes them; gone through once.
    """
    watches = [_Watch(one, one.rule) for one in milestones if one.rule is not None]
    ordered = [watch for watch in watches if watch.milestone.is_ordered]
    for seen in looks:
        for watch in watches:
            before = ordered[: ordered.index(watch)] if watch.milestone.is_ordered else []
            watch.look(seen, may_begin=all(other.spans for other in before))
    # What was reached and lost within one step was not: nothing may follow on it.
    found = in_order([watch.finding for watch in watches], [watch.milestone for watch in watches])
    return CheckedSteps(
        found, tuple(watch.milestone.name for watch in watches if not watch.was_seen)
    )
