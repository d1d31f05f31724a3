"""What a report tells, and how it names people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_uppercase

from django.utils.translation import gettext as _

from judging.models import Study
from runs.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What may be left out."""

    names: bool = True
    """Names of people; without them they are A, B, C."""
    thoughts: bool = True
    """What the agents thought."""
    language: str = "en"


class People:
    """How the people of a study are called: by name, or by a letter that stays the same in it."""

    def __init__(self, study: Study, *, named: bool) -> None:
        usernames = User.objects.filter(
            pk__in=study.members.order_by().values("user")
        ) | User.objects.filter(labels__item__study=study)
        known = sorted(set(usernames.values_list("username", flat=True)))
        self._names = {
            name: name if named else _("person %(letter)s") % {"letter": letter}
            for name, letter in zip(known, _letters(), strict=False)
        }
        self._named = named

    def __call__(self, username: str) -> str:
        """The name to print; of somebody from outside the study no letter is known."""
        if username in self._names or not username:
            return self._names.get(username, "")
        return username if self._named else _("somebody else")


def _letters() -> Iterable[str]:
    """A, B, …, Z, AA, AB, …"""
    number = 0
    while True:
        letters, rest = "", number
        while rest >= 0:
            letters = ascii_uppercase[rest % 26] + letters
            rest = rest // 26 - 1
        yield letters
        number += 1


FOLDER = "report"
INDEX = "index.html"


def run_page(number: int) -> str:
    """The page of the run with this number in the study."""
    return f"runs/{number:04d}.html"


def evaluator_page(number: int) -> str:
    """The page of the evaluator that is named as this one of the report."""
    return f"evaluators/{number:02d}.html"


def picture(sha256: str) -> str:
    """A picture, by its hash."""
    return f"pictures/{sha256[:20]}.webp"
