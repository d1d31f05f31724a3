"""The command that scores a file of cases."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

CASES = [
    {
        "id": "zip",
        "intent": "What is the zip code of Carnegie Mellon University?",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "15213"}},
        "answer": "The zip code is 15213.",
    },
    {
        "id": "forum",
        "eval": {"eval_types": ["url_match"], "reference_url": "http://www.reddit.com/f/nyc"},
        "url": "http://forum.lab:81/f/nyc",
    },
    {
        "id": "time",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["cheap"]}},
        "answer": "costs little",
    },
]


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    return path


def scores(cases: Path, tmp_path: Path, *options: str) -> dict[str, float | None]:
    out = tmp_path / "out.jsonl"
    errors = io.StringIO()
    call_command("score_cases", str(cases), "--out", str(out), *options, stderr=errors)
    assert errors.getvalue() == "3 cases, 0 without a verdict\n"
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {line["id"]: line["score"] for line in lines}


def test_strict(cases, tmp_path):
    found = scores(cases, tmp_path, "--evaluator", "webarena-strict")
    assert found == {"zip": 0.0, "forum": 0.0, "time": None}


def test_repaired_with_this_deployments_hosts(cases, tmp_path):
    options = ["--evaluator", "webarena-repaired"]
    assert scores(cases, tmp_path, *options) == {"zip": 1.0, "forum": 0.0, "time": None}
    options += ["--host", "reddit=http://forum.lab:81"]
    assert scores(cases, tmp_path, *options) == {"zip": 1.0, "forum": 1.0, "time": None}


def test_placeholders_are_replaced_by_the_hosts_and_named_where_one_is_left(tmp_path):
    cases, out, errors = tmp_path / "in.jsonl", tmp_path / "out.jsonl", io.StringIO()
    case = {
        "id": 1,
        "eval": {"eval_types": ["url_match"], "reference_url": "__REDDIT__/f/nyc"},
        "url": "http://forum.lab:81/f/nyc",
    }
    cases.write_text(json.dumps(case), encoding="utf-8")
    given = ["--evaluator", "webarena-strict", "--out", str(out)]
    for hosts, score in (([], None), (["--host", "REDDIT=http://forum.lab:81/"], 1.0)):
        call_command("score_cases", str(cases), *given, *hosts, stderr=errors)
        found = json.loads(out.read_text(encoding="utf-8"))
        assert (found["score"], found["needs_llm"]) == (score, False)
        assert ("__REDDIT__" in str(found["error"])) == (score is None)
    assert errors.getvalue() == "1 cases, 1 without a verdict\n1 cases, 0 without a verdict\n"


def test_a_rule_switched_off(cases, tmp_path):
    config = json.dumps({"off": ["sentence"]})
    found = scores(cases, tmp_path, "--evaluator", "webarena-repaired", "--config", config)
    assert found["zip"] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--config", '{"off": ["typo"]}'], "no rule typo"),
        (["--config", "{"], "--config is no JSON: Expecting"),
        (["--config", "[]"], "not an object"),
        (["--host", "reddit"], "not of the form"),
        (["--host", "reddit=ftp://h"], "http:// or https://"),
        (["--host", "reddit=http://h", "--host", "reddit=http://g"], "named twice"),
    ],
)
def test_wrong_options_are_refused(cases, tmp_path, options, message):
    out = tmp_path / "out.jsonl"
    with pytest.raises(CommandError, match=message):
        call_command(
            "score_cases", str(cases), "--evaluator", "webarena-repaired", "--out", out, *options
        )
    assert not out.exists()


def test_an_unreadable_file_leaves_nothing_behind(tmp_path):
    out = tmp_path / "out.jsonl"
    with pytest.raises(CommandError, match="No such file"):
        call_command(
            "score_cases", str(tmp_path / "no"), "--evaluator", "webarena-strict", "--out", str(out)
        )
    assert list(tmp_path.iterdir()) == []
