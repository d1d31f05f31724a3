"""No cell is a formula, in whatever disguise."""

import pytest

from runs.interface.words import escape_formula

FORMULAS = [
    f"{before}{sign}cmd|' /C calc'!A0"
    for before in ("", " ", "\u200b", "\ufeff", "\u00a0", "\u2028", " \u200e ")
    for sign in (
        "=",
        "+",
        "-",
        "@",
        "\t",
        "\r",
        "\n",
        "\uff1d",
        "\uff0b",
        "\uff0d",
        "\uff20",
        "\ufe66",
    )
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_becomes_text(formula: str) -> None:
    assert escape_formula(formula) == f"'{formula}"


@pytest.mark.parametrize("text", ["", "a=b", "1-2", "'quoted", "日本語", "#1", "  plain", "\u200b"])
def test_what_is_none_stays(text: str) -> None:
    assert escape_formula(text) == text
