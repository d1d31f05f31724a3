"""Answers to what a first look at files asked, as commands take them."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.management.base import CommandError


def read_answers(given: Iterable[str]) -> dict[str, str]:
    """Key -> choice, from `KEY=CHOICE` each. Raises CommandError."""
    pairs = [answer.partition("=") for answer in given]
    if wrong := [key for key, equals, choice in pairs if not (key and equals and choice)]:
        raise CommandError(f"--answer {wrong[0]}: write KEY=CHOICE")
    return {key: choice for key, _, choice in pairs}
