"""Files of cases are scored line by line: each input gives one line, whatever it holds."""

import io
import json
import tracemalloc
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from judging.evaluators.management.commands.score_cases import read_lines, score_lines
from judging.evaluators.matching.outcome import MatchEvaluation, MatchOutcome, MatchTask
from judging.evaluators.matching.pipeline import NAMES, build_matcher
from judging.evaluators.matching.strict import StrictMatcher

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


def score(*cases: object) -> list[dict[str, object]]:
    lines = [case if isinstance(case, str) else json.dumps(case) for case in cases]
    return list(score_lines(lines, StrictMatcher()))


def string_eval(references: object) -> dict[str, object]:
    return {"eval_types": ["string_match"], "reference_answers": references}


def test_a_settled_case():
    case = {"id": 7, "eval": string_eval({"exact_match": "Sprite"}), "answer": "sprite"}
    (found,) = score(case)
    details = found.pop("details")
    assert found == {
        "id": 7,
        "score": 1.0,
        "needs_llm": False,
        "score_if_judge_all_pass": 1.0,
        "score_if_judge_all_fail": 1.0,
        "judge_calls": [],
        "error": None,
    }
    assert isinstance(details, list)
    assert [check["name"] for check in details] == ["exact_match"]


def test_a_case_for_the_judge():
    references = {"must_include": ["Acadia"], "fuzzy_match": ["1h 23min"]}
    right, wrong = score(
        {"id": "a", "eval": string_eval(references), "answer": "Acadia, 83 min", "intent": "?"},
        {"id": "b", "eval": string_eval(references), "answer": "Zion"},
    )
    assert (right["score"], right["needs_llm"]) == (None, True)
    assert right["judge_calls"] == [
        {"judge": "fuzzy", "reference": "1h 23min", "answer": "acadia, 83 min"}
    ]
    assert (right["score_if_judge_all_pass"], right["score_if_judge_all_fail"]) == (1.0, 0.0)
    assert (wrong["score"], wrong["needs_llm"], wrong["judge_calls"]) == (0.0, False, [])
    assert (wrong["score_if_judge_all_pass"], wrong["score_if_judge_all_fail"]) == (0.0, 0.0)


def test_not_achievable():
    evaluation = {**string_eval({"fuzzy_match": "N/A"}), "string_note": "no such thing"}
    bare, other = score(
        {"id": 1, "eval": evaluation, "answer": "N/A"},
        {"id": 2, "eval": evaluation, "answer": "Not there"},
    )
    assert bare["score"] == 1.0
    assert other["judge_calls"] == [
        {"judge": "ua", "reference": "no such thing", "answer": "not there"}
    ]


HOSTS = {"gitlab": "http://h:8023", "classifieds": "http://h:9980"}
PLACES: list[tuple[dict[str, object], dict[str, object]]] = [
    (string_eval({"exact_match": "{}/a"}), {"answer": "http://h:8023/a"}),
    (string_eval({"must_include": ["/a", "{}"]}), {"answer": "see http://h:8023/a"}),
    (string_eval({"fuzzy_match": ["{}/a"]}), {"answer": "http://h:8023/a"}),
    ({**string_eval({"fuzzy_match": "N/A"}), "string_note": "{} is down"}, {"answer": "gone"}),
    ({"eval_types": ["url_match"], "reference_url": "http://h/b |OR| {}"}, {"url": "http://h/b"}),
    (
        {
            "eval_types": ["program_html"],
            "program_html": [
                {"url": "last", "locator": "", "required_contents": {"must_include": ["{}/a"]}}
            ],
        },
        {"content": "http://h:8023/a"},
    ),
]
"""Every place that an evaluator compares with, and an outcome that is right there."""


def with_placeholder(value: object, placeholder: str) -> dict[str, object]:
    found = json.loads(json.dumps(value).replace("{}", placeholder))
    assert isinstance(found, dict)
    return found


def score_at(hosts: dict[str, str], name: str, *cases: object) -> list[dict[str, object]]:
    lines = [json.dumps(case) for case in cases]
    return list(score_lines(lines, build_matcher(name), hosts))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("evaluation", "outcome"), PLACES)
