"""A task patch held against the matchers: it may state and repair, never let wrong answers pass.

The task before and after is judged by both matchers on outcomes made of its specification: what it
names must pass afterwards, what differs from it by one part changed or missing must not. They show
what the specification asks for, not what the site holds. Where a patch changes the specification,
the outcome that is right afterwards shows what the change is for.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judging.evaluators.matching.outcome import Matcher, MatchOutcome, MatchTask, Verdict
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.specification import ALTERNATIVES, NOT_ACHIEVABLE

ACCEPTED = (Verdict.PASSED, Verdict.NEEDS_JUDGE)
SHORTEST_TELLING = 2
"""Characters: a shorter text is in many words by chance."""
CLOSED_CHOICES = ("yes", "no", "n/a")
"""Choices that an instruction may list without giving the answer away."""
BETWEEN = ", "
"""Between the parts of an answer."""
NO_ANSWERS = ("", "I could not find it.", "whatever")
_FIGURE = re.compile(r"\d")
_PLACEHOLDER = re.compile(r"__([A-Z_]+)__")


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


def with_hosts(value: Any) -> Any:
    """The specification with an address in the place of every placeholder."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: f"http://{found[1].lower()}.test", value)
    if isinstance(value, list):
        return [with_hosts(each) for each in value]
    if isinstance(value, Mapping):
        return {key: with_hosts(each) for key, each in value.items()}
    return value


def answer_items(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that a right answer says, whichever way they are compared."""
    answers = spec.get("reference_answers")
    if not isinstance(answers, Mapping):
        return ()
    items: list[str] = []
    for value in answers.values():
        items += [value] if isinstance(value, str) else [str(each) for each in value]
    return tuple(items)


def is_unachievable(spec: Mapping[str, Any]) -> bool:
    """Whether the right answer is that the task cannot be done."""
    return answer_items(spec) == (NOT_ACHIEVABLE,)


def right_outcome(spec: Mapping[str, Any]) -> MatchOutcome:
    """The outcome that the specification describes."""
    url = str(spec.get("reference_url") or "").split(ALTERNATIVES)[0]
    pages = tuple(_page(target) for target in spec.get("program_html") or ())
    return MatchOutcome(answer=BETWEEN.join(answer_items(spec)), final_url=url or None, pages=pages)


def _page(target: Mapping[str, Any]) -> str:
    """A page that holds what is required, the first of several alternatives of each."""
    required = target.get("required_contents") or {}
    if "exact_match" in required:
        return str(required["exact_match"]).split(ALTERNATIVES)[0]
    wanted = required.get("must_include") or ()
    return "\n".join(str(each).split(ALTERNATIVES)[0] for each in wanted)


def wrong_outcomes(spec: Mapping[str, Any]) -> Iterator[tuple[str, MatchOutcome]]:
    """Outcomes that are wrong by the specification, each with words for what is wrong with it."""
    right = right_outcome(spec)
    items = answer_items(spec)
    if "string_match" in spec["eval_types"]:
        others = NO_ANSWERS if is_unachievable(spec) else (*NO_ANSWERS, NOT_ACHIEVABLE)
        for answer in others:
            yield f"the answer {answer!r}", replace(right, answer=answer)
        for index, item in enumerate(items):
            changed = [*items]
            changed[index] = _altered(item)
            yield f"another text for part {index + 1}", replace(right, answer=BETWEEN.join(changed))
    if right.final_url and "url_match" in spec["eval_types"]:
        yield "another page", replace(right, final_url="http://elsewhere.test/nowhere")
    if right.pages and "program_html" in spec["eval_types"]:
        for index in range(len(right.pages)):
            pages = tuple("" if at == index else page for at, page in enumerate(right.pages))
            if right.pages[index]:
                yield f"an empty page {index + 1}", replace(right, pages=pages)


def _altered(item: str) -> str:
    """Another figure in the place of each, or letters in another order."""
    if _FIGURE.search(item):
        return _FIGURE.sub(lambda found: str((int(found[0]) + 3) % 10), item)
    return item[::-1] if item != item[::-1] else f"{item[1:]}q"
