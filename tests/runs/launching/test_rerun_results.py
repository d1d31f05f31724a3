"""What came of reruns, beside the runs that they repeat."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.models import StudyMember
from runs.launching.reruns.pages import Result, compare, results_of
from runs.models import Run, User
from tests.judging.analysis import audited
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def rerun(original: Run, **fields: Any) -> Run:
    now = timezone.now()
    given: dict[str, Any] = {"rerun_of": original, "ended_at": now, "queued_at": now}
    return make_run(task=original.task, pictures=False, **given | fields)


def result(run: Run, user: User) -> str | None:
    found = results_of(Run.objects.visible_to(user).filter(pk=run.pk), user)
    return found[run.pk].result if found else None


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(False, True)], Result.BETTER),
        ([(True, False), (True, True)], Result.WORSE),
        ([(True, True), (False, False)], Result.SAME),
        ([(True, False), (False, True)], Result.MIXED),
    ],
)
def test_verdicts_before_and_after(pairs: list[tuple[bool, bool]], expected: Result) -> None:
    assert compare(pairs) == expected


def test_outcomes_of_the_benchmark_tell() -> None:
    original = make_run(outcome="failure", pictures=False)
    user = make_user("engineer")
    assert result(rerun(original, outcome="success"), user) == "better"
    assert result(rerun(original, outcome="failure"), user) == "same"
    assert result(rerun(original, outcome="error"), user) is None  # no failure of the agent
    assert result(original, user) is None


def test_evaluators_tell_where_the_benchmark_says_nothing() -> None:
    original = make_run(outcome="unknown", pictures=False)
    again = rerun(original, outcome="unknown")
    strict = audited.evaluator("webarena-strict")
    audited.evaluation(original, strict, "passed")
    user = make_user("engineer")
    assert result(again, user) is None
    audited.evaluation(again, strict, "failed")
    assert result(again, user) == "worse"
    page = client_of(user).get(reverse("runs:rerun_list")).content.decode()
    assert f"{reverse('runs:run_compare')}?a={original.pk}&amp;b={again.pk}" in page
    assert "Compared by webarena-strict" in page


def test_where_no_source_judges_both_they_can_still_be_compared() -> None:
    again = rerun(make_run(outcome="unknown", pictures=False), outcome="unknown")
    page = client_of(make_user("engineer")).get(reverse("runs:rerun_list")).content.decode()
    assert f"?a={again.rerun_of_id}&amp;b={again.pk}" in page
    assert "Compared by" not in page


def test_evaluators_tell_nothing_to_whoever_may_not_read_them() -> None:
    strict = audited.evaluator("webarena-strict")
    original, judged = make_run(outcome="unknown", pictures=False), make_run(pictures=False)
    again = rerun(original, outcome="unknown")
    for run, said in ((original, "passed"), (again, "failed")):
        audited.evaluation(run, strict, said)
    user = make_user("annotator")
    user.user_permissions.set(
        Permission.objects.filter(
            codename__in=("view_run", "rerun_run"), content_type__app_label="runs"
        )
    )
    assert result(again, user) is None
    assert result(rerun(judged, outcome="failure"), user) == "worse"  # by outcomes, which they see
    page = client_of(user).get(reverse("runs:rerun_list"))
    assert page.status_code == 200
    assert "webarena-strict" not in page.content.decode()


@pytest.mark.parametrize("hidden", ["original", "rerun"])
def test_whoever_is_blind_on_either_learns_nothing(hidden: str) -> None:
    original = make_run(outcome="failure", pictures=False)
    again = rerun(original, outcome="success")
    user = make_user("engineer")
    study = make_study(runs=[original if hidden == "original" else again], annotators=[user])
    assert study.members.filter(user=user, part=StudyMember.Part.ANNOTATOR).exists()
    assert results_of(Run.objects.visible_to(user), user) == {}


def test_the_list_costs_as_many_queries_for_many_reruns() -> None:
    user = make_user("engineer")

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            results_of(Run.objects.visible_to(user), user)
        return len(found)

    rerun(make_run(outcome="failure", pictures=False), outcome="success")
    queries()  # what the person may do is read once
    few = queries()
    for _ in range(4):
        rerun(make_run(outcome="failure", pictures=False), outcome="success")
    assert queries() == few
