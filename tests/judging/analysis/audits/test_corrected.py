"""Pass rates of runs that nobody has judged, corrected for the evaluator's errors."""

import pytest

from judging.analysis.audits.matrices import Audit
from judging.statistics.figures import Interval, Reason, Undefined
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only(
        "figures, alike on both; test_paper.py and test_what_if.py run on PostgreSQL"
    ),
]


def waiting(world: audited.Audited, name: str, verdicts: list[str]) -> None:
    for verdict in verdicts:
        audited.evaluation(world.add(None).run, audited.evaluator(name), verdict)


@pytest.mark.slow
def test_by_hand() -> None:
    world = audited.study()
    cells = ["tp"] * 8 + ["fn"] * 2 + ["tn"] * 9 + ["fp"]
    audited.judged(world, audited.evaluator("judge"), cells)
    waiting(world, "judge", ["passed"] * 9 + ["failed"] * 11 + ["error"])
    [found] = Audit(world.study).corrected
    assert (found.passed.count, found.passed.total) == (9, 20)
    # TPR .8, TNR .9: (.45 + .9 - 1) / (.8 + .9 - 1)
    assert found.value == pytest.approx(0.35 / 0.7)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < 0.5 < found.interval.high
    page = open_page(client_of(audited.auditor()), "audit_figures", world.study.pk)
    assert "Runs without a reference verdict" in page.content.decode()
    assert "50.0 %" in page.content.decode()


def test_a_judge_hardly_better_than_chance_gets_no_figure() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("coin"), ["tp", "fn", "tn", "fp"])
    waiting(world, "coin", ["passed", "failed"])
    [found] = Audit(world.study).corrected
    assert found.value == found.interval == Undefined(Reason.WEAK_JUDGE)
    page = open_page(client_of(audited.auditor()), "audit_figures", world.study.pk)
    assert "hardly better than chance" in page.content.decode()


def test_nothing_waits_nothing_is_shown() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator(), ["tp", "tn"])
    world.add(None, of=audited.run(audited.task("odd", infeasible_reason="no such product")))
    assert Audit(world.study).corrected == []
