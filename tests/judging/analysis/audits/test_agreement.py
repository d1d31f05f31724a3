"""Annotators against each other, against figures made by hand."""

from __future__ import annotations

import pytest

from judging.analysis.audits.agreement import agreement_of
from judging.models import ReferenceVerdict
from judging.statistics.figures import Interval, Reason, Undefined
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of

pytestmark = pytest.mark.django_db


def test_two_annotators_by_hand() -> None:
    """Of 10 pairs 8 agree: 6 success, 2 failure; kappa (.8 - .58) / (1 - .58)."""
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    pairs = [("success", "success")] * 6 + [("failure", "failure")] * 2
    pairs += [("success", "failure"), ("failure", "success")]
    for first, second in pairs:
        world.add("success" if first == second else None, [(a, first), (b, second)])
    found = agreement_of(world.study)
    figures = {each.key: each for each in found.figures}
    assert figures["raw"].value == pytest.approx(0.8)
    assert figures["kappa"].value == pytest.approx((0.8 - 0.58) / (1 - 0.58))
    assert isinstance(figures["kappa"].interval, Interval)
    # alpha: Do = 4/20, De = 2·14·6/(20·19); AC1 over the four labels that could be given
    assert figures["alpha"].value == pytest.approx(1 - (4 / 20) / (2 * 14 * 6 / (20 * 19)))
    assert figures["ac1"].value == pytest.approx((0.8 - 0.14) / (1 - 0.14))
    assert (found.runs, found.labels, found.disputed, found.waiting) == (10, 20, 2, 2)
    [pair] = found.pairs
    assert pair.labels == ["success", "failure"]
    assert pair.rows == [("success", [6, 1]), ("failure", [1, 2])]


def test_one_label_throughout_is_said_in_words() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    for _ in range(3):
        world.add("success", [(a, "success"), (b, "success")])
    found = agreement_of(world.study)
    values = {each.key: each.value for each in found.figures}
    assert values["raw"] == 1.0
    assert values["kappa"] == values["alpha"] == Undefined(Reason.ONE_CLASS)
    client = client_of(audited.auditor())
    page = open_page(client, "audit_agreement", world.study.pk).content.decode()
    assert "only one label occurs" in page
    assert "nan" not in page.lower()


def test_labels_of_open_runs_wait_for_the_second() -> None:
    world = audited.study()
    world.add(None, [(audited.person("a"), "success")])
    assert agreement_of(world.study).labels == 0


def test_three_annotators_have_kappa_by_pair_only() -> None:
    world = audited.study()
    a, b, c = (audited.person(name) for name in "abc")
    for first, second in ((a, b), (b, c), (a, c), (a, b)):
        world.add("success", [(first, "success"), (second, "success")])
    found = agreement_of(world.study)
    kappa = next(each for each in found.figures if each.key == "kappa")
    assert kappa.value is None
    assert kappa.why
    assert [(pair.first, pair.second, pair.runs) for pair in found.pairs] == [
        ("a", "b", 2),
        ("a", "c", 1),
        ("b", "c", 1),
    ]


def test_hidden_repeats_hold_annotators_against_themselves() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    for again in ("success", "failure"):
        item = world.add("success", [(a, "success"), (b, "success")])
        audited.label(item, a, again, is_repeat=True)
    found = agreement_of(world.study)
    assert found.labels == 4
    [repeat] = found.repeats
    assert (repeat.first, repeat.runs) == ("a", 2)
    assert repeat.figures[0].value == pytest.approx(0.5)


def test_origins_of_settlements_are_counted() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    differ = [(a, "success"), (b, "failure")]
    world.add("success", differ, origin=ReferenceVerdict.Origin.ADJUDICATED)
    world.add("failure", differ, origin=ReferenceVerdict.Origin.CONSENSUS)
    world.add(None, differ)
    found = agreement_of(world.study)
    assert (found.disputed, found.adjudicated, found.consensus, found.waiting) == (3, 1, 1, 1)
