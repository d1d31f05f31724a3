"""Outcomes that are right or wrong by a specification alone: what a matcher must tell apart.

Right is what the specification itself names; wrong is that with one part changed or missing.
They show what the specification asks for, not what the site holds.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from judging.evaluators.matching.outcome import MatchOutcome
from judging.evaluators.matching.specification import ALTERNATIVES, NOT_ACHIEVABLE

BETWEEN = ", "
"""Between the parts of an answer."""
NO_ANSWERS = ("", "I could not find it.", "whatever")
_FIGURE = re.compile(r"\d")
_PLACEHOLDER = re.compile(r"__([A-Z_]+)__")


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
