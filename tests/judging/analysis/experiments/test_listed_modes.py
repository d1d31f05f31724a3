"""The shares of failure modes on a list of failures, recomputed from its rows."""

import csv
import io

import pytest

from judging.analysis.experiments.course_reports import modes_among
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.population import whole_scope
from judging.analysis.failure_modes.services import Statement, review_runs
from runs.models import Experiment
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent, make_task
from webagent.trajectory.verdict_records import Mode

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LOOP, EARLY = Mode.REPETITIVE, Mode.EARLY_STOP
BY_SITE = {"shop": ({LOOP}, {LOOP, EARLY}, {EARLY}, set()), "forum": ({LOOP},)}
"""The modes of each failure, by people."""


@pytest.fixture
def failed() -> Experiment:
    of, agent, person = made.experiment(), make_agent(), audited.person("one")
    for site, modes in BY_SITE.items():
        for number, named in enumerate(modes):
            task = make_task(f"{site}-{number}", site=site)
            [run] = made.store([made.run_row(of, task, agent, 0.0)])
            review_runs(user=person, run_ids=[run.pk], statement=Statement(modes=frozenset(named)))
    made.store([made.run_row(of, make_task("won", site="shop"), agent, 1.0)])
    return of


def shares(of: Experiment, **chosen: str) -> dict[str, tuple[int, int]]:
    """By mode: runs and n, by people."""
    report = modes_among(Facts(whole_scope(of)), chosen)
    keys = [column.key for column in report.header]
    rows = [dict(zip(keys, row, strict=True)) for row in report.values]
    return {
        str(row["mode"]): (row["runs"], row["n"])  # type: ignore[misc]
        for row in rows
        if row["by"] == "people"
    }


def test_shares_are_those_of_the_rows_that_are_listed(failed: Experiment) -> None:
    every, shop = shares(failed), shares(failed, site="shop", standing="failure", mode="plan_error")
    assert (every[LOOP], every[EARLY], every["none"]) == ((3, 5), (2, 5), (1, 5))
    assert (shop[LOOP], shop[EARLY], shop["none"]) == ((2, 4), (2, 4), (1, 4))


def test_the_page_shows_them_and_the_downloaded_rows_give_the_same(failed: Experiment) -> None:
    client = made.reader()
    chosen = {"verdict": "reward", "standing": "failure", "site": "shop"}
    page = client.get(made.address("experiment_runs", failed.pk, **chosen)).content.decode()
    assert "How do runs fail?" in page
    assert page.count("data-run=") == 4
    assert page.count("2/4") >= 2
    file = client.get(made.address("experiment_runs_file", failed.pk, "csv", **chosen))
    rows = list(csv.DictReader(io.StringIO(file.content.decode("utf-8-sig"))))
    told = [row["modes_by_people"].split() for row in rows]
    assert sum(LOOP in each for each in told) == 2
    assert sum(EARLY in each for each in told) == 2
    assert told.count(["none"]) == 1
    assert {row["modes_by_judge"] for row in rows} == {""}
    won = made.address("experiment_runs_file", failed.pk, "csv", verdict="reward")
    assert "modes_by_people" not in client.get(won).content.decode()
