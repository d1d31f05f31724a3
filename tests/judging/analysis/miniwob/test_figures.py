"""MiniWoB++ figures, counted by hand."""

import re
from html import unescape

import pytest

from judging.analysis.experiments.reports import EXPERIMENT
from judging.analysis.miniwob.figures import Rule, suite_of
from judging.analysis.reports.report import Value
from runs.models import Experiment
from tests.judging.analysis.experiments import made as others
from tests.judging.analysis.miniwob import made
from webagent.environment.miniwob_suite import StepsNeeded

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BOTH = (Rule.POSITIVE, Rule.BINARY)


def test_both_rules_and_both_kinds_of_tasks() -> None:
    of, _agent = made.suite()
    [found] = suite_of(made.facts(of).scope)
    assert [each.task for each in found.tasks] == sorted(made.NAMES)
    tab = found.at("click-tab")
    assert [tab.pooled(rule).count for rule in BOTH] == [2, 1]
    assert [tab.mean_steps(rule) for rule in BOTH] == [3.0, 2.0]
    # The error of the site says nothing; that the agent came to no decision is a failure.
    many = found.of(StepsNeeded.MANY)
    assert (many.runs, found.broken) == (3, 1)
    assert many.rate(Rule.POSITIVE).value == pytest.approx(1 / 3)
    one = found.of(StepsNeeded.ONE)
    assert one.rate(Rule.POSITIVE).value == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert one.rate(Rule.BINARY).value == pytest.approx((3 / 4 + 1 / 4) / 2)
    assert (found.undecided, found.unrewarded) == (1, 0)
    # Left out by the source: shown, and in no mean.
    assert [each.task for each in found.of(None).tasks] == ["use-slider"]
    assert found.counted.rate(Rule.POSITIVE).value == pytest.approx((3 / 4 + 1 / 2 + 1 / 3) / 3)
    assert (found.counted.pooled(Rule.POSITIVE).count, found.counted.runs) == (6, 11)
    assert found.counted.mean_steps(Rule.POSITIVE) == pytest.approx((1 + 1 + 1 + 2 + 4 + 3) / 6)


def rows(name: str, of: Experiment) -> list[dict[str, Value]]:
    report = EXPERIMENT.make(name, made.facts(of))
    keys = [column.key for column in report.header]
    return [dict(zip(keys, row, strict=True)) for row in report.values]


def test_tables_tell_own_figures_from_published_ones() -> None:
    of, _agent = made.suite()
    overall = rows("miniwob", of)
    own = [row for row in overall if row["origin"] == "own runs"]
    assert [(row["rule"], row["tasks"], row["successes"], row["n"]) for row in own] == [
        ("positive", 3, 6, 11),
        ("binary", 3, 5, 11),
    ]
    assert {row["origin"] for row in overall} == {"own runs", "published"}
    by_steps = rows("miniwob_steps", of)
    kept = {(row["origin"], row["configuration"], row["steps"], row["rule"]) for row in by_steps}
    assert ("own runs", "screen-scripted", "excluded", "binary") in kept
    assert ("published", "gpt-4", "many", "positive") in kept
    tasks = {row["task"]: row for row in rows("miniwob_tasks", of)}
    assert (tasks["click-tab"]["positive"], tasks["click-tab"]["binary"]) == (0.5, 0.25)
    left_out = {row["task"]: row["runs"] for row in rows("miniwob_excluded", of)}
    assert (len(left_out), left_out["use-slider"], left_out["chase-circle"]) == (30, 1, 0)


def test_other_experiments_have_no_such_tables_and_parts() -> None:
    other = others.two_models({"both": 1})
    assert not any(rows(name, other) for name in EXPERIMENT.entries if "miniwob" in name)
    client = others.reader()
    page = client.get(others.address("experiment_detail", other.pk)).content.decode()
    assert "part-miniwob" not in page
    of, _agent = made.suite()
    page = client.get(others.address("experiment_detail", of.pk)).content.decode()
    assert "part-miniwob" in page


def test_the_part_shows_shares_with_their_runs(django_assert_max_num_queries) -> None:
    of, agent = made.suite()
    client = others.reader()
    address = others.address("experiment_part", of.pk, "miniwob")
    with django_assert_max_num_queries(30):
        page = client.get(address).content.decode()
    assert "52.8 %" in page  # (3/4 + 1/2 + 1/3) / 3
    runs = others.address(
        "experiment_runs", of.pk, verdict="reward", agent=agent.pk, task="miniwob.click-tab"
    )
    listed = client.get(runs).content.decode()
    assert listed.count("miniwob.click-tab<") == 4 + 1  # and the chip
    # Every figure leads to the very runs that it is over: the agent's own error, not the site's.
    assert "in the agent&#x27;s own error" in page
    links = [unescape(link) for link in re.findall(r'href="([^"]*errors=agent[^"]*)"', page)]
    of_task = next(link for link in links if "click-tab-2" in link)
    assert client.get(of_task).content.decode().count("miniwob.click-tab-2<") == 3 + 1
    [of_errors] = [link for link in links if "task=" not in link]
    assert client.get(of_errors).content.decode().count("miniwob.click-tab-2<") == 1
    nobody = others.address("experiment_runs", of.pk, errors="nobody")
    assert client.get(nobody).status_code == 404
