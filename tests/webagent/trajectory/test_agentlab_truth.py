"""Real run folders are read as the real classes read them."""

import json

import pytest

from tests.webagent.trajectory import formats
from tests.webagent.trajectory.agentlab_truth import differences
from tests.webagent.trajectory.formats import only
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import BlobRecord

DATA = formats.DATA / "agentlab"
TRUTH = formats.truth("agentlab")


@pytest.fixture(scope="module")
def bundles() -> dict[str, RunBundle]:
    with open_runs(DATA) as source:
        assert source.formats == ("agentlab",)
        assert source.total == len(TRUTH)
        found = {b.source.partition("/")[2]: b for b in source if isinstance(b, RunBundle)}
    assert found.keys() == TRUTH.keys()
    return found


@pytest.mark.parametrize("path", TRUTH)
def test_run_is_as_its_truth_says(bundles: dict[str, RunBundle], path: str) -> None:
    assert list(differences(bundles[path], TRUTH[path])) == []


def test_a_wrong_truth_is_noticed(bundles: dict[str, RunBundle]) -> None:
    path = next(path for path in TRUTH if "bad_bid" in path)
    for key, wrong in {"actions": ["noop()"], "cum_reward": 1.0, "n_screenshots": 0}.items():
        assert list(differences(bundles[path], TRUTH[path] | {key: wrong}))


def test_every_blob_can_be_read_and_is_what_it_says(bundles: dict[str, RunBundle]) -> None:
    blobs = [(bundle, blob) for bundle in bundles.values() for blob in bundle.blob_records()]
    assert len(blobs) > 100
    for bundle, blob in blobs:
        assert len(bundle.read_blob(blob.sha256)) == blob.bytes


def test_errors_and_rewards_stand_at_the_step_that_caused_them(
    bundles: dict[str, RunBundle],
) -> None:
    steps = _one(bundles, "bad_bid").steps
    errors = {step.index: step.actions[0].error or "" for step in steps}
    assert 'bid "9999"' in errors[0]
    assert steps[0].actions[0].status == "error"
    assert not errors[7]
    steps = _one(bundles, "chat_first").steps
    assert [step.reward for step in steps] == [0.0, 1.0]
    assert [step.terminated for step in steps] == [False, True]


def test_the_last_observation_is_what_the_last_step_led_to(bundles: dict[str, RunBundle]) -> None:
    first, second = _one(bundles, "chat_first").steps
    assert first.after is None
    assert second.after is not None
    assert second.before is not None
    assert second.after.screenshot != second.before.screenshot


def test_several_actions_of_one_answer_are_told_apart(bundles: dict[str, RunBundle]) -> None:
    (step,) = _one(bundles, "multi_on").steps
    assert [action.name for action in step.actions] == ["fill", "fill", "click"]
    assert [action.target and action.target.bid for action in step.actions] == ["16", "19", "20"]
    assert {action.status for action in step.actions} == {"ok"}


def test_targets_have_box_point_role_and_text(bundles: dict[str, RunBundle]) -> None:
    (step,) = _one(bundles, "vision-v1_on_miniwob.click-button").steps
    (action,) = step.actions
    assert action.target is not None
    assert (action.target.role, action.target.text) == ("button", "ok")
    assert action.target.box is not None
    assert action.point is not None
    assert action.target.box.x < action.point.x < action.target.box.x + action.target.box.width
    (step,) = _one(bundles, "coord_on").steps
    point = step.actions[0].point
    assert point is not None
    assert (point.x, point.y) == (64.5, 187.5)


def test_relaunched_runs_know_their_attempts(bundles: dict[str, RunBundle]) -> None:
    later, earlier = (
        next(b for p, b in bundles.items() if "book-flight_7" in p and ("/_" in p) is hidden)
        for hidden in (False, True)
    )
    assert (earlier.run.attempt, later.run.attempt) == (1, 2)
    assert earlier.run.superseded_by == later.run.id
    assert later.run.retry_of == earlier.run.id
    assert later.run.superseded_by is None
    assert earlier.run.trial == later.run.trial == 1
    assert list(bundles.values()).index(earlier) < list(bundles.values()).index(later)


