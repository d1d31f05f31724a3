"""WebArena's own results: render files that are not escaped, logs, traces beside."""

import re
from pathlib import Path
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
    zipped,
)
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.webarena.folders import Logged, ending, read_log
from webagent.trajectory.formats.webarena.render import call, read_action, read_render, stop_answer
from webagent.trajectory.intake import NO_TIME
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import EndReason, ErrorOrigin, Outcome, StepRecord

SAMPLES = DATA / "webarena_native"
TRUTH = truth("webarena_native")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return {bundle.task.external_id: bundle for bundle in runs(SAMPLES).values()}


@pytest.mark.parametrize("name", TRUTH)
def test_each_run_is_as_its_truth_says(found, name):
    true = TRUTH[name]
    bundle = found[str(true["task_id"])]
    steps = bundle.steps
    assert "".join(part.text for part in bundle.run.goal) == true["intent"]
    assert [step.before.url for step in steps] == true["urls"]
    assert [step.thought or "" for step in steps] == true["raw_predictions"]
    assert [step.extra["parsed_action"] for step in steps] == true["parsed_actions"]
    assert bundle.n_screenshots == true["n_screenshots"]
    assert (bundle.run.outcome is Outcome.SUCCESS) is true["success"]
    traced = [blob for blob in bundle.run.source.originals if blob.media_type == "application/zip"]
    assert bool(traced) is (name == "render_903.html")
    assert not bundle.problems


def test_endings_tell_the_agent_from_the_harness(found):
    assert found["901"].run.end_reason is EndReason.AGENT_STOPPED
    assert found["901"].run.final_answer == "24.90"
    assert found["905"].run.end_reason is EndReason.HARNESS_LOOP_STOP
    assert found["905"].run.final_answer is None
    assert found["905"].steps[-1].extra["by_harness"] is True


def test_an_answer_without_an_action_is_an_error_of_that_step(found):
    unreadable = found["903"].steps[1].actions[0]
    assert (unreadable.raw, unreadable.name) == ("hover [None]", "none")
    assert unreadable.status == "error"
    assert found["905"].steps[0].actions[0].raw == "please click the first button"


def test_the_element_is_told_by_the_harness_own_words(found):
    action = found["901"].steps[0].actions[0]
    assert (action.name, action.args) == ("click", ("51",))
    assert (action.target.role, action.target.text) == ("link", "Copper Kettle")
    assert action.raw == "click [51]"


def test_the_runner_s_arguments_are_the_agent_s(found):
    run = found["901"].run
    assert (run.max_steps, run.environment.viewport_width) == (30, 1280)
    assert run.agent.config["repeating_action_failure_th"] == 3
    assert found.keys() == {"901", "903", "905"}  # a trace beside is no run
    with open_runs(SAMPLES / "results") as source:
        assert source.unread == ()


def test_the_log_is_the_verdict_and_the_blind_see_neither_it_nor_the_reference(found):
    bundle = found["901"]
    [evaluation] = bundle.evaluations
    assert (evaluation.verdict, evaluation.score) == ("passed", 1.0)
    assert bundle.task.eval["reference_answers"] == {"exact_match": "24.90"}
    assert bundle.run.totals.seconds == pytest.approx(2.569)
    blind = blind_text(bundle)
    assert "exact_match" not in blind
    assert "PASS" not in blind


