"""Studies in the browser: list, making one, members, guidelines, closing."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.models import Assignment, Label, Study, StudyItem, StudyMember
from judging.studies.pages import items_page, member_rows, study_rows
from judging.studies.protocols import render_markdown
from judging.studies.services import MayNotAdjudicateError, close_study
from runs.interface import paging
from runs.models import User
from tests.judging.factories import annotators_of, label_next, make_label, make_study
from tests.judging.studies.crawling import whole_answer
from tests.runs.factories import client_of, make_run, make_task, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def url(name: str, *arguments: object) -> str:
    return reverse(f"judging:{name}", args=arguments)


FORM: dict[str, object] = {
    "name": "Garden",
    "sample_size": 2,
    "seed": 4,
    "labels_per_run": 2,
    "hides_identity": "on",
    "asks_milestones": "on",
    "repeat_percent": 10,
    "causes": "repeated actions\nwrong tab",
    "guidelines": "**Success** is success.",
    "query": "site=shop",
}


@pytest.mark.slow
def test_counts_lead_to_their_runs_for_who_may_see_the_list() -> None:
    study = make_study(runs=3)
    StudyItem.objects.filter(pk=study.items.earliest("position").pk).update(status="settled")
    client = client_of(make_user("engineer"))
    address = url("study_detail", study.pk)
    page = client.get(address).content.decode()
    for query, n in {"": 3, "status=settled": 1, "status=open": 2}.items():
        assert f'<a href="?{query}#runs">{n}</a>' in page
        listed = client.get(f"{address}?{query}").content.decode()
        runs = listed[listed.index('id="runs"') :]
        assert runs.count("<tr>") - 1 == n
    assert client.get(f"{address}?status=x").status_code == 404
    own = client_of(annotators_of(study)[0]).get(f"{address}?status=settled").content.decode()
    assert "#runs" not in own
    assert 'id="runs"' not in own


@pytest.mark.slow
def test_an_engineer_makes_a_study_of_a_sample() -> None:
    for _ in range(3):
        task = make_task(site="shop")
        task.milestones.create(name="It is in the basket", position=1)
        make_run(task=task, pictures=False)
    make_run(task=make_task(site="map"), pictures=False)
    engineer = make_user("engineer")
    client = client_of(engineer)
    assert (
        '<strong class="num">3</strong>'
        in client.get(url("study_create") + "?site=shop").content.decode()
    )
    answer = client.post(url("study_create"), FORM)
    study = Study.objects.get()
    assert answer["Location"] == url("study_detail", study.pk)
    assert (study.sample_seed, study.repeat_share, study.created_by) == (4, 0.1, engineer)
    assert study.items.count() == 2
    assert {item.run.task.site for item in study.items.all()} == {"shop"}
    assert [cause["key"] for cause in study.taxonomy] == ["repeated_actions", "wrong_tab"]
    assert study.guidelines.get().text == "**Success** is success."
    assert study.asks_milestones
    assert "asked for: 2 of 2" in client.get(answer["Location"]).content.decode()


@pytest.mark.slow
def test_people_come_with_the_study_or_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(task=make_task(site="shop"), pictures=False)
    client = client_of(make_user("engineer"))
    first, second, judge = make_user("annotator"), make_user("annotator"), make_user("adjudicator")
    page = client.get(url("study_create")).content.decode()
    assert "Look at the last screenshot" in page
    assert page.count(f'name="adjudicators" value="{judge.pk}"') == 1
    assert f'name="adjudicators" value="{first.pk}"' not in page
    people = {"annotators": [first.pk, second.pk], "adjudicators": [judge.pk]}

    def refuse(**_: object) -> None:
        raise MayNotAdjudicateError

    with monkeypatch.context() as patched:
        patched.setattr("judging.studies.services.set_member", refuse)
        assert client.post(url("study_create"), FORM | people).status_code == 422
    assert not Study.objects.exists()
    client.post(url("study_create"), FORM | people)
    members = Study.objects.get().members.order_by("pk")
    assert [(member.user, member.part) for member in members] == [
        (first, "annotator"),
        (second, "annotator"),
        (judge, "adjudicator"),
    ]


def test_nobody_has_two_roles_in_a_new_study() -> None:
    make_run(task=make_task(site="shop"), pictures=False)
    both = make_user("adjudicator", "both")
    people = {"annotators": [both.pk], "adjudicators": [both.pk]}
    answer = client_of(make_user("engineer")).post(url("study_create"), FORM | people)
    assert answer.status_code == 422
    assert "both cannot be both annotator and adjudicator." in answer.content.decode()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "Taken"}, "This name is taken."),
        ({"query": "site=nowhere"}, "Nothing matches these filters"),
        ({"labels_per_run": 1}, "greater than or equal to 2"),
        ({"repeat_percent": 80}, "less than or equal to 50"),
        ({"guidelines": ""}, "This field is required."),
    ],
)
def test_what_is_wrong_with_a_study_is_said(changes: dict[str, object], says: str) -> None:
    make_study(runs=1, name="Taken")
    make_run(task=make_task(site="shop"), pictures=False)
    answer = client_of(make_user("engineer")).post(url("study_create"), FORM | changes)
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert Study.objects.count() == 1


def test_of_two_who_give_a_name_at_once_the_second_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(task=make_task(site="shop"), pictures=False)

    def draw_meanwhile(keys: list[UUID], *_: object) -> list[UUID]:
        make_study(runs=1, name=str(FORM["name"]))
        return keys

    monkeypatch.setattr("judging.studies.views.draw", draw_meanwhile)
    answer = client_of(make_user("engineer")).post(url("study_create"), FORM)
    assert answer.status_code == 422
    assert "This name is taken." in answer.content.decode()
    assert Study.objects.count() == 1


@pytest.mark.slow
def test_only_who_manages_studies_makes_or_changes_them() -> None:
    study = make_study(runs=1, adjudicators=1)
    people = [*annotators_of(study), make_user("adjudicator"), make_user("annotator")]
    for client in [client_of(user) for user in people]:
        assert client.get(url("study_create")).status_code == 403
        assert client.post(url("study_close", study.pk)).status_code == 403
        assert client.post(url("member_add", study.pk)).status_code == 403
        assert client.post(url("member_remove", study.pk, people[0].pk)).status_code == 403
        assert client.post(url("guidelines", study.pk), {"text": "x"}).status_code in (403, 404)
    study.refresh_from_db()
    assert study.is_open
    assert study.guidelines.count() == 1
    assert study.members.filter(left_at=None).count() == 3


@pytest.mark.slow
def test_each_sees_their_own_studies_and_engineers_all() -> None:
    study = make_study(runs=1, name="Mine")
    address = url("study_list")
    assert "Mine" in client_of(annotators_of(study)[0]).get(address).content.decode()
    assert "Mine" in client_of(make_user("engineer")).get(address).content.decode()
    stranger = client_of(make_user("annotator"))
    assert "Mine" not in stranger.get(address).content.decode()
    assert stranger.get(url("study_detail", study.pk)).status_code == 404
    assert stranger.get(url("guidelines", study.pk)).status_code == 404
    assert Client().get(address).status_code == 302


@pytest.fixture
def three() -> list[Study]:
    """Studies in the order in which they were made; the engineer `eve` annotates the second."""
    eve = make_user("engineer", "eve")
    people = [make_user("annotator", "ann"), make_user("annotator")]
    shop, closed, forum = (
        make_study(runs=1, name=name, annotators=members)
        for name, members in (
            ("Shop", people),
            ("Closed shop", [people[0], eve]),
            ("A forum", [make_user("annotator"), people[1]]),
        )
    )
    close_study(study=closed)
    return [shop, closed, forum]


def listed(user: User, query: str = "") -> list[str]:
    """The names of the studies in the list, in its order."""
    page = client_of(user).get(url("study_list") + query).content.decode()
    return re.findall(r'class="row-link"[^>]*>([^<]+)<', page)


@pytest.mark.slow
def test_studies_are_filtered_and_sorted(three: list[Study]) -> None:
    eve, ann = (User.objects.get(username=name) for name in ("eve", "ann"))
    newest_first = ["A forum", "Shop", "Closed shop"]
    assert listed(eve) == newest_first
    for query, names in {
        "?q=SHOP": ["Shop", "Closed shop"],
        "?state=closed": ["Closed shop"],
        "?state=open&state=closed": newest_first,
        "?state=x": [],
        "?part=annotator": ["Closed shop"],
        "?part=adjudicator": [],
        "?sort=name": ["A forum", "Closed shop", "Shop"],
        "?sort=-name": ["Shop", "Closed shop", "A forum"],
        "?sort=created": ["Shop", "Closed shop", "A forum"],
        "?sort=-created&state=open": ["A forum", "Shop"],
        "?sort=part": newest_first,
    }.items():
        assert listed(eve, query) == names, query
    assert listed(ann, "?part=annotator&sort=name") == ["Closed shop", "Shop"]
    assert listed(ann, "?q=forum") == []


@pytest.mark.slow
def test_choices_count_the_studies_that_the_person_may_open(
    three: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    def menu(name: str, query: str) -> list[tuple[str, str]]:
        client = client_of(User.objects.get(username=name))
        shown = client.get(f"{url('study_menu')}?{query}").content.decode()
        return re.findall(r'<a class="item"[^>]*>([^<]+)(?:<span class="[^"]*">([^<]*))?', shown)

    assert menu("eve", "menu=state") == [("open", "2"), ("closed", "1")]
    assert menu("ann", "menu=state") == [("open", "1"), ("closed", "1")]
    assert menu("ann", "menu=state&state=open&q=closed") == [("open", "0"), ("closed", "1")]
    assert menu("eve", "menu=part") == [("annotator", "1"), ("adjudicator", "0")]
    assert menu("ann", "menu=part&state=open") == [("annotator", "1"), ("adjudicator", "0")]
    assert client_of(three[0].members.earliest("pk").user).get(url("study_menu")).status_code == 404
    monkeypatch.setattr("judging.studies.tables.COUNTED", 1)
    assert menu("eve", "menu=state") == [("open", "1+"), ("closed", "")]


@pytest.mark.slow
def test_a_person_chooses_among_columns_that_say_something_to_them(three: list[Study]) -> None:
    def offered(name: str) -> tuple[list[str], list[str]]:
        page = client_of(User.objects.get(username=name)).get(url("study_list")).content.decode()
        shown = re.findall(r'<th scope="col"[^>]*>(?:<a[^>]*>)?([^<]+)<', page)
        return re.findall(r'name="column" value="(\w+)"', page), shown

    counts = ["total", "settled", "disputed", "open"]
    assert offered("eve")[0] == ["part", "own", *counts, "created"]
    assert offered("ann")[0] == ["part", "own", "created"]
    make_user("engineer", "new")
    assert offered("new")[0] == [*counts, "created"]
    sent = {"list": "study", "column": ["own", "created"], "next": url("study_list")}
    client_of(User.objects.get(username="eve")).post(reverse("runs:list_columns"), sent)
    assert offered("eve")[1] == ["Study", "Your progress", "Created"]


@pytest.mark.slow
def test_a_study_is_previewed_with_what_its_list_shows() -> None:
    study = make_study(runs=3, guidelines=f"**Look** <i>well</i>. {'word ' * 80}end", name="Mine")
    first, second = annotators_of(study)
    label_next(study, first)

    def preview(user: User) -> str:
        return client_of(user).get(url("study_preview", study.pk)).content.decode()

    own, managed = preview(second), preview(make_user("engineer"))
    assert "0 of 3 labelled" in own
    assert "<strong>Look</strong> &lt;i&gt;well&lt;/i&gt;" in own
    assert "end</p>" not in own
    assert "disputed" not in own
    assert "3 · settled 0 · disputed 0 · open 3" in managed
    assert str(first) not in managed
    assert "repeats" not in own + managed
    stranger = client_of(make_user("annotator"))
    assert stranger.get(url("study_preview", study.pk)).status_code == 404
    rows = client_of(second).get(url("study_list")).content.decode()
    assert f'data-preview="{url("study_preview", study.pk)}"' in rows


@pytest.mark.slow
def test_an_annotator_sees_only_their_own_progress() -> None:
    study = make_study(runs=3)
    first, second = annotators_of(study)
    for _ in range(2):
        label_next(study, first)
    mine = client_of(second).get(url("study_detail", study.pk)).content.decode()
    assert "0 of 3 labelled" in mine
    assert str(first) not in mine
    assert "2 of 3 labelled" in client_of(first).get(url("study_detail", study.pk)).content.decode()
    managed = client_of(make_user("engineer")).get(url("study_detail", study.pk)).content.decode()
    assert str(first) in managed


@pytest.mark.slow
def test_members_come_and_go() -> None:
    study = make_study(runs=1, annotators=0)
    client = client_of(make_user("engineer"))
    ann, eve = make_user("annotator", "ann"), make_user("engineer", "eve")
    for user in (ann, eve):
        client.post(url("member_add", study.pk), {"user": user.pk, "part": "annotator"})
    page = client.get(url("study_detail", study.pk)).content.decode()
    assert "eve: may already know verdicts" in page
    said = client.post(
        url("member_add", study.pk), {"user": ann.pk, "part": "annotator"}, follow=True
    )
    assert "not in this study yet" in said.content.decode()
    refused = client.post(
        url("member_add", study.pk),
        {"user": make_user("annotator").pk, "part": "adjudicator"},
        follow=True,
    )
    assert "is no adjudicator" in refused.content.decode()
    client.post(url("member_remove", study.pk, ann.pk))
    assert StudyMember.objects.get(user=ann).left_at is not None
    assert client_of(ann).get(url("study_detail", study.pk)).status_code == 404


def test_guidelines_get_versions() -> None:
    study = make_study(runs=1, guidelines="old *rule*")
    client = client_of(make_user("engineer"))
    client.post(url("guidelines", study.pk), {"text": "new rule"})
    page = client.get(url("guidelines", study.pk)).content.decode()
    assert "old <em>rule</em>" in page
    assert "v2" in page
    assert client.post(url("guidelines", study.pk), {"text": ""}).status_code == 422


def test_closing_is_for_good() -> None:
    study = make_study(runs=1)
    client = client_of(make_user("engineer"))
    client.post(url("study_close", study.pk))
    study.refresh_from_db()
    assert not study.is_open
    assert "Close study" not in client.get(url("study_detail", study.pk)).content.decode()


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("<script>alert(1)</script>", "<script"),
        ("[x](javascript:alert(1))", "href"),
        ("[x](data:text/html,x)", "href"),
        ("![x](https://example.org/x.png)", "<img"),
        ("<img src=x onerror=alert(1)>", "<img"),
        ("<a style='x' href='https://e.org'>x</a>", "<a "),
    ],
)
def test_guidelines_hold_no_markup_of_their_own(text: str, never: str) -> None:
    assert never not in render_markdown(text)


def test_guidelines_hold_lists_tables_and_safe_links() -> None:
    html = render_markdown("- one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://e.org/?a=1)")
    assert "<li>one</li>" in html
    assert "<td>2</td>" in html
    assert 'href="https://e.org/?a=1"' in html
    assert "noopener" in html


@pytest.mark.parametrize("page", ["study_list", "home"])
@pytest.mark.parametrize("role", ["engineer", "annotator"])
@pytest.mark.slow
def test_the_list_costs_the_same_however_long_it_is(role: str, page: str) -> None:
    user = make_user(role)
    client = client_of(user)

    def queries() -> int:
        with CaptureQueriesContext(connection) as made:
            client.get(url(page))
        return len(made)

    def add_study() -> None:
        study = make_study(runs=2, annotators=[user, make_user("annotator")], repeat_share=0.5)
        label_next(study, user)

    add_study()
    few = queries()
    for _ in range(4):
        add_study()
    assert queries() == few


def test_members_are_counted_and_timed_by_the_database() -> None:
    study = make_study(runs=4, adjudicators=1)
    first, second = annotators_of(study)
    items = list(study.items.order_by("position"))
    given: list[tuple[User, int, int, bool]] = [
        (first, at, seconds, False) for at, seconds in enumerate((30, 0, 10, 20))
    ]
    given += [(second, at, seconds, False) for at, seconds in enumerate((7, 0, 5))]
    for person, at, seconds, is_repeat in [*given, (second, 0, 90, True)]:
        Label.objects.create(
            item=items[at],
            annotator=person,
            success="success",
            seconds=seconds,
            is_repeat=is_repeat,
            submitted_at=timezone.now(),
        )
    rows = {row.member.user: row for row in member_rows(study, with_times=True)}
    assert len(rows) == 3
    told = {user: (r.n_labels, r.n_repeats, r.median_seconds) for user, r in rows.items()}
    assert told.pop(first) == (4, 0, 20)
    assert told.pop(second) == (3, 1, 7)  # of 5, 7 and 90
    assert [*told.values()] == [(0, 0, None)]
    assert rows[first].last_at == max(label.submitted_at for label in first.labels.all())


def test_who_still_judges_a_run_of_the_study_reads_no_times_of_others() -> None:
    viewer, other = make_user("engineer"), make_user()
    study = make_study(runs=2, annotators=[viewer, other])
    client, detail = client_of(viewer), url("study_detail", study.pk)

    def page(seconds: int) -> bytes:
        at = timezone.now() - timedelta(hours=seconds)
        other.labels.update(seconds=seconds, submitted_at=at)
        return whole_answer(client.get(detail))

    label_next(study, other)
    assert page(11) == page(22)
    close_study(study=study)
    assert page(11) != page(22)


def test_who_still_judges_a_run_reads_nowhere_what_its_labels_came_to() -> None:
    study = make_study(runs=2, annotators=[make_user("annotator"), make_user("annotator")])
    engineer = make_user("engineer")
    disputed, settled = study.items.order_by("position")
    other = make_study(runs=[disputed.run, settled.run], annotators=[engineer])
    for user, said in zip(annotators_of(study), ("success", "failure"), strict=True):
        make_label(disputed, user, said)
        make_label(settled, user, "success")

    def told(query: str = "") -> tuple[str, list[str], list[str]]:
        page = client_of(engineer).get(f"{url('study_detail', study.pk)}{query}").content.decode()
        tiles = page[page.index('class="tiles"') : page.index("</dl>")]
        states = re.findall(r'<td class="nowrap">(\w+)</td>', page[page.index('id="runs"') :])
        counts = study_rows(engineer, [study])[0].counts
        assert counts is not None
        listed = [str(counts[name]) for name in ("total", "settled", "disputed", "open")]
        return " ".join(re.sub("<.*?>", " ", tiles[tiles.index(">") + 1 :]).split()), states, listed

    tiles, states, listed = told()
    assert tiles == "runs 2 settled 0 disputed 0 open 0 hidden 2"
    assert states == ["hidden", "hidden"]
    assert listed == ["2", "0", "0", "0"]
    assert told("?status=disputed")[1] == told("?status=settled")[1] == []
    close_study(study=other)
    assert told() == (
        "runs 2 settled 1 disputed 1 open 0",
        ["disputed", "settled"],
        ["2", "1", "1", "0"],
    )


def test_in_a_hidden_repeat_the_state_of_the_run_is_hidden() -> None:
    study = make_study(runs=1)
    first, second = annotators_of(study)
    item = study.items.get()
    make_label(item, first, "success")
    make_label(item, second, "failure")
    link = reverse("judging:dispute_detail", args=[item.dispute.pk])

    def own() -> str:
        return client_of(first).get(url("study_detail", study.pk)).content.decode()

    assert link in own()
    now = timezone.now()
    Assignment.objects.create(
        item=item, user=first, is_repeat=True, leased_until=now, opened_at=now
    )
    assert link not in own()
    assert '<td class="nowrap">hidden</td>' in own()


def test_who_adds_annotators_is_told_of_runs_that_wait_for_another_one() -> None:
    engineer, manager = make_user("engineer"), make_user("engineer")
    study = make_study(runs=2, annotators=[manager, make_user("annotator")], labels_per_run=3)

    def is_told(user: User) -> bool:
        page = client_of(user).get(url("study_detail", study.pk)).content.decode()
        return "1 open run waits for another annotator" in page

    assert not is_told(engineer)
    for user in annotators_of(study):
        make_label(study.items.earliest("position"), user)
    assert is_told(engineer)
    assert not any(map(is_told, annotators_of(study))), "whatever their role, they still judge it"
    close_study(study=study)
    assert not is_told(engineer)


def test_runs_of_a_study_are_paged_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.studies.pages.ITEMS_PER_PAGE", 2)
    study = make_study(runs=3)
    pages = [items_page(study, Q(pk__in=()), number) for number in ("1", "2", "9")]
    assert [[item.position for item in page] for page in pages] == [[1, 2], [3], [3]]


def test_a_large_study_is_counted_no_further_than_lists_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engineer = make_user("engineer")
    large = make_study(runs=[make_run(pictures=False) for _ in range(3)], name="Large")
    small = make_study(runs=[make_run(pictures=False) for _ in range(2)], name="Small")
    settled = large.items.order_by("position")[0]
    settled.status = settled.Status.SETTLED
    settled.save()
    for most, open_, total in ((2, "2", "3"), (1, "1+", "2+")):
        monkeypatch.setattr(paging, "COUNTED", most)
        rows = {row.study.pk: row.counts for row in study_rows(engineer, [large, small])}
        counts = rows[large.pk]
        assert counts is not None
        told = {name: str(count) for name, count in counts.items()}
        assert told == {
            "open": open_,
            "disputed": "0",
            "settled": "1",
            "hidden": "0",
            "total": total,
        }
    monkeypatch.setattr(paging, "COUNTED", 2)
    [row] = study_rows(engineer, [small])
    assert row.counts is not None
    assert str(row.counts["total"]) == "2"
