"""The annotation pages: form, draft, skip, undo, comments."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.models import Assignment, Label, StepComment, Study
from judging.studies.labels.forms import LabelForm
from judging.studies.services import close_study
from tests.judging.factories import (
    annotators_of,
    label_next,
    make_label,
    make_study,
    next_assignment,
)
from tests.runs.factories import client_of, make_user

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
]


@pytest.fixture
def study() -> Study:
    return make_study(runs=2)


def url(name: str, study: Study, *arguments: object) -> str:
    return reverse(f"judging:{name}", args=[study.pk, *arguments])


def form_of(client: Client, study: Study, **fields: Any) -> dict[str, Any]:
    """The form as the page shows it, filled in."""
    page = client.get(url("annotate", study)).content.decode()
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return {name: hidden[name] for name in ("assignment", "key", "guideline")} | fields


def test_a_label_goes_in_and_the_next_run_comes(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    form = form_of(
        client,
        study,
        success="failure",
        causes=["loop", "misread"],
        failure_step="1",
        confidence="3",
        rationale=" It gave up. ",
        seconds="0",
    )
    answer = client.post(url("annotate", study), form, follow=True)
    label = Label.objects.get()
    assert (label.success, label.causes, label.failure_step) == ("failure", ["loop", "misread"], 1)
    assert (label.confidence, label.rationale) == (3, "It gave up.")
    assert label.guideline == study.guidelines.get()
    page = answer.content.decode()
    assert "2 of 2" in page
    assert str(label.pk) in page  # to be taken back
    again = client.post(url("annotate", study), form)  # the same form once more
    assert again.status_code == 302
    assert Label.objects.count() == 1


@pytest.mark.parametrize("runs", [3, 6])
def test_the_page_after_a_label_asks_twelve_questions(runs: int) -> None:
    study = make_study(runs=runs)
    client = client_of(annotators_of(study)[0])
    form = form_of(client, study, success="success")
    assert client.post(url("annotate", study), form).status_code == 302
    with CaptureQueriesContext(connection) as queries:
        page = client.get(url("annotate", study)).content.decode()
    assert f"2 of {runs}" in page
    asked = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(asked) == 12, "\n".join(asked)


@pytest.mark.parametrize("user", ["stranger", "adjudicator", "engineer"])
def test_for_everybody_else_the_page_does_not_exist(study: Study, user: str) -> None:
    client = client_of(make_user("annotator" if user == "stranger" else user))
    assert client.get(url("annotate", study)).status_code == 404
    assert client.post(url("annotate", study), {}).status_code == 404


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "Choose success, failure, unsure or not executable."),
        ({"success": "perhaps"}, "Choose success, failure, unsure or not executable."),
        ({"success": "unsure", "rationale": ""}, "Required."),
        ({"success": "not_executable", "rationale": "  "}, "Required."),
        ({"success": "failure", "failure_step": "99"}, "This run has no such step."),
        ({"success": "failure", "failure_step": "x"}, "This run has no such step."),
    ],
)
def test_what_is_wrong_is_said_at_the_field_and_nothing_is_lost(
    study: Study, fields: dict[str, str], says: str
) -> None:
    client = client_of(annotators_of(study)[0])
    form = form_of(client, study, **fields)
    form.setdefault("rationale", "so far")
    answer = client.post(url("annotate", study), form)
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not Label.objects.exists()
    if "rationale" not in fields:
        assert "so far" in client.get(url("annotate", study)).content.decode()


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_label_that_comes_too_late_is_taken_while_its_place_is_free(is_taken: bool) -> None:
    study = make_study(runs=1, annotators=3)
    late, *others = annotators_of(study)
    form = form_of(client_of(late), study, success="success", rationale="It is in the basket.")
    Assignment.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    for other in others if is_taken else ():
        label_next(study, other)
    client_of(late).post(url("annotate", study), form)
    assert Label.objects.filter(annotator=late).exists() is not is_taken
    draft = Assignment.objects.get(user=late).draft
    assert draft.get("rationale") == ("It is in the basket." if is_taken else None)


def test_a_form_asks_for_the_causes_of_its_own_study(study: Study) -> None:
    other = make_study(runs=1)
    other.taxonomy = [{"key": "storm", "name": "Storm"}]
    other.save()
    asked = []
    for each in (study, other):
        assignment = next_assignment(study=each, user=annotators_of(each)[0])
        assert assignment is not None
        asked.append(LabelForm(for_=assignment))
    pages = [str(form["causes"]) for form in asked]  # drawn when both are made
    assert ["loop" in page for page in pages] == [True, False]
    assert ["Storm" in page for page in pages] == [False, True]


def test_a_success_has_no_causes(study: Study) -> None:
    client = client_of(annotators_of(study)[0])
    form = form_of(client, study, success="success", causes=["loop"], failure_step="1")
    client.post(url("annotate", study), form)
    label = Label.objects.get()
    assert (label.causes, label.failure_step) == ([], None)


@pytest.mark.fault(13, "the page is left before the label is sent")
def test_a_draft_survives_and_fills_the_form(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    form = form_of(client, study, success="failure", causes=["loop"], rationale="half a thou")
    answer = client.post(url("draft_save", study), form)
    assert answer.json() == {"is_held": True}
    page = client_of(user).get(url("annotate", study)).content.decode()  # another session
    assert "half a thou" in page
    assert re.search(r'value="failure"[^>]*checked', page)
    assert re.search(r'value="loop"[^>]*checked', page)


def test_what_no_database_keeps_is_left_out_of_a_draft(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    form = form_of(client, study, success="failure", rationale="a\0b", causes=["a\0b"])
    assert client.post(url("draft_save", study), form).status_code == 200
    assert client.post(url("annotate", study), form).status_code == 422
    draft = Assignment.objects.get(user=user).draft
    assert (draft["rationale"], draft["causes"]) == ("a\ufffdb", ["a\ufffdb"])


def test_drafts_and_labels_of_others_are_out_of_reach(study: Study) -> None:
    first, second = annotators_of(study)
    theirs = next_assignment(study=study, user=first)
    assert theirs is not None
    client = client_of(second)
    stolen = {"assignment": theirs.pk, "success": "failure", "key": "k", "reason": "x"}
    for name in ("annotate", "draft_save", "change_cancel", "label_skip", "step_comment"):
        assert client.post(url(name, study), stolen).status_code == 404
    assert client.post(url("annotate", study), {"assignment": "x' OR 1"}).status_code == 404
    label = label_next(study, first)
    client.post(url("label_undo", study), {"label": str(label.pk)})
    assert Label.objects.filter(pk=label.pk).exists()


def test_skipping_needs_a_reason(study: Study) -> None:
    client = client_of(annotators_of(study)[0])
    form = form_of(client, study)
    page = client.post(url("label_skip", study), form, follow=True).content.decode()
    assert "Required." in page
    client.post(url("label_skip", study), form | {"reason": "no pictures"})
    skipped = Assignment.objects.get(pk=form["assignment"])
    assert (skipped.state, skipped.skip_reason) == ("skipped", "no pictures")


def test_skipping_says_what_becomes_of_the_run() -> None:
    study = make_study(runs=1)
    user = annotators_of(study)[0]
    client = client_of(user)

    def skip(form: dict[str, str]) -> str:
        return client.post(url("label_skip", study), form, follow=True).content.decode()

    assert "It comes back at the end." in skip(form_of(client, study, reason="dark"))
    again = form_of(client, study, reason="dark")
    twice = skip(again)
    assert "Skipped twice, so it is left to the others." in twice
    assert "It comes back" not in twice
    assert "Skipped." not in skip(again), "it was skipped before"


def test_undo_shows_the_run_again_with_its_label(study: Study) -> None:
    user = annotators_of(study)[0]
    label = label_next(study, user, "failure", rationale="gave up")
    client = client_of(user)
    answer = client.post(url("label_undo", study), {"label": str(label.pk)}, follow=True)
    page = answer.content.decode()
    assert not Label.objects.exists()
    assert "gave up" in page
    assert str(label.item.run_id) in page


def test_undo_is_offered_no_longer_than_it_is_taken(study: Study) -> None:
    user = annotators_of(study)[0]
    label = label_next(study, user)
    client = client_of(user)
    Label.objects.update(submitted_at=timezone.now() - timedelta(seconds=8))
    page = client.get(url("annotate", study)).content.decode()
    left = re.search(r'data-given\s+data-seconds="([\d.]+)"', page)
    assert left is not None
    assert float(left[1]) <= 2
    # Pressed at the last moment, on a slow way.
    Label.objects.update(submitted_at=timezone.now() - timedelta(seconds=12))
    assert "data-given" not in client.get(url("annotate", study)).content.decode()
    client.post(url("label_undo", study), {"label": str(label.pk)})
    assert not Label.objects.exists()


def test_the_last_label_of_a_run_is_said_to_stay(study: Study) -> None:
    first, second = annotators_of(study)
    client, undo = client_of(second), url("label_undo", study)
    for item in study.items.all():
        make_label(item, second)
        assert undo in client.get(url("annotate", study)).content.decode()
        make_label(item, first)
        page = client.get(url("annotate", study)).content.decode()
        assert undo not in page
        assert "All labels of this run have arrived" in page
    label = Label.objects.filter(annotator=second).latest("submitted_at")
    answer = client.post(undo, {"label": str(label.pk)}, follow=True).content.decode()
    assert "Too late" in answer


def test_a_label_can_be_changed_until_the_other_arrives(study: Study) -> None:
    first, second = annotators_of(study)
    item = study.items.earliest("position")
    make_label(item, first, "failure", rationale="first thought")
    client = client_of(first)
    page = client.get(url("annotate_run", study, item.run_id)).content.decode()
    assert "first thought" in page
    assert "Your label" in page
    form = {
        "assignment": Assignment.objects.get(item=item, user=first).pk,
        "key": "change",
        "version": 0,
        "success": "success",
    }
    client.post(url("annotate", study), form)
    assert Label.objects.get().success == "success"
    make_label(item, second, "failure")
    answer = client.post(url("annotate", study), form | {"key": "late", "version": 1}, follow=True)
    assert "can no longer be changed" in answer.content.decode()
    answer = client.get(url("annotate_run", study, item.run_id), follow=True)
    assert "can no longer be changed" in answer.content.decode()


def test_what_a_second_tab_wrote_becomes_a_change_of_the_label(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    wrote = {"causes": ["loop"], "failure_step": "1", "confidence": "2", "rationale": "tab two"}
    form = form_of(client, study, success="failure", **wrote)
    label = label_next(study, user, "success", rationale="tab one")
    answer = client.post(url("annotate", study), form, follow=True)
    page = answer.content.decode()
    assert "You already labelled this run in another tab." in page
    assert "Unsaved changes" in page
    shown = answer.context["form"]
    assert {name: shown[name].value() for name in wrote} == wrote
    label.refresh_from_db()
    assert label.rationale == "tab one"
    change = form | {"key": shown["key"].value(), "version": shown["version"].value()}
    client.post(url("annotate", study), change)
    label.refresh_from_db()
    assert (label.success, label.rationale) == ("failure", "tab two")


def test_what_comes_too_late_is_shown_to_be_copied(study: Study) -> None:
    first, second = annotators_of(study)
    client = client_of(first)
    form = form_of(client, study, success="failure", rationale="<b>tab two</b>")
    label = label_next(study, first, "success")
    make_label(label.item, second)
    answer = client.post(url("annotate", study), form)
    assert answer.status_code == 409
    assert "can no longer be changed" in answer.content.decode()
    assert "&lt;b&gt;tab two" in answer.content.decode()


def test_a_second_tab_says_nothing_of_the_first_look_at_a_hidden_repeat() -> None:
    study = make_study(runs=2, annotators=1, repeat_share=0.5)
    user = annotators_of(study)[0]
    for item in study.items.all():
        make_label(item, user, "failure", rationale="first look")
    client = client_of(user)
    form = form_of(client, study, success="success", rationale="tab two")
    label_next(study, user, "failure")
    page = client.post(url("annotate", study), form, follow=True).content.decode()
    assert "tab two" in page
    assert "first look" not in page


def test_a_change_that_was_left_is_not_taken_for_the_label_and_cancel_drops_it(
    study: Study,
) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    run_id = label_next(study, user, "failure").item.run_id
    change = {"assignment": Assignment.objects.get().pk, "success": "success"}
    client.post(url("draft_save", study), change)
    left = client.get(url("annotate_run", study, run_id)).content.decode()
    assert re.search(r'value="success"[^>]*checked', left)
    assert "Unsaved changes" in left
    client.post(url("change_cancel", study), change)
    stands = client.get(url("annotate_run", study, run_id)).content.decode()
    assert re.search(r'value="failure"[^>]*checked', stands)
    assert "Unsaved changes" not in stands


def test_runs_that_were_never_handed_out_cannot_be_opened(study: Study) -> None:
    client = client_of(annotators_of(study)[0])
    run_id = study.items.latest("position").run_id
    assert client.get(url("annotate_run", study, run_id)).status_code == 404


def test_comments_are_added_and_taken_away_by_their_author_only(study: Study) -> None:
    first, second = annotators_of(study)
    client = client_of(first)
    form = form_of(client, study)
    comment = form | {"step_index": 1, "text": "odd <b>click</b>"}
    answer = client.post(url("step_comment", study), comment, headers={"HX-Request": "true"})
    assert "odd &lt;b&gt;click" in answer.content.decode()
    assert client.post(url("step_comment", study), comment).status_code == 302
    made = StepComment.objects.first()
    assert made is not None
    other = client_of(second)
    theirs = form_of(other, study)
    assert "odd" not in other.get(url("annotate", study)).content.decode()
    other.post(url("step_comment", study), theirs | {"remove": made.pk})
    assert StepComment.objects.count() == 2
    client.post(url("step_comment", study), form | {"remove": made.pk})
    assert StepComment.objects.count() == 1


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"step_index": 99, "text": "odd"}, "This run has no such step."),
        ({"step_index": 1, "text": " "}, "Required."),
    ],
)
def test_a_comment_that_cannot_be_says_why_and_is_not_kept(
    study: Study, sent: dict[str, Any], reason: str
) -> None:
    client = client_of(annotators_of(study)[0])
    form = form_of(client, study) | sent
    answer = client.post(url("step_comment", study), form, headers={"HX-Request": "true"})
    assert reason in answer.content.decode()
    assert "data-is-kept" not in answer.content.decode(), "what was typed stays in its field"
    assert reason in client.post(url("step_comment", study), form, follow=True).content.decode()
    assert not StepComment.objects.exists()


def test_a_hidden_repeat_shows_nothing_of_the_first_look() -> None:
    study = make_study(runs=2, annotators=1, repeat_share=0.5)
    user = annotators_of(study)[0]
    for item in study.items.all():
        make_label(item, user, "failure", rationale="first look")
        StepComment.objects.create(item=item, author=user, step_index=0, text="first remark")
    page = client_of(user).get(url("annotate", study)).content.decode()
    assert Assignment.objects.filter(is_repeat=True).count() == 1
    assert "3 of 3" in page
    assert "first look" not in page
    assert "first remark" not in page
    said = page.replace("repeated actions", "").replace("repeats step %n", "")
    assert "repeat" not in said


def test_a_label_can_be_opened_while_its_run_is_looked_at_again() -> None:
    study = make_study(
        runs=2, annotators=[make_user("annotator"), make_user("annotator")], repeat_share=0.5
    )
    user = annotators_of(study)[0]
    for item in study.items.all():
        make_label(item, user, "failure")
    again = next_assignment(study=study, user=user)
    assert again is not None
    assert again.is_repeat
    assert client_of(user).get(url("annotate_run", study, again.item.run_id)).status_code == 200


def test_after_the_last_run_it_says_what_happens_and_thanks(study: Study) -> None:
    first, second = annotators_of(study)
    one, two = study.items.all()
    make_label(one, second, "success")
    make_label(one, first, "failure")
    make_label(two, first, "success")
    page = client_of(first).get(url("annotate", study)).content.decode()
    assert "All done. Thank you!" in page
    assert "1 run awaits other labels" in page
    assert "1 run is disputed" in page
    close_study(study=study)
    closed = client_of(first).get(url("annotate", study)).content.decode()
    assert "This study is closed" in closed
    assert "What happens now" not in closed


def test_runs_skipped_twice_are_offered_by_hand(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    for _ in range(4):
        client.post(url("label_skip", study), form_of(client, study, reason="broken page"))
    page = client.get(url("annotate", study)).content.decode()
    assert "Only skipped runs are left" in page
    assert "broken page" in page
    run_id = study.items.earliest("position").run_id
    assert client.get(url("annotate_run", study, run_id)).status_code == 200


def test_when_all_places_are_taken_it_says_until_when() -> None:
    study = make_study(runs=1, annotators=3)
    first, second, third = annotators_of(study)
    for user in (first, second):
        next_assignment(study=study, user=user)
    page = client_of(third).get(url("annotate", study)).content.decode()
    assert "ther annotators are working" in page
    assert "A run may become free at" in page


def test_a_closed_study_says_so(study: Study) -> None:
    user = annotators_of(study)[0]
    client = client_of(user)
    form = form_of(client, study, success="success", rationale="as asked")
    close_study(study=study)
    assert "This study is closed" in client.get(url("annotate", study)).content.decode()
    page = client.post(url("annotate", study), form).content.decode()
    assert "The study was closed. Nothing was saved." in page
    assert "as asked" in page
    assert not Label.objects.exists()
    comment = form | {"step_index": 1, "text": "odd"}
    answer = client.post(url("step_comment", study), comment, headers={"HX-Request": "true"})
    assert "data-is-kept" not in answer.content.decode(), "what was typed stays in its field"


def test_the_time_left_follows_from_the_persons_own_pace() -> None:
    study = make_study(runs=6)
    user = annotators_of(study)[0]
    for _ in range(3):
        label_next(study, user)
    Label.objects.update(seconds=200)
    page = client_of(user).get(url("annotate", study)).content.decode()
    assert "4 of 6" in page
    assert "about 10 min left" in page


def test_what_a_label_asks_the_database_does_not_grow_with_the_study() -> None:
    """Session and account, the form's rows locked, one question, four rows, and a transaction."""

    def queries(runs: int) -> int:
        study = make_study(runs=runs)
        user = annotators_of(study)[0]
        client = client_of(user)
        form = form_of(client, study, success="success")
        with CaptureQueriesContext(connection) as captured:
            assert client.post(url("annotate", study), form).status_code == 302
        assert Label.objects.filter(item__study=study).count() == 1
        return len(captured)

    assert queries(2) == queries(9) <= 10