def test_a_placeholder_is_replaced_where_its_host_is_given(name, evaluation, outcome):
    filled = {"id": 1, "eval": with_placeholder(evaluation, "__GITLAB__"), **outcome}
    plain = {"id": 1, "eval": with_placeholder(evaluation, HOSTS["gitlab"]), **outcome}
    found, expected = score_at(HOSTS, name, filled, plain)
    assert found == expected
    assert found["score"] == 1.0 or found["needs_llm"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("placeholder", ["__GITLAB__", "__GITLAB_HOST__", "__CLASSIFIEDS__"])
@pytest.mark.parametrize(("evaluation", "outcome"), PLACES)
def test_a_placeholder_that_is_left_is_named_and_there_is_no_verdict(
    name, placeholder, evaluation, outcome
):
    case = {"id": 1, "eval": with_placeholder(evaluation, placeholder), **outcome}
    (found,) = score_at({"reddit": "http://h:9999"}, name, case)
    assert (found["score"], found["needs_llm"], found["judge_calls"]) == (None, False, [])
    assert placeholder in str(found["error"])


@pytest.mark.parametrize("name", NAMES)
def test_a_placeholder_that_nothing_is_compared_with_does_no_harm(name):
    page = {"url": "__MAP__/x", "locator": "", "required_contents": {"exact_match": "Cart"}}
    cases = [
        {"id": 1, "eval": {**string_eval({"exact_match": "a"}), "reference_url": "__MAP__"}},
        {"id": 2, "eval": {"eval_types": ["program_html"], "program_html": [page]}},
        {"id": 3, "eval": {**string_eval({"fuzzy_match": "N/A"}), "string_note": "__MAP__"}},
    ]
    outcomes: list[dict[str, object]] = [{"answer": "a"}, {"content": "Cart"}, {"answer": "N/A"}]
    scored = [{**case, **outcome} for case, outcome in zip(cases, outcomes, strict=True)]
    assert [found["score"] for found in score_at({}, name, *scored)] == [1.0, 1.0, 1.0]


class Recorder:
    """A matcher that remembers the task that it was given."""

    identity = StrictMatcher().identity

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation:
        self.task = task
        return StrictMatcher().evaluate(task, outcome)


def test_the_intent_names_the_deployments_site_too():
    case = {"id": 1, "intent": "Which page of __GITLAB__?", "eval": string_eval({})}
    matcher = Recorder()
    (found,) = score_lines([json.dumps(case)], matcher, HOSTS)
    assert (found["score"], matcher.task.intent) == (1.0, "Which page of http://h:8023?")


def test_urls_and_contents():
    target = {"url": "last", "locator": "", "required_contents": {"must_include": ["x"]}}
    page = {"eval_types": ["program_html"], "program_html": [target, target]}
    url = {"eval_types": ["url_match"], "reference_url": "http://h/a"}
    scores = [
        found["score"]
        for found in score(
            {"id": 1, "eval": page, "content": "<p>x</p>"},
            {"id": 2, "eval": page, "content": ["x", "y"]},
            {"id": 3, "eval": url, "url": "http://h/a/b"},
            {"id": 4, "eval": url, "url": "http://h/b"},
        )
    ]
    assert scores == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("{", "case 1 is not JSON"),
        ("[" * 100_000, "case 1 is not JSON"),
        ("[]", "case 1 is not an object"),
        ({"id": 1}, "eval is not an object"),
        ({"id": 1, "eval": string_eval({}), "answer": 5}, "answer is not a string"),
        ({"id": 1, "eval": {}}, "eval_types is missing"),
        ({"id": 1, "eval": {"eval_types": ["vqa"]}}, "not supported"),
        ({"id": 1, "eval": {"eval_types": ["url_match"], "reference_url": "x"}}, "final URL"),
    ],
)
def test_a_line_that_makes_no_sense_is_an_error_and_the_next_one_is_scored(case, error):
    bad, good = score(case, {"id": 2, "eval": string_eval({})})
    assert error in str(bad["error"])
    assert bad["score"] is None
    assert good["score"] == 1.0


def test_lines_are_read_with_a_limit():
    file = io.StringIO("short\n\n" + "x" * 500 + "\nlast")
    assert list(read_lines(file, limit=100)) == ["short\n", None, "last"]
    assert list(read_lines(io.StringIO("x" * 100 + "\n"), limit=100)) == ["x" * 100 + "\n"]
    (found,) = score_lines([None], StrictMatcher())
    assert "longer than" in str(found["error"])


def test_memory_does_not_grow_with_the_number_of_cases():
    line = json.dumps(
        {"id": 1, "eval": string_eval({"must_include": ["ab"]}), "answer": "x" * 5000}
    )

    def peak(count: int) -> int:
        tracemalloc.start()
        for _ in score_lines((line for _ in range(count)), StrictMatcher()):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(2000) < peak(20) + 100_000


def test_matchers_by_name():
    assert build_matcher("webarena-strict").identity.name == "webarena-strict"
    configured = build_matcher("webarena-strict", {"missing_answer": "whatever"})
    assert configured.identity.config == {"missing_answer": "whatever"}
    with pytest.raises(ValueError, match="no matcher is called"):
        build_matcher("webarena")
    with pytest.raises(ValueError, match="no setting"):
        build_matcher("webarena-strict", {"typo": 1})
    with pytest.raises(ValueError, match="not a string"):
        build_matcher("webarena-strict", {"missing_answer": 1})
