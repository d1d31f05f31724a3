"""The whole way with real recorded runs: milestones, a model over HTTP, people, and the figures."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.urls import reverse

from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.registry import evaluator_named
from judging.models import Study
from judging.studies.labels.ticks import Tick
from runs.catalogue.milestones.services import set_milestones
from runs.imports.storing import import_bundle
from runs.models import Run, Step
from tests.judging.analysis.experiments.made import reader
from tests.judging.evaluators.judges.test_milestones import reply, said
from tests.judging.factories import annotators_of, make_label, make_study
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import LLMStub
from tests.webagent.llm.stub_models import WHOLE
from webagent.llm.client import Client
from webagent.milestones.findings import Definition
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]

RECORDED = Path(__file__).parents[4] / "judging" / "demo" / "recovery.zip"
TASKS = {f"miniwob.{name}" for name in ("login-user", "search-engine", "simple-arithmetic")}
FILLED, CLICKED = "a field is filled", "a button is clicked"


def recorded_runs() -> list[Run]:
    """Runs of MiniWoB++ as they were recorded in a browser."""
    with open_runs(RECORDED) as source:
        bundles = [
            each
            for each in source
            if isinstance(each, RunBundle) and each.task.external_id in TASKS
        ]
        for bundle in bundles:
            import_bundle(bundle)
    runs = list(Run.objects.filter(task__external_id__in=TASKS).select_related("task"))
    for task in {run.task for run in runs}:
        set_milestones(task=task, milestones=[Definition(name=FILLED), Definition(name=CLICKED)])
    return runs


def by_rule(asked: Asked) -> str:
    """A judge that reads the listed steps: the first that fills, and the first that clicks."""
    rows = []
    for number, action in enumerate(("fill", "click"), 1):
        found = re.search(rf"^step (\d+): {action}\(", asked.text, re.MULTILINE)
        rows.append(said(number, at=int(found[1])) if found else said(number, "not_reached"))
    return reply(*rows)


def first(run: Run, action: str) -> int | None:
    steps = Step.objects.filter(run=run, action__startswith=f"{action}(").order_by("index")
    return steps.values_list("index", flat=True).first()


def label(study: Study, run: Run) -> None:
    """Both people tick what the actions say, but the second never grants the click."""
    item = study.items.get(run=run)
    rows = {row.name: row.pk for row in run.task.milestones.in_force()}
    for user, grants_click in zip(annotators_of(study), (True, False), strict=True):
        clicked = first(run, "click") if grants_click else None
        found = {FILLED: first(run, "fill"), CLICKED: clicked}
        ticks = tuple(
            Tick(milestone=rows[name], achieved=step is not None, step=step)
            for name, step in found.items()
        )
        make_label(item, user, "failure", ticks=ticks)


def test_recorded_runs_are_judged_ticked_and_compared(
    llm_stub: LLMStub, llm_client: Client
) -> None:
    llm_stub.reply = by_rule
    runs = recorded_runs()
    assert len(runs) >= 6
    study = make_study(runs=runs, asks_milestones=True)
    for run in runs:
        label(study, run)
    judge = evaluator_named("milestones-judge", model=WHOLE[0], language_model=llm_client)
    evaluate_runs(runs, judge, version_of(judge))
    broken = [run for run in runs if run.outcome == Run.Outcome.ERROR]
    assert len(llm_stub.asked) == len(runs) - len(broken)

    client = reader()
    address = reverse("judging:audit_progress_table", args=[study.pk, "runs", "csv"])
    rows = list(csv.DictReader(io.StringIO(client.get(address).content.decode())))
    assert len(rows) == len(runs) - len(broken)
    gaps = []
    for row in rows:
        run = next(each for each in runs if str(each.pk) == row["run"])
        fills, clicks = first(run, "fill") is not None, first(run, "click") is not None
        assert float(row["judge"]) == (fills + clicks) / 2
        assert json.loads(row["each_person"]) == [(fills + clicks) / 2, fills / 2]
        assert float(row["cost"]) > 0
        gaps.append(float(row["judge"]) - float(row["people"]))
    assert sum(gaps) > 0
    address = reverse("judging:audit_progress_table", args=[study.pk, "figures", "csv"])
    whole = next(csv.DictReader(io.StringIO(client.get(address).content.decode())))
    assert float(whole["bias"]) == pytest.approx(sum(gaps) / len(gaps))
    text = client.get(reverse("judging:audit_progress", args=[study.pk])).content.decode()
    assert ("the source came to no verdict" in text) == bool(broken)
