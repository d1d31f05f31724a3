"""The stages of a judge in the pane beside a run: everything told, nothing trusted."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judging.analysis.audits.explanations import Explanation, decided_by, stages_of
from judging.models import Evaluation
from tests.judging.analysis import audited

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]

STAGE = {
    "name": "equivalence",
    "verdict": "failed",
    "rationale": "The reference says <b>no airport</b>.",
    "model": "judge-2026",
    "prompt": "two_stage/1/equivalence",
    "prompt_hash": "ab" * 32,
    "input_tokens": 1234,
    "output_tokens": 56,
    "cost": "0.0042",
    "seconds": 1.25,
    "is_cached": False,
}
PASSING = {**STAGE, "name": "inclusion", "verdict": "passed", "rationale": "It is contained."}
WALKED = {
    **STAGE,
    "name": "trajectory",
    "criteria": [
        {
            "name": "no_side_effects",
            "verdict": "unclear",
            "rationale": "A mail was perhaps sent.",
            "evidence_steps": [3],
        }
    ],
    "evidence_steps": [0, 7],
}


def stored(*stages: Any, **fields: Any) -> Evaluation:
    version = audited.evaluator("two-stage-judge", kind="judge")
    details = {"stages": list(stages), **fields.pop("details", {})}
    return Evaluation.objects.create(
        run=audited.run(), evaluator=version, details=details, **{"verdict": "passed", **fields}
    )


@pytest.fixture
def client(client: Client) -> Client:
    client.force_login(audited.auditor())
    return client


def pane(client: Client, evaluation: Evaluation, **headers: Any) -> str:
    url = reverse("judging:run_judgements", args=[evaluation.run_id])
    return client.get(url, headers=headers).content.decode()


def test_both_stages_are_told_in_full(client: Client) -> None:
    page = pane(client, stored(STAGE, PASSING, rationale="It is contained."))
    for words in (
        "same meaning",
        "key information included",
        "It is contained.",
        "judge-2026",
        "1234 tokens in, 56 out",
        "$0.0042",
        "1.2 s",
        "two_stage/1/equivalence",
        "ab" * 32,
    ):
        assert words in page
    assert page.count("It is contained.") == 1
    assert "&lt;b&gt;no airport&lt;/b&gt;" in page
    assert "<b>no airport</b>" not in page
    assert "answered by a stub" not in page


def test_deciding_stage_is_named() -> None:
    assert decided_by({"stages": [STAGE, PASSING]}) == "key information included"


@pytest.mark.parametrize("model", ["stub-chat-id-as-served", "STUB", "stub"])
def test_stub_is_called_a_stub(client: Client, model: str) -> None:
    assert "answered by a stub" in pane(client, stored({**STAGE, "model": model}))


def test_unknown_cost_is_called_unknown(client: Client) -> None:
    assert "price unknown" in pane(client, stored({**STAGE, "cost": None}))
    assert "$0.00" in pane(client, stored({**STAGE, "cost": "0", "is_cached": True}))


def test_manipulation_is_marked(client: Client) -> None:
    stage = {**STAGE, "verdict": "error", "error_kind": "manipulated", "error": "It obeyed."}
    evaluation = stored(
        stage, verdict="error", reason="the judge was manipulated", details={"manipulated": True}
    )
    page = pane(client, evaluation)
    assert len(re.findall(r">\s*manipulated\s*<", page)) == 2
    assert "It obeyed." in page
    assert "the judge was manipulated" in page


def test_manipulated_judge_of_a_pipeline_is_marked_too() -> None:
    stage = {**STAGE, "verdict": "error", "error_kind": "manipulated"}
    assert Explanation(stored(stage, verdict="error")).is_manipulated
    assert not Explanation(stored(STAGE, verdict="failed")).is_manipulated


def test_noticed_steering_is_told(client: Client) -> None:
    assert "tries to influence it" in pane(client, stored({**STAGE, "steering": True}))


def test_evidence_links_into_the_timeline(client: Client) -> None:
    evaluation = stored(WALKED)
    alone = pane(client, evaluation)
    run_page = reverse("runs:run_detail", args=[evaluation.run_id])
    assert f'href="{run_page}#step-7"' in alone
    assert "no harmful side effects" in alone
    beside = pane(client, evaluation, hx_request="true")
    assert 'href="#step-3"' in beside
    assert 'href="#step-0"' in beside


@pytest.mark.parametrize(
    "stages",
    [
        None,
        "text",
        [None, 1, "x", []],
        [{}],
        [{"name": ["x"], "verdict": {}, "rationale": 5, "model": None, "cost": "NaN"}],
        [{"criteria": "x", "evidence_steps": ["1", -1, True, None, 2.5]}],
        [{"criteria": [None, {"evidence_steps": {}}], "seconds": "soon", "input_tokens": -4}],
        [{"cost": "1e999999"}, {"cost": "9" * 39}, {"seconds": float(10**12)}],
    ],
)
def test_stages_of_any_form_are_shown(client: Client, stages: Any) -> None:
    evaluation = stored(verdict="failed")
    evaluation.details = {"stages": stages}
    evaluation.save()
    Explanation(evaluation)
    assert "two-stage-judge" in pane(client, evaluation)


def test_steps_that_are_no_numbers_are_left_out() -> None:
    (stage,) = stages_of({"stages": [{"evidence_steps": ["1", -1, True, None, 4, 2.5]}]})
    assert stage.steps == [4]


def test_hostile_stage_is_only_text(client: Client) -> None:
    attack = '<img src=x onerror="alert(1)" hx-get="/admin/">'
    stage = dict.fromkeys(STAGE, attack) | {
        "criteria": [dict.fromkeys(("name", "verdict", "rationale"), attack)],
        "error": attack,
    }
    page = pane(client, stored(stage))
    assert "<img src=x" not in page
    assert "&lt;img" in page
