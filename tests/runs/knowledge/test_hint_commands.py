"""Hints by commands: written from what a named source calls successes, and launched once."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.models import Hint, LearningJob, Run
from tests.runs.knowledge.lever_world import base, inhabited, successes

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("levers")) as stub:
        yield stub


def said(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_from_successes_to_an_experiment_that_is_launched_once(world) -> None:
    successes()
    told = json.loads(said("write_hints", "--model", "stub-judge", "--json"))
    assert (told["state"], told["hints"], Hint.objects.count()) == ("finished", 18, 18)

    launch = ["hint_experiment", "--name", "Hints", "--task-set", "levers", "--seeds", "0-2"]
    launch += ["--agent", f"generic:{json.dumps(base().config)}"]
    before = Run.objects.count()
    assert "234 runs: 6 tasks × (12 conditions + 1) × 3 trials" in said(*launch, "--dry-run")
    assert Run.objects.count() == before
    assert "Hints is queued." in said(*launch)
    assert "Hints was launched before." in said(*launch)
    assert Run.objects.count() == before + 234


def test_what_is_missing_is_said(world) -> None:
    with pytest.raises(CommandError, match="at least one run that succeeded"):
        said("write_hints", "--model", "stub-judge", "--verdict", "reference")
    with pytest.raises(CommandError, match="gives no verdicts"):
        said("write_hints", "--model", "stub-judge", "--verdict", "rumour")
    launch = ["hint_experiment", "--name", "x", "--task-set", "levers", "--agent"]
    with pytest.raises(CommandError, match="no such hints"):
        said(*launch, f"generic:{json.dumps(base().config)}")
    with pytest.raises(CommandError, match="no such hints"):
        said(*launch, f"generic:{json.dumps(base().config)}", "--hints", "no-uuid")
    assert not LearningJob.objects.exists()
