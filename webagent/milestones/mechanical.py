"""Finding milestones in the steps of a run, by their mechanical checks alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from webagent.milestones.checks import Rule
from webagent.milestones.definition import Definition
from webagent.milestones.findings import Finding, in_order
from webagent.milestones.seen import Seen


@dataclass(frozen=True, slots=True)
class Looked:
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

    def look(self, seen: Seen, *, may_begin: bool) -> None:
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

    def _is_lost(self, seen: Seen) -> bool:
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


def find_milestones(milestones: Sequence[Definition], looks: Iterable[Seen]) -> Looked:
    """What the steps show of the milestones that have a rule; the others are left out.

    Ordered milestones begin to count once all ordered ones before them were reached, those
    without a rule aside.

    Args:
        looks: of one run, in order, as `seen.looks` makes them; gone through once.
    """
    watches = [_Watch(one, one.rule) for one in milestones if one.rule is not None]
    ordered = [watch for watch in watches if watch.milestone.is_ordered]
    for seen in looks:
        for watch in watches:
            before = ordered[: ordered.index(watch)] if watch.milestone.is_ordered else []
            watch.look(seen, may_begin=all(other.spans for other in before))
    # What was reached and lost within one step was not: nothing may follow on it.
    found = in_order([watch.finding for watch in watches], [watch.milestone for watch in watches])
    return Looked(
        found,
        tuple(watch.milestone.name for watch in watches if not watch.was_seen),
    )
