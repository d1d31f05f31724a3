"""What commands take: a study by number or name."""

from django.core.management.base import CommandError

from judging.models import Study
from runs.models.parsing import read_number


def study_named(named: str) -> Study:
    """The study of that number, or else of that name.

    Raises:
        CommandError: there is none.
    """
    number = read_number(named)
    by_number = None if number is None else Study.objects.filter(pk=number).first()
    study = by_number or Study.objects.filter(name=named).first()
    if study is None:
        raise CommandError(f"there is no study {named}")
    return study
