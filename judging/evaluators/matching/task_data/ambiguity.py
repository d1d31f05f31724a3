"""Find answers whose form an instruction leaves open although the matcher expects one.

A rule proposes words for the instruction only where it can show why: another spelling of the
reference, as right as it, that the published matcher rejects or leaves to a judge. What an
instruction says already is left alone, and no proposal says anything of the answer itself.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judging.evaluators.matching.outcome import MatchTask, Verdict
from judging.evaluators.matching.strict import StrictMatcher
from judging.evaluators.matching.task_data.auditing import (
    BETWEEN,
    answer_items,
    is_unachievable,
    right_outcome,
    with_hosts,
)
from judging.evaluators.matching.task_data.spellings import LITERAL_ONLY, RULES, Spelling

MOST_SHOWN = 2
LONGEST_SHOWN = 60
MOST_ITEMS = 50
LONGEST_ITEM = 2000

_STATES_A_FORM = re.compile(
    r"\b(answer (with|yes)|write|return|respond with|use the words|in the format|format of"
    r"|exactly as|word for word|separated by)\b|\balone\b",
    re.IGNORECASE,
)
_ASKS_QUESTION = re.compile(
    r"^(what|which|who|how|where|when|is|are|do|does|did|from my stay)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """What the rules look at. `group` names tasks that are made from one template."""

    id: str
    goal: str
    spec: Mapping[str, Any] | None
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguity:
    """What an instruction leaves open, and words to close it with."""

    task: str
    rule: str
    why: str
    words: str


def find_ambiguities(tasks: Iterable[AskedTask]) -> list[Ambiguity]:
    """At most one for each task, in the order of the tasks.

    Linear in the tasks' texts; of a specification that is malformed nothing is said.
    """
    asked = [task for task in tasks if _is_readable(task.spec)]
    found: defaultdict[str, list[Ambiguity]] = defaultdict(list)
    for each in (*filter(None, map(_form_of, asked)), *_refusals(asked)):
        found[each.task].append(each)
    return [_joined(found[task.id]) for task in asked if task.id in found]


def sentence(goal: str, words: str) -> str:
    """What to append to the goal so that the words are a sentence of their own behind it."""
    ending = goal.rstrip(" \"')")[-1:]
    if goal != goal.rstrip():
        return f"({words})"
    if ending and ending in ".?!":
        return f" {words}"
    is_question = _ASKS_QUESTION.match(goal) and "?" not in goal
    return f"{'?' if is_question else '.'} {words}"


def _form_of(task: AskedTask) -> Ambiguity | None:
    spec = task.spec or {}
    items = answer_items(spec)
    if "string_match" not in spec["eval_types"] or not items or is_unachievable(spec):
        return None
    if _STATES_A_FORM.search(task.goal) or not _accepts(task, right_outcome(spec).answer or ""):
        return None
    is_judged = "fuzzy_match" in spec["reference_answers"]
    for rule in RULES:
        if not rule.fits(task.goal, items) or (is_judged and rule.name in LITERAL_ONLY):
            continue
        shown = tuple(_not_accepted(task, items, rule.spellings))
        if shown:
            return Ambiguity(
                task=task.id,
                rule=rule.name,
                why=_why(rule.what, shown, is_judged=is_judged),
                words=rule.words(task.goal, items),
            )
    return None


def _not_accepted(
    task: AskedTask, items: Sequence[str], spellings: Callable[[str], Iterator[Spelling]]
) -> Iterator[Spelling]:
    """Spellings of one item that the matcher by itself does not accept beside the others."""
    for index, item in enumerate(items):
        for spelling in spellings(item):
            said = [*items]
            said[index] = spelling.text
            if not _accepts(task, BETWEEN.join(said), or_asks_judge=False):
                yield spelling


def _accepts(task: AskedTask, answer: str, *, or_asks_judge: bool = True) -> bool:
    """Whether the published matcher passes the answer; whether it would ask a judge, too."""
    spec = with_hosts({**(task.spec or {}), "eval_types": ["string_match"]})
    outcome = replace(right_outcome(spec), answer=answer)
    found = StrictMatcher().evaluate(MatchTask(evaluation=spec, intent=task.goal), outcome)
    return found.verdict is Verdict.PASSED or (
        or_asks_judge and found.verdict is Verdict.NEEDS_JUDGE
    )


def _why(what: str, shown: Sequence[Spelling], *, is_judged: bool) -> str:
    distinct = list({each.how: each for each in shown}.values())[:MOST_SHOWN]
    said = [f"{_short(each.text)} ({each.how})" for each in distinct]
    one = len(distinct) == 1
    if is_judged:
        same = "which says the same, counts" if one else "which say the same, count"
        effect = f"whether {' or '.join(said)}, {same} is left to a judge."
    else:
        same = "says the same and fails" if one else "say the same and fail"
        effect = f"{' and '.join(said)} {same}."
    return f"{what}, and the instruction states no form: {effect}"


def _short(text: str) -> str:
    cut = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    return f'"{cut}"'


REFUSAL = "If there is none, or it cannot be done, answer N/A."


def _refusals(tasks: Sequence[AskedTask]) -> Iterator[Ambiguity]:
    """Tasks of templates of which some cannot be done; said of all, so that it tells nothing."""
    groups: defaultdict[str, list[AskedTask]] = defaultdict(list)
    for task in tasks:
        groups[task.group or task.id].append(task)
    for group in groups.values():
        refused = [task.id for task in group if is_unachievable(task.spec or {})]
        if not refused or len(refused) == len(group):
            continue
        for task in group:
            if "N/A" in task.goal:
                continue
            why = (
                'The right answer is that there is none, and only "N/A" is accepted as it stands:'
                ' how "There is none." is taken depends on a judge.'
                if task.id in refused
                else f"Of the same template are tasks that cannot be done ({_named(refused)}), and"
                " none says how to report that; all say it now, so that it gives nothing away."
            )
            yield Ambiguity(task=task.id, rule="refusal", why=why, words=REFUSAL)


def _named(ids: Sequence[str]) -> str:
    more = len(ids) - MOST_SHOWN
    return ", ".join(ids[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _joined(found: Sequence[Ambiguity]) -> Ambiguity:
    return Ambiguity(
        task=found[0].task,
        rule="+".join(each.rule for each in found),
        why=" ".join(each.why for each in found),
        words=" ".join(each.words for each in found),
    )


def _is_readable(spec: Mapping[str, Any] | None) -> bool:
    """Whether the parts that are read here have the types that WebArena gives them."""
    if not isinstance(spec, Mapping) or not isinstance(spec.get("eval_types"), list):
        return False
    answers = spec.get("reference_answers")
    if answers is None:
        return True
    if not isinstance(answers, Mapping) or len(answers) > MOST_ITEMS:
        return False
    values = [each if isinstance(each, list) else [each] for each in answers.values()]
    items = [item for value in values for item in value]
    return len(items) <= MOST_ITEMS and all(
        isinstance(item, str) and len(item) <= LONGEST_ITEM for item in items
    )