def test_an_exception_is_an_error_and_no_failure(tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    (folder / "merged_log.txt").write_text(
        "2026-11-21 04:36:01,084 - INFO - [Config file]: config_files/901.json\n"
        "2026-11-21 04:36:02,084 - INFO - [Unhandled Error] Error('Page.goto: net::ERR_FAILED')\n"
        "2026-11-21 04:36:03,695 - INFO - [Config file]: /tmp/903.json\n"
        "2026-11-21 04:36:09,316 - INFO - [OpenAI Error] RateLimitError('slow down')\n"
    )
    (folder / "error.txt").write_text(
        "[Config file]: config_files/901.json\n[Unhandled Error] Error('Page.goto: net::ERR')\n"
        'Traceback (most recent call last):\n  File "run.py", line 1\nError: x\n'
    )
    found = {bundle.task.external_id: bundle.run for bundle in runs(folder).values()}
    assert (found["901"].outcome, found["901"].end_reason) == (Outcome.ERROR, EndReason.EXCEPTION)
    assert found["901"].error.origin is ErrorOrigin.ENVIRONMENT
    assert found["901"].error.stack.startswith("Traceback")
    assert found["901"].reward is None
    assert found["903"].error.origin is ErrorOrigin.MODEL
    assert found["905"].outcome is Outcome.UNKNOWN  # no line about it at all


def test_a_log_of_impossible_times_costs_the_seconds_and_not_the_run(tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    (folder / "merged_log.txt").write_text(
        "2026-13-21 04:36:01,084 - INFO - [Config file]: config_files/901.json\n"
    )
    run = {bundle.task.external_id: bundle.run for bundle in runs(folder).values()}["901"]
    assert run.totals.seconds is None
    assert [gap.why for gap in run.gaps if gap.what == "time"] == [NO_TIME]


def page(observation: str) -> str:
    return (
        "<h2>New Page</h2>\n<h3 class='url'><a href=http://s/>URL: http://s/</a></h3>\n"
        f"<div class='state_obv'><pre>{observation}</pre><div>\n"
        "<div class='prev_action' style='background-color:pink'>None</div>\n"
        "<div class='predict_action'><div class='raw_parsed_prediction'"
        " style='background-color:grey'><pre>```stop [a]```</pre></div>"
        "<div class='action_object' style='background-color:grey'><pre>{}</pre></div>"
        "<div class='parsed_action' style='background-color:yellow'><pre>stop [a]</pre></div>"
        "</div>\n"
    )


HEAD = "<!DOCTYPE html>\n<head>\n</head>\n<html>\n<body>\n<pre>task_id: 7\nintent: Go\n</pre>\n"


def test_page_text_that_looks_like_the_file_stays_text():
    text = "</pre></div><script>alert(1)</script><h2>New Page</h2><pre>task_id: 8"
    [step] = read_render(HEAD + page(text) + "</body>", 10).steps
    assert step.observation == text
    assert step.parsed == "stop [a]"
    forged = "```</pre></div><div class='parsed_action' style='background-color:yellow'><pre>none"
    [step] = read_render(HEAD + page("x").replace("```</pre>", f"{forged}</pre>", 1), 10).steps
    assert (step.prediction, step.parsed) == (f"```stop [a]{forged}", "stop [a]")


def test_a_page_that_holds_the_end_of_the_body_costs_its_own_step_only():
    cut = page("before </body> after").partition("</body>")[0]  # as the writer reads it back
    first, second = read_render(HEAD + cut + page("next") + "</body>", 10).steps
    assert (first.whole, first.observation, first.parsed) == (False, "before", None)
    assert (second.whole, second.observation) == (True, "next")


def test_an_intent_stays_text_whatever_it_looks_like():
    head = HEAD.replace("intent: Go", "intent: 1e999\nsites: ['a']\nodd: {'a': [1, None]}")
    split = HEAD.replace("intent: Go", "intent: Go </pre>\non\nsites: ['a']")
    config = read_render(split, 10).config
    assert (config["intent"], config["sites"]) == ("Go </pre>\non", ["a"])
    config = read_render(head, 10).config
    called = "__import__('os').getcwd()"
    code = HEAD.replace("intent: Go", f"intent: Go\nodd: {called}")
    assert read_render(code, 10).config["odd"] == called  # no literal, so it stays text
    assert (config["intent"], config["sites"], config["odd"]) == ("1e999", ["a"], {"a": [1, None]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type [164] [a ] [b] [1]", ("type", ("164", "a ] [b", "1"))),
        ("type [164] [two\nlines]", ("type", ("164", "two\nlines"))),
        ("scroll [down]", ("scroll", ("down",))),
        ("new_tab", ("new_tab", ())),
        ("stop [N/A [x]]", ("stop", ("N/A [x]",))),
        ("", (None, ())),
        ("][", (None, ())),
    ],
)
def test_actions(text, expected):
    assert call(text) == expected


def test_an_early_stop_is_no_answer():
    action = read_action("", "stop [Early stop: Reach max steps 30]")
    assert action is not None
    assert action.name == "stop"
    assert stop_answer(action) is None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("stop [Early stop: Reach max steps 30]", EndReason.MAX_STEPS),
        ("stop [Early stop: Same action for 3 times]", EndReason.HARNESS_LOOP_STOP),
        ("stop [Early stop: Failed to parse actions for 3 times]", EndReason.HARNESS_LOOP_STOP),
        ("stop [24.90]", EndReason.AGENT_STOPPED),
        ("stop []", EndReason.AGENT_STOPPED),
        ("click [3]", EndReason.UNKNOWN),
    ],
)
def test_who_ended_the_run(stop, reason):
    action = read_action("", stop)
    assert action is not None
    step = StepRecord(run_id="r", index=0, actions=(action,))
    end = ending([step], Logged(verdict="FAIL"))
    assert (end.outcome, end.end_reason, end.reward) == (Outcome.FAILURE, reason, 0.0)
    unlogged = ending([step], None)
    broken_off = reason is EndReason.UNKNOWN
    assert unlogged.outcome is (Outcome.INCOMPLETE if broken_off else Outcome.UNKNOWN)


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Any:
    """The run of one render file that was changed."""
    path = folder / f"render_{name}.html"
    words = path.read_text()
    for pattern, by in changes:
        words, n = re.subn(pattern, by, words)
        assert n
    path.write_text(words)
    return next(b for b in runs(folder).values() if b.task.external_id == name)


