"""Captured page texts against required contents."""

from __future__ import annotations

import re

from judging.evaluators.matching import strict
from judging.evaluators.matching.hosts import USUAL_ALIASES, HostAliases
from judging.evaluators.matching.repaired import quantities as q
from judging.evaluators.matching.repaired.amounts import read_amount
from judging.evaluators.matching.repaired.folding import fold_plain, lower
from judging.evaluators.matching.repaired.rules import Rule, Rules


def content_passes(
    reference: str, content: str, *, exact: bool, aliases: HostAliases, rules: Rules
) -> bool:
    """Whether a page's text holds (or, exactly, is) one reference without alternatives.

    Words are not bounded here: forms of a word on a page are the same content. Numbers are.
    """
    if exact:
        return strict.exact_match(reference, content) or _equal(reference, content, rules)
    if strict.must_include(reference, content):
        return not _only_in_longer_numbers(reference, content, rules)
    return any(_holds(name, content, rules) for name in _names(reference, aliases, rules))


def _equal(reference: str, content: str, rules: Rules) -> bool:
    wanted, own = (lower(fold_plain(text, rules)) for text in (reference, content))
    if wanted == own:
        return True
    amounts = read_amount(wanted), read_amount(own)
    if amounts[0] and amounts[1] and not amounts[0].is_code and not amounts[1].is_code:
        return amounts[0].equals(amounts[1]) and rules.allow(Rule.NUMBER_FORMAT)
    days = [[d for d in q.days(text) if d.end - d.start == len(text)] for text in (wanted, own)]
    return all(days) and days[0][0].equals(days[1][0]) and rules.allow(Rule.DATES)


def _holds(reference: str, content: str, rules: Rules) -> bool:
    wanted, own = (lower(fold_plain(text, rules)) for text in (reference, content))
    return wanted in own and not _only_in_longer_numbers(wanted, own, rules)


def _only_in_longer_numbers(reference: str, content: str, rules: Rules) -> bool:
    cleaned = strict.clean_answer(reference)
    if not cleaned or not (cleaned[0].isdigit() or cleaned[-1].isdigit()):
        return False
    left = r"(?<!\d)(?<!\d[.,])" if cleaned[0].isdigit() else ""
    right = r"(?!\d|[.,]\d)" if cleaned[-1].isdigit() else ""
    found = re.search(left + re.escape(cleaned) + right, lower(content))
    return found is None and rules.allow(Rule.NUMBER_BOUNDARIES)


def _names(reference: str, aliases: HostAliases, rules: Rules) -> list[str]:
    """The reference, and where it begins with a site's URL also with the site's other names."""
    names = [reference]
    for group in aliases or USUAL_ALIASES:
        for name in group:
            if re.match(rf"{re.escape(name)}(?![\w.:-])", reference) and rules.allow(
                Rule.URL_HOSTS
            ):
                names += [other + reference[len(name) :] for other in group if other != name]
    return names
