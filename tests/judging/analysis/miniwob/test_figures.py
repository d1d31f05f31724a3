"""MiniWoB++ figures, counted by hand."""

from __future__ import annotations

import re
from html import unescape

import pytest

from judging.analysis.experiments.tables import TABLES
from judging.analysis.miniwob.figures import Rule, suite_of
from judging.analysis.reports import Table, Value
from tests.judging.analysis.experiments import made as others
from tests.judging.analysis.miniwob import made
from webagent.environment.miniwob_suite import Exclusion, Steps

pytestmark = pytest.mark.django_db
BOTH = (Rule.POSITIVE, Rule.BINARY)


def test_both_rules_and_both_kinds_of_tasks() -> None:
    of, _agent = made.suite()
    [found] = suite_of(made.asked(of).scope).configurations
    assert [each.task for each in found.tasks] == sorted(made.NAMES)
    tab = found.at("click-tab")
    assert tab is not None
    assert [tab.share(rule).count for rule in BOTH] == [2, 1]
    assert [tab.mean_steps(rule) for rule in BOTH] == [3.0, 2.0]
    # The error of the site says nothing; that the agent came to no decision is a failure.
    many = found.of(Steps.MANY)
    assert (many.runs, found.broken) == (3, 1)
    assert many.rate(Rule.POSITIVE).value == pytest.approx(1 / 3)
    one = found.of(Steps.ONE)
    assert one.rate(Rule.POSITIVE).value == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert one.rate(Rule.BINARY).value == pytest.approx((3 / 4 + 1 / 4) / 2)
    assert (found.undecided, found.unrewarded) == (1, 0)
    # Left out by the source: shown, and in no mean.
    assert [each.task for each in found.excluded.tasks] == ["use-slider"]
    assert found.counted.rate(Rule.POSITIVE).value == pytest.approx((3 / 4 + 1 / 2 + 1 / 3) / 3)
    assert (found.counted.pooled(Rule.POSITIVE).count, found.counted.runs) == (6, 11)
    assert found.counted.mean_steps(Rule.POSITIVE) == pytest.approx((1 + 1 + 1 + 2 + 4 + 3) / 6)


def test_what_is_not_run_is_named_with_its_reason() -> None:
    of, _agent = made.suite()
    not_run = dict(suite_of(made.asked(of).scope).not_run)
    assert len(not_run) == 29
    assert not_run["simon-says"] is Exclusion.REACTION
    assert "use-slider" not in not_run


def rows(table: Table) -> list[dict[str, Value]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def test_tables_tell_own_figures_from_published_ones() -> None:
    of, _agent = made.suite()
    asked = made.asked(of)
    overall = rows(TABLES["miniwob"](asked))
    own = [row for row in overall if row["origin"] == "own runs"]
    assert [(row["rule"], row["tasks"], row["successes"], row["n"]) for row in own] == [
        ("positive", 3, 6, 11),
        ("binary", 3, 5, 11),
    ]
    assert {row["origin"] for row in overall} == {"own runs", "published"}
    by_steps = rows(TABLES["miniwob_steps"](asked))
    kept = {(row["origin"], row["configuration"], row["steps"], row["rule"]) for row in by_steps}
    assert ("own runs", "screen-scripted", "excluded", "binary") in kept
    assert ("published", "gpt-4", "many", "positive") in kept
    tasks = {row["task"]: row for row in rows(TABLES["miniwob_tasks"](asked))}
    assert (tasks["click-tab"]["positive"], tasks["click-tab"]["binary"]) == (0.5, 0.25)
    left_out = {row["task"]: row["runs"] for row in rows(TABLES["miniwob_excluded"](asked))}
    assert (len(left_out), left_out["use-slider"], left_out["chase-circle"]) == (30, 1, 0)


def test_other_experiments_have_no_such_tables_and_parts() -> None:
    other = others.two_models({"both": 1})
    assert not any(TABLES[name](made.asked(other)).rows for name in TABLES if "miniwob" in name)
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
    assert "all 3 that count" in page
    assert "52.8 %" in page  # (3/4 + 1/2 + 1/3) / 3
    runs = others.address(
        "experiment_runs", of.pk, verdict="reward", agent=agent.pk, task="miniwob.click-tab"
    )
    listed = client.get(runs).content.decode()
    assert listed.count("miniwob.click-tab<") == 4 + 1  # and the chip
    # Every figure leads to the very runs that it is over: the agent's own error, not the site's.
    assert "left out of the accuracy above" in page
    links = [unescape(link) for link in re.findall(r'href="([^"]*errors=agent[^"]*)"', page)]
    of_task = next(link for link in links if "click-tab-2" in link)
    assert client.get(of_task).content.decode().count("miniwob.click-tab-2<") == 3 + 1
    [of_errors] = [link for link in links if "task=" not in link]
    assert client.get(of_errors).content.decode().count("miniwob.click-tab-2<") == 1
    nobody = others.address("experiment_runs", of.pk, errors="nobody")
    assert client.get(nobody).status_code == 404
