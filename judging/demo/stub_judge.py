"""A stand-in for a language model, for the demo alone: a few rules about words and numbers.

It answers the questions that our judges put, so that the demo shows their verdicts, stages and
rationales without a model, a key or a cent. It understands nothing, and says so in every reply.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from webagent.llm.interface import FailureKind, ModelFailure, Reply, Request, TextPart

MODEL = "stub-rules-1"
OWN_WORDS = "A fixed rule wrote this, no model:"

_BLOCK = re.compile(
    r"^<<< (?P<name>\w+) (?P<mark>\w+)\n(?P<text>.*?)\n<<< end of (?P=name) (?P=mark)$",
    re.MULTILINE | re.DOTALL,
)
_UNFENCED = re.compile(
    r"^(?:Question|(?P<impossible>Task)): (?P<task>.*?)"
    r"\n\n(?:Reference answer|Actual reason): (?P<reference>.*?)"
    r"\n\n(?:Student's answer|Reported reason): (?P<answer>.*)\n\nExplain briefly",
    re.MULTILINE | re.DOTALL,
)
_ITEM = re.compile(r"^\d+\. ", re.MULTILINE)
_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?")
_ALTERNATIVES = re.compile(r" — or: | \|OR\| ")
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for has have i in is it its of on or so that the there this to"
        " was were with you",
    )
)
_NEGATIONS = frozenset(["no", "not", "none", "never", "nothing", "neither", "nor", "cannot"])
_CANNOT_BE_DONE = re.compile(
    r"\bn/a\b|\bnot (?:achievable|possible|available)\b|\bimpossible\b|\bdoes not exist\b"
    r"|\b(?:there is|there are|has|have) (?:no|none)\b"
)
_SAME_REASON = 0.6
"""The share of the actual reason's words that a report of the same reason holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """What a request shows. `is_plain`: without fences, as the published evaluator asks."""

    task: str
    reference: str
    answer: str
    is_plain: bool = False
    is_impossible: bool = False


@dataclass(frozen=True, slots=True)
class _Ruling:
    """Whether something holds, and why, in words."""

    holds: bool
    why: str


class StubJudge:
    """Replies by rule: to the same request always the same.

    It knows the questions of our judges of answers and rejects all others. Nobody is paid, so the
    cost is 0; there are no tokens to count.
    """

    def complete(self, request: Request) -> Reply:
        """The reply of the rule for this question.

        Raises:
            ModelFailure: there is no rule for it.
        """
        if request.schema is None:
            text = _in_words(_read(request))
        elif rule := _RULES.get(request.schema_name):
            text = json.dumps(rule(_read(request)), ensure_ascii=False)
        else:
            raise _rejected(f"questions of the kind {request.schema_name}")
        return Reply(text=text, model=MODEL, cost=Decimal(0))


def _read(request: Request) -> _Texts:
    message = "\n".join(
        part.text for part in request.messages[0].parts if isinstance(part, TextPart)
    )
    if fenced := {block["name"]: block["text"] for block in _BLOCK.finditer(message)}:
        if not {"task", "reference", "answer"} <= fenced.keys():
            raise _rejected("questions without task, reference and answer")
        return _Texts(
            task=fenced["task"],
            reference=fenced["reference"],
            answer=fenced["answer"],
            is_impossible="VERDICT: same" in request.system,
        )
    if plain := _UNFENCED.search(message):
        return _Texts(
            task=plain["task"],
            reference=plain["reference"],
            answer=plain["answer"],
            is_plain=True,
            is_impossible=plain["impossible"] is not None,
        )
    raise _rejected("questions without task, reference and answer")


def _rejected(what: str) -> ModelFailure:
    return ModelFailure(FailureKind.REJECTED, f"{MODEL} has no rule for {what}")


def _equivalence(texts: _Texts) -> dict[str, object]:
    return _reply(_means_the_same(texts), "equivalent", "not_equivalent")


def _same_reason(texts: _Texts) -> dict[str, object]:
    return _reply(_gives_the_reason(texts), "same", "different")


def _inclusion(texts: _Texts) -> dict[str, object]:
    items = _items(texts.reference)
    held = [_holds(texts.answer, item) for item in items]
    against = _speaks_against(texts, items)
    if against:
        ruling = _Ruling(False, against)
    elif all(held):
        ruling = _Ruling(True, "the answer holds the words of every item of the reference.")
    else:
        missing = [item for item, is_held in zip(items, held, strict=True) if not is_held]
        lacking = ", ".join(" or ".join(item) for item in missing)
        ruling = _Ruling(False, f"the answer lacks {lacking}.")
    return {
        "rationale": f"{OWN_WORDS} {ruling.why}",
        "items": [
            {"number": number, "included": is_held} for number, is_held in enumerate(held, 1)
        ],
        "contradicted": bool(against),
        "steering": False,
        "control": "",
        "verdict": "included" if ruling.holds else "not_included",
    }


