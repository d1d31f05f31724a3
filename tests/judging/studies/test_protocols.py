"""Protocols that a study starts from, and failures that need their details."""

from typing import Any

import pytest
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import override

from judging.models import Assignment, ReferenceVerdict, Study, StudyItem
from judging.studies.labels.forms import LabelForm
from judging.studies.protocols import PRESETS, named_causes, parse_lines, preset
from tests.judging.factories import (
    TAXONOMY,
    adjudicators_of,
    annotators_of,
    label_next,
    make_study,
    next_assignment,
)
from tests.judging.studies.test_study_pages import FORM
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
NEW = "judging:study_create"


def test_a_study_starts_from_the_protocol_of_the_live_web() -> None:
    make_run(pictures=False)
    client = client_of(make_user("engineer"))
    page = client.get(reverse(NEW) + "?protocol=online_mind2web&site=shop").content.decode()
    chosen = preset("online_mind2web")
    assert 'name="labels_per_run" value="3"' in page
    assert "claims what no picture shows" in page
    assert 'value="site=shop"' in page
    causes = str(chosen.initial["causes"])
    assert len(parse_lines(causes)) == len(causes.splitlines())
    form = FORM | {k: str(v) for k, v in chosen.initial.items()} | {"query": ""}
    client.post(reverse(NEW), form)
    study = Study.objects.get()
    assert (study.labels_per_run, study.asks_failure_details) == (3, True)
    assert "with step, cause and reason" in (
        client.get(reverse("judging:study_detail", args=[study.pk])).content.decode()
    )


def test_another_protocol_replaces_nothing_but_its_fields() -> None:
    client = client_of(make_user("engineer"))
    address = reverse(NEW) + "?protocol=online_mind2web&site=shop"
    page = client.get(address).content.decode()
    assert 'href="?protocol=online_mind2web&amp;site=shop"' in page
    assert 'href="?site=shop"' in page
    assert '&amp;"' not in page
    asked = {"HX-Request": "true", "HX-Target": "study-protocol"}
    part = client.get(address, headers=asked).content.decode()
    assert "claims what no picture shows" in part
    assert all(f'name="{name}"' not in part for name in ("name", "query", "seed", "annotators"))
    runs = client.get(address, headers=asked | {"HX-Target": "study-runs"}).content.decode()
    assert 'name="query"' in runs
    assert 'name="guidelines"' not in runs


def test_an_unknown_protocol_is_the_usual_one() -> None:
    assert preset("nothing") is preset(None) is PRESETS[0]


def label_form(**said: str | list[str]) -> LabelForm:
    """The form of a run's label, as somebody filled it in."""
    assignment = Assignment.objects.get()
    data = QueryDict(mutable=True)
    for key, value in {"assignment": str(assignment.pk), "key": "k", **said}.items():
        data.setlist(key, value if isinstance(value, list) else [value])
    return LabelForm(data, for_=assignment)


def test_a_failure_needs_step_cause_and_reason_where_the_study_asks() -> None:
    study = make_study(runs=1, asks_failure_details=True)
    next_assignment(study=study, user=annotators_of(study)[0])
    form = label_form(success="failure")
    assert not form.is_valid()
    assert set(form.errors) == {"failure_step", "causes", "rationale"}
    cause = TAXONOMY[0]["key"]
    told: dict[str, Any] = {"success": "failure", "failure_step": "0", "causes": [cause]}
    told["rationale"] = "No hose."
    assert label_form(**told).is_valid(), label_form(**told).errors
    assert label_form(success="success").is_valid()
    study.asks_failure_details = False
    study.save()
    assert label_form(success="failure").is_valid()


def test_three_annotators_and_a_reviewer_settle_a_run() -> None:
    study = make_study(runs=2, annotators=3, adjudicators=1, labels_per_run=3)
    for said in (("success",) * 3, ("success", "success", "not_executable")):
        for person, word in zip(annotators_of(study), said, strict=True):
            label_next(study, person, word, rationale="Gone." if word != "success" else "")
    states = StudyItem.objects.values_list("status", flat=True)
    assert sorted(states) == ["disputed", "settled"]
    assert ReferenceVerdict.objects.get().verdict == "success"
    assert len(adjudicators_of(study)) == 1


def test_causes_are_named_in_the_readers_language() -> None:
    taxonomy = [
        {"key": "repeated_actions", "name": "repeated actions"},
        {"key": "k", "name": "Own"},
    ]
    with override("ja"):
        named = named_causes(taxonomy, ["repeated_actions", "k", "no_longer_offered"])
    assert named == ["操作の繰り返し", "Own", "no_longer_offered"]
