"""Runs that have ended carry the marks of what went round in circles."""

import io

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from runs.launching.anomalies import mark_anomalies
from runs.models import Event, Run, Step
from runs.models.hooks import runs_ended
from tests.runs.factories import make_run
from tests.runs.storage.stores import store_blob
from tests.webagent.pages import png

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests detectors")]


def looping_run(length: int = 16) -> Run:
    run = make_run(steps=0, status="running")
    Step.objects.bulk_create(
        Step(run=run, index=index, action="click('5')", url="http://a/", kind="click")
        for index in range(length)
    )
    Run.objects.filter(pk=run.pk).update(status="finished")
    return run


def test_loop_is_marked_with_its_steps_when_the_run_ends() -> None:
    run = looping_run()
    runs_ended.send(sender=Run, run_ids=[run.pk])
    event = run.events.get()
    assert (event.kind, event.first_step, event.last_step) == (Event.Kind.LOOP, 0, 15)
    run.refresh_from_db()
    assert run.has_anomaly


def test_ordinary_run_is_left_unmarked() -> None:
    run = make_run(steps=5)
    assert mark_anomalies(run_ids=[run.pk]) == 0
    assert not run.events.exists()


def test_looking_twice_marks_once() -> None:
    run = looping_run()
    mark_anomalies(run_ids=[run.pk])
    mark_anomalies(run_ids=[run.pk])
    assert run.events.count() == 1


def test_the_same_action_on_changing_pages_is_no_loop() -> None:
    run = make_run(steps=0, status="running")
    Step.objects.bulk_create(
        Step(
            run=run,
            index=index,
            action="click('5')",
            url="http://a/",
            kind="click",
            record={"before": {"fingerprint": f"{index:032}"}},
        )
        for index in range(20)
    )
    assert mark_anomalies(run_ids=[run.pk]) == 0


def imported(*trees: str, action: str = "click('5')", kind: str = "click") -> Run:
    """A run of another tool: pages come with their trees, and without fingerprints."""
    run = make_run(steps=0, status="running")
    Step.objects.bulk_create(
        Step(
            run=run,
            index=index,
            action=action,
            url="http://a/",
            kind=kind,
            tree=store_blob(f"RootWebArea 'A'\n\t[{index}] button '{tree}'".encode(), "text/plain"),
            screenshot=store_blob(f"picture {tree}".encode(), "application/octet-stream"),
        )
        for index, tree in enumerate(trees)
    )
    return run


def test_pages_of_other_tools_are_told_apart_by_their_trees() -> None:
    assert mark_anomalies(run_ids=[imported(*map(str, range(20))).pk]) == 0
    # Ids of elements are given out anew by every page, and make no difference.
    assert mark_anomalies(run_ids=[imported(*["Next"] * 20).pk]) == 1


def test_a_tree_that_is_gone_leaves_the_address() -> None:
    run = imported(*map(str, range(20)))
    run.steps.update(tree=store_blob(b"another", "text/plain"))
    assert mark_anomalies(run_ids=[run.pk]) == 1


def test_reading_down_a_page_is_no_loop_and_scrolling_at_its_end_is() -> None:
    action, kind = "scroll(0, 200)", "scroll"
    fixed = "the tree of a whole page shows no place"
    moving, still = (imported(*[fixed] * 16, action=action, kind=kind) for _ in "ab")
    for step in moving.steps.all():
        picture = store_blob(f"from {step.index}".encode(), "application/octet-stream")
        Step.objects.filter(pk=step.pk).update(screenshot=picture)
    assert mark_anomalies(run_ids=[moving.pk]) == 0
    assert mark_anomalies(run_ids=[still.pk]) == 1


def test_a_text_cursor_that_blinks_hides_no_loop_of_scrolling() -> None:
    run = imported(*["one place"] * 16, action="scroll(0, 200)", kind="scroll")
    for index in (2, 3, 9):
        shown = store_blob(png_with_caret(), "image/png")
        run.steps.filter(index=index).update(screenshot=shown)
    rest = store_blob(png(100, 60), "image/png")
    run.steps.exclude(index__in=(2, 3, 9)).update(screenshot=rest)
    assert mark_anomalies(run_ids=[run.pk]) == 1


