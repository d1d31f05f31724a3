"""What an agent was told of a screen, on the timeline."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Attachment, Run
from tests.runs.factories import client_of, make_run, make_user
from tests.runs.viewer.told_screens import make_told_run, piece

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
HOSTILE = "</li><script>alert(1)</script>"


@pytest.fixture
def client() -> Client:
    return client_of(make_user())


def fragment(client: Client, run: Run) -> str:
    return client.get(reverse("runs:run_screen", args=[run.pk, 0])).content.decode()


def test_lines_boxes_and_commands_are_shown_as_the_agent_had_them(client: Client) -> None:
    # The pieces come in any order, the lines from the top down.
    pieces = [piece("Next", [20, 120, 80, 150]), piece(HOSTILE, [20, 80, 60, 110])]
    lines = f"{HOSTILE!r} button: [20, 80, 60, 110]\n'Next' button: [20, 120, 80, 150]"
    run = make_told_run(pieces, lines=lines)
    shown = fragment(client, run)
    assert "<script" not in shown
    assert "&lt;/li&gt;&lt;script&gt;" in shown
    assert '<rect data-piece="0" x="20" y="80" width="40" height="30" />' in shown
    assert '<rect data-piece="1" x="20" y="120" width="60" height="30" />' in shown
    assert "<li>click at (40, 95)</li>" in shown
    page = client.get(reverse("runs:run_detail", args=[run.pk])).content.decode()
    assert 'data-view="seen"' in page


def test_what_is_no_such_file_is_not_drawn(client: Client) -> None:
    damaged = make_told_run([{"kind": "button", "text": "Ok", "box": [1, 2, "a", 4]}], lines="Ok")
    shown = fragment(client, damaged)
    assert "<rect" not in shown
    assert ">Ok</li>" in shown
    # What the record names and this run does not hold is another run's.
    Attachment.objects.filter(run=damaged).delete()
    assert "Not kept." in fragment(client, damaged)


def test_other_runs_have_no_such_view(client: Client) -> None:
    run = make_run()
    page = client.get(reverse("runs:run_detail", args=[run.pk])).content.decode()
    assert 'data-view="seen"' not in page
    assert "Not kept." in fragment(client, run)
