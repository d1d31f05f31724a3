"""The demo shows what it is there to show: real errors of a matcher, repaired, with their causes."""

from __future__ import annotations

import pytest

from judging.audits.causes import Counted, causes_of
from judging.audits.whatif import Change, compare
from judging.audits.whatif_settings import read_setting
from judging.models import EvaluatorVersion, Repair
from judging.services.demo import load_demo

pytestmark = pytest.mark.django_db


def test_real_errors_are_repaired_and_their_causes_tagged() -> None:
    study = load_demo()[0]
    causes = {each.audit.evaluator.name: each for each in causes_of(study)}
    before, after = causes["webarena-strict"], causes["webarena-repaired"]
    assert before.errors.fn >= 5
    assert before.errors.fp >= 2
    assert after.errors == Counted(0, 0)
    assert before.repairable.fn == before.errors.fn
    assert before.by_repair[Repair.TASK_DATA].fn >= 2
    assert before.by_repair[Repair.EVALUATION_LOGIC].fn >= 3
    assert before.untagged == Counted(0, 1), "one error is left for whoever tries it"
    strict = EvaluatorVersion.objects.get(name="webarena-strict")
    compared = compare(study, read_setting(strict, {"off": "none"}))
    assert len(compared.flips[Change.FIXED_FN]) == before.errors.fn
    assert set(compared.flips) == {Change.FIXED_FN, Change.FIXED_FP}