def png_with_caret() -> bytes:
    with Image.open(io.BytesIO(png(100, 60))) as image:
        image.paste(0, (20, 20, 21, 36))
        file = io.BytesIO()
        image.save(file, "PNG")
    return file.getvalue()


def test_a_replay_repeats_nothing() -> None:
    """Ten steps, the same ten again as a replay, and ten of a new branch: no window of 15."""
    run = make_run(steps=0, status="running")
    Step.objects.bulk_create(
        Step(
            run=run,
            index=index,
            action="click('5')",
            url="http://a/",
            kind="click",
            branch=min(index // 10, 1),
            state=("live", "replayed", "live")[index // 10],
        )
        for index in range(30)
    )
    assert mark_anomalies(run_ids=[run.pk]) == 0


def test_what_the_run_noticed_itself_is_not_marked_twice() -> None:
    run = looping_run()
    Event.objects.create(run=run, kind=Event.Kind.LOOP, first_step=0, last_step=14)
    assert mark_anomalies(run_ids=[run.pk]) == 0
    assert run.events.count() == 1


COUNTS = """With a loop (windows of 15 to 25 steps, blocks of up to 12):
  by actions: {}
  by actions and pages: {}
"""
ONE_OF_TWO = "1 of 2 (50.0 %, 95 % interval 9.5 to 90.5 %)"


def test_command_looks_at_stored_runs(capsys: pytest.CaptureFixture[str]) -> None:
    looping_run()
    make_run(steps=2)
    call_command("detect_anomalies")
    looked = "2 runs looked at, 1 with anomalies.\n"
    assert capsys.readouterr().out == looked + COUNTS.format(ONE_OF_TWO, ONE_OF_TWO)


def test_command_counts_loops_by_both_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    run = imported(*map(str, range(20)))
    Run.objects.filter(pk=run.pk).update(status="finished")
    make_run(steps=2)
    call_command("detect_anomalies")
    none = "0 of 2 (0.0 %, 95 % interval 0.0 to 65.8 %)"
    assert capsys.readouterr().out.endswith(COUNTS.format(ONE_OF_TWO, none))


def of_period(period: int, times: int) -> Run:
    run = make_run(steps=0, status="running")
    Step.objects.bulk_create(
        Step(run=run, index=n, action=f"click('{n % period}')", url="http://a/", kind="click")
        for n in range(period * times)
    )
    Run.objects.filter(pk=run.pk).update(status="finished")
    return run


def test_a_period_of_13_is_found_in_windows_of_26(capsys: pytest.CaptureFixture[str]) -> None:
    run = of_period(13, 3)
    call_command("detect_anomalies")
    assert "by actions: 0 of 1" in capsys.readouterr().out
    call_command("detect_anomalies", longest=26)
    said = capsys.readouterr().out
    assert "1 runs looked at, nothing stored." in said
    assert "windows of 15 to 26 steps, blocks of up to 13" in said
    assert "by actions and pages: 1 of 1" in said
    run.refresh_from_db()
    assert (run.loop, run.has_anomaly) == (Run.Loop.NONE, False)


@pytest.mark.parametrize(("shortest", "longest"), [(15, 1001), (15, 14), (1, 25)])
def test_windows_that_cannot_be_are_refused_with_the_limit(shortest: int, longest: int) -> None:
    with pytest.raises(CommandError, match="blocks of up to"):
        call_command("detect_anomalies", shortest=shortest, longest=longest)


def test_an_ended_run_keeps_its_loop_by_the_strictest_comparison() -> None:
    still, moving, none = looping_run(), imported(*map(str, range(20))), make_run(steps=2)
    runs = [still.pk, moving.pk, none.pk]
    assert {run.loop for run in Run.objects.all()} == {None}
    runs_ended.send(sender=Run, run_ids=runs)
    found = dict(Run.objects.values_list("pk", "loop"))
    assert [found[pk] for pk in runs] == [
        Run.Loop.ACTIONS_AND_PAGE,
        Run.Loop.ACTIONS,
        Run.Loop.NONE,
    ]
