"""Sources of verdicts, offered without reading all that was ever said."""

import pytest

from judging.analysis.experiments import population
from judging.analysis.experiments.population import (
    Choice,
    Source,
    choices_among,
    choices_up_to_a_bound,
)
from judging.analysis.hint_effects.source_runs import SourceRunQuery
from runs.models import Run
from tests.judging.analysis import audited

pytestmark = pytest.mark.django_db


def test_bounded_choices_are_the_same_up_to_the_bound(monkeypatch):
    version, silent = audited.evaluator("strict"), audited.evaluator("silent")
    for number in range(3):
        run = audited.run(audited.task(str(number)), reward=1.0, n_steps=2)
        audited.evaluation(run, version, "passed" if number else "failed")
        audited.evaluation(run, silent, "error")
    runs = Run.objects.all()
    assert choices_up_to_a_bound(runs) == choices_among(runs)
    assert Choice(source=Source(version), verdicts=3) in choices_among(runs)

    monkeypatch.setattr(population, "COUNTED_AT_ONCE", 2)
    assert choices_up_to_a_bound(runs) == [
        Choice(source=Source(), verdicts=2, is_more=True),
        Choice(source=Source(is_reference=True), verdicts=0),
        Choice(source=Source(version), verdicts=2, is_more=True),
    ]


def test_agents_of_sources_are_those_that_acted_in_them():
    audited.agent("never ran")
    audited.run(n_steps=2)
    audited.run(n_steps=0, agent=audited.agent("took no step"))
    audited.run(n_steps=1, agent=audited.agent("walker", model="another"))
    assert SourceRunQuery(user=None).agents() == ["walker"]
