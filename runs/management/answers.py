"""Answers to what a first look at files asked, as commands take them."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import CommandError

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
