"""Annotators against each other, against figures made by hand."""

import json
import re

import pytest
from django.urls import reverse

from judging.analysis.audits.people.agreement import agreement_of
from judging.models import MilestoneTick, ReferenceVerdict, Study
from judging.statistics.figures import Interval, Reason, Undefined
from runs.models import Milestone
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only(
        "figures, alike on both; test_paper.py and test_what_if.py run on PostgreSQL"
    ),
]


def test_two_annotators_by_hand() -> None:
    """Of 10 pairs 8 agree: 6 success, 2 failure; kappa (.8 - .58) / (1 - .58)."""
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    pairs = [("success", "success")] * 6 + [("failure", "failure")] * 2
    pairs += [("success", "failure"), ("failure", "success")]
    for first, second in pairs:
        world.add("success" if first == second else None, [(a, first), (b, second)])
    agreement = agreement_of(world.study)
    found = agreement.success
    figures = {each.key: each for each in found.figures}
    assert figures["raw"].value == pytest.approx(0.8)
    assert figures["kappa"].value == pytest.approx((0.8 - 0.58) / (1 - 0.58))
    assert isinstance(figures["kappa"].interval, Interval)
    # alpha: Do = 4/20, De = 2·14·6/(20·19); AC1 over the four labels that could be given
    assert figures["alpha"].value == pytest.approx(1 - (4 / 20) / (2 * 14 * 6 / (20 * 19)))
    assert figures["ac1"].value == pytest.approx((0.8 - 0.14) / (1 - 0.14))
    assert (found.runs, found.answers) == (10, 20)
    assert (agreement.disputed, agreement.waiting) == (2, 2)
    [pair] = found.pairs
    assert pair.labels == ["success", "failure"]
    assert pair.rows == [("success", [6, 1]), ("failure", [1, 2])]


def test_verdicts_that_came_with_their_runs_are_counted_as_such() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    imported = ReferenceVerdict.Origin.IMPORTED
    world.add("success", [(a, "success"), (b, "success")], origin=imported)
    page = open_page(client_of(audited.auditor()), "audit_agreement", world.study.pk)
    assert "1 imported" in page.content.decode()


@pytest.mark.slow
def test_one_label_throughout_is_said_in_words() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    for _ in range(3):
        world.add("success", [(a, "success"), (b, "success")])
    found = agreement_of(world.study).success
    values = {each.key: each.value for each in found.figures}
    assert values["raw"] == 1.0
    assert values["kappa"] == values["alpha"] == Undefined(Reason.ONE_CLASS)
    client = client_of(audited.auditor())
    page = open_page(client, "audit_agreement", world.study.pk).content.decode()
    assert "only one label occurs" in page
    assert "nan" not in page.lower()


def test_labels_of_open_runs_wait_for_the_second() -> None:
    world = audited.study()
    world.add(None, [(audited.person("a"), "success")])
    assert agreement_of(world.study).success.answers == 0


def test_three_annotators_who_each_saw_some_of_the_runs() -> None:
    """Kappa pooled over pairs. ab: 4 runs, 3 alike, 2 by chance; ac, bc: 2 runs, 1 by chance."""
    world = audited.study()
    a, b, c = (audited.person(name) for name in "abc")
    given = {(a, b): ["ss", "ss", "ff", "fs"], (a, c): ["ss", "fs"], (b, c): ["ss", "ff"]}
    words = {"s": "success", "f": "failure"}
    for (first, second), runs in given.items():
        for run in runs:
            world.add("success", [(first, words[run[0]]), (second, words[run[1]])])
    found = agreement_of(world.study).success
    kappa = next(each for each in found.figures if each.key == "kappa")
    assert kappa.value == pytest.approx((6 - 4) / (8 - 4))
    assert isinstance(kappa.interval, Interval)
    assert (found.runs, found.answers) == (8, 16)
    assert [(pair.first, pair.second, pair.runs) for pair in found.pairs] == [
        ("a", "b", 4),
        ("a", "c", 2),
        ("b", "c", 2),
    ]
    assert [pair.figures[1].value for pair in found.pairs] == pytest.approx([0.5, 0.0, 1.0])


