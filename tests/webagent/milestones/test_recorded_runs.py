"""Milestones found in real runs, recorded in a browser: MiniWoB++ and the demo's own sites.

What is expected was read off the runs' actions by hand; each test names them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from webagent.milestones.checks import ActionCheck, ElementCheck, TextCheck, UrlCheck
from webagent.milestones.findings import (
    Definition,
    Progress,
    Rule,
    find_milestones,
    looks,
    track,
    weights_of,
)
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import TextPart

DEMO = Path(__file__).parents[3] / "judging" / "demo"


@pytest.fixture(scope="module")
def recorded() -> Iterator[list[RunBundle]]:
    with open_runs(DEMO / "runs.zip") as ours, open_runs(DEMO / "recovery.zip") as miniwob:
        yield [found for found in (*ours, *miniwob) if isinstance(found, RunBundle)]


def run_of(recorded: list[RunBundle], task: str, goal: str, steps: int) -> RunBundle:
    """The one run of the task with these words in its goal and so many steps."""
    (found,) = (
        run
        for run in recorded
        if run.task.external_id == task
        and len(run.steps) == steps
        and any(isinstance(part, TextPart) and goal in part.text for part in run.run.goal)
    )
    return found


def progress(run: RunBundle, *milestones: Definition) -> Progress:
    row = looks(run.steps, lambda tree: run.blobs.read(tree.sha256).decode())
    found = find_milestones(milestones, row)
    assert found.unseen == ()
    return track(found.findings, weights_of(milestones), len(run.steps))


def box(name: str, weight: float = 1) -> Definition:
    check = ElementCheck(role="checkbox", name=name, state="checked")
    return Definition(name=name, weight=weight, rule=Rule(reached_when=check))


def clicked(target: str, *, is_ordered: bool = False) -> Definition:
    rule = Rule(reached_when=ActionCheck(action="click", target=target))
    return Definition(name=f"clicked {target}", is_ordered=is_ordered, rule=rule)


def filled(value: str) -> Definition:
    check = ElementCheck(role="textbox", state="value", value=value)
    return Definition(name=value, rule=Rule(reached_when=check))


def test_boxes_that_are_checked_one_after_the_other(recorded: list[RunBundle]):
    # click yobHFFp, click 6yzfh6u, click KvTvR, click Submit
    run = run_of(recorded, "miniwob.click-checkboxes", "Select yobHFFp, 6yzfh6u, KvTvR", 4)
    told = progress(run, box("yobHFFp"), box("6yzfh6u"), clicked("Submit"), box("qP"))
    assert told.by_step == (25, 50, 50, 75)


def test_a_box_that_is_clicked_twice_is_lost_again(recorded: list[RunBundle]):
    # click yobHFFp six times, of which recovery undoes all; then as above
    run = run_of(recorded, "miniwob.click-checkboxes", "Select yobHFFp, 6yzfh6u, KvTvR", 10)
    told = progress(run, box("yobHFFp"), box("6yzfh6u", weight=3))
    assert told.by_step[:6] == (25, 0, 25, 0, 25, 0)
    assert (told.by_step[6:], told.final) == ((25, 100, 100, 100), 100)


@pytest.mark.parametrize(("user", "password"), [("kenda", "Ttlh"), ("keli", "yobHF")])
def test_a_log_in(recorded: list[RunBundle], user: str, password: str):
    # fill the name, fill the password, click Login
    run = run_of(recorded, "miniwob.login-user", f'"{user}" and the password "{password}"', 3)
    done = clicked("Login", is_ordered=True).model_copy(update={"weight": 2.0})
    wrote = Rule(reached_when=ActionCheck(action="fill", text=password))
    told = progress(run, filled(user), Definition(name="password", rule=wrote), done)
    assert told.by_step == (25, 50, 100)


def test_what_is_claimed_is_not_what_was_done(recorded: list[RunBundle]):
    # Catalogue, the book, [Reserve this book], "The book is reserved."
    opened = Definition(
        name="opened", rule=Rule(reached_when=UrlCheck(pattern="*/book-clockmaker.html"))
    )
    said = Rule(reached_when=ActionCheck(action="send_msg_to_user", text="*reserved*"))
    for n_steps, rates in ((4, (0, 25, 75, 100)), (3, (0, 25, 50))):
        run = run_of(recorded, "larkfield.reserve-clockmaker", "Reserve", n_steps)
        reserved = clicked("Reserve this book").model_copy(update={"weight": 2.0})
        told = progress(run, opened, reserved, Definition(name="said", rule=said))
        assert told.by_step == rates


def test_a_form_that_is_filled_and_sent(recorded: list[RunBundle]):
    # Contact, fill the subject, fill the message, Send message, "The message is sent."
    run = run_of(recorded, "larkfield.contact-message", "Broken lamp", 5)
    subject = ElementCheck(role="textbox", name="Subject", state="value", value="broken lamp")
    told = progress(
        run,
        Definition(name="there", rule=Rule(reached_when=TextCheck(text="Contact*Subject*Message"))),
        Definition(name="subject", rule=Rule(reached_when=subject)),
        clicked("Send*", is_ordered=True),
        Definition(name="sent", rule=Rule(reached_when=TextCheck(text="Broken lamp"))),
    )
    assert told.by_step == (25, 75, 75, 100, 100)
