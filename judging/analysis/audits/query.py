"""How the figures of an audit count, as an address says it; files and pages say it beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.models.parsing import read_choice


class Unsure(StrEnum):
    """Whether "unsure" is an answer like others when annotators are compared."""

    IN = "in"
    OUT = "out"


UNSURE_WORDS: Mapping[Unsure, Promise] = {
    Unsure.IN: _("“unsure” is an answer like others"),
    Unsure.OUT: _("without “unsure”"),
}


class Choice(NamedTuple):
    """One of several ways to count, and the query of the address that asks for it."""

    words: Promise
    query: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """The ways to count that an address chose; the defaults have no place in it."""

    unsure: Unsure = Unsure.IN

    @property
    def text(self) -> str:
        """The query of an address; empty for the defaults."""
        return urlencode({"unsure": self.unsure} if self.unsure is not Unsure.IN else {})

    @property
    def unsure_choices(self) -> list[Choice]:
        return [
            Choice(words, replace(self, unsure=each).text, each is self.unsure)
            for each, words in UNSURE_WORDS.items()
        ]


def read_audit_query(query: Mapping[str, str]) -> AuditQuery:
    """What an address says.

    Raises:
        QueryError: a value is none that there could be.
    """
    return AuditQuery(unsure=read_choice(query, "unsure", Unsure) or Unsure.IN)
