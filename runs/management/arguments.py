"""Arguments of commands: answers to questions of an import, and retry policies by name."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import CommandError

from runs.models import RetryPolicy
from webagent.trajectory.reading import QUESTIONS


def read_answers(given: Iterable[str]) -> dict[str, str]:
    """Key -> choice, from `KEY=CHOICE` each.

    Raises:
        CommandError: it is written otherwise, or nobody asks that; names what is asked.
    """
    pairs = [answer.partition("=") for answer in given]
    if wrong := [key for key, equals, choice in pairs if not (key and equals and choice)]:
        raise CommandError(f"--answer {wrong[0]}: write KEY=CHOICE")
    for key, _equals, choice in pairs:
        if key not in QUESTIONS:
            raise CommandError(f"--answer {key}: no such question; there is {', '.join(QUESTIONS)}")
        if choice not in QUESTIONS[key].choices:
            choices = ", ".join(QUESTIONS[key].choices)
            raise CommandError(f"--answer {key}={choice}: one of {choices}")
    return {key: choice for key, _, choice in pairs}


def named_policy(words: str) -> RetryPolicy | None:
    """The policy `NAME@VERSION`, or the last version of `NAME`; None for no words.

    Raises:
        CommandError: there is none; the message lists those that there are.
    """
    if not words:
        return None
    policy = RetryPolicy.objects.named(words)
    if policy is None:
        known = ", ".join(str(each) for each in RetryPolicy.objects.latest_versions()) or "none"
        raise CommandError(f"There is no retry policy {words!r}. There are: {known}.")
    return policy
