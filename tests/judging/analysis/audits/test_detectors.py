"""Detectors of loops and false completions beside people's labels."""

from typing import Any

import pytest

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.people.against import DetectorCell, detectors_of
from judging.analysis.audits.reports import AUDIT
from judging.models import StudyItem, Unblinding
from judging.statistics.figures import Undefined
from judging.studies.protocols import anomaly_meant
from runs.models import Event, Run
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only(
        "figures, alike on both; test_paper.py and test_what_if.py run on PostgreSQL"
    ),
]
TAXONOMY = [
    {"key": "repeated_actions", "name": "repeated actions"},
    {"key": "stopped_too_early", "name": "stopped too early"},
    {"key": "misread_page", "name": "misread page"},
]
LOOPS = ["repeated_actions"]


def add(
    world: audited.Audited, people: list[Any], causes: list[list[str]], *marks: tuple[str, str]
) -> StudyItem:
    """A failed run; each person's causes; marks as (kind, detector)."""
    item = world.add("failure")
    for person, named in zip(people, causes, strict=False):
        audited.label(item, person, "failure", causes=named)
    Event.objects.bulk_create(
        Event(run=item.run, kind=kind, detector=detector, first_step=0, last_step=14)
        for kind, detector in marks
    )
    Run.objects.filter(pk=item.run_id).update(has_anomaly=bool(marks))
    return item


@pytest.fixture
def world() -> audited.Audited:
    """Loops: 3 marked and seen, 1 marked and not seen, 2 missed, 4 rightly unmarked, 1 divided."""
    world = audited.study("Loops", taxonomy=TAXONOMY)
    people = [audited.person("ann"), audited.person("bob")]
    marked = ("loop", "mechanical-1")
    for _ in range(3):
        add(world, people, [LOOPS, LOOPS], marked)
    add(world, people, [[], ["misread_page"]], marked)
    for _ in range(2):
        add(world, people, [LOOPS, LOOPS])
    for _ in range(4):
        add(world, people, [[], []])
    add(world, people, [LOOPS, []], marked)
    silent = world.add("success")
    audited.label(silent, people[0], "success")
    return world


def test_precision_and_recall_with_the_runs_behind_them(world: audited.Audited) -> None:
    loops = detectors_of(world.study).get(("loop", "mechanical-1"))
    assert loops is not None
    assert [loops.n(cell) for cell in DetectorCell] == [3, 1, 2, 4, 1]
    assert (loops.precision.count, loops.precision.total) == (3, 4)
    assert (loops.recall.count, loops.recall.total) == (3, 5)
    early = detectors_of(world.study).get(("false_completion", "mechanical-1"))
    assert early is not None
    assert isinstance(early.precision.value, Undefined)
    assert early.n(DetectorCell.UNMARKED_UNSEEN) == 11


def test_imported_words_on_looping_count_also_on_successes() -> None:
    world = audited.study("Imported")
    ann = audited.person("ann")
    for word, success, marks in (
        ("Yes", "success", [("loop", "")]),
        ("no", "failure", [("loop", "mechanical-1")]),
        ("Yes", "failure", []),
        ("unsure", "failure", []),
        (None, "success", []),
    ):
        item = add(world, [], [], *marks)
        audited.label(item, ann, success, extra={"record": {"looping": word}})
    found = {each.key: each for each in detectors_of(world.study).values()}
    assert set(found) == {"own", "mechanical-1", "any"}
    assert [found["own"].n(cell) for cell in DetectorCell] == [1, 0, 1, 1, 0]
    assert [found["any"].n(cell) for cell in DetectorCell] == [1, 1, 1, 0, 0]


def test_hidden_repeats_and_other_studies_say_nothing(world: audited.Audited) -> None:
    other = audited.study("Other", taxonomy=TAXONOMY)
    carl = audited.person("carl")
    item = other.add("failure", of=world.items[0].run)
    audited.label(item, carl, "failure", causes=[])
    audited.label(world.items[0], carl, "failure", causes=[], is_repeat=True)
    loops = detectors_of(world.study).get(("loop", "mechanical-1"))
    assert loops is not None
    assert loops.n(DetectorCell.MARKED_SEEN) == 3


@pytest.mark.slow
def test_page_shows_them_and_lists_the_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_detectors", world.study.pk).content.decode()
    assert "75.0 %" in page
    assert "60.0 %" in page
    assert not Unblinding.objects.exists()
    address = f"/studies/{world.study.pk}/audit/detectors/?kind=loop&detector=mechanical-1"
    listed = client.get(f"{address}&cell=unmarked-seen").content.decode()
    assert listed.count("<tr data-run>") == 2
    assert Unblinding.objects.count() == 2
    assert client.get(f"{address}&cell=nothing").status_code == 404
    assert client.get(f"{address.replace('mechanical', 'no')}&cell=divided").status_code == 404


def test_without_labels_the_page_says_what_to_do() -> None:
    study = audited.study().study
    page = open_page(client_of(audited.auditor()), "audit_detectors", study.pk).content.decode()
    assert "detect_anomalies" in page


def test_table_has_a_row_a_detector(world: audited.Audited) -> None:
    table = AUDIT.make("detectors", AuditFacts(world.study))
    keys = [column.key for column in table.header]
    [loops] = [row for row in table.values if row[0] == "loop"]
    row = dict(zip(keys, loops, strict=True))
    assert (row["precision"], row["recall"]) == (0.75, 0.6)
    assert row["divided"] == 1


@pytest.mark.parametrize(
    ("cause", "meant"),
    [
        ({"key": "repeated_actions", "name": "repeated actions"}, "loop"),
        ({"key": "cause_1", "name": "ループ"}, "loop"),
        ({"key": "stopped_too_early", "name": "stopped too early"}, "false_completion"),
        ({"key": "misread_page", "name": "misread page"}, None),
        ({"key": "operation_error", "name": "operation error"}, None),
    ],
)
def test_causes_that_mean_an_anomaly(cause: dict[str, str], meant: str | None) -> None:
    assert anomaly_meant(cause) == meant
