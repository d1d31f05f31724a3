"""Hint conditions and their figures in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.population import WORDS, RunResult
from judging.analysis.hint_effects.effects import MISSING
from judging.analysis.wording import DASH, points_words, why_undefined
from judging.statistics.comparison import Difference
from judging.statistics.figures import Reason, Undefined
from webagent.knowledge.entries import Level, Relatedness

LEVELS: Mapping[Level, Promise] = {
    Level.CONCRETE: gettext_lazy("concrete procedure"),
    Level.ABSTRACT: gettext_lazy("abstract procedure"),
    Level.INSIGHTS: gettext_lazy("general insights"),
}
RELATEDNESSES: Mapping[Relatedness, tuple[Promise, Promise]] = {
    Relatedness.SAME_TASK: (gettext_lazy("same task"), gettext_lazy("upper bound")),
    Relatedness.SAME_SITE_HIGHEST: (gettext_lazy("same site"), gettext_lazy("highest BM25")),
    Relatedness.SAME_SITE_LOWEST: (gettext_lazy("same site"), gettext_lazy("lowest BM25")),
    Relatedness.OTHER_SITE_LOWEST: (gettext_lazy("other site"), gettext_lazy("lowest BM25")),
}
"""Two lines each, for the head of a column."""


def standing_words(word: str) -> str:
    """Where a trial stands, in the reader's language."""
    if word == MISSING:
        return _("no run")
    return str(WORDS[RunResult(word)])


def undecided_words(undecided: Counter[str]) -> list[tuple[int, str]]:
    """How many trials have no verdict, and why, the most frequent reason first."""
    return [(n, standing_words(word)) for word, n in undecided.most_common()]


def difference_words(found: Difference) -> str:
    """`+66.7`: percentage points with their sign, a dash where there is none."""
    return DASH if isinstance(found.value, Undefined) else points_words(found.value)


def ends_words(found: Difference) -> str:
    """The ends of the interval, or why there is none."""
    if isinstance(found.value, Undefined):
        return _("no complete task")
    if found.interval == Undefined(Reason.ALL_ALIKE):
        return _("all tasks alike")
    if isinstance(found.interval, Undefined):
        return why_undefined(found.interval)
    return _("%(low)s to %(high)s") % {
        "low": points_words(found.interval.low),
        "high": points_words(found.interval.high),
    }
