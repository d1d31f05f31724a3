"""Who said that a run succeeded, as it was written down, in the reader's language."""

from __future__ import annotations

import re

from django.utils.translation import gettext, gettext_noop

IMPORTED_REWARD = gettext_noop("imported reward")
REFERENCE_VERDICT = gettext_noop("reference verdict")
EVALUATOR = gettext_noop("evaluator %(name)s")
REWARD_RULE = gettext_noop("Success is a reward above %(least)s, as the benchmark gave it.")
REFERENCE_RULE = gettext_noop("Success is what people agreed on or adjudicated.")
EVALUATOR_RULE = gettext_noop("Success is what %(name)s passes.")
_SAID = (
    IMPORTED_REWARD,
    REFERENCE_VERDICT,
    EVALUATOR,
    REWARD_RULE,
    REFERENCE_RULE,
    EVALUATOR_RULE,
)
"""What a source of verdicts says of itself, in English, as which it is kept."""
_SLOT = re.compile(r"%\\\((\w+)\\\)s")
_FORMS = {
    said: re.compile(_SLOT.sub(lambda slot: f"(?P<{slot[1]}>.+)", re.escape(said)))
    for said in _SAID
}


def verdict_words(written: str) -> str:
    """The words for the reader; as they were written, if nobody here wrote them."""
    for said, form in _FORMS.items():
        if found := form.fullmatch(written):
            return gettext(said) % found.groupdict()
    return written
