"""Every difference from the published evaluator, by name. All off gives its verdicts exactly."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Rule(StrEnum):
    """One repair that can be switched off; `DESCRIPTIONS` says what each one does."""

    # Answers: what counts as saying the reference
    UNICODE = "unicode"
    WHITE_SPACE = "white_space"
    DIACRITICS = "diacritics"
    MARKUP = "markup"
    PUNCTUATION = "punctuation"
    SENTENCE = "sentence"
    ALTERNATIVES = "alternatives"
    NUMBER_FORMAT = "number_format"
    NUMBER_WORDS = "number_words"
    ROUNDING = "rounding"
    UNITS = "units"
    DURATIONS = "durations"
    DATES = "dates"
    COORDINATES = "coordinates"
    PHONES = "phones"
    POSTAL_CODES = "postal_codes"
    LABELLED_VALUES = "labelled_values"
    SEQUENCES = "sequences"
    ADDRESSES = "addresses"
    POLARITY = "polarity"
    ANSWER_URLS = "answer_urls"
    CLONE_COMMANDS = "clone_commands"
    PLAIN_NOT_ACHIEVABLE = "plain_not_achievable"
    SETTLED_WITHOUT_JUDGE = "settled_without_judge"

    # Answers: what does not count although the published evaluator takes it
    WORD_BOUNDARIES = "word_boundaries"
    NUMBER_BOUNDARIES = "number_boundaries"
    NEGATION = "negation"
    HEDGING = "hedging"
    SHOTGUN = "shotgun"
    CONTRADICTION = "contradiction"
    EXTRA_ITEMS = "extra_items"
    CASE_SENSITIVE_CODES = "case_sensitive_codes"

    # URLs
    URL_SEGMENTS = "url_segments"
    URL_HOSTS = "url_hosts"
    URL_HOST_CASE = "url_host_case"
    URL_DEFAULT_PORT = "url_default_port"
    URL_PERCENT_ENCODING = "url_percent_encoding"
    URL_SLASH_BEFORE_QUERY = "url_slash_before_query"
    URL_DOUBLE_SLASHES = "url_double_slashes"
    URL_ALTERNATIVE_QUERIES = "url_alternative_queries"
    URL_QUERY_BLANKS = "url_query_blanks"
    URL_DEFAULT_PARAMETERS = "url_default_parameters"
    URL_FORUM_CASE = "url_forum_case"


def _(text: str) -> str:
    """The text itself: marks what pages translate, for no gettext is known down here."""
    return text


LABELS: Mapping[Rule, str] = {
    Rule.UNICODE: _("unicode"),
    Rule.WHITE_SPACE: _("white space"),
    Rule.DIACRITICS: _("diacritics"),
    Rule.MARKUP: _("markup"),
    Rule.PUNCTUATION: _("punctuation"),
    Rule.SENTENCE: _("sentence"),
    Rule.ALTERNATIVES: _("alternatives"),
    Rule.NUMBER_FORMAT: _("number format"),
    Rule.NUMBER_WORDS: _("number words"),
    Rule.ROUNDING: _("rounding"),
    Rule.UNITS: _("units"),
    Rule.DURATIONS: _("durations"),
    Rule.DATES: _("dates"),
    Rule.COORDINATES: _("coordinates"),
    Rule.PHONES: _("phones"),
    Rule.POSTAL_CODES: _("postal codes"),
    Rule.LABELLED_VALUES: _("labelled values"),
    Rule.SEQUENCES: _("sequences"),
    Rule.ADDRESSES: _("addresses"),
    Rule.POLARITY: _("polarity"),
    Rule.ANSWER_URLS: _("URLs in answers"),
    Rule.CLONE_COMMANDS: _("clone commands"),
    Rule.PLAIN_NOT_ACHIEVABLE: _("plain not achievable"),
    Rule.SETTLED_WITHOUT_JUDGE: _("settled without judge"),
    Rule.WORD_BOUNDARIES: _("word boundaries"),
    Rule.NUMBER_BOUNDARIES: _("number boundaries"),
    Rule.NEGATION: _("negation"),
    Rule.HEDGING: _("hedging"),
    Rule.SHOTGUN: _("shotgun"),
    Rule.CONTRADICTION: _("contradiction"),
    Rule.EXTRA_ITEMS: _("extra items"),
    Rule.CASE_SENSITIVE_CODES: _("case-sensitive codes"),
    Rule.URL_SEGMENTS: _("URL path segments"),
    Rule.URL_HOSTS: _("URL hosts"),
    Rule.URL_HOST_CASE: _("URL host case"),
    Rule.URL_DEFAULT_PORT: _("URL default port"),
    Rule.URL_PERCENT_ENCODING: _("URL percent encoding"),
    Rule.URL_SLASH_BEFORE_QUERY: _("URL slash before query"),
    Rule.URL_DOUBLE_SLASHES: _("URL double slashes"),
    Rule.URL_ALTERNATIVE_QUERIES: _("URL alternative queries"),
    Rule.URL_QUERY_BLANKS: _("URL query blanks"),
    Rule.URL_DEFAULT_PARAMETERS: _("URL default parameters"),
    Rule.URL_FORUM_CASE: _("URL forum case"),
}
"""What each rule is called on pages."""

DESCRIPTIONS: Mapping[Rule, str] = {
    Rule.UNICODE: _(
        "NFKC, straight quotes and dashes, no trademark signs, no invisible characters."
    ),
    Rule.WHITE_SPACE: _("Any run of white space equals one blank."),
    Rule.DIACRITICS: _("Letters equal their forms without accents."),
    Rule.MARKUP: _(
        "Markdown emphasis, code, headings, links and surrounding quotes are unwrapped."
    ),
    Rule.PUNCTUATION: _(
        'Any short punctuation between words of a reference will do; & equals "and".'
    ),
    Rule.SENTENCE: _("An exact reference may be carried by a sentence, a label or a full stop."),
    Rule.ALTERNATIVES: _('" |OR| " separates several correct answers in string references too.'),
    Rule.NUMBER_FORMAT: _(
        "Numbers equal by value: thousands separators, trailing zeros, currency."
    ),
    Rule.NUMBER_WORDS: _('Numbers in words, and "no"/"none" for 0 of what the task counts.'),
    Rule.ROUNDING: _("An amount rounded to whole cents equals a reference with more decimals."),
    Rule.UNITS: _("Lengths and weights equal in any unit, within the rounding that is shown."),
    Rule.DURATIONS: _("Durations equal to the minute, however they are written."),
    Rule.DATES: _(
        "Days and months equal, however they are written (month first where it is open)."
    ),
    Rule.COORDINATES: _("Coordinates equal when cut or rounded to the reference's decimals."),
    Rule.PHONES: _("Phone numbers equal by their digits, with or without the country code 1."),
    Rule.POSTAL_CODES: _("A ZIP+4 code says the ZIP code."),
    Rule.LABELLED_VALUES: _('"Name: value" is said by the name followed by the value.'),
    Rule.SEQUENCES: _('"The order is A, B, C" is said by A, B and C in this order.'),
    Rule.ADDRESSES: _(
        "An address is said by its parts in order; more parts and no country are fine."
    ),
    Rule.POLARITY: _("Yes or no is said by a statement about what the task asks to check."),
    Rule.ANSWER_URLS: _("URLs in answers need no scheme or final slash, nor one name of the site."),
    Rule.CLONE_COMMANDS: _(
        "SSH clone addresses may show the deployment's host, not the annotators'."
    ),
    Rule.PLAIN_NOT_ACHIEVABLE: _("N/A in a short sentence or with a full stop is a bare N/A."),
    Rule.SETTLED_WITHOUT_JUDGE: _("A quantity or date that the answer states needs no judge."),
    Rule.WORD_BOUNDARIES: _("A reference must not be part of a longer word."),
    Rule.NUMBER_BOUNDARIES: _("A number must not be part of a longer number, code or date."),
    Rule.NEGATION: _('"It is not X" does not say X.'),
    Rule.HEDGING: _('"Maybe X" does not say X.'),
    Rule.SHOTGUN: _('"X or Y", "yes and no", or a row of all candidates does not say X.'),
    Rule.CONTRADICTION: _('"The answer is Y" does not say X, wherever else X stands.'),
    Rule.EXTRA_ITEMS: _("A list asked for must not hold wrong items besides the right ones."),
    Rule.CASE_SENSITIVE_CODES: _("Tokens of mixed case and digits must agree in case."),
    Rule.URL_SEGMENTS: _("Hosts must be the same, and paths begin with the reference's segments."),
    Rule.URL_HOSTS: _(
        "Names of one and the same site are equal, and so are localhost and 127.0.0.1."
    ),
    Rule.URL_HOST_CASE: _("Upper and lower case in host names are equal."),
    Rule.URL_DEFAULT_PORT: _("Port 80 of http and 443 of https may be written out."),
    Rule.URL_PERCENT_ENCODING: _("Percent-encoded characters in paths equal plain ones."),
    Rule.URL_SLASH_BEFORE_QUERY: _("/issues/?x equals /issues?x."),
    Rule.URL_DOUBLE_SLASHES: _("Several slashes in a row equal one."),
    Rule.URL_ALTERNATIVE_QUERIES: _("Each alternative's query goes with its own path."),
    Rule.URL_QUERY_BLANKS: _("Blanks around a query value are of no weight."),
    Rule.URL_DEFAULT_PARAMETERS: _("A parameter at the site's default value may be left out."),
    Rule.URL_FORUM_CASE: _("Forum names after /f/ are equal in any case, as on the site."),
}
"""What each rule does, in a sentence to show."""

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


@dataclass(slots=True, eq=False)
class Rules:
    """The rules in force, remembering which were asked about while a verdict was found."""

    enabled: Collection[Rule]
    consulted: dict[Rule, None] = field(default_factory=dict)

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
    for rule in reversed([each for each in Rule if each in turning]):
        if verdict_under(Rules(kept - {rule})) != strict:
            kept.discard(rule)
    tried = kept & set(recorder.consulted)
    in_order = [rule for rule in Rule if rule in tried]
    return tuple(rule for rule in in_order if verdict_under(Rules(kept - {rule})) == strict)
