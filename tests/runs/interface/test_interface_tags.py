"""How values read on pages."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.utils import translation

from runs.interface.words import cell, duration, moment, money, steps, verdict


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "—"),
        ("", "—"),
        (0, "0.0 s"),
        (0.84, "0.8 s"),
        (9.96, "10.0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
    ],
)
def test_duration(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [(None, "—"), (0, "$0.00"), (Decimal("0.00126"), "$0.0013"), (Decimal("12.3456"), "$12.35")],
)
def test_money(amount, words):
    assert money(amount) == words


def test_moment_says_the_zone():
    shown = moment(datetime(2026, 11, 21, 9, 5, tzinfo=UTC))
    assert 'datetime="2026-11-21T09:05:00+00:00"' in shown
    assert "UTC" in shown
    assert moment(None) == "—"


def test_steps():
    assert steps(1) == "1 step"
    assert steps(22) == "22 steps"


def test_a_hidden_verdict_says_that_it_is_hidden():
    assert "hidden" in verdict(None)
    assert 'class="verdict success"' in verdict("success")


def test_unknown_words_are_escaped():
    assert "<b>" not in verdict("<b>")


def test_cells_have_a_word_and_an_explanation():
    assert "FN" in cell("fn")
    assert "false negative" in cell("fn")


def test_numbers_follow_the_language():
    with translation.override("ja"):
        assert money(Decimal("0.5")) == "$0.5000"
