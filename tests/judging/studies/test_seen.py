"""What was on screen before a label: kept, told by audit log and exports, or refused."""

import time
from typing import Any

import pytest

from judging.models import Assignment, Label, LabelRevision, Study
from judging.portability.judgements.labels import label_records, label_rows
from judging.studies.labels.forms import MAX_SEEN, read_seen
from runs.models.audit_log import AuditEntry
from tests.judging.factories import annotators_of, label_next, make_study
from tests.judging.studies.test_annotate import form_of, url
from tests.runs.factories import client_of, make_run

STEPS = frozenset({0, 1, 2, 3, 5, 9})


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("", ""),
        ("  ", ""),
        ("nothing", "nothing"),
        ("0-3 9 answer", "0-3 9 end answer"),
        ("0 1 2", "0-2"),
        ("5-9", "5-9 end"),
        ("0-9", "0-9 end"),
        ("answer", "answer"),
        ("0 end", "0"),  # the server knows where the run ends
        ("answer answer nothing 3", "3 answer"),
    ],
)
def test_what_the_page_tells_is_kept_in_order(told: str, kept: str) -> None:
    assert read_seen(told, STEPS) == kept
    assert read_seen(kept, STEPS) == kept


@pytest.mark.parametrize(
    "told",
    [
        *("4", "0-4", "3-0", "-1", "0-", "1 0", "0-3 2", "0 0", "0-999999999", "٣", "1e3"),
        *("<b>", "0\0", "answers", "9" * 400, "0 " * MAX_SEEN),
    ],
)
def test_anything_else_is_refused(told: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_seen(told, STEPS)


def test_nothing_was_seen_of_a_run_without_steps() -> None:
    assert read_seen("nothing", frozenset()) == "nothing"
    assert read_seen("answer", frozenset()) == "answer"


def test_many_spans_take_linear_time() -> None:
    steps = frozenset(range(100_000))
    told = " ".join(str(2 * n) for n in range(900))
    started = time.process_time()
    read_seen(told, steps)
    assert time.process_time() - started < 1


@pytest.fixture
def study(db: None) -> Study:
    return make_study(runs=[make_run(steps=4, final_answer="12") for _ in range(2)])


def submitted(study: Study, **fields: Any) -> Any:
    client = client_of(annotators_of(study)[0])
    return client.post(url("annotate", study), form_of(client, study, **fields))


@pytest.mark.slow
@pytest.mark.sqlite_only("tests what pages keep")
def test_label_audit_log_and_exports_say_what_was_seen(study: Study) -> None:
    assert submitted(study, success="success", seen="0-1 3 answer").status_code == 302
    label = Label.objects.get()
    assert label.seen == "0-1 3 end answer"
    entry = AuditEntry.objects.get(kind="label.submitted")
    assert entry.words == f"study {study.pk}, saw 0-1 3 end answer"
    ((_, record),) = label_records(Label.objects.all())
    assert record.extra == {"seen": label.seen}
    (row,) = label_rows(study.items.all())
    assert row["extra"] == {"seen": label.seen}


@pytest.mark.slow
@pytest.mark.sqlite_only("tests what pages keep")
def test_labels_of_which_nothing_was_told_are_exported_as_ever(study: Study) -> None:
    label_next(study, annotators_of(study)[0], "success")
    assert Label.objects.get().seen == ""
    ((_, record),) = label_records(Label.objects.all())
    assert record.extra is None
    (row,) = label_rows(study.items.all())
    assert not row["extra"]
    assert AuditEntry.objects.get(kind="label.submitted").words == f"study {study.pk}"


@pytest.mark.sqlite_only("tests what pages keep")
@pytest.mark.parametrize("told", ["7", "0-2000000000", "<script>", "3 0", "x" * 9000])
@pytest.mark.slow
def test_a_page_that_tells_nonsense_is_refused_in_words(study: Study, told: str) -> None:
    answer = submitted(study, success="success", rationale="kept", seen=told)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "What was on screen cannot be read. Reload the page and submit again." in page
    assert "kept" in page
    assert "<script>" not in page.split("</head>")[1]
    assert not Label.objects.exists()
    assert Assignment.objects.get(user=annotators_of(study)[0]).draft["rationale"] == "kept"


@pytest.mark.slow
@pytest.mark.sqlite_only("tests what pages keep")
def test_a_change_adds_to_what_was_seen_and_the_history_keeps_the_rest(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    client.post(
        url("annotate", study), form_of(client, study, success="success", seen="0-1 answer")
    )
    label = Label.objects.get()
    change = url("annotate_run", study, label.item.run_id)
    page = client.get(change).content.decode()
    assert 'name="seen" value="0-1 answer"' in page
    sent = {
        "assignment": Assignment.objects.get(item=label.item, user=user).pk,
        "key": "change",
        "version": "0",
        "success": "failure",
        "seen": "0-3 answer",
    }
    client.post(url("annotate", study), sent)
    label.refresh_from_db()
    assert (label.success, label.seen) == ("failure", "0-3 end answer")
    assert LabelRevision.objects.get().content["seen"] == "0-1 answer"