def test_exceptions_are_errors_with_text_and_origin(bundles: dict[str, RunBundle]) -> None:
    origins = {}
    for word in ("crash_on", "does-not-exist", "find_price"):
        run = _one(bundles, word).run
        assert run.error is not None
        assert run.error.stack
        origins[word] = (run.error.origin, run.outcome, run.end_reason)
    assert origins == {
        "crash_on": ("model", "error", "exception"),
        "does-not-exist": ("environment", "error", "exception"),
        # AgentLab wrote no summary, so it claims no error; its log tells of the exception.
        "find_price": ("harness", "incomplete", "exception"),
    }


def test_rewards_become_an_evaluation_that_errors_with_the_run(
    bundles: dict[str, RunBundle],
) -> None:
    verdicts = {
        word: _one(bundles, word).evaluations for word in ("multi_on", "none_on", "crash_on")
    }
    assert [e.verdict for (e,) in verdicts.values()] == ["passed", "failed", "error"]
    assert {e.evaluator.name for (e,) in verdicts.values()} == {"imported-reward"}


def test_what_the_agent_thought_when_it_gave_up_is_kept(bundles: dict[str, RunBundle]) -> None:
    run = _one(bundles, "none_on").run
    assert run.extra is not None
    assert "could not parse" in str(run.extra["gave_up"])


def test_messages_hold_references_in_place_of_pictures(bundles: dict[str, RunBundle]) -> None:
    bundle = _one(bundles, "vision-v1_on_miniwob.click-button")
    messages, picture = bundle.steps[0].messages
    assert picture.media_type == "image/jpeg"
    said = bundle.read_blob(messages.sha256).decode()
    assert picture.sha256 in said
    assert "base64," not in said
    assert [message["role"] for message in json.loads(said)][:2] == ["system", "user"]


def test_model_calls_and_totals_agree(bundles: dict[str, RunBundle]) -> None:
    run = _one(bundles, "scripted-v1_on_miniwob.choose-list").run
    steps = _one(bundles, "scripted-v1_on_miniwob.choose-list").steps
    calls = [call for step in steps for call in step.llm_calls]
    assert {call.model for call in calls} == {"stub-scripted-v1"}
    assert sum(call.input_tokens or 0 for call in calls) == run.totals.input_tokens
    assert run.totals.retries == 2


def test_experiments_are_named_after_the_study(bundles: dict[str, RunBundle]) -> None:
    assert _one(bundles, "book-flight_7").run.experiment == (
        "2026-11-21_03-59-31_2-agents-on-miniwob-sample"
    )
    assert _one(bundles, "coord_on").run.experiment == "scripted"


def test_the_loop_s_class_tells_the_tool(bundles: dict[str, RunBundle]) -> None:
    older, newer = _one(bundles, "enter_text_on").run, _one(bundles, "multi_on").run
    assert (older.source.tool, newer.source.tool) == ("browsergym-experiments", "agentlab")


def test_the_label_may_be_a_path() -> None:
    with open_runs(DATA / "scripted", label="/some/where/scripted") as source:
        bundles = [bundle for bundle in source if isinstance(bundle, RunBundle)]
    assert len(bundles) == source.total == 11
    assert {bundle.run.experiment for bundle in bundles} == {"scripted"}
    assert all(bundle.source.startswith("/some/where/scripted/2026") for bundle in bundles)


def test_a_single_run_folder_is_read_too() -> None:
    bundle = only(next(DATA.glob("scripted/*multi_on*")))
    assert bundle.run.experiment is None
    assert bundle.task.external_id == "miniwob.login-user"


@pytest.mark.slow
def test_the_same_run_has_the_same_hash_wherever_it_lies(bundles: dict[str, RunBundle]) -> None:
    for path, bundle in bundles.items():
        assert only(DATA / path).content_hash == bundle.content_hash
    assert len({bundle.content_hash for bundle in bundles.values()}) == len(bundles)


def test_files_that_were_not_understood_are_kept(bundles: dict[str, RunBundle]) -> None:
    bundle = _one(bundles, "click_test_on_miniwob.click-test_3")
    kept: dict[str | None, BlobRecord] = {blob.name: blob for blob in bundle.run.artefacts}
    assert kept.keys() == {"exp_args.json", "package_versions.txt", "summary_info.json"}
    exp_args = json.loads(bundle.read_blob(kept["exp_args.json"].sha256))
    assert exp_args["env_args"]["task_name"] == "miniwob.click-test"
    assert [blob.name for blob in bundle.run.logs] == ["experiment.log"]


def _one(bundles: dict[str, RunBundle], word: str) -> RunBundle:
    return next(bundle for path, bundle in bundles.items() if word in path and "/_" not in path)
