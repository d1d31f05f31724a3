"""WebArena-Verified's task folders: answers, traces, verdicts and their checksums."""

import json
from typing import Any

import pytest

from tests.webagent.trajectory.formats import (
    DATA,
    blind_text,
    copied,
    read,
    rejections,
    runs,
    stored_text,
    truth,
)
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.originals import KeptTree
from webagent.trajectory.formats.webarena_verified.folders import read_answer, read_result
from webagent.trajectory.formats.webarena_verified.network import page_loads, requests_of
from webagent.trajectory.intake import Bounds
from webagent.trajectory.reading import open_runs, source_of
from webagent.trajectory.records import Outcome

SAMPLES = DATA / "webarena_verified"
TRUTH = truth("webarena_verified")
OUTCOMES = {
    "success": Outcome.SUCCESS,
    "failure": Outcome.FAILURE,
    "error": Outcome.ERROR,
    None: Outcome.INCOMPLETE,
}
CHECKSUM = "35c3385b1db4b3378657589f95f50defd4234bd36e5b93d44733fd561b01db4e"


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return {bundle.task.external_id: bundle for bundle in runs(SAMPLES).values()}


@pytest.mark.parametrize("name", TRUTH)
def test_each_task_is_as_its_truth_says(found, name):
    true, bundle = TRUTH[name], found[name]
    assert [step.before.url for step in bundle.steps] == true["document_urls"]
    assert sum(len(step.events) for step in bundle.steps) == true["n_har_entries"]
    assert bundle.n_screenshots == true["n_screenshots"] == 0
    assert bundle.run.outcome is OUTCOMES[true["eval_status"]]
    assert [item.score for item in bundle.evaluations] == [true["score"]] * (
        true["score"] is not None
    )
    claims = {"SUCCESS": True, None: None}.get(
        true["status_field"] and true["status_field"].upper()
    )
    assert (bundle.run.claimed_success is True) is (claims is True)
    assert any(gap.what == "answer" for gap in bundle.run.gaps) is not true["has_agent_response"]


def test_a_failing_evaluator_is_no_failing_agent(found):
    bundle = found["24"]
    [evaluation] = bundle.evaluations
    assert (evaluation.verdict, evaluation.score, bundle.run.reward) == ("error", 0.0, None)
    assert bundle.run.outcome is Outcome.ERROR
    assert "Schema type" in evaluation.rationale


def test_the_checksums_are_the_evaluator_s_version(found):
    evaluator = found["21"].evaluations[0].evaluator
    assert evaluator.version == f"1.2.3+{CHECKSUM[:12]}.d65275660814"
    assert evaluator.model_extra["config"]["webarena_verified_evaluator_checksum"] == CHECKSUM
    assert evaluator == found["24"].evaluations[0].evaluator


def test_the_expected_answer_is_hidden_from_the_blind(found):
    bundle = found["24"]
    assert bundle.task.reference["status"] == "not_found_error"
    words = blind_text(bundle)
    assert "not_found_error" not in words
    assert "Schema type" not in words  # the evaluator's complaint gives it away as well


def test_an_older_key_and_an_answer_without_data(found):
    assert found["49"].run.extra["task_type"] == "RETRIEVE"
    assert found["22"].run.infeasible_claim == "NOT_FOUND_ERROR: No review mentions it."


def test_a_result_tells_of_its_task_and_summaries_tell_nothing_more(found):
    task = found["21"].task
    assert (task.task_set.name, task.task_set.version) == ("webarena-verified", "1.2.3")
    assert (task.sites, task.extra) == (("shopping",), {"intent_template_id": 222, "revision": 2})
    with open_runs(SAMPLES / "output") as source:
        assert source.unread == ()
        assert source.total == len(TRUTH)


def test_prose_is_an_answer_too():
    answer = read_answer("I found nothing.\n")
    assert (answer.is_json, answer.words, answer.claims_success) == (
        False,
        "I found nothing.",
        None,
    )


