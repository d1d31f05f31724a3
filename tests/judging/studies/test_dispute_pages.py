"""The pages of disputes: who sees what, discussion, decision, conflict, being overruled."""

import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from judging.models import Dispute, DisputeMessage, ReferenceVerdict, StepComment, Study, Unblinding
from judging.portability.judgements.label_files import import_labels
from judging.studies import blinding
from judging.studies.blinding import disputes_open_to
from judging.studies.disputes.services import add_message, decide
from judging.studies.disputes.tables import decided_disputes, waiting_disputes
from judging.studies.services import add_guideline, close_study
from runs.interface.words import moment
from runs.models import User
from tests.judging.factories import adjudicators_of, annotators_of, make_dispute, make_study
from tests.judging.studies.blind_world import make_world
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


@pytest.fixture
def dispute() -> Dispute:
    people = [make_user("annotator", "zoe"), make_user("annotator", "yan")]
    return make_dispute(make_study(annotators=people, adjudicators=2))


def page(user: User, dispute: Dispute) -> str:
    answer = client_of(user).get(reverse("judging:dispute_detail", args=[dispute.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def post(user: User, name: str, dispute: Dispute, **data: Any) -> Any:
    return client_of(user).post(reverse(f"judging:{name}", args=[dispute.pk]), data)


def judge(dispute: Dispute) -> User:
    return adjudicators_of(dispute.item.study)[0]


def test_the_adjudicator_sees_both_labels_and_nobodys_name(dispute: Dispute) -> None:
    first, _ = annotators_of(dispute.item.study)
    dispute.item.labels.update(rationale="my reason")
    add_message(dispute=dispute, author=first, text="look again", proposal="success")
    shown = page(judge(dispute), dispute)
    assert shown.count("my reason") == 2
    assert "look again" in shown
    assert "zoe" not in shown
    assert "yan" not in shown
    assert ">yours<" not in shown
    assert 'name="verdict"' in shown


def test_guidelines_and_keys_stand_beside_the_decision(dispute: Dispute) -> None:
    add_guideline(study=dispute.item.study, text="Read the *whole* page.", author=None)
    shown = page(judge(dispute), dispute)
    decision = shown[shown.index('class="decision"') :]
    assert "Read the <em>whole</em> page." in decision
    found = re.findall(r'data-key="(.)"><input type="radio" name="verdict" value="(\w+)"', decision)
    assert found == [("1", "success"), ("2", "failure"), ("4", "not_executable")]
    first, _ = annotators_of(dispute.item.study)
    discussed = page(first, dispute)
    assert "Read the <em>whole</em> page." in discussed
    assert "data-key=" not in discussed


def test_the_order_of_the_labels_stays_and_says_nothing(dispute: Dispute) -> None:
    def order(of: Dispute) -> list[bool]:
        shown = page(judge(of), of)
        places = [shown.index(f"{user} says") for user in annotators_of(of.item.study)]
        return [places[0] < places[1]]

    assert order(dispute) == order(dispute)
    seen = set()
    for seed in range(12):
        Dispute.objects.filter(pk=dispute.pk).update(order_seed=seed)
        seen.add(order(dispute)[0])
    assert seen == {True, False}


def test_annotators_see_which_label_is_theirs_and_may_propose(dispute: Dispute) -> None:
    first, _ = annotators_of(dispute.item.study)
    StepComment.objects.create(item=dispute.item, author=first, step_index=1, text="here it broke")
    shown = page(annotators_of(dispute.item.study)[1], dispute)
    assert shown.count(">you<") == 1
    assert "here it broke" in shown
    assert 'name="proposal"' in shown
    assert 'name="verdict"' not in shown


def test_who_looks_is_recorded_once(dispute: Dispute) -> None:
    user = judge(dispute)
    page(user, dispute)
    page(user, dispute)
    seen = Unblinding.objects.get(user=user)
    assert (seen.item, seen.reason) == (dispute.item, "dispute")


def test_strangers_find_nothing(dispute: Dispute) -> None:
    for user in (make_user("annotator"), make_user("adjudicator")):
        for name in ("dispute_detail", "dispute_message", "dispute_decide"):
            address = reverse(f"judging:{name}", args=[dispute.pk])
            client = client_of(user)
            answer = client.get(address) if name == "dispute_detail" else client.post(address)
            assert answer.status_code == 404
        assert (
            "No disputes" in client_of(user).get(reverse("judging:dispute_list")).content.decode()
        )


def test_engineers_read_but_do_not_act(dispute: Dispute) -> None:
    engineer = make_user("engineer")
    shown = page(engineer, dispute)
    assert "<textarea" not in shown
    assert post(engineer, "dispute_message", dispute, text="I think").status_code == 403
    decision = {"verdict": "success", "rationale": "x"}
    assert post(engineer, "dispute_decide", dispute, **decision).status_code == 403
    assert not ReferenceVerdict.objects.exists()


def test_a_decision_needs_a_verdict_and_a_reason(dispute: Dispute) -> None:
    answer = post(judge(dispute), "dispute_decide", dispute)
    assert answer.status_code == 422
    said = answer.content.decode()
    assert "Choose one." in said
    assert "Required." in said


def test_after_the_decision_names_and_overruled_labels_are_shown(dispute: Dispute) -> None:
    answer = post(judge(dispute), "dispute_decide", dispute, verdict="failure", rationale="Empty.")
    assert answer.status_code == 302
    overruled, right = annotators_of(dispute.item.study)
    shown = page(overruled, dispute)
    assert "Empty." in shown
    assert "zoe" in shown
    assert "overruled" in shown
    assert "<textarea" not in shown
    address = reverse("judging:overruled")
    assert "Empty." in client_of(overruled).get(address).content.decode()
    assert "No overruled labels" in client_of(right).get(address).content.decode()
    listed = client_of(overruled).get(reverse("judging:dispute_list")).content.decode()
    assert f'href="{address}">Your overruled labels (1)</a>' in listed
    assert (
        "You were overruled:" in client_of(overruled).get(reverse("judging:home")).content.decode()
    )


def test_the_list_says_how_long_disputes_wait_and_who_decided(dispute: Dispute) -> None:
    def rows() -> str:
        return client_of(judge(dispute)).get(reverse("judging:dispute_list")).content.decode()

    Dispute.objects.update(opened_at=timezone.now() - timedelta(days=3))
    for text in ("look again", "I did"):
        add_message(dispute=dispute, author=annotators_of(dispute.item.study)[0], text=text)
    waiting = rows()
    assert "3\xa0days" in waiting
    assert '<td class="num" data-label="Comments">2</td>' in waiting
    assert '<td class="nowrap" data-label="Open for"><time' in waiting
    assert 'class="verdict' not in waiting
    decide(dispute=dispute, adjudicator=judge(dispute), verdict="failure", rationale="w")
    decided = rows().split("<tbody")[1]
    verdict = ReferenceVerdict.objects.get()
    assert f"{moment(verdict.decided_at)} · {judge(dispute)}</td>" in decided
    assert 'class="verdict failure"' in decided
    assert "days" not in decided


@pytest.mark.fault(12, "a decision is sent after another one")
def test_the_second_adjudicator_gets_both_texts(dispute: Dispute) -> None:
    first, second = adjudicators_of(dispute.item.study)
    decide(dispute=dispute, adjudicator=first, verdict="failure", rationale="Empty.")
    answer = post(second, "dispute_decide", dispute, verdict="success", rationale="It is full.")
    assert answer.status_code == 409
    said = answer.content.decode()
    assert "Somebody else decided first. Yours was not saved:" in said
    assert "Empty." in said
    assert "It is full." in said
    late = post(annotators_of(dispute.item.study)[0], "dispute_message", dispute, text="One more")
    assert late.status_code == 409
    assert "One more" in late.content.decode()


@pytest.mark.fault(12, "the other decides while it is asked what a person may see")
def test_a_decision_in_between_hides_nothing(
    dispute: Dispute, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = adjudicators_of(dispute.item.study)
    asked = blinding._open_studies_of
    decided: list[ReferenceVerdict] = []

    def open_studies(user: User) -> dict[int, bool]:
        before = asked(user)
        if not decided:
            decided.append(
                decide(dispute=dispute, adjudicator=first, verdict="failure", rationale="E.")
            )
        return before

    monkeypatch.setattr(blinding, "_open_studies_of", open_studies)
    data = {"verdict": "success", "rationale": "It is full."}
    answer = post(second, "dispute_decide", dispute, **data)
    assert answer.status_code == 409
    assert "It is full." in answer.content.decode()


@pytest.fixture
def waiting_elsewhere(dispute: Dispute) -> Dispute:
    """A dispute whose run its people hold in another study too, which has not settled it."""
    study, run = dispute.item.study, dispute.item.run
    make_study(runs=[run], annotators=annotators_of(study), adjudicators=adjudicators_of(study))
    return dispute


@pytest.mark.parametrize("is_decided", [True, False])
def test_who_settles_a_run_that_another_study_hides_is_led_to_the_list(
    waiting_elsewhere: Dispute, is_decided: bool
) -> None:
    dispute = waiting_elsewhere
    first, second = annotators_of(dispute.item.study)
    if is_decided:
        data = {"verdict": "success", "rationale": "Full."}
        answer = post(judge(dispute), "dispute_decide", dispute, **data)
    else:
        post(first, "dispute_message", dispute, text="No", proposal="failure")
        answer = post(second, "dispute_message", dispute, text="Yes", proposal="failure")
    assert answer.headers["Location"] == reverse("judging:dispute_list")
    assert ReferenceVerdict.objects.count() == 1


@pytest.mark.parametrize("verdict", ["success", ""])
def test_what_comes_too_late_is_kept_where_the_decision_is_hidden(
    waiting_elsewhere: Dispute, verdict: str
) -> None:
    dispute = waiting_elsewhere
    first, second = adjudicators_of(dispute.item.study)
    decide(dispute=dispute, adjudicator=first, verdict="failure", rationale="Empty.")
    data = {"verdict": verdict, "rationale": "It is <full>."}
    late = post(second, "dispute_decide", dispute, **data)
    said = post(annotators_of(dispute.item.study)[0], "dispute_message", dispute, text="One <more")
    for answer, own in ((late, "It is &lt;full&gt;."), (said, "One &lt;more")):
        assert answer.status_code == 409
        page = answer.content.decode()
        assert own in page
        for hidden in ("Empty.", "verdict failure", "says", dispute.item.run.goal):
            assert hidden not in page
    address = reverse("judging:dispute_detail", args=[dispute.pk])
    assert client_of(second).get(address).status_code == 404
    assert post(make_user("annotator"), "dispute_message", dispute, text="x").status_code == 404


def test_who_agrees_in_the_discussion_is_not_overruled(dispute: Dispute) -> None:
    first, second = annotators_of(dispute.item.study)
    for user in (first, second):
        post(user, "dispute_message", dispute, text="empty", proposal="failure")
    assert ReferenceVerdict.objects.get().origin == "consensus"
    assert "overruled" not in page(first, dispute)
    for name in ("overruled", "home"):
        shown = client_of(first).get(reverse(f"judging:{name}")).content.decode()
        assert "You were overruled" not in shown
        assert "Adjudicator" not in shown


def test_agreeing_in_the_discussion_settles_it(dispute: Dispute) -> None:
    first, second = annotators_of(dispute.item.study)
    assert post(first, "dispute_message", dispute, text=" ").status_code == 422
    post(first, "dispute_message", dispute, text="step 2", proposal="not_executable")
    post(second, "dispute_message", dispute, text="indeed", proposal="not_executable")
    verdict = ReferenceVerdict.objects.get()
    assert (verdict.verdict, verdict.origin) == ("not_executable", "consensus")
    assert "counts in no figure" in page(first, dispute)


def test_what_people_write_is_never_markup(dispute: Dispute) -> None:
    DisputeMessage.objects.create(
        dispute=dispute, author=judge(dispute), text="<script>alert(1)</script>"
    )
    assert "<script>alert(1)" not in page(judge(dispute), dispute)


def test_what_comes_after_the_study_closed_is_kept_on_the_page(dispute: Dispute) -> None:
    close_study(study=dispute.item.study)
    assert 'name="verdict"' not in page(judge(dispute), dispute)
    decision = {"verdict": "success", "rationale": "It is full."}
    for name, sent in (("decide", decision), ("message", {"text": "It is full."})):
        answer = post(judge(dispute), f"dispute_{name}", dispute, **sent)
        assert answer.status_code == 409
        said = answer.content.decode()
        assert "The study was closed. Nothing was saved." in said
        assert "It is full." in said
    assert not ReferenceVerdict.objects.exists()


def test_the_list_says_what_waits(dispute: Dispute) -> None:
    address = reverse("judging:dispute_list")
    for user in (judge(dispute), *annotators_of(dispute.item.study)):
        listed = client_of(user).get(address).content.decode()
        assert reverse("judging:dispute_detail", args=[dispute.pk]) in listed


def test_who_labelled_a_run_elsewhere_reads_the_dispute_about_it() -> None:
    """An import brings the labels of people with an account, whom the run was never handed."""
    ann, run = make_user("annotator", "ann"), make_run(pictures=False)
    table = f"run_id,annotator,verdict\n{run.pk},ann,success\n{run.pk},zoe,failure\n"
    import_labels(io.BytesIO(table.encode()), study="Elsewhere")
    imported = Dispute.objects.get()
    assert imported in disputes_open_to(ann)
    assert page(ann, imported)


def test_disputes_are_filtered_and_counted(dispute: Dispute) -> None:
    user = adjudicators_of(dispute.item.study)[0]
    make_dispute(make_study(runs=3, name="Of others"))
    own = dispute.item.study
    address, client = reverse("judging:dispute_list"), client_of(user)

    def menu(name: str) -> list[tuple[str, str]]:
        shown = client.get(reverse("judging:dispute_menu") + f"?menu={name}").content.decode()
        return re.findall(r'<a class="item"[^>]*>([^<]+)(?:<span class="[^"]*">([^<]*))?', shown)

    assert menu("study") == [(own.name, "1")]
    assert f"/disputes/{dispute.pk}/" in client.get(f"{address}?study={own.pk}").content.decode()
    assert "Nothing matches" in client.get(f"{address}?study=0").content.decode()
    assert menu("state") == [("Waiting", "1"), ("Decided", "0")]
    shown = f"/disputes/{dispute.pk}/"
    assert shown in client.get(f"{address}?state=waiting").content.decode()
    assert shown not in client.get(f"{address}?state=decided").content.decode()
    goal = dispute.item.run.goal or dispute.item.run.task.goal
    assert shown in client.get(address, {"q": goal[3:9].upper()}).content.decode()
    assert shown not in client.get(address, {"q": "in no goal"}).content.decode()
    decide(dispute=dispute, adjudicator=user, verdict="failure", rationale="w")
    assert shown in client.get(address, {"q": goal[3:9], "state": "decided"}).content.decode()
    assert shown not in client.get(address, {"q": goal[3:9], "state": "waiting"}).content.decode()
    preview = reverse("runs:run_preview", args=[dispute.item.run_id])
    assert preview in client.get(address).content.decode()
    assert client.get(preview).status_code == 200


def test_both_lists_hold_the_disputes_that_each_person_may_open() -> None:
    world = make_world()
    viewers = [world.engineer, world.annotator, world.adjudicator, world.admin, world.stranger]
    for user in (*viewers, *world.others):
        opened = disputes_open_to(user)
        assert set(waiting_disputes(user, 9)) == set(opened.waiting()), user
        assert list(decided_disputes(user, 9)) == list(opened.decided()), user
        for study in Study.objects.all():
            of_it = opened.filter(item__study=study)
            assert set(waiting_disputes(user, 9, [study.pk])) == set(of_it.waiting()), user
            assert list(decided_disputes(user, 9, [study.pk])) == list(of_it.decided()), user
    assert Dispute.objects.waiting().exists()
    assert Dispute.objects.decided().exists()
