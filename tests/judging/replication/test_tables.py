"""The paper's tables beside our own, on rows that are here."""

import json
from functools import partial

import pytest
from django.core.management import CommandError, call_command

from judging.models import Replication
from judging.replication.figures import published
from judging.replication.services import take_up
from judging.replication.study_parts import Published, StudyFileError, Unit
from judging.statistics.figures import Share
from tests.judging.analysis import papers
from tests.judging.replication import files

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what reports say"),
    pytest.mark.slow,
]


def test_figures_that_are_not_there_say_why() -> None:
    rows = files.rows_of(files.facts_of(files.NEC), "matrix")
    assert {row["ours"] for row in rows} == {None}
    assert {row["missing_because"] for row in rows} == {"nothing is judged yet"}


@pytest.fixture(scope="module")
def studies(kept_rows: None) -> None:
    """For all tests from here on."""
    papers.before_study()
    papers.after_study()


@pytest.mark.usefixtures("studies")
def test_the_papers_matrix_beside_the_one_that_is_counted() -> None:
    facts = files.facts_of(files.NEC)
    rows = files.rows_of(facts, "matrix")
    assert [(row["row"], row["figure"]) for row in rows] == [
        (name, cell) for name in ("before", "after") for cell in ("tp", "fn", "tn", "fp")
    ]
    assert [row["ours"] for row in rows] == [23, 16, 36, 0, 40, 1, 34, 0]
    assert [row["published"] for row in rows] == [23, 16, 36, 0, 40, 1, 34, 0]
    assert {row["difference"] for row in rows} == {0}
    assert {row["missing_because"] for row in rows} == {None}
    # Two people, 75 runs and all verdicts: nothing differs, and no model was asked.
    assert facts.deviations == []


@pytest.mark.usefixtures("studies")
def test_a_difference_has_the_interval_of_two_independent_estimates() -> None:
    """Newcombe's, where both are shares of so many; an exact figure widens nothing."""
    before, after = files.rows_of(files.facts_of(files.NEC), "share")
    assert before["ours"] == pytest.approx(100 * 16 / 75)
    assert before["difference"] == pytest.approx(100 * 16 / 75 - 21.3)
    low, high = 13.5802, 31.8803  # Wilson's of 16 of 75, by hand
    assert before["ours_low"] == pytest.approx(low, abs=1e-3)
    assert before["ours_high"] == pytest.approx(high, abs=1e-3)
    gap = 100 * 16 / 75 - 21.3
    spread = ((100 * 16 / 75 - low) ** 2 + (high - 21.3) ** 2) ** 0.5
    assert before["difference_low"] == pytest.approx(gap - spread, abs=1e-3)
    exact = 100 / 75 - 1.3
    assert after["difference_low"] == pytest.approx(exact - (100 / 75 - after["ours_low"]))  # type: ignore[operator]
    assert after["difference_high"] == pytest.approx(exact + (after["ours_high"] - 100 / 75))  # type: ignore[operator]


def test_what_a_paper_says_of_spread_becomes_an_interval() -> None:
    found = published(Published(value=42.1, se=3.2), Unit.PERCENT)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((35.828, 48.372), abs=1e-3)
    share = published(Published(value=0.25, of=8), Unit.NUMBER).interval
    wilson = Share(2, 8).interval
    assert share is not None
    assert (share.low, share.high) == (wilson.low, wilson.high)  # type: ignore[union-attr]
    assert published(Published(value=-3.0, of=8), Unit.NUMBER).interval is None


MISNAMED = (
    ('{ key = "tp" }', '{ key = "tp", column = "true" }', "matrices has no column true"),
    ('evaluator = "before"', 'evaluator = "nobody"', "matrices has no row with"),
    ('evaluator = "before"', 'name = "before"', "has no column name to choose a row by"),
    ('{ key = "tp" }', '{ key = "tp", column = "evaluator" }', "before is no number"),
    ('place = "Table 1"', 'place = "Table 1"\nsplit = "dev"', "no row with"),
)


@pytest.mark.parametrize(
    ("name", "why"),
    [("matrixes", "report not found: matrixes"), ("triangle", "triangle is a list of runs")],
)
def test_a_file_that_names_no_report_is_refused_before_anything_runs(name: str, why: str) -> None:
    content = files.NEC.replace('report = "matrices"', f'report = "{name}"', 1).encode()
    refused = f"study.toml, tables.matrix, row 'before'.report: {why}"
    with pytest.raises(StudyFileError, match=refused):
        take_up(content=content, file_name="study.toml", user=None)
    assert not Replication.objects.exists()


@pytest.mark.usefixtures("studies")
def test_a_figure_that_the_file_misnames_says_so() -> None:
    for before, after, why in MISNAMED:
        rows = files.rows_of(files.facts_of(files.NEC.replace(before, after, 1)), "matrix")
        assert rows[0]["ours"] is None
        assert why in str(rows[0]["missing_because"]), after


@pytest.mark.usefixtures("studies")
def test_the_command_writes_every_format(tmp_path) -> None:
    file = tmp_path / "nec.toml"
    file.write_text(files.NEC)
    replicate = partial(files.replicate, file)
    content = json.loads(replicate("--report", "--format", "json"))
    assert set(content["tables"]) == {"matrix", "share", "deviations", "versions"}
    assert content["tables"]["matrix"]["rows"][1]["ours"] == 16
    csv = replicate("--report", "--format", "csv", "--table", "matrix").splitlines()
    assert csv[0].startswith("row,figure,unit,published,published_low,")
    assert r"\toprule" in replicate("--report", "--format", "latex", "--table", "share")
    assert "| before | fn | number | 16 |" in replicate("--report", "--format", "markdown")
    assert "typed in" in replicate("--report")
    assert "6 files" in replicate("--report", "--format", "json", "--out", str(tmp_path / "out"))
    assert "Nothing" not in replicate()
    with pytest.raises(CommandError, match="--table or --out"):
        replicate("--report", "--format", "csv")
    with pytest.raises(CommandError, match="there is no table x"):
        replicate("--report", "--table", "x")


def test_a_bad_file_stores_nothing(tmp_path) -> None:
    file = tmp_path / "nec.toml"
    file.write_text(files.NEC.replace("tp = 23", "tpp = 23"))
    with pytest.raises(CommandError, match="nec.toml, tables.0: matrix, row 'before': publishes"):
        call_command("replicate", str(file))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("replicate", str(tmp_path / "none.toml"))
    assert not Replication.objects.exists()


def test_the_same_file_is_taken_up_once_and_its_words_may_change() -> None:
    first = files.taken_up(files.NEC)
    assert files.taken_up(files.NEC) == first
    changed = files.taken_up(files.NEC.replace("21.3", "21.4"))
    assert changed == first
    assert "21.4" in changed.content
    assert Replication.objects.count() == 1


@pytest.mark.usefixtures("studies")
def test_other_work_under_a_name_that_has_begun_is_refused() -> None:
    first = files.taken_up(files.NEC)
    first.started_at = first.created_at
    first.save()
    other = files.NEC.replace('"WebArena sample"', '"Another"')
    with pytest.raises(StudyFileError, match="a study has begun with other arms"):
        take_up(content=other.encode(), file_name="b.toml", user=None)
    first.refresh_from_db()
    assert first.content == files.NEC
