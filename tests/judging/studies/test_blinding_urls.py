"""No address of the site shows a blind person what is hidden from them.

Two proofs. Words: everything hidden holds a word of its own, and no answer holds any of them.
Twins: two sites that differ only in what is hidden answer byte for byte alike, so that not even
an order, a count or the length of an answer tells. Nor does the time that one takes, as far as it
is ours: the database is asked the same, statement for statement.
"""

import logging
from collections.abc import Iterator

import pytest
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django_htmx.middleware import HtmxDetails

from judging.models import Assignment, Label
from runs.models import User
from runs.models.triggers import remove_guards
from tests.judging.studies.blind_world import (
    AUTHORS,
    LABELS,
    World,
    make_world,
    turn_round,
    words_of,
)
from tests.judging.studies.crawling import Answer, answers, changed, log_in
from tests.judging.studies.url_cases import CASES
from tests.runs.factories import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(1800)]

# What each viewer must never see. The adjudicator may read the labels in dispute, and which
# milestones they tick, but not who gave which. Engineers may see the disputed run, for they have
# no part in its study.
UNSETTLED = {key: word for key, word in words_of("zd").items() if key != "zd milestone"}
HIDDEN: dict[str, dict[str, str]] = {
    "annotator": {**LABELS, **words_of("zq"), **words_of("zd")},
    "engineer": {**LABELS, **words_of("zq")},
    "admin": {**LABELS, **words_of("zq")},
    "adjudicator": {**LABELS, **words_of("zq"), **UNSETTLED, **AUTHORS},
    "stranger": {**LABELS, **words_of("zq"), **words_of("zd"), **AUTHORS},
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> World:
    """The site, at one moment for ever."""
    caplog.set_level(logging.CRITICAL, logger="django.request")
    made = make_world()
    ContentType.objects.clear_cache()
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    monkeypatch.setattr(HtmxDetails, "_get_header_value", _noted)
    return made


_look_up = HtmxDetails._get_header_value


def _noted(details: HtmxDetails, name: str) -> str | None:
    """What the header says; and that somebody asked whether a fragment is wanted."""
    details.request.asks_for_fragments = True  # type: ignore[attr-defined]
    return _look_up(details, name)


def patterns(resolver: URLResolver, route: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """(name, route) of every URL pattern; the route stands for the name where there is none."""
    for pattern in resolver.url_patterns:
        whole = route + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from patterns(pattern, whole, inner)
        else:
            assert isinstance(pattern, URLPattern)
            yield (f"{space}{pattern.name}" if pattern.name else whole), whole


def test_every_address_has_its_visits() -> None:
    known = {name for name, _ in patterns(get_resolver())}
    assert known - CASES.keys() == set(), (
        "say in tests/judging/studies/url_cases.py how to visit these"
    )
    assert CASES.keys() - known == set(), "these addresses are gone"


def words_in(found: dict[str, Answer], viewer: str) -> list[str]:
    """The visits whose answer holds a word hidden from the viewer; words they sent are no news."""
    return [
        f"{asked}: {what}"
        for asked, answer in found.items()
        for what, word in HIDDEN[viewer].items()
        if word.encode() in answer.content and word not in asked
    ]


def test_the_run_itself_is_what_they_are_asked_to_label(world: World) -> None:
    """Without this, the page that matters most would be visited without the run."""
    for viewer in (world.annotator, world.engineer, world.admin):
        asked = client_of(viewer).get(f"/studies/{world.study.pk}/annotate/")
        assert world.run.goal in asked.content.decode(), viewer


@pytest.mark.parametrize(
    "viewer",
    [
        pytest.param(
            "annotator", marks=pytest.mark.postgresql_only("the other viewers run on SQLite")
        ),
        *(
            pytest.param(viewer, marks=pytest.mark.sqlite_only("the annotator runs on PostgreSQL"))
            for viewer in ("engineer", "adjudicator", "stranger")
        ),
    ],
)
def test_no_answer_holds_a_hidden_word_and_twin_sites_answer_alike(
    world: World, viewer: str
) -> None:
    rows = (Label.objects.count(), Assignment.objects.count(), User.objects.count())
    session = log_in(getattr(world, viewer))
    # What runs say that knowledge was drawn from is read once and kept.
    list(answers(world, viewer, "runs:knowledge_entry", session))
    before = dict(answers(world, viewer, session=session))
    assert words_in(before, viewer) == []
    assert rows == (Label.objects.count(), Assignment.objects.count(), User.objects.count())
    remove_guards()  # the other site is made out of this one, finished runs and all
    turn_round(world, turns_disputed=viewer != "engineer")
    assert changed(before) == {}


@pytest.mark.sqlite_only("tests what pages show")
def test_it_finds_what_a_page_tells_of_the_other_site(world: World) -> None:
    """Planted: somebody from whom nothing is hidden."""
    world.engineer = User.objects.create(username="open", is_superuser=True)
    before = dict(answers(world, "engineer", "runs:run_detail"))
    assert changed(before) == {}
    remove_guards()
    turn_round(world, turns_disputed=True)
    assert changed(before).keys() == before.keys()


@pytest.mark.sqlite_only("tests what pages show")
def test_administrators_who_annotate_find_no_hidden_word(world: World) -> None:
    for part in ("admin", "judging:"):
        assert words_in(dict(answers(world, "admin", part, most=2)), "admin") == []


@pytest.mark.sqlite_only("tests what pages show")
def test_the_words_are_there_for_those_who_may_see_them(world: World) -> None:
    """Without this, a page that shows nothing to anybody would pass for blind."""
    world.engineer = User.objects.create(username="open", is_superuser=True)
    missing = {
        **{key: words_of("zq")[f"zq {key}"] for key in ("agent", "model", "experiment", "cost")},
        **{key: words_of("zq")[f"zq {key}"] for key in ("reward", "error", "log", "tokens")},
        **{key: words_of("zq")[f"zq {key}"] for key in ("reference", "evaluation", "rule")},
        **{key: words_of("zq")[f"zq milestone{key}"] for key in ("", "_rule", "_found")},
        **{key: LABELS[key] for key in ("rationale", "message", "tag")},
    }
    of_runs = (f"runs:run_{page}" for page in ("detail", "files", "export"))
    of_verdicts = ("judging:run_judgements", "judging:dispute_detail")
    for part in (*of_runs, *of_verdicts, "runs:", "judging:"):
        for _, answer in answers(world, "engineer", part):
            missing = {
                what: word for what, word in missing.items() if word.encode() not in answer.content
            }
            if not missing:
                return
    assert list(missing) == []
