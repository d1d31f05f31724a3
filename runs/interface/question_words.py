"""What readers of formats ask, in the reader's language; the engine asks in English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop

KNOWN = (
    gettext_noop("What do the human labels 0, 1 and 2 mean?"),
    gettext_noop("0 failure, 1 success, 2 not executable (the benchmark's own rule)"),
    gettext_noop("0 not executable, 1 success, 2 failure"),
    gettext_noop("labels 0 and 2 are left out"),
)
"""The words of every question, for the catalogue of translations."""


def in_own_words(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question of a survey, translated as far as its words are known."""
    return {
        "key": question["key"],
        "text": gettext(question["text"]),
        "choices": {key: gettext(words) for key, words in question["choices"].items()},
        "unanswered": gettext(question["unanswered"]),
    }
