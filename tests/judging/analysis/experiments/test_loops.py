"""Runs with a loop, by actions alone and by actions and pages."""

import pytest

from judging.analysis.experiments.course_reports import loops
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import whole_scope
from runs.models import Run
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent

pytestmark = pytest.mark.django_db

FOUND = (Run.Loop.NONE, Run.Loop.ACTIONS, Run.Loop.ACTIONS, Run.Loop.ACTIONS_AND_PAGE, None)


@pytest.mark.slow
def test_both_rates_are_shown_with_the_runs_behind_them() -> None:
    """By hand: 4 looked at, by actions 3, on equal pages 1; nobody looked at the fifth."""
    of, tasks, agent = made.experiment(), made.tasks(5), make_agent()
    made.store(
        made.run_row(of, task, agent, 1.0, loop=loop)
        for task, loop in zip(tasks, FOUND, strict=True)
    )
    [row] = loops(Facts(whole_scope(of))).values
    assert row[1:4] == [3, 4, 0.75]
    assert row[6:9] == [1, 4, 0.25]
    assert row[-1] == 1

    client = made.reader()
    part = made.address("experiment_part", of.pk, "recovery", verdict="reward")
    page = client.get(part).content.decode()
    assert "75.0 %" in page
    assert "25.0 %" in page
    listed = client.get(made.address("experiment_runs", of.pk, verdict="reward", loop="actions"))
    assert listed.context["page"].paginator.count == 3
    wrong = made.address("experiment_runs", of.pk, verdict="reward", loop="always")
    assert client.get(wrong).status_code == 404
