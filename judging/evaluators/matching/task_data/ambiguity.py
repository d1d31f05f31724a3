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
from judging.evaluators.matching.task_data.sampling import (
    BETWEEN,
    answer_items,
    is_unachievable,
    right_outcome,
    with_hosts,
)
from judging.evaluators.matching.task_data.spellings import (
    NUMBER,
    STATES,
    Spelling,
    date_of,
    minutes_of,
    of_date,
    of_duration,
    of_name,
    of_number,
    of_person,
    of_state,
)

MOST_SHOWN = 2
LONGEST_SHOWN = 60
MOST_ITEMS = 50
LONGEST_ITEM = 2000

_STATES_A_FORM = re.compile(
    r"\b(answer (with|yes)|write|return|respond with|use the words|in the format|format of"
    r"|exactly as|word for word|separated by)\b|\balone\b",
    re.IGNORECASE,
)
_ASKS_COUNT = re.compile(
    r"\b(how many|(?<!order )number of(?! my)|count of|total count)\b", re.IGNORECASE
)
_ASKS_PERSON = re.compile(
    r"\b(who|customers?|reviewers?|contributors?|authors?|users?)\b", re.IGNORECASE
)
_ASKS_AMOUNT = re.compile(
    r"\b(price|cost|spend|spent|total|amount|refund|payment|paid)\b", re.IGNORECASE
)
_ASKS_QUESTION = re.compile(
    r"^(what|which|who|how|where|when|is|are|do|does|did|from my stay)\b", re.IGNORECASE
)
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class _Rule:
    """`fits`: the reference is of this kind. `words` for one item and for several."""

    name: str
    fits: Callable[[str, Sequence[str]], bool]
    spellings: Callable[[str], Iterator[Spelling]]
    what: str
    words: Callable[[str, Sequence[str]], str]


def _amount_words(goal: str, items: Sequence[str]) -> str:
    if len(items) > 1 or "range" in goal:
        return "Give the amounts to the cent with a decimal point, such as 12.50 and 80.25."
    return "Give the amount to the cent with a decimal point, such as 12.50."


def _name_words(goal: str, items: Sequence[str]) -> str:
    if len(items) > 1:
        return "Write each item exactly as the site does, separated by commas."
    return "Write it exactly as the site does."


RULES = (
    _Rule(
        "duration",
        lambda goal, items: all(minutes_of(_after_label(item)) is not None for item in items),
        lambda item: of_duration(_after_label(item)),
        "The duration is compared with a text of hours and minutes",
        lambda goal, items: "Give durations in hours and minutes, such as 2h 5min.",
    ),
    _Rule(
        "date",
        lambda goal, items: all(date_of(item) is not None for item in items),
        of_date,
        "The day is compared with a date in one of many forms",
        lambda goal, items: "Give the date with the month's name, such as July 4, 2021.",
    ),
    _Rule(
        "count",
        lambda goal, items: (
            len(items) == 1
            and items[0].isdecimal()
            and len(items[0]) > 1
            and bool(_ASKS_COUNT.search(goal))
        ),
        of_number,
        "The count is looked for in digits",
        lambda goal, items: "Answer with the number alone, 0 if there is none.",
    ),
    _Rule(
        "amount",
        lambda goal, items: (
            all(NUMBER.fullmatch(item) for item in items) and bool(_ASKS_AMOUNT.search(goal))
        ),
        of_number,
        "Amounts are looked for as texts with a decimal point",
        _amount_words,
    ),
    _Rule(
        "state",
        lambda goal, items: all(item in STATES for item in items),
        of_state,
        "The states are looked for by their full names",
        lambda goal, items: "Write the states' names in full.",
    ),
    _Rule(
        "quotation",
        lambda goal, items: "sentences" in goal,
        of_name,
        "Sentences are looked for letter by letter",
        lambda goal, items: "Quote them word for word, with the signs that the site uses.",
    ),
    _Rule(
        "yes_or_no",
        lambda goal, items: len(items) == 1 and bool(_YES_NO.match(items[0])) and " " in items[0],
        lambda item: iter([Spelling(_YES_NO.match(item)[0], "in one word")]),  # type: ignore[index]
        "The reference answers the check by yes or no and says the state as well",
        lambda goal, items: "Answer yes or no, and name the state.",
    ),
    _Rule(
        "person",
        lambda goal, items: bool(_ASKS_PERSON.search(goal)),
        of_person,
        "People's names are looked for letter by letter",
        lambda goal, items: _name_words(goal, items).replace("Write it", "Write the name"),
    ),
    _Rule(
        "spelling",
        lambda goal, items: True,
        of_name,
        "Names are looked for letter by letter",
        _name_words,
    ),
)


LITERAL_ONLY = ("person", "spelling", "quotation")
"""Rules about spelling, which judges ignore."""


def _after_label(item: str) -> str:
    return item.rpartition(": ")[2]


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
