"""Step limits and budgets of web knowledge as arms of an experiment."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from judging.analysis.experiments.figures import configuration_names
from runs.catalogue.agents import store_agent
from runs.knowledge.web.sets import recount
from runs.launching.experiments.plans import read_agent
from runs.launching.experiments.selection import (
    PlanError,
    read_budgets,
    read_step_limits,
    with_arms,
)
from runs.models import Run
from tests.runs.factories import client_of, make_run, make_user
from tests.runs.knowledge.test_knowledge_pages import made
from webagent.agents.registry import BadAgentConfig, make_agent

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests forms")]


@pytest.mark.parametrize(
    ("words", "limits"), [("", ()), ("30", (30,)), ("10, 20;30", (10, 20, 30))]
)
def test_step_limits_are_read(words: str, limits: tuple[int, ...]) -> None:
    assert read_step_limits(words) == limits


@pytest.mark.parametrize("words", ["0", "1001", "x", "10, 10", "²", "-1", "9" * 40])
def test_step_limits_that_are_none_are_refused(words: str) -> None:
    with pytest.raises(PlanError):
        read_step_limits(words)


def test_budgets_are_read() -> None:
    assert read_budgets("0, 6000 None") == (0, 6000, None)
    with pytest.raises(PlanError, match="all: Enter a whole number"):
        read_budgets("all")


def test_several_limits_are_arms_of_every_agent_and_one_is_none() -> None:
    agents = (read_agent("oracle"), read_agent('stuck:{"block": ["noop(1)"]}'))
    assert with_arms(agents, step_limits=(30,)) == agents
    arms = with_arms(agents, step_limits=(2, 5))
    assert [(each.name, (each.config or {})["max_steps"]) for each in arms] == [
        ("oracle", 2),
        ("oracle", 5),
        ("stuck", 2),
        ("stuck", 5),
    ]
    # What describes an arm makes it again.
    assert [make_agent(each.name, each.config).describe() for each in arms] == list(arms)


def test_budgets_are_arms_of_agents_with_web_knowledge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        '[models.own-model]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    kept = made(make_run(pictures=False))
    kept = recount(kept)
    told = read_agent(f'generic:{{"model": "own-model", "knowledge": "{kept}"}}')
    arms = with_arms((told, read_agent("oracle")), step_limits=(9, 8), budgets=(6000, 100, None))
    assert [
        (
            each.name,
            *((each.config or {}).get(key, "–") for key in ("knowledge_tokens", "max_steps")),
        )
        for each in arms
    ] == [
        # 6000 is as usual: configurations of before keep their hash.
        *(("generic", "–", limit) for limit in (9, 8)),
        *(("generic", 100, limit) for limit in (9, 8)),
        *(("generic", None, limit) for limit in (9, 8)),
        *(("oracle", "–", limit) for limit in (9, 8)),
    ]
    names = configuration_names([store_agent(each) for each in arms[:6:2]])
    assert sorted(names.values()) == [
        "generic · own-model (all web knowledge, no budget)",
        "generic · own-model (knowledge_tokens=100)",
        "generic · own-model (knowledge_tokens=6000)",
    ]


def test_a_budget_needs_web_knowledge() -> None:
    with pytest.raises(PlanError, match="web knowledge"):
        with_arms((read_agent("oracle"),), budgets=(6000,))


@pytest.mark.parametrize("limit", [0, 1001, "5", True, None])
def test_an_agent_takes_no_other_limit(limit: object) -> None:
    config = {"max_steps": limit}
    if limit is None:
        assert make_agent("oracle", config).describe().config == {}  # type: ignore[arg-type]
        return
    with pytest.raises(BadAgentConfig, match="max_steps"):
        make_agent("oracle", config)  # type: ignore[arg-type]


def test_the_command_launches_arms_whose_runs_have_their_limits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = {"task_set": "miniwob", "tasks": "click-test", "agent": ["oracle"]}
    call_command("run_experiment", name="Limits", max_steps="2,5", dry_run=True, **options)
    said = capsys.readouterr().out
    assert "2 runs: 1 tasks × 2 agents × 1 trials" in said
    assert "oracle (max_steps=2): 1 runs" in said
    call_command("run_experiment", name="Limits", max_steps="2,5", **options)
    runs = Run.objects.order_by("max_steps")
    assert [run.max_steps for run in runs] == [2, 5]
    assert [run.agent.config for run in runs] == [{"max_steps": 2}, {"max_steps": 5}]
    plan = runs[0].experiment.plan  # type: ignore[union-attr]
    assert plan["has_limits"] is True
    with pytest.raises(CommandError, match="whole number"):
        call_command("run_experiment", name="Wrong", max_steps="2,x", **options)
    with pytest.raises(CommandError, match="web knowledge"):
        call_command("run_experiment", name="Wrong", knowledge_tokens="none", **options)


def asked(**values: object) -> dict[str, object]:
    return {
        "name": "By form",
        "task_set": "miniwob",
        "tasks": "click-test",
        "agents": ["oracle"],
        "trials": 1,
        "token": str(uuid4()),
        "launch": "1",
        **values,
    }


@pytest.fixture
def page() -> Client:
    return client_of(make_user("engineer"))


def test_the_form_launches_arms_and_says_what_is_wrong(page: Client) -> None:
    wrong = page.post("/experiments/new/", asked(max_steps="2, x"))
    assert wrong.status_code == 422
    assert "x: Enter a whole number from 1 to 1000." in wrong.content.decode()
    no_knowledge = page.post("/experiments/new/", asked(budgets="none")).content.decode()
    assert "None of the agents has web knowledge" in no_knowledge
    assert page.post("/experiments/new/", asked(max_steps="2, 5")).status_code == 302
    assert set(Run.objects.values_list("max_steps", flat=True)) == {2, 5}


def test_one_limit_is_that_of_all_runs(page: Client) -> None:
    assert page.post("/experiments/new/", asked(max_steps="4")).status_code == 302
    run = Run.objects.get()
    assert (run.max_steps, run.agent.config) == (4, {})
