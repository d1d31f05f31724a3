"""Shares of failure modes side by side, each with its runs: for an experiment and for a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise

from judging.analysis.audits.triangle_links import Linked, LinkedShare
from judging.analysis.failure_modes.shares import ModeFigures, Reviewed
from judging.analysis.failure_modes.told import NONE, UNKNOWN, WHOSE, Word, side_word
from judging.analysis.failure_modes.words import (
    DEFINITIONS,
    NAMES,
    NO_MODE,
    SIDE_DEFINITIONS,
    SIDES,
)
from judging.statistics.proportions import Share
from webagent.recovery.failure_kinds import Mode, Side

Link = Callable[[int, str, Word], str]
"""Where the runs of a configuration that show a word are listed, by whose word."""


@dataclass(frozen=True, slots=True)
class ModeRow:
    """One mode or side over all configurations."""

    name: str | Promise
    definition: str | Promise
    cells: Sequence[LinkedShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModePanel:
    """The table of failure modes under one word."""

    word: Word
    words: Sequence[tuple[Word, Promise]]
    configurations: Sequence[str]
    counted: Sequence[int]
    """The agents' failures: n of the rows but for the environment's."""
    modes: Sequence[ModeRow]
    environment: ModeRow
    sides: Sequence[ModeRow]
    not_told: Sequence[Linked]
    reviewed: Share

    @property
    def has_sides(self) -> bool:
        return any(cell.share.total for row in self.sides for cell in row.cells)

    @property
    def has_not_told(self) -> bool:
        return any(each.n for each in self.not_told)


def mode_panel(
    columns: Sequence[tuple[int, str, ModeFigures]], word: Word, made_of: Reviewed, link: Link
) -> ModePanel:
    """The panel of these configurations, given by id, name and figures under the word."""

    def cells(share_of: Callable[[ModeFigures], Share], shown: str) -> list[LinkedShare]:
        return [
            LinkedShare(share, link(pk, shown, word) if share.count else "")
            for pk, _name, figures in columns
            for share in [share_of(figures)]
        ]

    def row(mode: Mode) -> ModeRow:
        found = cells(lambda figures: figures.share(mode), mode.value)
        return ModeRow(NAMES[mode], DEFINITIONS[mode], found)

    def side_row(side: Side) -> ModeRow:
        found = cells(lambda figures: figures.side_share(side), side_word(side))
        return ModeRow(SIDES[side], SIDE_DEFINITIONS[side], found)

    agents = [row(mode) for mode in Mode if mode is not Mode.ENVIRONMENT]
    none = ModeRow(NO_MODE, "", cells(lambda figures: figures.without_mode, NONE))
    return ModePanel(
        word=word,
        words=list(WHOSE.items()),
        configurations=[name for _pk, name, _figures in columns],
        counted=[figures.agents for _pk, _name, figures in columns],
        modes=[*agents, none],
        environment=row(Mode.ENVIRONMENT),
        sides=[side_row(side) for side in Side],
        not_told=[
            Linked(figures.unknown, link(pk, UNKNOWN, word)) for pk, _name, figures in columns
        ],
        reviewed=made_of.confirmed,
    )


def read_whose(text: str) -> Word:
    """Whose word an address asks for; everybody's where it names none.

    Raises:
        ValueError: there is no such word.
    """
    return Word(text) if text else Word.KNOWN
