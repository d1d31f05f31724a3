"""Every difference from the published evaluator, by name. All off gives its verdicts exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum


class Rule(StrEnum):
    """One repair that can be switched off. The docstring below each says what it does."""

    # Answers: what counts as saying the reference
    UNICODE = "unicode"
    """NFKC, straight quotes and dashes, no trademark signs, no invisible characters."""
    WHITE_SPACE = "white_space"
    """Any run of white space equals one blank."""
    DIACRITICS = "diacritics"
    """Letters equal their forms without accents."""
    MARKUP = "markup"
    """Markdown emphasis, code, headings, links and surrounding quotes are unwrapped."""
    PUNCTUATION = "punctuation"
    """Between the words of a reference, any short punctuation will do; & equals "and"."""
    SENTENCE = "sentence"
    """An exact reference may be carried by a sentence, a label or a full stop."""
    ALTERNATIVES = "alternatives"
    """" |OR| " separates several correct answers in string references too."""
    NUMBER_FORMAT = "number_format"
    """Numbers equal by value: thousands separators, trailing zeros, currency."""
    NUMBER_WORDS = "number_words"
    """Numbers in words, and "no"/"none" for 0 of what the task counts."""
    ROUNDING = "rounding"
    """An amount rounded to whole cents equals a reference with more decimals."""
    UNITS = "units"
    """Lengths and weights equal in any unit, within the rounding that is shown."""
    DURATIONS = "durations"
    """Durations equal to the minute, however they are written."""
    DATES = "dates"
    """Calendar days equal, however they are written (month first where it is open)."""
    COORDINATES = "coordinates"
    """Coordinates equal when truncated or rounded to the reference's decimals, N/S/E/W read."""
    PHONES = "phones"
    """Phone numbers equal by their digits, with or without the country code 1."""
    POSTAL_CODES = "postal_codes"
    """A ZIP+4 code says the ZIP code."""
    LABELLED_VALUES = "labelled_values"
    """"Name: value" is said by the name followed by the value."""
    SEQUENCES = "sequences"
    """"The order is A, B, C" is said by A, B and C in this order."""
    ADDRESSES = "addresses"
    """An address is said by its parts in order; more parts and no country are fine."""
    POLARITY = "polarity"
    """Yes or no is said by a statement about what the task asks to check."""
    ANSWER_URLS = "answer_urls"
    """URLs in answers equal without scheme and final slash, on any name of the site."""
    CLONE_COMMANDS = "clone_commands"
    """SSH clone addresses equal on the deployment's host instead of the annotators'."""
    PLAIN_NOT_ACHIEVABLE = "plain_not_achievable"
    """N/A in a short sentence or with a full stop is a bare N/A."""
    SETTLED_WITHOUT_JUDGE = "settled_without_judge"
    """A quantity or date among fuzzy references that the answer states needs no judge."""
    # Answers: what does not count although the published evaluator takes it
    WORD_BOUNDARIES = "word_boundaries"
    """A reference must not be part of a longer word."""
    NUMBER_BOUNDARIES = "number_boundaries"
    """A number must not be part of a longer number, code, date or page number."""
    NEGATION = "negation"
    """"It is not X" does not say X."""
    HEDGING = "hedging"
    """"Maybe X" does not say X."""
    SHOTGUN = "shotgun"
    """"X or Y", "yes and no", or a row of all candidates does not say X."""
    CONTRADICTION = "contradiction"
    """"The answer is Y" does not say X, wherever else X stands."""
    EXTRA_ITEMS = "extra_items"
    """A list asked for must not hold wrong items besides the right ones."""
    CASE_SENSITIVE_CODES = "case_sensitive_codes"
    """Tokens of mixed case and digits must agree in case."""
    # URLs
    URL_SEGMENTS = "url_segments"
    """The host must be the same and the path must begin with the reference's, by segments."""
    URL_HOSTS = "url_hosts"
    """Names of one and the same site are equal, and so are localhost and 127.0.0.1."""
    URL_HOST_CASE = "url_host_case"
    """Upper and lower case in host names are equal."""
    URL_DEFAULT_PORT = "url_default_port"
    """Port 80 of http and 443 of https may be written out."""
    URL_PERCENT_ENCODING = "url_percent_encoding"
    """Percent-encoded characters in paths equal plain ones."""
    URL_SLASH_BEFORE_QUERY = "url_slash_before_query"
    """/issues/?x equals /issues?x."""
    URL_ALTERNATIVE_QUERIES = "url_alternative_queries"
    """Each alternative's query goes with its own path."""
    URL_QUERY_BLANKS = "url_query_blanks"
    """Blanks around a query value are of no weight."""
    URL_DEFAULT_PARAMETERS = "url_default_parameters"
    """A parameter at the site's default value may be left out."""
    URL_FORUM_CASE = "url_forum_case"
    """Forum names after /f/ are equal in any case, as on the site."""


ALL_RULES = frozenset(Rule)


REJECTING = frozenset(
    {
        Rule.WORD_BOUNDARIES,
        Rule.NUMBER_BOUNDARIES,
        Rule.NEGATION,
        Rule.HEDGING,
        Rule.SHOTGUN,
        Rule.CONTRADICTION,
        Rule.EXTRA_ITEMS,
        Rule.CASE_SENSITIVE_CODES,
        Rule.URL_SEGMENTS,
    }
)
"""Rules that reject what the published evaluator takes; the others accept what it rejects."""

_ORDER = {rule: index for index, rule in enumerate(Rule)}


class Rules:
    """The rules in force, remembering which were asked about while a verdict was found."""

    __slots__ = ("consulted", "enabled")

    def __init__(self, enabled: Iterable[Rule]) -> None:
        self.enabled = frozenset(enabled)
        self.consulted: dict[Rule, None] = {}

    def allow(self, rule: Rule) -> bool:
        """Whether the rule is in force."""
        self.consulted[rule] = None
        return rule in self.enabled


def decisive_rules(
    verdict_under: Callable[[Rules], bool], enabled: frozenset[Rule], *, strict: bool
) -> tuple[Rule, ...]:
    """The rules that make the verdict another than the strict one; empty where it is the same.

    Of the rules that can turn a verdict that way, those that were consulted are switched off one
    after the other for as long as the verdict stays; what then would turn it back is decisive.
    The rules that work the other way stay on: the difference is made in spite of them.
    """
    recorder = Rules(enabled)
    if verdict_under(recorder) == strict:
        return ()
    turning = {rule for rule in recorder.consulted if (rule in REJECTING) == strict} & enabled
    kept = turning | {rule for rule in enabled if (rule in REJECTING) != strict}
    for rule in sorted(turning, key=_ORDER.__getitem__, reverse=True):
        if verdict_under(Rules(kept - {rule})) != strict:
            kept.discard(rule)
    tried = kept & set(recorder.consulted)
    decisive = [rule for rule in tried if verdict_under(Rules(kept - {rule})) == strict]
    return tuple(sorted(decisive, key=_ORDER.__getitem__))
