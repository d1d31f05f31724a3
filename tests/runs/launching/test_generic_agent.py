"""The generic agent through the command that people use, with its model from MODELS_FILE."""

import json
import re
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from runs.models import Attachment, Run
from tests.webagent.agents.generic.made import act
from tests.webagent.llm.protocols import Asked

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite_only("tests agents")]


@pytest.fixture
def models(tmp_path, llm_stub, monkeypatch):
    path = tmp_path / "models.toml"
    path.write_text(
        f'[models.clicker]\nprovider = "openai"\napi = "chat"\nmodel = "c-1"\n'
        f'base_url = "{llm_stub.openai_url}"\nprices = {{input = 1.0, output = 2.0}}\n'
    )
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", path)
    return path


def run_agent(**config: object) -> None:
    call_command(
        "run_agent",
        *("--task", "miniwob.click-test", "--agent", "generic", "--seed", "3"),
        *("--agent-config", json.dumps(config)),
        stdout=StringIO(),
        stderr=StringIO(),
    )


def clicks(asked: Asked) -> str:
    found = re.search(r"\[(\w+)\] button", asked.text)
    assert found is not None
    return act(f"click('{found[1]}')")


@pytest.mark.browser
def test_a_run_is_stored_with_its_prompts_replies_and_cost(models, llm_stub):
    llm_stub.reply = clicks
    run_agent(model="clicker", benchmark="miniwob", max_steps=7)
    run = Run.objects.get()
    assert (run.outcome, run.max_steps) == (Run.Outcome.SUCCESS, 7)
    step = run.steps.get()
    assert step.cost
    assert step.record["llm_calls"][0]["model"] == "c-1-as-served"
    roles = set(Attachment.objects.filter(run=run).values_list("role", flat=True))
    assert {"request", "response"} <= roles
    assert run.agent.config["benchmark"] == "miniwob"


def test_without_a_file_of_models_nothing_is_queued(monkeypatch):
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", None)
    with pytest.raises(CommandError, match="MODELS_FILE"):
        run_agent(model="clicker")
    assert not Run.objects.exists()
