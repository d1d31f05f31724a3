"""Causes of failure that a study offers to its annotators."""

import re
from collections.abc import Iterable
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext, gettext_noop

DEFAULT_CAUSES = {
    "repeated_actions": gettext_noop("repeated actions"),
    "operation_error": gettext_noop("operation error"),
    "reasoning_error": gettext_noop("reasoning error"),
    "stopped_too_early": gettext_noop("stopped too early"),
    "misread_page": gettext_noop("misread page"),
    "wrong_answer_form": gettext_noop("right thing, wrong form"),
    "environment": gettext_noop("environment"),
}
MAX_CAUSES = 12
MAX_NAME = 60


_ANOMALIES = {
    "loop": ("loop", "repeat", "ループ", "繰り返"),
    "false_completion": ("too early", "too_early", "premature", "false completion", "完了誤認"),
}
"""What the name or key of a cause holds if it is what a detector of anomalies looks for."""


def anomaly_meant(cause: dict[str, Any]) -> str | None:
    """`loop` or `false_completion` where the cause says the same as that mark; else None."""
    words = f"{cause['key']} {cause['name']}".lower().replace(
        "false_completion", "false completion"
    )
    for kind, signs in _ANOMALIES.items():
        if any(sign in words for sign in signs):
            return kind
    return None


def cause_choices(taxonomy: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """Keys and names to choose from; names of the built-in causes in the reader's language."""
    choices = []
    for cause in taxonomy:
        key, name = str(cause["key"]), str(cause["name"])
        choices.append((key, gettext(name) if DEFAULT_CAUSES.get(key) == name else name))
    return choices


def default_lines() -> str:
    """The built-in causes as a form shows them: one a line, in the reader's language."""
    return "\n".join(gettext(name) for name in DEFAULT_CAUSES.values())


def parse_lines(text: str) -> list[dict[str, str]]:
    """The causes that somebody wrote, one a line; built-in ones are recognised again."""
    known = {gettext(name): (key, name) for key, name in DEFAULT_CAUSES.items()}
    causes: dict[str, str] = {}
    for line in text.splitlines():
        written = line.strip()[:MAX_NAME]
        if not written:
            continue
        key, name = known.get(written, (_key(written, causes), written))
        causes.setdefault(key, name)
    return [{"key": key, "name": name} for key, name in list(causes.items())[:MAX_CAUSES]]


def _key(name: str, taken: dict[str, str]) -> str:
    """A key for a cause: its name in letters where that is possible, else its number."""
    key = re.sub(r"-", "_", slugify(name)) or f"cause_{len(taken) + 1}"
    return key if taken.get(key, name) == name else f"{key}_{len(taken) + 1}"
