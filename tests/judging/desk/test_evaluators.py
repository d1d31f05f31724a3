"""The home page's evaluators: how wrong they are, by version, and the next step."""

import re

import pytest
from django.urls import reverse

from judging.analysis.audits.facts import AuditFacts
from judging.desk.evaluators import evaluators_of, next_step
from tests.judging.analysis import audited
from tests.runs.factories import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def words_of(address: str) -> str:
    page = client_of(audited.auditor()).get(address).content.decode()
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_every_share_opens_its_runs() -> None:
    world = audited.study()
    bad = audited.evaluator("bad")
    audited.judged(world, bad, ["tp", "tp", "fn", "fp", "tn", "?s"])
    page = client_of(audited.auditor()).get(reverse("judging:audit_newest")).content.decode()
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "2 of 5 40.0 % (11.8–76.9)" in words, "errors of the runs that it judged"
    assert "1 of 3 33.3 % (6.1–79.2)" in words
    assert "1 of 2 50.0 % (9.5–90.5)" in words
    for cell in ("fn-fp", "fn", "fp", "none"):
        assert reverse("judging:audit_cells", args=[world.study.pk, bad.pk, cell]) in page


def test_versions_of_one_evaluator_are_one_row_with_its_history() -> None:
    world = audited.study()
    old, new = (audited.evaluator("strict", version=version) for version in "12")
    audited.judged(world, old, ["tp", "tp", "fn", "tn"])
    for item, verdict in zip(world.items, ["failed", "failed", "failed", "failed"], strict=True):
        audited.evaluation(item.run, new, verdict)
    (row,) = evaluators_of(AuditFacts(world.study)).rows
    assert (row.newest.evaluator, [each.evaluator for each in row.earlier]) == (new, [old])
    assert row.got_worse
    assert row.line == "0.0,11.7 64.0,1.0"  # FN shares 1/4 and 3/4, the higher one at the top
    words = words_of(reverse("judging:audit_newest"))
    assert "25.0 % → 75.0 % worse" in words
    assert "FN share by version" in words


def test_an_evaluator_with_one_version_has_no_history() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("strict"), ["tp", "fn"])
    (row,) = evaluators_of(AuditFacts(world.study)).rows
    assert (row.line, row.got_worse) == ("", False)
    assert "FN share by version" not in words_of(reverse("judging:audit_newest"))


def test_the_next_step_explains_the_evaluator_with_most_unexplained_errors() -> None:
    few, many = audited.study("few"), audited.study("many")
    audited.judged(few, audited.evaluator("good"), ["tp", "fn"])
    bad = audited.evaluator("bad")
    audited.judged(many, bad, ["fn", "fn", "fp"])
    step = next_step([AuditFacts(few.study), AuditFacts(many.study)])
    assert step is not None
    assert step.text == "Say why bad is wrong on 3 runs"
    opened = client_of(audited.auditor()).get(step.address)
    assert opened.status_code == 200
    assert "3" in opened.content.decode()


def test_without_errors_there_is_no_such_step() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("good"), ["tp", "tn"])
    assert next_step([AuditFacts(world.study)]) is None
    assert next_step([]) is None
