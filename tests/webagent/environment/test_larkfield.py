"""The sites of our own: every task can be served, and ends when the agent speaks."""

from datetime import UTC, datetime

import pytest

from webagent.agents.errands.people import Resident, Style, page_lines
from webagent.agents.errands.town import ERRANDS
from webagent.agents.running import run_episode
from webagent.environment.interface import UnknownTask
from webagent.environment.larkfield import HOSTS, PAGES, specifications, task_names, task_record
from webagent.trajectory.live import Observation
from webagent.trajectory.records import EndReason, Outcome, StepRecord


def test_every_task_has_an_errand_of_its_own() -> None:
    for specification in specifications().values():
        fitting = [text for text in ERRANDS if text in specification["intent"]]
        assert len(fitting) == 1, specification["intent"]
    assert len(ERRANDS) == len(task_names()) == 40


def test_addresses_are_filled_in() -> None:
    assert "__LARKFIELD__" not in str(specifications())
    record = task_record("larkfield.december-events")
    assert record.start_urls == ("http://larkfield.localhost/index.html",)
    assert record.eval is not None
    assert record.eval["reference_url"] == "http://larkfield.localhost/events-december.html"
    sites = {site for name in task_names() for site in task_record(name).sites}
    assert sites == set(HOSTS)


def test_no_site_serves_what_its_tasks_expect() -> None:
    assert (PAGES / "tasks.json").is_file()
    assert not [path for site in HOSTS for path in (PAGES / site).rglob("*.json")]


def test_pages_load_nothing_from_elsewhere() -> None:
    for page in (path for site in HOSTS for path in (PAGES / site).iterdir()):
        text = page.read_text(encoding="utf-8")
        assert "http://" not in text
        assert "https://" not in text


def test_unknown_task_is_named_with_what_is_near() -> None:
    with pytest.raises(UnknownTask, match=r"Did you mean larkfield\.oldest-book"):
        task_record("larkfield.oldest-boo")


def test_texts_that_nodes_repeat_are_read_once() -> None:
    observation = Observation(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        goal="",
        url="",
        title="",
        tabs=(),
        screenshot=b"",
        width=1,
        height=1,
        axtree="RootWebArea 'Fees'\n\t[1] cell 'DVD'\n\t\tStaticText 'DVD'\n\t[2] cell '$0.50'",
    )
    assert page_lines(observation) == ("Fees", "DVD", "$0.50")


@pytest.mark.browser
@pytest.mark.usefixtures("settled_at_once", "without_windows")
@pytest.mark.parametrize(
    ("style", "answer"),
    [
        (Style.PLAIN, "2"),
        (Style.SENTENCE, "2. The other copies are on loan."),
        (Style.CARELESS, "5"),
    ],
)
def test_same_page_gives_three_answers(style: Style, answer: str) -> None:
    steps: list[StepRecord] = []
    record = run_episode(
        "larkfield.salt-road-copies",
        Resident(style),
        run_id="r",
        sink=lambda step, blobs: steps.append(step),
    )
    assert record.final_answer == answer
    assert record.end_reason is EndReason.TASK_ENDED
    assert record.outcome is Outcome.UNKNOWN  # the site gives no reward, so nothing is claimed
    assert record.reward is None
    assert [step.actions[0].name for step in steps] == ["click", "click", "send_msg_to_user"]


@pytest.mark.browser
@pytest.mark.usefixtures("settled_at_once", "without_windows")
@pytest.mark.parametrize(
    ("name", "url", "text"),
    [
        (
            "larkfield.reserve-clockmaker",
            "http://larkfield.localhost/reservations.html",
            "A Clockmaker's Notebook",
        ),
        (
            "larkfield.shop-tulips-in-cart",
            "http://shop.larkfield.localhost/?cart",
            "Tulip bulbs × 2\t$14.40\nTotal\t$14.40",
        ),
        ("larkfield.forum-upvote-moss", "http://forum.larkfield.localhost/?thread=21", "13 votes"),
        (
            "larkfield.map-save-garden",
            "http://map.larkfield.localhost/?saved",
            "Botanic garden 40 Park Avenue",
        ),
    ],
)
def test_evidence_holds_what_the_evaluation_asks_for(name: str, url: str, text: str) -> None:
    record = run_episode(
        name,
        Resident(Style.PLAIN),
        run_id="r",
        sink=lambda step, blobs: None,
        evaluation=task_record(name).eval,
    )
    assert record.evidence is not None
    assert record.evidence["pages"] == [{"url": url, "text": text}]
