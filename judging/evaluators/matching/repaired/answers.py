"""Whether an answer says one reference, and asserts it."""

import re
from dataclasses import replace

from judging.evaluators.matching import strict
from judging.evaluators.matching.repaired.amounts import read_amount
from judging.evaluators.matching.repaired.assertion import Polarity, is_asserted, said_polarity
from judging.evaluators.matching.repaired.mentions import find_mentions, is_quantity
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

_OTHER_THINGS_ASKED = (
    r"\bwhere\b|address|criticis|sentences?\b|reasons?\b|aspects?\b|how (?:long|far|much|many)"
    r"|price|distance|\bnames? and\b|configuration|coordinates|location|\bthen,? tell\b"
)
_PLACES_ASKED = (
    r"\bpark\b|\bcit(?:y|ies)\b|\bairports?\b|hotel|restaurant|cafe|universit|\bstore\b"
    r"|nearest|closest"
)
_BULLET = re.compile(r"^([ \t]*)(?:[-*•·+–]|\(?\d{1,3}[.)]|\(\d{1,3}\))[ \t]+(\S.*)$", re.MULTILINE)
_ASIDE = re.compile(
    r"(?:note|total|source|url|link|summary|count|price|range|average|i |the |these|this|all |"
    r"no |none|please|http)"
)
_FIELD = re.compile(
    r"(?:names?|e-?mails?|total|orders?|price|distance|address|phone|id|date|status|rating|url|"
    r"location|count|number|reviews?|time|comments?|rank|stars?|commits?)\b[^:\n]{0,20}:"
)
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|has|have|had|with|which|who|that|located|made|did|does|from|by|on|at)\b"
)
_LEAD_IN = re.compile(r":\s|\b(?:are|is|were|was|includes?|borders?)\b\s")
"""What may stand before the first item; after it, it is part of an item."""
_BETWEEN_ITEMS = re.compile(r"(?:(?<!\s)\s++)?+[,;]\s*+|(?<!\s)\s++(?:and|or|as well as)\s++")
LONGEST_ITEM = 15
"""Words; what is longer is prose."""


def extra_items(
    references: list[str], answer: Answer, question: Question, rules: Rules
) -> list[str]:
    """Items of a list in the answer that are none of the references, empty where there is no list.

    Only for references that are names: parts of an address, amounts and sentences can stand
    beside other things without being wrong.

    Args:
        references: folded and in lower case, each found in the answer.
    """
    if not references or question.asks(_OTHER_THINGS_ASKED):
        return []
    if any(read_amount(r) or is_quantity(r) or len(r.split()) > 12 for r in references):
        return []
    items = _bulleted(answer, rules) or _lines(references, answer, rules)
    if items:
        return [item for item in items if _is_extra(item, references, rules)]
    run = _run(references, answer, rules)
    if len(run) < 2 or not (
        re.search(r"\b(?:and|or)\b", answer.text) or _is_plain_list(run, references, question)
    ):
        return []
    no_capitals = answer.cased == answer.text
    return [
        item
        for item in run
        if _is_name(item, no_capitals) and _is_extra(lower(item), references, rules)
    ]


def _bulleted(answer: Answer, rules: Rules) -> list[str]:
    found = [(len(m[1].expandtabs()), m[2]) for m in _BULLET.finditer(answer.raw)]
    if len(found) < 2:
        return []
    outermost = min(indent for indent, _ in found)
    return [lower(fold(item, rules)) for indent, item in found if indent == outermost]


def _lines(references: list[str], answer: Answer, rules: Rules) -> list[str]:
    lines = [line for line in answer.text.split("\n") if line and not line.endswith(":")]
    short = all(len(line.split()) <= 8 and not line.endswith(".") for line in lines)
    named = [line for line in lines if any(_says(line, r, rules) for r in references)]
    return lines if len(lines) >= 2 and short and named else []


def _run(references: list[str], answer: Answer, rules: Rules) -> list[str]:
    """Items of "A, B and C" if each reference is one of them as a whole."""
    for sentence in re.split(r"\n|(?<=[a-z0-9)])\.\s", answer.cased):
        marked, names = _marked(sentence, references, rules)
        leads = [m.end() for m in _LEAD_IN.finditer(marked, 0, max(0, marked.find("\ue000")))]
        listed = marked[leads[-1] :] if leads else marked
        items = [
            re.sub(r"^(?:and|or|also)\s+", "", item.strip(" .\"'"), flags=re.IGNORECASE)
            for item in _BETWEEN_ITEMS.split(listed)
        ]
        if len(names) == len(references) and set(names) <= set(items):
            return [names.get(item, item) for item in items if item]
    return []


def _marked(sentence: str, references: list[str], rules: Rules) -> tuple[str, dict[str, str]]:
    """The sentence with each reference in it replaced by a mark, and what each mark stands for.

    References may hold commas and "and" themselves.
    """
    names: dict[str, str] = {}
    for number, reference in enumerate(sorted(references, key=len, reverse=True)):
        found = literal_mentions(reference, lower(sentence), rules)
        if found:
            mark = f"\ue000{number}\ue001"
            names[mark] = sentence[found[0].start : found[0].end]
            sentence = sentence[: found[0].start] + mark + sentence[found[0].end :]
    return sentence, names


def _is_plain_list(run: list[str], references: list[str], question: Question) -> bool:
    """Whether items with commas only are a list, not one thing with what it is called or where."""
    if question.asks(_PLACES_ASKED):
        return False
    return question.exact or len(references) > 1 or len(run) > 2


def _says(text: str, reference: str, rules: Rules) -> bool:
    return bool(literal_mentions(reference, text, rules))


def _is_extra(item: str, references: list[str], rules: Rules) -> bool:
    if any(_says(item, reference, rules) for reference in references):
        return False
    return (
        len(item.split()) <= LONGEST_ITEM
        and not _ASIDE.match(item)
        and not _FIELD.match(item)
        and not item.endswith(":")
        and re.search(r"\w", item) is not None
    )


def _is_name(item: str, no_capitals: bool) -> bool:
    if len(item.split()) > 6 or _VERBAL.search(lower(item)):
        return False
    return no_capitals or not item[:1].islower()


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
    code = _CODE.fullmatch(reference.strip())
    if code and code[0] not in raw and rules.allow(Rule.CASE_SENSITIVE_CODES):
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