def three_words() -> audited.Audited:
    """Six runs of a and b: one unsure each; and one run that a alone labelled."""
    world = audited.study(is_open=False)
    a, b = audited.person("a"), audited.person("b")
    words = {"s": "success", "f": "failure", "u": "unsure"}
    for one, other in ("ss", "ss", "ff", "sf", "us", "fu"):
        world.add("success", [(a, words[one]), (b, words[other])])
    world.add("success", [(a, "success")])
    return world


def figures_of(study: Study, **how: bool) -> dict[str, object]:
    return {each.key: each.value for each in agreement_of(study, **how).success.figures}


def test_unsure_is_an_answer_or_none() -> None:
    """With it 3 of 6 runs are alike; without it 3 of the 4 that are left."""
    world = three_words()
    with_it, without = figures_of(world.study), figures_of(world.study, counts_unsure=False)
    assert with_it["raw"] == pytest.approx(3 / 6)
    # a: 3 s, 2 f, 1 u; b: 3 s, 2 f, 1 u: by chance 14/36
    assert with_it["kappa"] == pytest.approx((18 / 36 - 14 / 36) / (1 - 14 / 36))
    assert without["raw"] == pytest.approx(3 / 4)
    # a: 3 s, 1 f; b: 2 s, 2 f: by chance 8/16
    assert without["kappa"] == pytest.approx((12 / 16 - 8 / 16) / (1 - 8 / 16))
    # AC1 over success, failure, not executable: shares 5/8 and 3/8
    chance = (5 / 8 * 3 / 8 + 3 / 8 * 5 / 8) / 2
    assert without["ac1"] == pytest.approx((3 / 4 - chance) / (1 - chance))


def test_a_run_with_one_label_counts_in_no_figure() -> None:
    """Neither in n nor in what AC1 takes for chance: of 12 labels 6 success, 4 failure."""
    found = agreement_of(three_words().study).success
    assert (found.runs, found.answers) == (6, 12)
    chance = (1 / 2 * 1 / 2 + 1 / 3 * 2 / 3 + 1 / 6 * 5 / 6) / 3
    assert found.figures[3].value == pytest.approx((1 / 2 - chance) / (1 - chance))


def test_a_closed_study_counts_runs_that_lack_a_third_label() -> None:
    """Nobody will give it any more; while the study is open, it may still come."""
    world = audited.study(labels_per_run=3)
    world.add(None, [(audited.person("a"), "success"), (audited.person("b"), "failure")])
    assert agreement_of(world.study).success.runs == 0
    Study.objects.update(is_open=False)
    assert agreement_of(world.study).success.runs == 1


def asked() -> audited.Audited:
    """Three runs of a and b with imported answers, causes and a question of its own."""
    world = audited.study(taxonomy=[{"key": "wrong_item", "name": "Wrong item"}])
    people = [audited.person(name) for name in "ab"]
    rows: list[tuple[list[dict[str, object]], list[list[str]]]] = [
        ([{"looping": "Yes", "optimality": 4}, {"looping": "yes", "optimality": 4}], [["x"]] * 2),
        ([{"looping": "no", "optimality": 3}, {"looping": "yes", "optimality": 1}], [["x"], ["y"]]),
        ([{"looping": "unsure"}, {"side_effect": "no"}], [["y"], []]),
    ]
    for records, causes in rows:
        item = world.add("failure")
        for person, record, named in zip(people, records, causes, strict=True):
            extra = {"record": {**record, "extra": {"answers": {"polite": "y" in named}}}}
            audited.label(item, person, "failure", extra=extra, causes=named)
    return world


