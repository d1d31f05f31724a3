"""The command palette: what each role finds, by which words."""

import pytest
from django.urls import reverse

from judging.desk.palette import ACTIONS, PAGES, found
from runs.models import User
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import client_of, make_experiment, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


def addresses(user: User, typed: str) -> list[str]:
    return [entry.address for group in found(user, typed) for entry in group.entries]


@pytest.mark.parametrize("role", ["annotator", "adjudicator", "engineer", "admin"])
def test_what_is_offered_is_what_opens(role: str) -> None:
    user = make_user(role)
    client, offered = client_of(user), {*addresses(user, "")}
    places = {reverse(place.view) for place in (*PAGES, *ACTIONS)}
    opens = {address for address in offered | places if client.get(address).status_code == 200}
    # Annotators may open the list of runs, which shows them those that they judge.
    assert opens - {reverse("runs:run_list")} <= offered <= opens


def test_studies_and_their_audits_are_found_by_part_of_the_name() -> None:
    study = make_study(runs=1, name="Garden hoses of spring")
    make_study(runs=1, name="Roses")
    engineer = make_user("engineer")
    assert addresses(engineer, "HOSES garden") == [
        reverse("judging:study_detail", args=[study.pk]),
        reverse("judging:audit", args=[study.pk]),
    ]
    assert addresses(annotators_of(study)[0], "garden") == [
        reverse("judging:study_detail", args=[study.pk])
    ]
    assert addresses(make_user("annotator"), "garden") == []


def test_the_audit_of_a_study_with_a_hidden_run_is_not_offered() -> None:
    engineer = make_user("engineer")
    study = make_study(runs=1, annotators=[engineer, make_user("annotator")], name="Garden")
    assert addresses(engineer, "garden") == [reverse("judging:study_detail", args=[study.pk])]


def test_runs_are_found_by_id_and_by_goal() -> None:
    run = make_run(goal="Buy the green hose", pictures=False)
    make_run(goal="Sell it", pictures=False)
    engineer = make_user("engineer")
    address = reverse("runs:run_detail", args=[run.pk])
    for typed in (str(run.pk), run.pk.hex[:8], str(run.pk)[:12].upper(), "green HOSE"):
        assert addresses(engineer, typed) == [address], typed
    assert addresses(make_user("annotator"), run.pk.hex) == []


def test_experiments_are_for_who_may_read_them() -> None:
    make_experiment("Spring")
    assert len(addresses(make_user("engineer"), "spring")) == 1
    assert addresses(make_user("annotator"), "spring") == []


@pytest.mark.parametrize("typed", ["\0", "%", "x" * 5000, "' OR 1=1 --", "ffff" * 20, "   "])
def test_any_text_is_only_looked_for(typed: str) -> None:
    answer = client_of(make_user("engineer")).get(reverse("judging:palette"), {"q": typed})
    assert answer.status_code == 200


def test_as_a_page_of_its_own_it_has_a_field_and_links() -> None:
    make_experiment("Spring")
    client, asked = client_of(make_user("engineer")), {"q": "spr\0ing"}
    page = client.get(reverse("judging:palette"), asked).content.decode()
    assert 'name="q" value="spring"' in page
    assert page.count('id="palette-found"') == 1  # the dialog's
    assert 'role="option"' not in page
    part = client.get(reverse("judging:palette"), asked, headers={"HX-Request": "true"})
    assert '<a class="item" role="option"' in part.content.decode()
    assert "<input" not in part.content.decode()


def test_goals_are_escaped() -> None:
    make_run(goal="<script>alert(1)</script> hose", pictures=False)
    client = client_of(make_user("engineer"))
    shown = client.get(reverse("judging:palette"), {"q": "hose"}).content.decode()
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in shown
