"""A task patch held against the matchers: it may state and repair, never let wrong answers pass.

The task before and after is judged by both matchers on outcomes made of its specification
(`sampling`): what it names must pass afterwards, what differs from it must not. Where a patch
changes the specification, the outcome that is right afterwards shows what the change is for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judging.evaluators.matching.outcome import Matcher, MatchOutcome, MatchTask, Verdict
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.task_data.sampling import (
    answer_items,
    right_outcome,
    with_hosts,
    wrong_outcomes,
)

ACCEPTED = (Verdict.PASSED, Verdict.NEEDS_JUDGE)
SHORTEST_TELLING = 2
"""Characters: a shorter text is in many words by chance."""


@dataclass(kw_only=True)
class EntryAudit:
    """What the matchers say of one entry of a patch.

    `newly_right`: matchers for which the right outcome passes only with the patch. `loosened`: what
    was wrong by the specification before and passes now, for a person to look at; a corrected
    reference does so too.
    """

    task: str
    outcomes: int = 0
    newly_right: list[str] = field(default_factory=list)
    loosened: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def audit_entry(task: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> EntryAudit:
    """What is wrong with the change of one task's content, found by both matchers.

    Args:
        before, after: contents with `goal`, `spec` and `infeasible_reason`.
    """
    audit = EntryAudit(task=task)
    spec = after.get("spec")
    if after.get("infeasible_reason") or not isinstance(spec, Mapping):
        return audit
    if said := sorted(_given_away(before, after)):
        audit.problems.append(f"the instruction now says {said[0]!r}, which is the answer")
    shown = with_hosts(spec)
    for name in NAMES:
        _judge(audit, name, with_hosts(before.get("spec")), shown, after["goal"])
    return audit


def _judge(audit: EntryAudit, name: str, before: Any, after: Mapping[str, Any], goal: str) -> None:
    matcher = build_matcher(name)
    right = right_outcome(after)
    audit.outcomes += 1
    if _verdict(matcher, after, goal, right) not in ACCEPTED:
        audit.problems.append(f"{name}: the reference itself does not pass")
    elif before != after and _verdict(matcher, before, goal, right) is Verdict.FAILED:
        audit.newly_right.append(name)
    for what, wrong in wrong_outcomes(after):
        audit.outcomes += 1
        found = _verdict(matcher, after, goal, wrong)
        if found is Verdict.PASSED:
            audit.problems.append(f"{name}: {what} passes")
    if before == after or not isinstance(before, Mapping):
        return
    for what, wrong in wrong_outcomes(before):
        audit.outcomes += 1
        then, now = (_verdict(matcher, spec, goal, wrong) for spec in (before, after))
        if now is Verdict.PASSED and then is not Verdict.PASSED:
            audit.loosened.append(f"{name}: {what} passes")


def _verdict(matcher: Matcher, spec: Any, goal: str, outcome: MatchOutcome) -> Verdict:
    return matcher.evaluate(MatchTask(evaluation=spec, intent=goal), outcome).verdict


def _given_away(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Parts of the right answer that the instruction says since the change, and not before."""
    if "string_match" not in after["spec"].get("eval_types", ()):
        return
    old, new = str(before["goal"]).lower(), str(after["goal"]).lower()
    for item in answer_items(after["spec"]):
        text = item.lower()
        is_telling = len(text) >= SHORTEST_TELLING and text not in CLOSED_CHOICES
        if is_telling and text in new and text not in old:
            yield item


CLOSED_CHOICES: Sequence[str] = ("yes", "no", "n/a")
"""Choices that an instruction may list without giving the answer away."""