def test_every_question_that_labels_answer() -> None:
    found = {each.question.key: each for each in agreement_of(asked().study).questions}
    assert list(found) == [
        "success",
        "optimality",
        "looping",
        "cause:x",
        "cause:y",
        "answer:polite",
    ]
    raw = {key: each.figures[0].value for key, each in found.items()}
    assert raw["looping"] == raw["optimality"] == pytest.approx(1 / 2)
    assert raw["cause:x"] == raw["cause:y"] == pytest.approx(1 / 2)
    assert raw["answer:polite"] == pytest.approx(1 / 3)
    # On the third run one of them named no side effect, no looping and no cause.
    assert {key: each.runs for key, each in found.items()} == {
        "success": 3,
        "optimality": 2,
        "looping": 2,
        "cause:x": 2,
        "cause:y": 2,
        "answer:polite": 3,
    }
    assert found["optimality"].question.categories == ("1", "2", "3", "4", "unsure")
    assert found["answer:polite"].question.categories == ("no", "yes")


def test_milestones_are_rated_each_by_itself() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    item = world.add("success", [(a, "success"), (b, "success")])
    for number, (one, other) in enumerate([(True, True), (True, False), (False, False)]):
        milestone = Milestone.objects.create(task=item.run.task, name=str(number), position=number)
        for person, reached in ((a, one), (b, other)):
            ticked = item.labels.get(annotator=person)
            MilestoneTick.objects.create(label=ticked, milestone=milestone, achieved=reached)
    [_success, found] = agreement_of(world.study).questions
    assert (found.question.key, found.runs, found.answers) == ("milestones", 1, 6)
    assert found.figures[0].value == pytest.approx(2 / 3)


@pytest.mark.slow
def test_page_has_a_row_a_question_and_says_what_unsure_is() -> None:
    study = asked().study
    client = client_of(audited.auditor())
    people = open_page(client, "audit_people", study.pk).content.decode()
    assert reverse("judging:audit_agreement", args=[study.pk]) in people
    page = open_page(client, "audit_agreement", study.pk).content.decode()
    assert re.search(r">Loop<[^>]+>AC1 over 3 answers: yes, no, unsure<", page)
    assert page.count("AC1 over ") == 6
    assert "at least two annotators labelled; “unsure” is an answer like others." in page
    address = reverse("judging:audit_agreement", args=[study.pk])
    without = client.get(f"{address}?unsure=out").content.decode()
    assert "AC1 over 2 answers: yes, no<" in without
    assert "at least two annotators labelled; without “unsure”." in without
    assert client.get(f"{address}?unsure=perhaps").status_code == 404
    held = client.get(f"{reverse('judging:audit_people', args=[study.pk])}?unsure=out")
    assert f"{address}?unsure=out" in held.content.decode()


def test_files_carry_question_answers_and_unsure() -> None:
    study = three_words().study
    client = client_of(audited.auditor())
    address = reverse("judging:audit_table", args=[study.pk, "agreement", "json"])
    found = {}
    for unsure in ("in", "out"):
        content = json.loads(client.get(f"{address}?unsure={unsure}").content)
        [row] = [
            row
            for row in content["rows"]
            if (row["kind"], row["question"], row["figure"]) == ("all", "success", "ac1")
        ]
        found[unsure] = (row["runs"], row["categories"], content["notes"][0])
    assert found["in"] == (
        6,
        4,
        "Over the runs that at least two annotators labelled; “unsure” is an answer like others.",
    )
    assert found["out"] == (
        4,
        3,
        "Over the runs that at least two annotators labelled; without “unsure”.",
    )


def test_hidden_repeats_hold_annotators_against_themselves() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    for again in ("success", "failure"):
        item = world.add("success", [(a, "success"), (b, "success")])
        audited.label(item, a, again, is_repeat=True)
    found = agreement_of(world.study).success
    assert found.answers == 4
    [repeat] = found.repeats
    assert (repeat.first, repeat.runs) == ("a", 2)
    assert repeat.figures[0].value == pytest.approx(0.5)


def test_origins_of_settlements_are_counted() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    differ = [(a, "success"), (b, "failure")]
    world.add("success", differ, origin=ReferenceVerdict.Origin.ADJUDICATED)
    world.add("failure", differ, origin=ReferenceVerdict.Origin.CONSENSUS)
    world.add(None, differ)
    found = agreement_of(world.study)
    assert (found.disputed, found.adjudicated, found.consensus, found.waiting) == (3, 1, 1, 1)
