"""Fifty people submit at the same moment, each of them twice."""

import secrets
from functools import partial

import pytest
from django.db import OperationalError

from judging.models import Label
from judging.studies.labels.services import submit_label
from tests.faults.findings import Findings
from tests.faults.history import Afterwards, Answer, History, Kind
from tests.faults.scenarios.races import not_closed_once
from tests.judging.factories import annotators_of, make_study, make_submission, next_assignment
from tests.judging.studies.test_concurrency import at_once

PEOPLE = 50


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.fault(11, "fifty people submit at the same moment, each of them twice")
def test_every_pair_closes_exactly_once(findings: Findings) -> None:
    study = make_study(runs=PEOPLE // 2, annotators=PEOPLE)
    history, calls, submits = History(), [], []
    for number, person in enumerate(annotators_of(study)):
        place = next_assignment(study=study, user=person)
        assert place is not None
        said = secrets.token_hex(8)
        form = make_submission(("success", "failure")[number % 3 == 0], rationale=said)
        for _ in range(2):
            calls.append(history.ask(str(person), Kind.ADD, f"{place.item_id} {person.pk}", said))
            submits.append(partial(submit_label, assignment=place, user=person, submission=form))
    answers = at_once(*submits)
    for call, answer in zip(calls, answers, strict=True):
        history.answer(call, Answer.REFUSED if isinstance(answer, Exception) else Answer.DONE)
    # SQLite lets nobody wait for ever: on a busy machine one of a person's two may be turned away.
    assert {type(answer) for answer in answers} <= {Label, OperationalError}
    assert history.count(Answer.DONE) > 1.9 * PEOPLE
    values: dict[str, list[str]] = {}
    for item, person_id, said in Label.objects.values_list("item", "annotator", "rationale"):
        values.setdefault(f"{item} {person_id}", []).append(said)
    findings.times = 2 * PEOPLE
    findings.compare(history, Afterwards(values))
    findings.complain(not_closed_once(study))
    findings.check()
