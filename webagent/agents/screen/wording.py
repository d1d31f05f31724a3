"""The words of the screenshot-only agent: one file a version, never edited once it was used."""

from __future__ import annotations

from pathlib import Path

from webagent.agents.generic.wording import HistoryWords, Wording, read_wording

FOLDER = Path(__file__).parent / "prompts"


class ScreenWords(HistoryWords):
    """What one version says. Its parts are named after the parts of a prompt."""

    system: str
    reply: str
    tips: str
    no_tips: str
    example: str
    example_turn: str
    goal: str
    history: str
    code_word: str
    error: str
    screen: str
    nothing_seen: str
    ending: str
    unusable: str
    screen_left_out: str


def screen_wording(version: str) -> Wording[ScreenWords]:
    """The words of that version.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    return read_wording(version, ScreenWords, FOLDER)
