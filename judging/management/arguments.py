"""What commands take: studies by number or name, and amounts of money."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.core.management.base import CommandError

from judging.models import Study


def study_named(named: str) -> Study:
    """The study of that number, or else of that name.

    Raises:
        CommandError: there is none.
    """
    by_number = Study.objects.filter(pk=int(named)).first() if named.isdecimal() else None
    study = by_number or Study.objects.filter(name=named).first()
    if study is None:
        raise CommandError(f"there is no study {named}")
    return study


def dollars(text: str) -> Decimal:
    """A limit of spending, as `5`, `0.25` or `$5`.

    Raises:
        CommandError: it is no amount above 0.
    """
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation as error:
        raise CommandError(f"{text} is no amount of dollars") from error
    if not amount.is_finite() or amount <= 0:
        raise CommandError("an amount of dollars must be more than 0")
    return amount