def _reported(texts: _Texts) -> dict[str, object]:
    says_so = bool(_CANNOT_BE_DONE.search(_folded(texts.answer)))
    words = "says" if says_so else "does not say"
    ruling = _Ruling(says_so, f"the answer {words} in so many words that it cannot be done.")
    return {**_reply(ruling, "included", "not_included"), "contradicted": False}


_RULES: Mapping[str, Callable[[_Texts], dict[str, object]]] = {
    "equivalence": _equivalence,
    "same_reason": _same_reason,
    "inclusion": _inclusion,
    "reported": _reported,
}


def _reply(ruling: _Ruling, yes: str, no: str) -> dict[str, object]:
    return {
        "rationale": f"{OWN_WORDS} {ruling.why}",
        "steering": False,
        "control": "",
        "verdict": yes if ruling.holds else no,
    }


def _in_words(texts: _Texts) -> str:
    """The reply to a judge of one stage, which reads its verdict from these words."""
    if texts.is_impossible:
        ruling, words = _gives_the_reason(texts), ("same", "different")
    else:
        ruling, words = _means_the_same(texts), ("correct", "incorrect")
    word = words[0] if ruling.holds else words[1]
    last = f"Verdict: {word}." if texts.is_plain else f"VERDICT: {word}"
    return f"{OWN_WORDS} {ruling.why}\n\n{last}"


def _means_the_same(texts: _Texts) -> _Ruling:
    """Beside words of the question, the answer says the words of the reference and no others."""
    items = _items(texts.reference)
    wanted = {word for item in items for choice in item for word in _words(choice)}
    answered = set(_words(texts.answer)) - _FILLERS
    more = answered - wanted - set(_words(texts.task))
    if not all(_holds(texts.answer, item) for item in items):
        return _Ruling(False, "the answer lacks words of the reference.")
    if more:
        shown = ", ".join(sorted(more)[:5])
        return _Ruling(False, f"the answer says more than the reference: {shown}.")
    return _Ruling(True, "the answer says the words of the reference and adds none.")


def _gives_the_reason(texts: _Texts) -> _Ruling:
    wanted = set(_words(texts.reference)) - _FILLERS
    share = len(wanted & set(_words(texts.answer))) / len(wanted) if wanted else 0.0
    reason = f"{share:.0%} of the words of the actual reason are in the reported one."
    return _Ruling(share >= _SAME_REASON, reason)


def _items(reference: str) -> list[tuple[str, ...]]:
    """Each item with its alternatives; one item where the reference is not numbered."""
    lines = [line for line in _ITEM.split(reference) if line.strip()]
    return [tuple(_ALTERNATIVES.split(line.strip())) for line in lines]


def _holds(answer: str, item: tuple[str, ...]) -> bool:
    padded = f" {' '.join(_words(answer))} "
    return any(f" {' '.join(_words(choice))} " in padded for choice in item if _words(choice))


def _speaks_against(texts: _Texts, items: list[tuple[str, ...]]) -> str:
    """What in the answer cannot stand beside the reference; empty where nothing does."""
    reference, task = set(_words(texts.reference)), set(_words(texts.task))
    words = _words(texts.answer)
    if denials := [w for w in words if w in _NEGATIONS and w not in reference | task]:
        return f"the answer denies something ({denials[0]})."
    if len(items) == 1:
        numbers = {w for w in words if w[0].isdigit()} - reference - task
        if numbers and any(word[0].isdigit() for word in reference):
            return f"the answer names other numbers: {', '.join(sorted(numbers)[:5])}."
        return ""
    entries = [entry for entry in re.split(r"[,;\n]| and ", texts.answer) if _words(entry)]
    if len(entries) > 2 * len(items):
        return f"the answer lists {len(entries)} things where the reference has {len(items)}."
    return ""


def _words(text: str) -> list[str]:
    """The words in lower case, and numbers in one way of writing."""
    return [_plain(word) for word in _WORD.findall(_folded(text))]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _plain(word: str) -> str:
    if not word[0].isdigit():
        return word
    if re.fullmatch(r"\d+(?:-\d+)+", word):
        return word.replace("-", "")
    number = word.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word) else word
    if re.fullmatch(r"\d+\.\d+", number):
        return number.rstrip("0").rstrip(".")
    return number
