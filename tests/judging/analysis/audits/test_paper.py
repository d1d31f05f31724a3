"""The source paper's table, from runs to figures."""

import pytest

from judging.analysis.audits.matrices import Audit
from judging.statistics.confusion import ConfusionMatrix
from tests.judging.analysis import papers

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


def matrices(study: object) -> dict[str, ConfusionMatrix]:
    return {each.evaluator.name: each.matrix for each in Audit(study).evaluators}  # type: ignore[arg-type]


def test_before_the_repair() -> None:
    found = matrices(papers.before_study().study)
    assert found["webarena-strict"] == ConfusionMatrix(tp=23, fn=16, tn=36, fp=0)
    assert found["before"] == ConfusionMatrix(tp=23, fn=16, tn=36, fp=0)
    assert found["after"] == ConfusionMatrix(tp=38, fn=1, tn=36, fp=0)
    assert found["before"].fn_share.value == pytest.approx(0.213, abs=5e-4)


def test_after_the_repair() -> None:
    found = matrices(papers.after_study().study)
    assert found["after"] == ConfusionMatrix(tp=40, fn=1, tn=34, fp=0)
    assert found["after"].fn_share.value == pytest.approx(0.013, abs=5e-4)


def test_the_repaired_matcher_mends_the_form_and_breaks_nothing() -> None:
    found = matrices(papers.before_study().study)["webarena-repaired"]
    assert found.fp == 0
    assert found.tp > 23
