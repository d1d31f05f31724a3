"""The study file: what it may say, and that a wrong one says where and why."""

import contextlib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from judging.replication.planning import groups_of
from judging.replication.study_file import read_study_file, study_schema_text
from judging.replication.study_parts import StudyFileError
from tests.judging.replication import files

PUBLISHED = Path(__file__).parents[3] / "docs" / "schema" / "study-1.json"


def test_the_published_schema_is_current() -> None:
    """If this fails: `python -m judging.replication.study_file > docs/schema/study-1.json`."""
    assert PUBLISHED.read_text() == study_schema_text()


def test_a_good_file_obeys_the_schema() -> None:
    schema = json.loads(PUBLISHED.read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(tomllib.loads(files.NEC))


def test_what_is_said_closest_to_a_figure_counts() -> None:
    study = read_study_file(files.NEC.encode(), "nec.toml")
    table = study.tables[1]
    place = table.place_of(table.rows[0], table.columns[0])
    assert place.report == "figures"
    assert place.judging == "before"
    assert dict(place.select) == {"figure": "fn_share", "evaluator": "before"}


BAD = {
    "no TOML": ("name = ", "", "is no TOML"),
    "a line that would take minutes to read": (
        files.NEC + "\n" + "1." * 100_000,
        "",
        f"line {files.NEC.count(chr(10)) + 2} is longer than 2,000 characters",
    ),
    "another format": (files.NEC.replace("study/1", "study/9"), "format", "crosscheck-study/1"),
    "a field that there is not": (
        files.NEC.replace("[paper]", "[paper]\ntitel = 'x'"),
        "paper.titel",
        "Extra inputs",
    ),
    "no tables": (files.text(files.JUDGED), "tables", "Field required"),
    "a judging that there is not": (
        files.NEC.replace('judging = "after"', 'judging = "later"'),
        "",
        "tables.matrix, row 'after' names 'later', which is not in the file; it has before, after",
    ),
    "a figure of no column": (
        files.NEC.replace("tp = 23", "tpp = 23"),
        "",
        "publishes 'tpp', which is no column",
    ),
    "no number": (files.NEC.replace("tp = 23", "tp = nan"), "tables.0.rows.0.published.tp", ""),
    "two sources of judging": (
        files.NEC.replace("[judging.after]", "[judging.after]\nlabels = ['x.csv']"),
        "judging.after",
        "give one of",
    ),
    "an arm that is neither run nor here": (
        files.NEC + "\n[arms.x]\nmodel = 'm'\n",
        "arms.x",
        "give `agent`",
    ),
    "an arm without tasks": (
        files.NEC + "\n[arms.x]\nagent = 'oracle'\n",
        "",
        "arms.x.tasks names '', which is not in the file; it has none",
    ),
    "an interval around something else": (
        files.NEC.replace("of = 75", "low = 30, high = 40"),
        "tables.1.rows.0.published.share",
        "outside",
    ),
    "a detector's misspelt field": (
        files.NEC + "\n[arms.x]\nexperiment='e'\n[arms.x.paper]\ndetector={ loop_short = 1 }\n",
        "arms.x.paper",
        "loop_short",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_says_file_field_and_reason(name: str) -> None:
    content, field, reason = BAD[name]
    with pytest.raises(StudyFileError) as caught:
        read_study_file(content.encode(), "nec.toml")
    assert caught.value.file == "nec.toml"
    assert caught.value.field.startswith(field)
    assert reason in str(caught.value)
    assert str(caught.value).startswith("nec.toml")


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(StudyFileError, match="UTF-8"):
        read_study_file(b"\xff\xfe", "x.toml")
    with pytest.raises(StudyFileError, match="larger"):
        read_study_file(b"#" * 1_000_001, "x.toml")
    with pytest.raises(StudyFileError):
        read_study_file(b"a = " + b"[" * 5000, "x.toml")


@given(st.integers(0, len(files.NEC) - 1), st.text(max_size=3))
def test_whatever_stands_there_nothing_else_is_raised(place: int, more: str) -> None:
    changed = files.NEC[:place] + more + files.NEC[place + 1 :]
    with contextlib.suppress(StudyFileError):
        read_study_file(changed.encode("utf-8", "replace"), "x.toml")


def test_tables_and_words_change_nothing_of_the_work() -> None:
    before = read_study_file(files.NEC.encode(), "a")
    words = read_study_file(files.NEC.replace("21.3", "21.4").encode(), "a")
    work = read_study_file(files.NEC.replace("WebArena sample,", "Another,").encode(), "a")
    assert before.work_hash == words.work_hash
    assert before.work_hash != work.work_hash


LEARNS = files.text(
    """
[tasks.clicks]
set = "miniwob"
[arms.first]
agent = "oracle"
[arms.raw]
agent = "generic"
knowledge = { set = "lessons", kind = "raw" }
[arms.plain]
agent = "random"
[arms.summarised]
agent = "generic"
knowledge = { set = "lessons", kind = "summarised" }
[learning.lessons]
kind = "knowledge"
arms = ["first"]
model = "m"
summarise = true
""",
    files.JUDGED,
    files.MATRIX,
)


def test_an_arm_that_learns_from_another_does_not_share_its_experiment() -> None:
    """Neither could begin: it would wait for runs of the experiment that it is part of."""
    groups = groups_of(read_study_file(LEARNS.encode(), "study.toml"))
    assert [list(group.arms) for group in groups] == [["first", "plain"], ["raw", "summarised"]]


def learning_arms(**sources: str) -> bytes:
    """Arms `a` and `b` of 5 steps, `c` and `d` of 9; each key learns from the arm beside it."""
    text = '[tasks.clicks]\nset = "miniwob"\n'
    for key, steps in {"a": 5, "b": 5, "c": 9, "d": 9}.items():
        text += f'[arms.{key}]\nagent = "generic"\nmax_steps = {steps}\n'
        if source := sources.get(key):
            text += f'knowledge = {{ set = "of-{source}" }}\n'
    for source in set(sources.values()):
        text += f'[learning.of-{source}]\nkind = "knowledge"\narms = ["{source}"]\nmodel = "m"\n'
    return files.text(text, files.JUDGED.replace('"plain"', '"a"'), files.MATRIX).encode()


@pytest.mark.parametrize(
    ("sources", "together"),
    [
        ({}, ["ab", "cd"]),
        ({"a": "c"}, ["ab", "cd"]),
        ({"a": "c", "c": "b"}, ["a", "b", "c", "d"]),
        ({"a": "c", "d": "b"}, ["a", "b", "c", "d"]),
    ],
)
def test_experiments_never_wait_for_each_other(
    sources: dict[str, str], together: list[str]
) -> None:
    groups = groups_of(read_study_file(learning_arms(**sources), "study.toml"))
    assert ["".join(group.arms) for group in groups] == together


def test_arms_that_learn_in_a_circle_are_refused() -> None:
    circle = "arms: each learns from the one before: (c → a → c|a → c → a)"
    with pytest.raises(StudyFileError, match=circle):
        read_study_file(learning_arms(a="c", c="a"), "study.toml")