def test_without_pictures_all_steps_stay(found, tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    bundle = changed(folder, "901", (r"<img src='data:[^\n]*\n", ""))
    assert [step.actions for step in bundle.steps] == [s.actions for s in found["901"].steps]
    assert bundle.n_screenshots == 0
    assert [gap.why for gap in bundle.run.gaps] == ["the runner was not told to render screenshots"]


def test_not_possible_is_a_claim_and_the_visual_set_is_another_one(tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    (folder / "config_files" / "901.json").unlink()
    config = r"\1\nimage: http://s/a.png\n"
    stopped = (r"stop \[24\.90\]", "stop [N/A]")
    bundle = changed(folder, "901", stopped, (r"(task_id: 901)\n", config))
    assert (bundle.run.infeasible_claim, bundle.run.final_answer) == ("N/A", "N/A")
    assert bundle.task.task_set.name == "visualwebarena"
    assert [gap.what for gap in bundle.run.gaps] == ["goal"]


def test_page_text_is_kept_as_text_and_never_as_a_page(found):
    kinds = {blob.media_type for bundle in found.values() for blob in bundle.blob_records()}
    assert kinds == {"text/plain", "image/png", "application/json", "application/zip"}


def test_logs_that_lie_elsewhere_are_found_by_their_names(found, tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    (named,) = (folder / "log_files.txt").read_text().split()
    log = tmp_path / "webarena_native" / named
    log.parent.mkdir()
    (folder / "merged_log.txt").rename(log)
    (log.parent / "other.log").write_text("[Config file]: 901.json\n[Result] (FAIL) 901.json")
    again = runs(tmp_path / "webarena_native")
    assert {b.content_hash for b in again.values()} == {b.content_hash for b in found.values()}


def test_what_a_line_quotes_is_no_verdict():
    log = (
        "[Config file]: a/1.json\n[Intent]: Say [Result] (PASS) a/1.json\n"
        "[Unhandled Error] Error('[Result] (PASS) a/1.json')\n"
    )
    said = read_log(log)["1"]
    assert (said.verdict, said.error_kind) == (None, "Unhandled Error")


def test_a_task_that_was_run_again_counts_as_the_last_time():
    log = "[Config file]: a/1.json\n[Result] (PASS) a/1.json\n[Config file]: a/1.json\n"
    assert read_log(log)["1"].verdict is None
    assert read_log(log + "[Result] (FAIL) a/1.json")["1"].verdict == "FAIL"


def test_a_broken_file_costs_its_own_run_only(tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    broken = folder / "render_903.html"
    broken.write_text(broken.read_text().replace("task_id: 903", "nothing"))
    [rejection] = rejections(folder)
    assert (rejection.file, rejection.field) == ("render_903.html", "task")
    assert sum(isinstance(item, RunBundle) for item in read(folder)) == 2


def test_a_password_that_was_typed_stands_nowhere(tmp_path):
    folder = copied("webarena_native", tmp_path) / "results"
    path = folder / "render_901.html"
    typed = "type [51] [hunter22x] where [51] is [51] textbox 'Password' required: False"
    text = path.read_text().replace("```click [51]```", "```type [51] [hunter22x]```")
    start = text.index("<pre>click [51] where")
    end = text.index("</pre>", start)
    path.write_text(f"{text[:start]}<pre>{typed}{text[end:]}")
    bundle = next(b for b in runs(folder).values() if b.task.external_id == "901")
    assert "hunter22x" not in stored_text(bundle)
    assert bundle.run.source.redacted["password"] > 1


def test_a_zip_holds_the_same(found, tmp_path):
    again = runs(zipped(SAMPLES, tmp_path / "upload.zip"))
    assert {b.content_hash for b in again.values()} == {b.content_hash for b in found.values()}