def test_an_answer_in_prose_or_a_refusal_is_no_verdict(tmp_path):
    folder = copied("webarena_verified", tmp_path) / "output"
    (folder / "21" / "agent_response.json").write_text("I found nothing.\n")
    denied = {"task_type": "mutate", "status": "permission_denied_error", "retrieved_data": None}
    (folder / "22" / "agent_response.json").write_text(json.dumps(denied))
    result = json.loads((folder / "22" / "eval_result.json").read_text())
    result |= {"status": "failure", "score": 0.0}
    (folder / "22" / "eval_result.json").write_text(json.dumps(result))
    found = {b.task.external_id: b.run for b in runs(folder).values()}
    prose = found["21"]
    assert (prose.final_answer, prose.claimed_success) == ("I found nothing.", None)
    assert (prose.outcome, prose.reward) == (Outcome.SUCCESS, 1.0)  # as the evaluator says
    assert [gap.where for gap in prose.gaps if gap.what == "answer"] == ["agent_response.json"]
    refused = found["22"]
    assert refused.infeasible_claim == "PERMISSION_DENIED_ERROR"
    assert (refused.outcome, refused.claimed_success) == (Outcome.FAILURE, False)


@pytest.mark.parametrize("told", [True, False])
def test_files_of_other_names_are_found(tmp_path, told):
    folder = copied("webarena_verified", tmp_path) / "output"
    usual = runs(folder)
    names = {"eval_result.json": "verdict.json"}
    if told:
        names |= {"agent_response.json": "said.txt", "network.har": "trace.json"}
        keys = ("eval_result_file_name", "agent_response_file_name", "trace_file_name")
        (folder / "config.json").write_text(
            json.dumps(dict(zip(keys, names.values(), strict=True)))
        )
    for old, new in names.items():
        for path in folder.glob(f"*/{old}"):
            path.rename(path.with_name(new))
    again = runs(folder)
    assert {b.content_hash for b in again.values()} == {b.content_hash for b in usual.values()}


def test_a_playwright_trace_may_stand_in_place_of_the_har(tmp_path):
    folder = copied("webarena_verified", tmp_path) / "output" / "21"
    (folder / "network.har").unlink()
    trace = (DATA / "playwright_trace" / "fail_pw1.65.2.zip").read_bytes()
    (folder / "anything.zip").write_bytes(trace)
    found = {b.task.external_id: b for b in runs(folder).values()}
    assert found.keys() == {"21"}  # and no run of the trace besides
    bundle = found["21"]
    steps = bundle.steps
    assert [s.actions[0].name for s in steps] == ["new_page", "goto", "click", "click"]
    assert steps[2].before.screenshot is not None
    urls = [[e["url"] for e in step.events if e["type"] == "network"] for step in steps]
    base = "http://127.0.0.1:8951"
    assert urls == [[], [f"{base}/index.html", f"{base}/style.css"], [], []]
    assert bundle.run.outcome is Outcome.SUCCESS
    assert bundle.run.gaps == ()
    with source_of(KeptTree(bundle), format="webarena_verified") as kept:
        [again] = [item for item in kept if isinstance(item, RunBundle)]
    assert again.content_hash == bundle.content_hash
    (folder / "anything.zip").write_bytes(b"PK\x03\x04 nothing")
    [broken] = runs(folder).values()
    assert [gap.what for gap in broken.run.gaps] == ["trace", "network", "screenshot"]


def test_a_har_that_is_too_large_is_a_gap(tmp_path):
    folder = copied("webarena_verified", tmp_path) / "output" / "21"
    [bundle] = runs(folder, Bounds(json_bytes=5_000)).values()
    assert (bundle.steps, bundle.run.outcome) == ((), Outcome.SUCCESS)
    assert "more than 5000 bytes" in [gap.why for gap in bundle.run.gaps]


def test_what_must_not_happen_is_told_with_its_check():
    evaluator = {"evaluator_name": "N", "status": "failure", "should_not_exist": True}
    result = read_result({"status": "failure", "evaluators_results": [evaluator]})
    assert result is not None
    assert result.checks[0].message == "What is expected here must not happen."


