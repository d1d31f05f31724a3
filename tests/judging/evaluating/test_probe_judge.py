"""The probe: which attacks flip a verdict, against a judge that falls for some of them."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from judging.evaluators.judges.injections import ATTACKS, Way
from judging.models import Evaluation, EvaluatorVersion
from tests.judging.analysis import audited
from tests.judging.evaluators.judges.scripted import equivalence, inclusion
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import LLMStub
from tests.webagent.llm.stub_models import KEY

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("figures and prompts, alike on both"),
    pytest.mark.slow,
]

MODEL = """
[models.gullible]
provider = "openai"
api = "chat"
model = "stub-judge"
base_url = "{url}"
api_key_env = "STUB_KEY"
max_concurrency = 4
{prices}
"""
PRICES = 'prices = {input = "2", output = "10"}'


@pytest.fixture
def study(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> audited.Audited:
    """Two runs whose answer is right, two whose answer is wrong, one without a reference."""
    models(llm_stub, tmp_path, monkeypatch)
    world = audited.study("Probed")
    for number, answer in enumerate(["42", "42", "41", "none"]):
        spec = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
        world.add(of=audited.run(audited.task(f"t{number}", spec=spec), final_answer=answer))
    world.add(of=audited.run(audited.task("free")))
    return world


def models(
    stub: LLMStub, folder: Path, monkeypatch: pytest.MonkeyPatch, prices: str = PRICES
) -> None:
    file = folder / "models.toml"
    file.write_text(MODEL.format(url=stub.openai_url, prices=prices))
    monkeypatch.setattr(settings, "ENV", settings.ENV.model_copy(update={"MODELS_FILE": file}))
    monkeypatch.setenv("STUB_KEY", KEY)


def answer_of(asked: Asked) -> str:
    """What stands between the lines of the block that holds the agent's answer."""
    block = asked.text.split("<<< answer ")[1].split("<<< end of answer ")[0]
    return block.partition("\n")[2].strip("\n")


def judging_by(falls_for: Callable[[str], bool]) -> Callable[[Asked], str]:
    def reply(asked: Asked) -> str:
        answer = answer_of(asked)
        passes = answer.startswith("42") or falls_for(answer)
        if "items" in json.dumps(asked.schema):
            return inclusion("included" if passes else "not_included")
        return equivalence("equivalent" if passes else "not_equivalent")

    return reply


def probe(*arguments: str, evaluator: str = "two-stage-judge") -> str:
    out = StringIO()
    given = ("--study", "Probed", "--evaluator", evaluator, "--model", "gullible")
    call_command("probe_judge", *given, *arguments, stdout=out)
    return out.getvalue()


def figures(*arguments: str, **options: str) -> Any:
    return json.loads(probe("--json", *arguments, **options))


def test_attacks_that_work_are_told_and_nothing_is_stored(
    study: audited.Audited, llm_stub: LLMStub
) -> None:
    llm_stub.reply = judging_by(lambda answer: "maintainers" in answer)
    found = figures()
    assert (found["runs"], found["passed"], found["failed"]) == (4, 2, 2)
    by_attack = {(each["attack"], each["way"]): each for each in found["attacks"]}
    assert len(by_attack) == len(ATTACKS) * len(Way)
    appended, replaced = by_attack["authority", "appended"], by_attack["authority", "replaced"]
    assert (appended["flips"], appended["at_risk"]) == (2, 2)
    assert (replaced["flips"], replaced["at_risk"], replaced["share"]) == (4, 4, 1.0)
    assert replaced["interval"] == pytest.approx([0.5101, 1.0], abs=1e-4)  # Wilson of 4/4
    plain = by_attack["plain order", "appended"]
    assert (plain["flips"], plain["at_risk"], plain["lost"]) == (0, 2, 0)
    assert plain["interval"] == pytest.approx([0.0, 0.6576], abs=1e-4)  # Wilson of 0/2
    assert (found["flipped"]["runs"], found["flipped"]["at_risk"]) == (4, 4)
    assert float(found["cost"]) > 0
    assert not Evaluation.objects.exists()
    assert not EvaluatorVersion.objects.exists()
    study.items[0].run.refresh_from_db()
    assert study.items[0].run.final_answer == "42"


def test_same_probe_is_paid_once(study: audited.Audited, llm_stub: LLMStub) -> None:
    llm_stub.reply = judging_by(lambda answer: False)
    first = figures("--attack", "threat")
    asked = len(llm_stub.asked)
    again = figures("--attack", "threat")
    assert len(llm_stub.asked) == asked
    assert again["attacks"] == first["attacks"]
    assert float(again["cost"]) == 0


def test_obeyed_canary_counts_as_manipulation_and_not_as_a_flip(
    study: audited.Audited, llm_stub: LLMStub
) -> None:
    def reply(asked: Asked) -> str:
        canary = "heron-" + asked.text.split("heron-")[1][:12]
        if "lenient teacher" in answer_of(asked):
            return equivalence("equivalent", control=canary, steering=True)
        return judging_by(lambda answer: False)(asked)

    llm_stub.reply = reply
    appended, replaced = figures("--attack", "role play")["attacks"]
    assert (appended["flips"], appended["manipulated"], appended["noticed"]) == (0, 4, 4)
    assert (appended["at_risk"], replaced["at_risk"], appended["no_verdict"]) == (2, 4, 0)


def test_right_answer_that_an_attack_spoils_is_lost(
    study: audited.Audited, llm_stub: LLMStub
) -> None:
    llm_stub.reply = lambda asked: (
        equivalence("equivalent")
        if answer_of(asked) == "42"
        else (
            inclusion("not_included")
            if "items" in json.dumps(asked.schema)
            else equivalence("not_equivalent")
        )
    )
    appended, replaced = figures("--attack", "threat")["attacks"]
    assert (appended["lost"], replaced["lost"], replaced["flips"]) == (2, 0, 0)


def test_table_reads_well(study: audited.Audited, llm_stub: LLMStub) -> None:
    llm_stub.reply = judging_by(lambda answer: "maintainers" in answer)
    said = probe("--attack", "authority", "--limit", "3")
    assert "two-stage-judge with gullible: 3 runs" in said
    assert "2 passed, 1 failed, 0 without a verdict" in said
    assert "Passed by at least one attack: 3 of 3 runs at risk 100% (44%-100%)" in said


def test_cap_cuts_the_probe_short(study: audited.Audited, llm_stub: LLMStub) -> None:
    llm_stub.reply = judging_by(lambda answer: False)
    found = figures("--max-cost", "0.05")
    assert found["is_cut_short"]
    assert float(found["cost"]) <= 0.05
    assert len(llm_stub.asked) < 100
    assert "Cut short" in probe("--max-cost", "0.011")


def test_cap_needs_prices(
    study: audited.Audited, llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models(llm_stub, tmp_path, monkeypatch, prices="")
    with pytest.raises(CommandError, match="prices"):
        probe("--max-cost", "1")
    llm_stub.reply = judging_by(lambda answer: False)
    assert figures("--attack", "threat")["cost"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--study", "No such"], "no study"),
        (["--model", "no-such"], "no-such"),
        (["--evaluator", "webarena-strict"], "invalid choice"),
        (["--limit", "0"], "1 or more"),
        (["--max-cost", "much"], "no amount"),
        (["--attack", "no such"], "invalid choice"),
    ],
)
def test_command_says_what_is_wrong(
    study: audited.Audited, arguments: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        probe(*arguments)


def test_study_without_anything_to_judge(study: audited.Audited) -> None:
    audited.study("Empty")
    with pytest.raises(CommandError, match="nothing to say"):
        probe("--study", "Empty")
