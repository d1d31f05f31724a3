"""Two studies side by side: 75 tasks before and after, counted by hand."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.analysis.audits.comparing.studies import two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.population import Shown
from judging.analysis.experiments.pairs import By
from judging.models import Study, StudyMember, Unblinding
from judging.statistics.confusion import ConfusionMatrix
from runs.models import User
from tests.judging.analysis import audited
from tests.runs.api.asking import Caller
from tests.runs.factories import client_of, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("figures, alike on both"),
    pytest.mark.slow,
]
N = 75
FIRST_SUCCESSES, FIRST_MISSED = range(39), range(23, 39)
SECOND_SUCCESSES, SECOND_MISSED = [*range(36), *range(39, 44)], [0]


def judged(
    name: str, successes: object, missed: object, evaluator: str, trial: int = 1
) -> audited.Audited:
    """Of each task a run: whether it succeeds, and which successes the evaluator misses."""
    world, by = audited.study(name), audited.evaluator(evaluator)
    for number in range(N):
        run = audited.run(audited.task(f"t{number}"), trial=trial)
        succeeds = number in successes  # type: ignore[operator]
        world.add("success" if succeeds else "failure", of=run)
        passes = succeeds and number not in missed  # type: ignore[operator]
        audited.evaluation(run, by, "passed" if passes else "failed")
    return world


@pytest.fixture(scope="module")
def studies(kept_rows: None) -> tuple[Study, Study]:
    first = judged("first", FIRST_SUCCESSES, FIRST_MISSED, "before").study
    return first, judged("second", SECOND_SUCCESSES, SECOND_MISSED, "after").study


def rows(name: str, studies: tuple[Study, Study]) -> list[list[object]]:
    return [list(row) for row in TWO_STUDIES.make(name, two_studies(studies[0], studies[1])).values]


def test_figures_before_and_after_with_their_difference(studies: tuple[Study, Study]) -> None:
    found = {(row[0], row[1]): row for row in rows("beside", studies)}
    # count, of, share, low, high; the same of the second; difference, low, high
    success = found["all", "success_rate"]
    assert (success[2:4], success[7:9]) == ([39, 75], [41, 75])
    assert success[12] == pytest.approx(2 / 75)
    share = found["all", "fn_share"]
    assert (share[2:5], share[7:10]) == ([16, 75, 16 / 75], [1, 75, 1 / 75])
    assert share[12] == pytest.approx(-15 / 75)
    paired = found["paired", "fn_share"]
    assert paired[12] == pytest.approx(-15 / 75)
    assert isinstance(paired[13], float)
    assert isinstance(paired[14], float)
    assert paired[13] < -15 / 75 < paired[14] < 0


def test_pairs_and_their_joint_matrix_by_hand(studies: tuple[Study, Study]) -> None:
    facts = two_studies(*studies)
    assert facts.matrices == (
        ConfusionMatrix(tp=23, fn=16, tn=36, fp=0),
        ConfusionMatrix(tp=40, fn=1, tn=34, fp=0),
    )
    assert rows("pairs", studies) == [
        ["both", 36],
        ["only_first", 3],
        ["only_second", 5],
        ["neither", 31],
        ["only_in_first", 0],
        ["only_in_second", 0],
    ]
    assert facts.pairing.test.p_value == pytest.approx(186 / 256)
    assert facts.joint == {
        (Shown.TP, Shown.FN): 1,
        (Shown.TP, Shown.TP): 22,
        (Shown.FN, Shown.TP): 13,
        (Shown.FN, Shown.TN): 3,
        (Shown.TN, Shown.TP): 5,
        (Shown.TN, Shown.TN): 31,
    }
    joint = {row[0]: row[1:] for row in rows("joint", studies)}
    assert joint["fn"] == [13, 0, 3, 0, 0, 16]


def test_turned_round_it_says_the_opposite(studies: tuple[Study, Study]) -> None:
    one, two = two_studies(*studies), two_studies(studies[1], studies[0])
    assert two.matrices == one.matrices[::-1]
    assert two.joint == {(b, a): n for (a, b), n in one.joint.items()}
    gains = one.success_gain.value, two.success_gain.value
    assert isinstance(gains[0], float)
    assert isinstance(gains[1], float)
    assert gains[0] == pytest.approx(-gains[1])


def test_what_has_no_partner_is_told_and_trials_pair_with_their_own() -> None:
    first, second = audited.study("early trials"), audited.study("late trials")
    for world, trials in ((first, (1, 2)), (second, (2, 3))):
        for trial in trials:
            world.add("success", of=audited.run(audited.task("t"), trial=trial))
    facts = two_studies(first.study, second.study)
    assert [(p.first.trial, p.second.trial) for p in facts.pairing.pairs] == [(2, 2)]
    assert [run.trial for run in facts.pairing.only_in_first] == [1]
    assert [run.trial for run in facts.pairing.only_in_second] == [3]
    assert TWO_STUDIES.make("joint", facts).empty
    assert len(TWO_STUDIES.make("tasks", facts).values) == 3
    assert not two_studies(first.study, second.study, by=By.SEED).pairing.pairs


def test_the_page_has_all_reports_and_files_and_records_the_reading(
    studies: tuple[Study, Study],
) -> None:
    client = client_of(audited.auditor())
    first, second = studies
    address = reverse("judging:audit_beside", args=[first.pk])
    assert "second" in client.get(address).content.decode()
    page = client.get(f"{address}?with={second.pk}").content.decode()
    for words in ("39/75", "41/75", "16/75", "1/75", "0.727", "75 pairs"):
        assert words in page, words
    assert Unblinding.objects.filter(study=second).count() == N
    for name in TWO_STUDIES.entries:
        place = [first.pk, name, "csv"]
        content = client.get(
            reverse("judging:audit_beside_file", args=place) + f"?with={second.pk}"
        )
        assert content.status_code == 200
        assert content.content


@pytest.mark.parametrize("query", ["with=999999", "with=x", "with={own}", "with={other}&first=u1"])
def test_addresses_that_name_nothing(studies: tuple[Study, Study], query: str) -> None:
    first, second = studies
    address = reverse("judging:audit_beside", args=[first.pk])
    query = query.format(own=first.pk, other=second.pk)
    assert client_of(audited.auditor()).get(f"{address}?{query}").status_code == 404


def test_who_still_judges_a_run_of_the_other_study_is_told_nothing(
    studies: tuple[Study, Study],
) -> None:
    first, second = studies
    person: User = audited.auditor("judge")
    third = audited.study("third")
    third.add(of=second.items.get(position=1).run)
    StudyMember.objects.create(study=third.study, user=person, part="annotator")
    address = reverse("judging:audit_beside", args=[first.pk])
    client = client_of(person)
    assert client.get(f"{address}?with={second.pk}").status_code == 404
    assert ">second<" not in client.get(address).content.decode()


def test_the_api_reads_the_same_tables(studies: tuple[Study, Study]) -> None:
    first, second = studies
    caller = Caller(make_user("engineer"))
    address = f"/studies/{first.pk}/beside/{second.pk}/tables"
    table = caller.get(f"{address}/pairs").json()
    assert {row["pair"]: row["n"] for row in table["rows"]}["only_second"] == 5
    assert caller.get(f"{address}/nothing").status_code == 404
    assert caller.get(f"{address}/pairs?first=77").status_code == 422
    assert caller.get(f"/studies/{first.pk}/beside/{first.pk}/tables/pairs").status_code == 404


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_tables_of_the_page(
    studies: tuple[Study, Study], tmp_path: Path
) -> None:
    both = (studies[0].name, "--beside", studies[1].name)
    text = said(*both, "--format", "text")
    assert "first: before 1 (1), second: after 1 (2)" in text
    assert "second: after 1 (2): Joint matrix" in text
    assert "Task by task" not in text  # a document lists no runs
    client = client_of(audited.auditor())
    for name in TWO_STUDIES.entries:
        address = reverse("judging:audit_beside_file", args=[studies[0].pk, name, "csv"])
        page = client.get(address, {"with": studies[1].pk}).content.decode()
        assert said(*both, "--format", "csv", "--table", name) == page
    made = json.loads(said(*both, "--format", "json", "--first", "before", "--by", "seed"))
    assert set(made["tables"]) == {f"studies-{name}" for name in TWO_STUDIES.entries} - {
        "studies-tasks"
    }
    assert "5 files" in said(*both, "--format", "csv", "--out", str(tmp_path))
    for bad, why in (
        (("--first", "after"), "has no evaluator after: before 1"),
        (("--split", "test"), "in one way only"),
        (("--table", "agreement"), "no table agreement: beside"),
        (("--format", "csv"), "give --table or --out"),
    ):
        with pytest.raises(CommandError, match=why):
            said(*both, *bad)
    with pytest.raises(CommandError, match="beside itself"):
        said(studies[0].name, "--beside", str(studies[0].pk))


def test_a_run_without_partner_has_dashes_beside_it(studies: tuple[Study, Study]) -> None:
    alone = audited.study("alone")
    alone.add("success", of=audited.run(audited.task("only here")))
    address = reverse("judging:audit_beside", args=[studies[0].pk])
    page = client_of(audited.auditor()).get(address, {"with": alone.study.pk}).content.decode()
    assert "only here" in page
    assert "None" not in page
