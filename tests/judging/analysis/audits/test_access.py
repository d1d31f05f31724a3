"""Who may read an audit."""

import re

import pytest
from django.urls import reverse

from judging.models import StudyMember
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests whom pages let in"),
    pytest.mark.slow,
]


def addresses(world: audited.Audited) -> list[str]:
    judge = audited.evaluator("first").pk
    study = world.study.pk
    return [
        reverse("judging:audit", args=[study]),
        reverse("judging:audit_pictures", args=[study]),
        reverse("judging:audit_agreement", args=[study]),
        reverse("judging:audit_left_out", args=[study, "infeasible"]),
        reverse("judging:audit_table", args=[study, "figures", "csv"]),
        reverse("judging:audit_picture", args=[study, "fnr"]),
        reverse("judging:audit_cells", args=[study, judge, "fn"]),
        reverse("judging:audit_cells_file", args=[study, judge, "fn", "json"]),
    ]


@pytest.mark.parametrize("part", StudyMember.Part.values)
def test_whoever_is_blind_on_one_run_sees_no_figure(mixed: audited.Audited, part: str) -> None:
    user = audited.auditor()
    audited.member(mixed.study, user, part)
    client = client_of(user)
    for address in addresses(mixed):
        answer = client.get(address)
        assert answer.status_code == 403, address
        words = re.sub(r"<[^>]+>", " ", answer.content.decode())
        assert "cannot open this audit yet" in words
        assert not re.search(r"\d|TP|FN", words.replace(mixed.study.name, ""))
    home = client.get(reverse("judging:audit_home")).content.decode()
    assert "15" not in re.sub(r"<[^>]+>", " ", home)
    newest = client.get(reverse("judging:audit_newest")).content.decode()
    assert mixed.study.name not in newest


def test_blind_through_another_study_counts_too(paper: audited.Audited) -> None:
    user = audited.auditor()
    other = audited.study("other")
    other.add(None, of=paper.items[0].run)
    audited.member(other.study, user)
    assert open_page(client_of(user), "audit", paper.study.pk).status_code == 403


def test_opens_once_everything_is_settled(paper: audited.Audited) -> None:
    user = audited.auditor()
    audited.member(paper.study, user)
    assert open_page(client_of(user), "audit", paper.study.pk).status_code == 200