def test_each_evaluator_and_assertion_is_a_check():
    assertion = {"assertion_name": "a", "status": "failure", "assertion_msgs": ["one", "two"]}
    result = read_result(
        {
            "status": "partial_match",
            "evaluators_results": [
                {"evaluator_name": "E", "status": "success", "assertions": [assertion]}
            ],
        }
    )
    assert result is not None
    assert result.verdict == "failed"
    assert [(c.name, c.verdict, c.message) for c in result.checks] == [
        ("E", "passed", None),
        ("E: a", "failed", "one\ntwo"),
    ]
    assert read_result({"status": "odd", "evaluators_results": []}) is None


def entry(url: str, **more: object) -> dict[str, Any]:
    return {"request": {"url": url, "headers": []}, "response": {"status": 200}, **more}


def test_pages_are_told_where_the_writer_trimmed_their_types_away():
    navigation = entry("http://s/a")
    navigation["request"]["headers"] = [{"name": "Sec-Fetch-Dest", "value": "document"}]
    html = entry("http://s/b")
    html["response"]["content"] = {"mimeType": "text/html; charset=utf-8"}
    har = {"log": {"entries": [entry("http://s/x.js"), navigation, entry("http://s/y"), html, 3]}}
    loads = page_loads(requests_of(har), {})
    assert [load.page.url if load.page else None for load in loads] == [
        None,
        "http://s/a",
        "http://s/b",
    ]


def test_cookies_and_log_ins_are_taken_out(tmp_path):
    folder = copied("webarena_verified", tmp_path) / "output" / "21"
    har = json.loads((folder / "network.har").read_text())
    request = har["log"]["entries"][0]["request"]
    request["headers"].append({"name": "Cookie", "value": "PHPSESSID=cookie-secret"})
    request["headers"].append({"name": "Authorization", "value": "Basic hunter55x"})
    request["cookies"] = [{"name": "PHPSESSID", "value": "cookie-secret"}]
    response = har["log"]["entries"][0]["response"]
    response["headers"].append({"name": "set-cookie", "value": "sid=hunter66x; HttpOnly"})
    request["postData"] = {"text": "username=a&password=hunter22x", "mimeType": "x"}
    request["url"] = "http://u:hunter33x@127.0.0.1:8951/login?token=hunter44x"
    (folder / "network.har").write_text(json.dumps(har))
    (folder / "storage_state.json").write_text('{"cookies": [{"value": "cookie-secret"}]}')
    bundle = next(b for b in runs(folder.parent).values() if b.task.external_id == "21")
    stored = stored_text(bundle)
    for secret in ("cookie-secret", *(f"hunter{n}x" for n in (22, 33, 44, 55, 66))):
        assert secret not in stored
    assert {"address", "cookie", "header", "log-in"} <= bundle.run.source.redacted.keys()
    assert [gap.where for gap in bundle.run.source.dropped] == ["storage_state.json"]


def test_damage_is_said_and_costs_the_least(tmp_path):
    folder = copied("webarena_verified", tmp_path) / "output"
    (folder / "21" / "network.har").write_text("{")
    (folder / "49" / "eval_result.json").write_text('{"evaluators_results": 3}')
    (folder / "26" / "network.har").write_text("[" * 100_000)
    found = {b.task.external_id: b for b in read(folder) if isinstance(b, RunBundle)}
    assert [gap.what for gap in found["21"].run.gaps if gap.where == "network.har"] == ["file"]
    assert found["21"].run.outcome is Outcome.SUCCESS
    assert found["49"].evaluations == ()
    assert [rejection.file for rejection in rejections(folder)] == ["26"]


@pytest.mark.parametrize("name", ["anything.json", "trace.har"])
def test_a_har_by_itself_is_taken_and_says_what_is_kept(tmp_path, name):
    lone = tmp_path / name
    lone.write_bytes((SAMPLES / "output" / "21" / "network.har").read_bytes())
    [bundle] = runs(lone).values()
    beside = next(each for each in runs(SAMPLES).values() if each.task.external_id == "21")
    assert (bundle.task.task_set.name, bundle.task.external_id) == ("har", lone.stem)
    assert bundle.run.outcome is Outcome.INCOMPLETE
    assert len(bundle.steps) == len(beside.steps) > 0
    assert any("a HAR by itself" in gap.why for gap in bundle.run.gaps)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"log": {"lines": []}}))
    assert rejections(other)
