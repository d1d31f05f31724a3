"""Downloaded tables: what programs read back is what went in, whatever the cells hold."""

import csv
import io
import json
import re
from typing import Any
from unicodedata import normalize

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from judging.analysis.audits.reports import AUDIT
from judging.analysis.reports.report import Column, Report, Value
from judging.analysis.reports.writing import FORMATS, write
from judging.models import Study
from judging.statistics.comparison import PValue
from tests.judging.analysis import audited
from tests.runs.factories import client_of

pytestmark = [pytest.mark.sqlite_only("tests what pages show"), pytest.mark.slow]

HOSTILE = '=HYPERLINK("http://evil")|*a*_b_ {x} \\cite % & # $ ^ ~ <i>\nnext, "quoted"'


def table(*rows: list[Value]) -> Report:
    columns = [Column("name", "the name"), Column("n", "n"), Column("share", "share")]
    return Report(name="t", title="A title", columns=columns, rows=rows, notes=["A note."])


def written(ending: str, *rows: list[Value]) -> str:
    return FORMATS[ending].write(table(*rows))


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", " ="])
def test_csv_text_never_becomes_a_formula(start: str) -> None:
    [row] = read_csv(written("csv", [f"{start}1+1", 1, None]))
    assert row["name"] == f"'{start}1+1"


def test_csv_numbers_stay_numbers_at_full_precision() -> None:
    [row] = read_csv(written("csv", ["a", -3, -0.12345678901234]))
    assert (row["n"], float(row["share"])) == ("-3", -0.12345678901234)


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf")), min_size=1).filter(
        lambda text: normalize("NFKC", text.lstrip()[:1])[:1] not in ("=", "+", "-", "@")
    )
)
def test_csv_gives_other_text_back_as_it_was(text: str) -> None:
    assert read_csv(written("csv", [text, 1, 0.5]))[0]["name"] == text


@given(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_json_gives_everything_back(text: str, number: int, share: float) -> None:
    content = json.loads(written("json", [text, number, share], [None, None, None]))
    assert content["rows"] == [
        {"name": text, "n": number, "share": share},
        {"name": None, "n": None, "share": None},
    ]
    assert (content["title"], content["notes"]) == ("A title", ["A note."])


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="JSON"):
        written("json", ["a", 1, float("nan")])


def test_markdown_is_a_table_whatever_the_cells_hold() -> None:
    lines = written("md", [HOSTILE, 1234, 0.21333], [None, 2, None]).splitlines()
    assert lines[0] == "**A title**"
    assert lines[2] == "| the name | n | share |"
    assert lines[3] == "|---|--:|--:|"
    assert lines[4].endswith("| 1,234 | 0.213 |") or lines[4].endswith("| 1234 | 0.213 |")
    assert lines[4].replace("\\|", "").count("|") == 4
    assert "\\<i\\>" in lines[4]
    assert lines[5] == "| — | 2 | — |"


def test_latex_escapes_what_it_would_run() -> None:
    text = written("tex", [HOSTILE, 1, -0.5])
    body = next(line for line in text.splitlines() if "HYPERLINK" in line)
    for escaped in (r"\textbackslash{}cite", r"\%", r"\&", r"\#", r"\$", r"\_", r"\{x\}"):
        assert escaped in body
    assert r"\textasciicircum{}" in body
    assert body.replace(r"\&", "").count("&") == 2
    assert "$-$0.500" in body
    assert r"\begin{tabular}{lrr}" in text
    assert r"\caption{A title. A note.}" in text


@pytest.mark.parametrize("ending", ["md", "tex", "txt"])
def test_papers_never_say_that_p_is_zero(ending: str) -> None:
    rows: list[list[Value]] = [["a", 1, PValue(0.0004)], ["b", 1, PValue(0.0421)]]
    text = write(table(*rows), ending)
    assert re.search(r"(<|\\textless\{\}) 0\.001", text)
    assert "0.042" in text
    assert "0.000" not in text
    assert "0.0004" in written("csv", *rows)


@pytest.fixture
def world(db: None) -> Study:
    world = audited.study("=Study")
    a, b = audited.person("a"), audited.person("b")
    audited.judged(world, audited.evaluator("first"), ["tp", "tp", "fn", "tn", "?s"])
    world.add("success", [(a, "success"), (b, "success")])
    return world.study


def fetch(study: Study, name: str, ending: str) -> Any:
    client = client_of(audited.auditor())
    return client.get(reverse("judging:audit_table", args=[study.pk, name, ending]))


@pytest.mark.parametrize("name", AUDIT.entries)
@pytest.mark.parametrize("ending", FORMATS)
def test_every_table_comes_in_every_format(world: Study, name: str, ending: str) -> None:
    answer = fetch(world, name, ending)
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == f'attachment; filename="{name}.{ending}"'
    assert answer["Content-Type"] == FORMATS[ending].content_type
    text = answer.content.decode()
    assert text.strip()
    if ending == "tex":
        assert not {each for each in text if each > "\xff"} - set("“”‘’…"), "LaTeX knows them"


def test_matrices_and_figures_agree_with_counts_by_hand(world: Study) -> None:
    [matrix] = json.loads(fetch(world, "matrices", "json").content)["rows"]
    assert (matrix["tp"], matrix["fn"], matrix["tn"], matrix["fp"]) == (2, 1, 1, 0)
    assert (matrix["no_verdict"], matrix["runs"]) == (2, 6)


def test_figures_carry_their_reason_where_they_do_not_exist(world: Study) -> None:
    rows = json.loads(fetch(world, "figures", "json").content)["rows"]
    figures = {row["figure"]: row for row in rows}
    assert figures["fn_share"]["value"] == pytest.approx(1 / 6)
    assert (figures["fn_share"]["count"], figures["fn_share"]["total"]) == (1, 6)
    assert figures["fn_share"]["method"] == "Wilson"
    assert figures["fnr"]["value"] == pytest.approx(1 / 3)
    assert figures["fpr"]["value"] == 0.0
    assert all((row["value"] is None) == bool(row["undefined_because"]) for row in rows)


def test_agreement_table_tells_why_there_is_no_kappa(world: Study) -> None:
    rows = json.loads(fetch(world, "agreement", "json").content)["rows"]
    kappa = next(row for row in rows if (row["kind"], row["figure"]) == ("all", "kappa"))
    assert kappa["value"] is None
    assert "only one label occurs" in kappa["undefined_because"]


def test_runs_of_a_cell_as_a_file(world: Study) -> None:
    client = client_of(audited.auditor())
    judge = audited.evaluator("first").pk
    address = reverse("judging:audit_cells_file", args=[world.pk, judge, "tp-fn", "csv"])
    rows = read_csv(client.get(address).content.decode())
    assert [row["cell"] for row in rows] == ["tp", "tp", "fn"]
    assert rows[0]["reference"] == "success"


@pytest.mark.parametrize(("name", "ending"), [("nothing", "csv"), ("figures", "xlsx")])
def test_unknown_table_or_format_is_not_found(world: Study, name: str, ending: str) -> None:
    assert fetch(world, name, ending).status_code == 404
