"""What commands take: a source of verdicts by name."""

from django.core.management.base import CommandError

from judging.analysis.experiments.sources import Source, source_named


def verdict_source(named: str) -> Source:
    """The source of verdicts of that name. Raises CommandError where there is none."""
    try:
        return source_named(named)
    except ValueError as error:
        raise CommandError(str(error)) from error
