"""Rules are described, and a verdict names those that decided it."""

from django.utils.translation import gettext, override

from judging.evaluators.matching.repaired.rules import ALL_RULES, DESCRIPTIONS, LABELS, Rule, Rules
from judging.evaluators.matching.repaired.rules import decisive_rules as decisive


def test_every_rule_is_described():
    assert set(DESCRIPTIONS) == ALL_RULES


def either(rules: Rules) -> bool:
    return rules.allow(Rule.MARKUP) or rules.allow(Rule.SENTENCE)


def both(rules: Rules) -> bool:
    return rules.allow(Rule.MARKUP) and rules.allow(Rule.SENTENCE)


def held_back(rules: Rules) -> bool:
    return both(rules) and not rules.allow(Rule.NEGATION)


def refused(rules: Rules) -> bool:
    return not (rules.allow(Rule.NEGATION) or rules.allow(Rule.HEDGING))


def test_decisive_rules():
    assert decisive(both, ALL_RULES, strict=False) == (Rule.MARKUP, Rule.SENTENCE)
    assert decisive(either, ALL_RULES, strict=False) == (Rule.MARKUP,)
    assert decisive(either, ALL_RULES - {Rule.MARKUP}, strict=False) == (Rule.SENTENCE,)
    assert decisive(refused, ALL_RULES, strict=True) == (Rule.NEGATION,)
    assert decisive(held_back, ALL_RULES, strict=False) == ()
    assert decisive(held_back, ALL_RULES - {Rule.NEGATION}, strict=False) == (
        Rule.MARKUP,
        Rule.SENTENCE,
    )
    assert decisive(lambda rules: True, ALL_RULES, strict=True) == ()


def test_every_rule_has_a_label_of_its_own_in_both_languages() -> None:
    assert LABELS.keys() == DESCRIPTIONS.keys() == ALL_RULES
    for language in ("en", "ja"):
        with override(language):
            labels = {gettext(label) for label in LABELS.values()}
        assert len(labels) == len(ALL_RULES)
