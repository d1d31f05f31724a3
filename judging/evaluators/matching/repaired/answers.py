"""One reference against one answer: said, and asserted?"""

from __future__ import annotations

import re
from dataclasses import replace

from judging.evaluators.matching import strict
from judging.evaluators.matching.repaired.amounts import read_amount
from judging.evaluators.matching.repaired.assertion import Polarity, is_asserted, said_polarity
from judging.evaluators.matching.repaired.items import extra_items
from judging.evaluators.matching.repaired.mentions import find_mentions
from judging.evaluators.matching.repaired.rules import Rule, Rules
from judging.evaluators.matching.repaired.texts import (
    MOST_MENTIONS,
    Answer,
    Mention,
    Question,
    fold,
    literal_mentions,
    lower,
)

LONGEST_CARRIER = 40
"""Words of an answer that may carry an exact reference."""

_CODE = re.compile(r"(?=.*\d)(?=.*[a-z][A-Z])[\w-]{12,}")
_EDGES = " \t\n.,;:!\"'()"
_WORD_BEFORE_REVERSED = re.compile(r"\n? (?P<word>[\w'-]*[^\W\d_])(?P<lead>\s+[.!?:]|\n|\Z)?")
_RIVAL_BEHIND_SLASH = re.compile(r"\s+[/|]\s+\w")
_RIVAL_BEFORE_SLASH = re.compile(r"\w\s+[/|]\s+$")
_NOT_ACHIEVABLE = re.compile(
    r"(?:(?:the |my )?(?:final )?answer(?: is)?\s*:?\s*)?\"?n/a\"?\s*[.!]?"
)


def says(reference: str, raw: str, published: bool, question: Question, rules: Rules) -> bool:
    """Whether the answer says one reference (no alternatives) and stands by it.

    Args:
        published: what the published evaluator says of the two.
    """
    if _in_wrong_case(reference.strip(), raw) and rules.allow(Rule.CASE_SENSITIVE_CODES):
        return False
    if published and question.exact:
        return True
    answer = Answer.read(raw, rules)
    wanted = lower(fold(reference, rules))
    if not strict.clean_answer(reference) or not wanted:
        return published
    if wanted in ("yes", "no"):
        polarity = said_polarity(answer.text, question, rules)
        if polarity is not None:
            return _agrees(polarity, wanted, answer, published, question, rules)
        if not published:
            return False
    mentions = find_mentions(wanted, answer.text, question, rules)
    if published and not mentions:
        if _bounded(wanted, rules):
            return False
        number = read_amount(wanted) is not None
        mentions = [
            replace(mention, number=number)
            for mention in literal_mentions(wanted, answer.text, Rules({Rule.WORD_BOUNDARIES}))
        ]
        if not mentions:
            return True
    if question.exact:
        carried = any(
            _carries(mention, answer, question, rules) for mention in mentions[:MOST_MENTIONS]
        )
        return carried and not (
            extra_items([wanted], answer, question, rules) and rules.allow(Rule.EXTRA_ITEMS)
        )
    return any(
        is_asserted(mention, answer.text, question, rules) for mention in mentions[:MOST_MENTIONS]
    )


def _in_wrong_case(reference: str, raw: str) -> bool:
    """Whether the reference is a code of mixed case that the answer does not hold as it is."""
    return _CODE.fullmatch(reference) is not None and reference not in raw


def _bounded(reference: str, rules: Rules) -> bool:
    """Whether a rule is in force by which the reference must not be part of something longer."""
    if read_amount(reference):
        return rules.allow(Rule.NUMBER_BOUNDARIES)
    return rules.allow(Rule.WORD_BOUNDARIES)


def _agrees(
    polarity: Polarity,
    wanted: str,
    answer: Answer,
    published: bool,
    question: Question,
    rules: Rules,
) -> bool:
    if polarity.value == wanted:
        plain = published or not question.exact or answer.text == wanted
        return plain or rules.allow(Rule.SENTENCE)
    if polarity is Polarity.BOTH:
        return False
    return published and not rules.allow(Rule.CONTRADICTION)


def _carries(mention: Mention, answer: Answer, question: Question, rules: Rules) -> bool:
    """Whether a mention makes the answer as good as the exact reference itself."""
    text = answer.text
    if (mention.start, mention.end) == (0, len(text)):
        return True
    if not rules.allow(Rule.SENTENCE):
        return False
    if mention.end < len(text) and text[mention.end].isalnum() and not mention.number:
        return False  # a plural is another word where the whole answer should be the reference
    around = text[: mention.start].strip(_EDGES) + text[mention.end :].strip(_EDGES)
    if not around:
        return True
    if _RIVAL_BEHIND_SLASH.match(text, mention.end) or _RIVAL_BEFORE_SLASH.search(
        text[: mention.start]
    ):
        return False
    if len(text.split()) > LONGEST_CARRIER:
        return False
    if not mention.number and _part_of_a_name(mention, answer, question):
        return False
    return is_asserted(mention, text, question, rules)


def _part_of_a_name(mention: Mention, answer: Answer, question: Question) -> bool:
    """Whether capitalised neighbours make the mention part of a longer name."""
    cased = answer.cased
    if cased == answer.text:
        return False
    before = _WORD_BEFORE_REVERSED.match(cased[: mention.start][::-1])
    if before and before["lead"] is None and _is_name_word(before["word"][::-1], question):
        return True
    after = re.match(r" (?P<word>[^\W_][\w'-]*)", cased[mention.end :])
    return after is not None and _is_name_word(after["word"], question)


def _is_name_word(word: str, question: Question) -> bool:
    return word[0].isupper() and not word.isupper() and lower(word) not in question.intent


def is_plain_not_achievable(raw: str, rules: Rules) -> bool:
    """Whether the answer is N/A and no more than N/A, in a short sentence or with a full stop."""
    folded = lower(fold(raw, rules))
    return _NOT_ACHIEVABLE.fullmatch(folded) is not None and rules.allow(Rule.PLAIN_NOT_ACHIEVABLE)


def published_verdict(reference: str, raw: str, *, exact: bool, tokenise: bool) -> bool:
    """What the published evaluator says of one reference and an answer as the agent gave it."""
    cleaned = strict.clean_answer(raw)
    if exact:
        return strict.exact_match(reference, cleaned)
    return strict.must_include(reference, cleaned, tokenise=tokenise)
