"""How the figures of an audit count, as an address says it; files and pages say it beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.models.parsing import read_choice


class Unsure(models.TextChoices):
    """Whether "unsure" is an answer like others when annotators are compared."""

    IN = "in", _("“unsure” is an answer like others")
    OUT = "out", _("without “unsure”")


class Pairing(models.TextChoices):
    """Between whom agreement is: people, or the first label of each run and the second.

    Raw agreement, alpha and AC1 do not depend on it; kappa does.
    """

    PEOPLE = "people", _("between people")
    ORDER = "order", _("first label against second")


class NoVerdict(models.TextChoices):
    """What a run is to the figures of an evaluator that has no verdict on it."""

    LEFT_OUT = "left-out", _("no verdict is left out")
    WRONG = "wrong", _("no verdict counts as wrong")


class Choice(NamedTuple):
    """One of several ways to count, and the query of the address that asks for it."""

    words: Promise | str
    query: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """The ways to count that an address chose; the defaults have no place in it."""

    unsure: Unsure = Unsure.IN
    pairing: Pairing = Pairing.PEOPLE
    no_verdict: NoVerdict = NoVerdict.LEFT_OUT
    split: str = ""
    """The split of the tasks that matrices and figures are of; all of them if empty."""

    @property
    def counts_silence(self) -> bool:
        """Whether figures count a run without a verdict as judged wrongly, or leave it out."""
        return self.no_verdict is NoVerdict.WRONG

    @property
    def text(self) -> str:
        """The query of an address; empty for the defaults."""
        usual = AuditQuery()
        return urlencode(
            {key: value for key, value in asdict(self).items() if value != getattr(usual, key)}
        )

    def choices(self, name: str) -> list[Choice]:
        """The values of `unsure`, `pairing` or `no_verdict`."""
        return self._choices(name, type(getattr(self, name)).choices)

    def split_choices(self, splits: Sequence[str]) -> list[Choice]:
        """All tasks, or those of one split; nothing to choose where there are no splits."""
        offered = [("", _("all splits")), *((each, each) for each in splits)]
        return self._choices("split", offered) if splits else []

    def _choices(self, name: str, words: Iterable[tuple[Any, Any]]) -> list[Choice]:
        chosen = getattr(self, name)
        return [
            Choice(said, replace(self, **{name: each}).text, each == chosen) for each, said in words
        ]


def read_audit_query(query: Mapping[str, str]) -> AuditQuery:
    """What an address says. Raises QueryError where a value is none that there could be."""
    return AuditQuery(
        unsure=read_choice(query, "unsure", Unsure) or Unsure.IN,
        pairing=read_choice(query, "pairing", Pairing) or Pairing.PEOPLE,
        no_verdict=read_choice(query, "no_verdict", NoVerdict) or NoVerdict.LEFT_OUT,
        split=query.get("split", ""),
    )
