"""Failure modes as rows of a table to take away."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from judging.analysis.failure_modes.shares import ModeFigures
from judging.analysis.failure_modes.told import NONE, side_word
from judging.analysis.reports import Column, Value
from judging.analysis.table_values import counted
from judging.statistics.proportions import Share
from webagent.recovery.failure_kinds import Mode, Side

MODE_COLUMNS = [
    Column("by", _("by whose word")),
    Column("mode", _("failure mode")),
    Column("runs", _("runs")),
    Column("n", _("n, failures told of")),
    Column("value", _("share")),
    Column("low", _("lower end, 95 %, Wilson")),
    Column("high", _("upper end, 95 %, Wilson")),
    Column("failures", _("failures")),
    Column("not_told", _("not looked at yet")),
]
MODES_NOTE = _(
    "A failure may show several modes, so shares do not add up to 100 %. What the environment "
    "spoiled is left out of n, but in its own row, which is of all failures and errors."
)


def mode_rows(found: ModeFigures) -> list[Sequence[Value]]:
    """A row for every mode, for failures without any, and for either side of errors."""
    shares: list[tuple[str, Share]] = [
        *((mode.value, found.share(mode)) for mode in Mode),
        (NONE, found.without_mode),
        *((side_word(side), found.side_share(side)) for side in Side),
    ]
    return [
        [found.by.value, word, *counted(share), found.failures, found.unknown]
        for word, share in shares
    ]
