"""What commands take: studies by number or name, amounts of money, numbers of runs."""

from __future__ import annotations

from argparse import ArgumentTypeError
from decimal import Decimal, InvalidOperation

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


def dollars(text: str) -> Decimal:
    """A limit of spending, as `5`, `0.25` or `$5`.

    Raises:
        ArgumentTypeError: it is no amount above 0.
    """
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation as error:
        raise ArgumentTypeError(f"{text} is no amount of dollars") from error
    if not amount.is_finite() or amount <= 0:
        raise ArgumentTypeError("an amount of dollars must be more than 0")
    return amount


def at_most(text: str) -> int:
    """How many runs at most.

    Raises:
        ArgumentTypeError: it is no number of 1 or more.
    """
    number = read_number(text)
    if not number:
        raise ArgumentTypeError(f"{text} is no number of runs; it must be 1 or more")
    return number
