"""AgentRewardBench: trajectories as their truth says, annotations as labels, judges' answers."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.trajectory import formats
from tests.webagent.trajectory.formats import only, read, runs
from webagent.trajectory.bundles import RunBundle, same_task
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    JudgeAnswer,
    evaluation,
    optimality,
    primary_verdict,
    read_annotations,
    read_answer,
)
from webagent.trajectory.formats.agentrewardbench.verdicts import label as label_of
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import BlobRecord
from webagent.trajectory.redaction import REDACTED

DATA = formats.DATA / "agentrewardbench"
TRUTH = formats.truth("agentrewardbench")
AGENT = "GenericAgent-stub-scripted-v1"
CLEANED = f"trajectories/cleaned/miniwob/{AGENT}/{AGENT}_on_miniwob"
RAW = BlobRecord(sha256="0" * 64, media_type="application/json", bytes=1, role="response")


@pytest.fixture(scope="module")
def found() -> list[RunBundle | Problem]:
    with open_runs(DATA) as source:
        assert (source.formats, source.total) == (("agentrewardbench",), len(TRUTH))
        assert source.unread == ("README.md", "truth.json")
        return list(source)


@pytest.fixture(scope="module")
def bundles(found: list[RunBundle | Problem]) -> dict[str, RunBundle]:
    return {b.task.external_id: b for b in found if isinstance(b, RunBundle)}


@pytest.mark.parametrize("task", TRUTH)
def test_a_trajectory_is_as_its_truth_says(bundles: dict[str, RunBundle], task: str) -> None:
    bundle, truth = bundles[task], TRUTH[task]
    actions = ["".join(str(a.raw) for a in step.actions) for step in bundle.steps]
    assert [*actions, None] == truth["actions"]
    # The last file is what the last action led to.
    assert len(bundle.steps) + 1 == truth["n_steps"]
    assert bundle.n_screenshots == truth["n_screenshots"]
    assert bundle.run.reward == truth["cum_reward"]
    outcome = "error" if truth["err_msg"] else "success" if truth["success"] else "failure"
    assert bundle.run.outcome == outcome
    assert (bundle.run.error.message if bundle.run.error else None) == truth["err_msg"]
    judge = _by_name(bundle, "stub-judge")
    details = (judge.extra or {})["details"]
    assert (judge.verdict == "passed") == (truth["judge"]["success"] == "Successful")
    assert details == {
        "side_effect": truth["judge"]["side"].lower(),
        "optimality": int(truth["judge"]["optimal"][0]),
        "looping": truth["judge"]["loop"].lower(),
    }
    assert (_by_name(bundle, "functional").verdict == "passed") == truth["success"]


def test_an_exception_is_no_failure_though_its_reward_is_0(bundles: dict[str, RunBundle]) -> None:
    run = bundles["miniwob.book-flight"].run
    assert (run.outcome, run.end_reason, run.reward) == ("error", "exception", 0.0)
    assert run.error is not None
    assert run.error.origin == "model"
    assert _by_name(bundles["miniwob.book-flight"], "imported-reward").verdict == "error"


def test_steps_have_what_agentlabs_have(bundles: dict[str, RunBundle]) -> None:
    bundle = bundles["miniwob.click-button"]
    (step,) = bundle.steps
    (action,) = step.actions
    assert action.target is not None
    assert (action.target.bid, action.target.role, action.target.text) == ("19", "button", "ok")
    assert action.target.box is not None
    assert action.point is not None
    assert step.thought == "The goal names the button 'ok'."
    assert step.after is not None
    assert step.after.screenshot is not None
    assert bundle.run.totals.input_tokens == 2485
    assert bundle.run.seed == 21
    assert (bundle.run.agent.name, bundle.run.models) == (AGENT, ("stub-scripted-v1",))
    assert {gap.what for gap in bundle.run.source.dropped} >= {"extra_element_properties"}


def test_annotations_are_labels_of_named_people(bundles: dict[str, RunBundle]) -> None:
    bundle = bundles["miniwob.click-button"]
    first, second = bundle.labels
    assert len(bundle.evaluations) == 3
    assert (first.annotator, second.annotator) == ("A@agentrewardbench", "B@agentrewardbench")
    assert (first.success, first.side_effect, first.optimality, first.looping) == (
        ("success", "no", 4, "no")
    )
    assert first.raw is not None
    assert first.raw["trajectory_optimality"] == "4. Completely Optimal"
    (verdict,) = bundle.adjudications
    assert (verdict.verdict, verdict.by) == ("success", first.annotator)
    assert verdict.label_ids == (first.id, second.id)


def test_rows_of_trajectories_that_are_not_here_are_told(found: list[RunBundle | Problem]) -> None:
    (problem,) = (each for each in found if isinstance(each, Problem))
    assert (problem.file, problem.reason) == (
        "annotations.csv",
        "6 rows are of trajectories that are not in the upload",
    )


@pytest.mark.parametrize("content", [b"a,b,c\n", b"", b"\x89PNG\xff\x00" * 20, b"\x01" * 20])
def test_annotations_and_judgments_that_cannot_be_read_are_told(
    tmp_path: Path, content: bytes
) -> None:
    folder = formats.copied("agentrewardbench", tmp_path)
    (folder / "annotations.csv").write_bytes(content)
    cut = sorted((folder / "trajectories/judgments").rglob("*.json"))
    for path in cut:
        path.write_bytes(path.read_bytes()[:40])
    found = read(folder)
    told = [item for item in found if isinstance(item, Problem)]
    bundles = [item for item in found if isinstance(item, RunBundle)]
    assert [Path(each.file).name for each in told] == ["annotations.csv", cut[0].name]
    assert told[1].reason == f"{len(cut)} files among the judgments are none"
    assert len(bundles) == len(TRUTH)
    assert not any(bundle.labels for bundle in bundles)


def test_secrets_go_but_not_what_the_goal_says(tmp_path: Path) -> None:
    document = _document("miniwob.login-user")
    document["model_args"]["api_key"] = "sk-abcdefghijklmnopqrstuvwx"
    document["steps"][1]["axtree"] = "[19] textbox 'Password', visible"
    document["steps"][1]["action"] = "fill('19', 'hunter2-mine')"
    document["steps"][2]["chat_messages"] = [{"role": "user", "content": "typed hunter2-mine"}]
    _write(tmp_path, document)
    bundle = only(tmp_path)
    assert bundle.run.source.redacted["setting"] == 1
    assert bundle.run.source.redacted["password"] == 2
    assert bundle.steps[1].actions[0].raw == f"fill('19', '{REDACTED}')"
    blobs = b"".join(bundle.read_blob(blob.sha256) for blob in bundle.blob_records())
    assert b"hunter2-mine" not in blobs
    assert b"sk-abcdefghij" not in blobs
    assert "11L" in bundle.task.goal[0].model_dump()["text"]


def test_a_missing_step_and_a_missing_picture_are_gaps(tmp_path: Path) -> None:
    document = _document("miniwob.book-flight")
    del document["steps"][1]
    document["valid"] = False
    _write(tmp_path, document)
    picture = "screenshot_step_0.png"
    shutil.copy(
        DATA / f"trajectories/screenshots/miniwob/{AGENT}/miniwob.book-flight" / picture,
        tmp_path / picture,
    )
    bundle = only(tmp_path)
    assert [(gap.what, gap.where) for gap in bundle.run.gaps] == [
        ("step", "step 1"),
        ("screenshot", "screenshot_step_2.png"),
        ("valid", "valid"),
    ]


@pytest.mark.parametrize("content", ["{}", '{"benchmark": "a", "agent": "b", "goal": 1, ', "[]"])
def test_broken_trajectories_are_refused_or_no_runs(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(
        content + '"summary_info": {}, "steps": 3' * (len(content) > 9)
    )
    (refused,) = read(tmp_path)
    assert isinstance(refused, Rejection)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            "<reasoning>So.</reasoning>\n<success>'Successful'</success><side>NO</side>"
            "<optimal>3. Somewhat Optimal</optimal><loop>Yes.</loop>",
            JudgeAnswer(
                success=True, reasoning="So.", side_effect="no", optimality=3, looping="yes"
            ),
        ),
        ("<success>n/a</success><loop>n/a</loop>", JudgeAnswer()),
        ("<success>Unsuccessful", JudgeAnswer(success=False)),
        ("Thoughts: it did.\nStatus: success", JudgeAnswer(success=True, reasoning="it did.")),
        ('Thoughts: no.\nStatus: "failure"', JudgeAnswer(success=False, reasoning="no.")),
        ("Well.\nReward: 4", JudgeAnswer(success=True, reasoning="Well.", optimality=3)),
        ("Reward: 3", JudgeAnswer(success=False, optimality=2)),
        ("Reward: 2", JudgeAnswer(success=False, optimality=1)),
        ("Reward: 5", JudgeAnswer(success=True, optimality=4)),
        ("I cannot tell.", JudgeAnswer()),
    ],
)
def test_each_judge_is_read_in_its_own_grammar(answer: str, said: JudgeAnswer) -> None:
    assert read_answer(answer) == said


def test_a_judge_that_was_refused_has_no_verdict() -> None:
    place = f"trajectories/judgments/miniwob/{AGENT}/gpt-judge/miniwob.a_error.json"
    record = evaluation({"error": "content filter"}, "run", RAW, place)
    assert (record.verdict, record.rationale) == ("error", "content filter")
    assert record.evaluator.name == "AgentRewardBench gpt-judge"


@pytest.mark.parametrize(
    ("reward", "verdict"), [(0.5, "failed"), (0.51, "passed"), (None, "error")]
)
def test_the_functional_judge_asks_for_more_than_half(reward: Any, verdict: str) -> None:
    info = {"summary_info": {"cum_reward": reward}}
    record = evaluation({"judge": "functional", "trajectory_info": info}, "r", RAW, "x/y.json")
    assert (record.verdict, record.score) == (verdict, reward)


def test_prices_are_added_anew() -> None:
    judgment = {
        "judge": "j",
        "cost": {"input_price": 0.25, "output_price": 0.5, "total_price": 900},
    }
    assert str(evaluation(judgment, "run", RAW, "j/x.json").cost) == "0.75"


def test_rows_are_read_as_they_are_written() -> None:
    rows = list(
        read_annotations(
            "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success,"
            "trajectory_side_effect,trajectory_optimality,trajectory_looping\n"
            " H,b,t,m,e,Unsure,Unsure,Unsure,No\nA,b,t,m,e,Successful,No,2. Suboptimal,Yes\n"
            "A,b,,m,e,Successful,No,2. Suboptimal,Yes\nA,b,t,m,e,Perhaps,No,,\n"
        )
    )
    assert [(row.annotator, row.success, row.is_whole) for row in rows] == [
        ("H", "unsure", True),
        ("A", "success", True),
        ("A", "success", False),
        ("A", None, True),
    ]
    rows = [row for row in rows if row.is_whole]
    labels = tuple(found for row in rows if (found := label_of(row, "r")))
    assert [(each.annotator, each.optimality) for each in labels] == [
        ("H@agentrewardbench", "unsure"),
        ("A@agentrewardbench", 2),
    ]
    assert primary_verdict(labels) is None
    assert primary_verdict(()) is None
    assert optimality("'4. Completely Optimal'") == 4


def test_rows_that_say_nothing_are_told_with_their_line(tmp_path: Path) -> None:
    _write(tmp_path, _document("miniwob.book-flight"))
    (tmp_path / "annotations.csv").write_text(
        "annotator_name,benchmark,task_id,model_name,trajectory_success\n"
        f"A,miniwob,miniwob.book-flight,{AGENT},Unsuccessful\n"
        f"B,miniwob,miniwob.book-flight,{AGENT},Perhaps\n"
        f",miniwob,miniwob.book-flight,{AGENT},Successful\n,,,,\n"
    )
    found = read(tmp_path)
    told = {each.field: each.reason for each in found if isinstance(each, Problem)}
    assert "1 rows lack" in told["row"]
    assert told["row"].endswith("line 4")
    assert told["trajectory_success"].endswith("line 3")
    (bundle,) = (each for each in found if isinstance(each, RunBundle))
    assert [label.annotator for label in bundle.labels] == ["A@agentrewardbench"]


VARIANTS = ("visualwebarena.resized.12", "visualwebarena.12")


@pytest.mark.parametrize(("own", "others"), [VARIANTS, VARIANTS[::-1]])
def test_files_of_variants_of_a_task_are_joined(tmp_path: Path, own: str, others: str) -> None:
    def put(place: str, content: Any) -> None:
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(json.dumps(content))

    document = _document("miniwob.click-button")
    for step in document["steps"]:  # of the machine that made it, in the uncleaned form
        step["screenshot_path"] = f"/home/me/{step['num']}.png"
    put(f"trajectories/cleaned/miniwob/{AGENT}/x/{own}.json", document)
    refused = {"error": {"message": "content filter"}}
    put(f"trajectories/judgments/miniwob/{AGENT}/strict/{others}_error.json", refused)
    named = {"benchmark": "miniwob", "agent": AGENT, "judge": "lax"} | refused
    put(f"trajectories/judgments/miniwob/{AGENT}/lax/{others}_error.json", named)
    shutil.copytree(
        DATA / f"trajectories/screenshots/miniwob/{AGENT}/miniwob.click-button",
        tmp_path / f"trajectories/screenshots/miniwob/{AGENT}/{others}",
    )
    (tmp_path / "annotations.csv").write_text(
        "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success\n"
        f"A,miniwob,{others},{AGENT},another name,Successful\n"
    )
    bundle = only(tmp_path)
    assert bundle.task.external_id == own
    assert bundle.n_screenshots == 2
    assert [label.success for label in bundle.labels] == ["success"]
    judged = {e.evaluator.name: (e.verdict, e.rationale) for e in bundle.evaluations}
    for judge in ("strict", "lax"):
        assert judged[f"AgentRewardBench {judge}"] == ("error", "content filter")


def test_a_judge_that_was_asked_again_after_a_refusal_counts_as_the_last_time(
    tmp_path: Path,
) -> None:
    shutil.copytree(DATA, tmp_path / "all")
    folder = tmp_path / f"all/trajectories/judgments/miniwob/{AGENT}/stub-judge"
    given = json.loads((folder / "miniwob.click-button.json").read_text())
    refused = given | {"response": None, "error": "content filter"}
    (folder / "miniwob.click-button_error.json").write_text(json.dumps(refused))
    bundle = next(
        b for b in runs(tmp_path).values() if b.task.external_id == "miniwob.click-button"
    )
    said = [e for e in bundle.evaluations if e.evaluator.name.endswith("stub-judge")]
    assert [each.verdict for each in said] == ["error", "failed"]
    assert said[0].evaluator == said[1].evaluator
    assert len({each.id for each in bundle.evaluations}) == len(bundle.evaluations)


def test_a_document_says_by_its_summary_and_last_step_how_it_ended(tmp_path: Path) -> None:
    document = _document("miniwob.click-button")
    ended = {"terminated": False, "truncated": True, "err_msg": None, "cum_reward": 0}
    document["summary_info"] |= ended
    document["steps"][-1] |= {"action": None, "reasoning": "could not parse", "stats": None}
    _write(tmp_path, document)
    assert only(tmp_path).run.end_reason == "agent_gave_up"
    document["steps"][-1] |= {"reasoning": None, "chat_messages": []}
    _write(tmp_path, document)
    assert only(tmp_path).run.end_reason == "max_steps"


def test_what_stands_there_twice_or_only_raw_is_read_once(tmp_path: Path) -> None:
    document = _document("miniwob.click-button")
    document |= {"goal": "Press\nok\n", "trajectory_dir": "/home/me/SECRET-DIR", "logs": "x"}
    first = document["steps"][0]
    first |= {"bounding_boxes": {}, "axtree": "", "action": "send_msg_to_user('It is ok.')"}
    tree = [{"nodeId": "1", "role": {"value": "button"}, "name": {"value": "ok"}}]
    first["axtree_obj"] = {"nodes": tree}
    document["steps"].insert(1, first | {"num": 1, "action": "click('19')"})
    document["steps"][2]["num"] = 2
    _write(tmp_path, document)
    bundle = only(tmp_path)
    assert bundle.task.goal[0].model_dump()["text"] == "Press\nok"
    assert bundle.run.final_answer == "It is ok."
    before, (action,) = bundle.steps[0].before, bundle.steps[1].actions
    assert before is not None
    assert before.a11y_tree is not None
    assert bundle.read_blob(before.a11y_tree.sha256) == b"button 'ok'"
    assert action.target is not None
    assert action.target.box is not None
    kept = b"".join(bundle.read_blob(blob.sha256) for blob in bundle.run.source.originals)
    assert b"SECRET-DIR" not in kept


def test_variants_of_a_task_are_joined() -> None:
    assert same_task("visualwebarena.resized.12") == "visualwebarena.12"
    assert same_task("assistantbench.improved.validation.3") == "assistantbench.validation.3"


def _by_name(bundle: RunBundle, name: str) -> Any:
    return next(e for e in bundle.evaluations if e.evaluator.name.endswith(name))


def _document(task: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / CLEANED / f"{task}.json").read_text())
    return document


def _write(folder: Path, document: dict[str, Any]) -> None:
    (folder / "miniwob.book-flight.json").write_text(json.dumps(document))


@pytest.mark.parametrize("nasty", ["\n", "Thoughts:\n", "Reward:", "<success>", "Status -"])
def test_no_answer_makes_a_judge_slow(nasty: str) -> None:
    started = time.process_time()
    read_answer("Thoughts:" + nasty * 50_000)
    assert time.process_time() - started < 5
