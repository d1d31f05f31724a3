"""Hints by commands: written from what a named source calls successes, and launched once."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from runs.models import Hint, LearningJob, Run
from tests.runs.knowledge.lever_world import base, inhabited, successes

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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


def test_an_estimate_asks_nothing_and_is_kept_with_the_job(world) -> None:
    successes()
    asked = len(world.asked)
    told = said("write_hints", "--model", "stub-judge", "--dry-run")
    assert told.startswith("18 hints, about ")
    assert "at most $" in told
    assert (len(world.asked), LearningJob.objects.count()) == (asked, 0)
    found = json.loads(said("write_hints", "--model", "stub-judge", "--dry-run", "--json"))
    assert float(found["cost"]) == pytest.approx(3 * float(found["usual_cost"]), abs=1e-5)
    said("write_hints", "--model", "stub-judge", "--level", "concrete")
    job = LearningJob.objects.get()
    assert job.estimate["n_items"] == 6
    assert float(job.estimate["cost"]) > job.spent


def test_work_stops_at_the_limit_of_cost(world) -> None:
    successes()
    with pytest.raises(CommandError):
        said("write_hints", "--model", "stub-judge", "--max-cost", "0.0001")
    job = LearningJob.objects.get()
    assert job.state == "stopped_by_budget"
    assert Hint.objects.count() < 18


def test_hints_from_several_runs_in_other_words(world, tmp_path) -> None:
    successes()
    successes()
    file = tmp_path / "words.toml"
    file.write_text('name = "coach"\nconcrete = "Write it down."\n')
    words = ["write_hints", "--model", "stub-judge", "--level", "concrete", "--wording", str(file)]
    said(*words, "--per-task", "2")
    hints = list(Hint.objects.all())
    assert [hint.further.count() for hint in hints] == [1] * 6
    assert {hint.prompt_version for hint in hints} == {"coach"}
    told = world.asked[-1].text
    assert "Write it down." in told
    assert "Run 1 of 2" in told
    assert "Run 2 of 2" in told
    job = LearningJob.objects.get()
    assert job.params["wording"]["concrete"] == "Write it down."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('name = "x"', "one of the parts must be given"),
        ('name = "x"\nconcrete = "{{log}}"', "there are no slots"),
        ('name = "x"\nplan = "y"', "plan"),
        ("name = ", "Invalid"),
    ],
)
def test_words_that_cannot_be_asked_with_are_refused(tmp_path, content: str, words: str) -> None:
    file = tmp_path / "words.toml"
    file.write_text(content)
    with pytest.raises(CommandError, match=words):
        said("write_hints", "--model", "m", "--wording", str(file))
    with pytest.raises(CommandError, match="per-task"):
        said("write_hints", "--model", "m", "--per-task", "6")
