"""Retry policies as commands name them."""

from __future__ import annotations

from django.core.management.base import CommandError

from runs.models import RetryPolicy


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
