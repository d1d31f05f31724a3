"""Playwright's traces, of three generations and made-up ones."""

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest

from tests.webagent.trajectory.formats import (
    DATA,
    read,
    rejections,
    runs,
    stored_text,
    truth,
    zip_of,
)
from tests.webagent.trajectory.samples import png
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.playwright.events import read_events
from webagent.trajectory.intake import Bounds, InputError, Rejection

SAMPLES = DATA / "playwright_trace"
TRUTH = truth("playwright_trace")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return runs(SAMPLES)


@pytest.mark.parametrize("name", TRUTH)
def test_each_trace_is_as_its_truth_says(found, name):
    true, bundle = TRUTH[name], found[name]
    raws = [step.actions[0].raw for step in bundle.steps]
    assert [raw["call"] for raw in raws] == [action[0] for action in true["actions"]]
    for raw, (_, params, _) in zip(raws, true["actions"], strict=True):
        assert params.items() <= raw["params"].items()
    failed = [step.actions[0].status == "error" for step in bundle.steps]
    assert failed == [action[2] for action in true["actions"]]
    assert bundle.run.source.format_version == str(true["trace_version"])
    assert bundle.task.external_id == true["title"]
    assert (bundle.run.environment.browser, bundle.run.environment.viewport_width) == (
        true["browser"],
        1280,
    )
    assert abs(bundle.run.started_at.timestamp() * 1000 - true["wall_time_ms"]) < 10


def test_pictures_stand_before_and_after_the_call(found):
    for name in ("buy_pw1.32.1.zip", "buy_pw1.44.0.zip", "buy_pw1.65.2.zip"):
        click = found[name].steps[2]
        assert click.before.url.endswith("/index.html")
        assert click.after.url.endswith("/product-mug.html")
        assert click.before.screenshot != click.after.screenshot
        assert click.before.at <= click.started_at <= click.ended_at <= click.after.at


def test_points_are_in_pixels_of_the_picture(found):
    click = found["buy_pw1.65.2.zip"].steps[2]
    scale = click.before.screenshot.width / 1280
    assert click.actions[0].point.x == pytest.approx(1042.44 * scale)
    assert click.actions[0].target.box.width == pytest.approx(78.890625 * scale)
    assert click.actions[0].coordinate_space.width == click.before.screenshot.width


def test_what_a_trace_does_not_know_is_said(found):
    assert found["fail_pw1.65.2.zip"].run.outcome == "unknown"
    assert [gap.what for gap in found["fail_pw1.65.2.zip"].run.gaps] == ["goal"]


def trace(*lines: dict[str, Any], version: int = 8, beside: dict[str, str] | None = None) -> bytes:
    head = {"type": "context-options", "version": version, "wallTime": 1_000_000, "title": "t"}
    text = "\n".join(json.dumps(line) for line in ({**head, "monotonicTime": 0.0}, *lines))
    return zip_of({"trace.trace": text} | (beside or {}))


def before(call: str, method: str, start: float, **params: object) -> dict[str, Any]:
    return {
        "type": "before",
        "callId": call,
        "startTime": start,
        "class": "Frame",
        "method": method,
        "params": params,
    }


def lines(*events: dict[str, Any]) -> str:
    return "\n".join(json.dumps(event) for event in events)


def frame(at: float, name: str, page: str = "p", **more: object) -> dict[str, Any]:
    shown = {"pageId": page, "sha1": name, "width": 80, "height": 40, "timestamp": at}
    return {"type": "screencast-frame", **shown, **more}


def of_version(version: int) -> bytes:
    """One click, told as Playwright told it in a version of the format."""
    context: dict[str, Any] = {"type": "context-options", "version": version, "wallTime": 5_000}
    click: dict[str, Any] = {
        "startTime": 700,
        "class": "Frame",
        "method": "click",
        "params": {"selector": "a"},
        "pageId": "p",
    }
    done: dict[str, Any] = {"endTime": 900, "point": {"x": 60, "y": 20}}
    went: dict[str, Any] = {"class": "Frame", "method": "navigated", "params": {"url": "http://s/"}}
    said: dict[str, Any] = {"type": "error", "text": "broken"}
    spoken: dict[str, Any] = {"class": "ConsoleMessage", "initializer": said, "guid": "m"}
    events: list[dict[str, Any]] = []
    if version == 3:
        kind = {"type": click.pop("class"), "id": "c", "log": ["clicking"], "wallTime": 5_200}
        own = {"type": "BrowserContext", "method": "tracingStopChunk", "id": "t", "startTime": 9}
        hidden = {"type": "Frame", "method": "click", "id": "h", "startTime": 9, "internal": True}
        made = {"type": "ConsoleMessage", "method": "__create__", "startTime": 650}
        left = {"type": went.pop("class"), "startTime": 600, "pageId": "p"}
        events = [
            {"type": "event", "metadata": made | {"params": spoken | {"type": "ConsoleMessage"}}},
            {"type": "event", "metadata": went | left},
            *({"type": "action", "metadata": each} for each in (own, hidden)),
            {"type": "action", "metadata": click | kind | done},
        ]
    else:
        click["apiName" if version < 8 else "title"] = "Frame.click"
        if version < 7:
            click["wallTime"] = 5_200
        else:
            context["monotonicTime"] = 500
        if version == 10:
            del click["title"]
        told = {"type": "console", "messageType": "error", "text": "broken", "time": 650}
        events = [
            {"type": "event", "time": 600, "pageId": "p", **went},
            {"type": "object", **spoken} if version == 4 else told,
            {"type": "before", "callId": "c", **click},
            {"type": "input", "callId": "c", "point": done["point"]},
            {"type": "log", "callId": "c", "message": "clicking"} if version > 5 else {},
            {"type": "after", "callId": "c", **done}
            | ({"log": ["clicking"]} if version < 6 else {}),
        ]
    folder = "screencast" if version == 10 else "resources"
    shown: list[dict[str, Any]] = [frame(650, "one"), frame(950, "two")]
    for each in shown if version > 8 else ():
        each["file"] = f"{folder}/{each.pop('sha1')}"
    pictures = {f"{folder}/one": png(40, 20, 1), f"{folder}/two": png(40, 20, 2)}
    return zip_of({"trace.trace": lines(context, *events, *shown), **pictures})


@pytest.mark.parametrize("version", range(3, 11))
def test_every_version_tells_the_same(tmp_path, version):
    (tmp_path / "t.zip").write_bytes(of_version(version))
    [bundle] = runs(tmp_path).values()
    [step] = bundle.steps
    [action] = step.actions
    assert action.raw == {"call": "Frame.click", "params": {"selector": "a"}}
    assert (step.started_at.timestamp(), step.ended_at.timestamp()) == (5.2, 5.4)
    assert (action.point.x, action.point.y, action.status) == (30, 10, "ok")
    assert (step.before.url, step.extra) == ("http://s/", {"log": ["clicking"]})
    assert step.events == ()
    assert step.before.screenshot.sha256 == hashlib.sha256(png(40, 20, 1)).hexdigest()
    assert step.after.screenshot.sha256 == hashlib.sha256(png(40, 20, 2)).hexdigest()
    [console] = bundle.run.logs
    assert b"broken" in bundle.read_blob(console.sha256)
    assert bundle.run.source.format_version == str(version)
    assert [gap.what for gap in bundle.run.gaps] == ["goal"]


def test_several_traces_of_one_test_are_one_run_in_order_of_time(tmp_path):
    def part(title: str, *events: dict[str, Any], wall: int = 1_000) -> str:
        head = {"type": "context-options", "version": 8, "wallTime": wall, "title": title}
        return lines({**head, "monotonicTime": wall - 1_000}, *events)

    members: dict[str, str | bytes] = {
        "test.trace": part("runner", before("r", "step", 1)),
        "0-trace.trace": part("a", before("1", "goto", 10), before("3", "click", 30), wall=1_005),
        "1-trace.trace": part("b", before("2", "fill", 20), frame(15, "one"), wall=1_018),
        "resources/one": png(40, 20),
    }
    (tmp_path / "t.zip").write_bytes(zip_of(members))
    [bundle] = runs(tmp_path).values()
    assert [step.actions[0].name for step in bundle.steps] == ["goto", "fill", "click"]
    assert [step.started_at.timestamp() for step in bundle.steps] == [1.01, 1.02, 1.03]
    assert bundle.steps[1].before.screenshot is not None
    del members["0-trace.trace"], members["1-trace.trace"]
    (tmp_path / "t.zip").write_bytes(zip_of(members))
    [alone] = runs(tmp_path).values()
    assert [step.actions[0].name for step in alone.steps] == ["step"]


def test_a_picture_is_of_the_page_that_the_call_was_made_on(tmp_path):
    head = {"type": "context-options", "version": 10, "wallTime": 1, "monotonicTime": 0}
    viewport = {"options": {"viewport": {"width": 1280, "height": 720}}}
    popup = {"width": 400, "height": 200}

    def went(at: float, page: str) -> dict[str, Any]:
        params = {"url": f"http://{page}/"}
        return {
            "type": "event",
            "method": "navigated",
            "time": at,
            "pageId": page,
            "params": params,
        }

    events = [
        went(1, "b"),
        frame(1, "a1", "a"),
        frame(2, "b1", "b", **popup),
        {**before("1", "click", 3, x=200, y=100), "pageId": "b"},
        {"type": "after", "callId": "1", "endTime": 5},
        frame(6, "a2", "a"),
        went(6, "a"),
        frame(7, "b2", "b", **popup),
        {**before("2", "click", 8), "pageId": "c"},
        {"type": "after", "callId": "2", "endTime": 9},
        before("3", "click", 10),  # newer versions do not tell the page: the last that was seen
        {"type": "after", "callId": "3", "endTime": 11},
        frame(12, "a1", "a"),
        frame(13, "b1", "b", **popup),
    ]
    shades = {"a1": 1, "a2": 2, "b1": 3, "b2": 4}
    members: dict[str, str | bytes] = {"trace.trace": lines(head | viewport, *events)}
    members |= {f"resources/{name}": png(40, 20, shade) for name, shade in shades.items()}
    (tmp_path / "t.zip").write_bytes(zip_of(members))
    [bundle] = runs(tmp_path).values()
    first, second, third = bundle.steps
    seen = [first.before, first.after, third.before, third.after]
    assert [each.screenshot.sha256 for each in seen] == [
        hashlib.sha256(png(40, 20, shade)).hexdigest() for shade in (3, 4, 4, 3)
    ]
    assert third.before.url == "http://b/"
    # As large as that page was, whatever the context's pages were opened with.
    assert (first.actions[0].point.x, first.actions[0].point.y) == (20, 10)
    assert (second.before, second.after) == (None, None)  # a call may lack a picture


def test_selectors_are_told_by_role_and_name(found):
    click = found["buy_pw1.65.2.zip"].steps[2].actions[0]
    assert click.target.selector == 'internal:role=link[name="Blue Mug"i]'
    assert (click.target.role, click.target.text) == ("link", "Blue Mug")
    assert found["buy_pw1.65.2.zip"].steps[0].actions[0].raw["call"] == "BrowserContext.newPage"


def test_nothing_of_a_trace_is_kept_as_a_page(found):
    for bundle in found.values():
        kinds = {blob.media_type for blob in bundle.blob_records()}
        assert kinds == {"application/zip", "application/json", "image/jpeg"}


def test_calls_that_only_look_are_no_steps(tmp_path):
    lines = [
        before("1", "title", 1),
        before("2", "evaluateExpression", 2, expression="window.pageYOffset"),
        before("3", "evaluateExpression", 3, expression="document.body.scrollTop += 9"),
        before("4", "click", 4, selector="text=Go"),
        before("5", "screenshot", 5),
        before("6", "tracingGroup", 6, name="Buy"),
    ]
    (tmp_path / "t.zip").write_bytes(trace(*lines))
    [bundle] = runs(tmp_path).values()
    assert [step.actions[0].name for step in bundle.steps] == ["evaluate_expression", "click"]
    assert [len(step.events) for step in bundle.steps] == [2, 2]
    assert bundle.steps[1].actions[0].status == "unknown"
    assert bundle.steps[1].actions[0].error == "The trace ends before this call did."


def test_the_oldest_form_is_one_line_per_call():
    call = {
        "type": "action",
        "metadata": {
            "id": "c",
            "startTime": 5,
            "endTime": 9,
            "apiName": "page.click",
            "method": "click",
            "params": {"selector": "a"},
            "error": {"error": {"message": "gone"}},
        },
    }
    head = {"type": "context-options", "version": 3}
    [found] = read_events([json.dumps(head), json.dumps(call)]).calls
    assert (found.name, found.error, found.end) == ("page.click", "gone", 9)


@pytest.mark.parametrize("head", ['{"type":"context-options","version":99}', "{}", "nonsense"])
def test_what_is_no_trace_is_refused(head):
    with pytest.raises(InputError):
        read_events([head])


def test_damage_costs_its_own_trace_only(tmp_path):
    (tmp_path / "good.zip").write_bytes(trace(before("1", "click", 1, selector="a")))
    (tmp_path / "new.zip").write_bytes(trace(version=11))
    (tmp_path / "cut.zip").write_bytes((SAMPLES / "buy_pw1.44.0.zip").read_bytes()[:9_000])
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.trace", b"0" * 30_000_000)
    found = read(tmp_path)
    assert [bundle.run.id for bundle in found if isinstance(bundle, RunBundle)] == ["good.zip"]
    [refused] = rejections(tmp_path)
    assert (refused.file, refused.field) == ("new.zip", "trace")
    assert "3 to 10 are read" in refused.reason
    told = [item for item in found if not isinstance(item, RunBundle | Rejection)]
    assert {(item.file, item.field) for item in told} == {
        ("bomb.zip", "archive"),
        ("cut.zip", "archive"),
    }


def test_names_that_lead_outside_are_left_out(tmp_path):
    beside = {"../../slip.txt": "x", "/tmp/slip.txt": "x"}  # noqa: S108
    (tmp_path / "t.zip").write_bytes(trace(before("1", "click", 1), beside=beside))
    [bundle] = runs(tmp_path).values()
    [kept] = bundle.run.source.originals
    with zipfile.ZipFile(io.BytesIO(bundle.read_blob(kept.sha256))) as archive:
        assert archive.namelist() == ["trace.trace"]


def test_secrets_are_in_no_part_of_what_is_kept(tmp_path):
    request = {
        "method": "POST",
        "url": "http://s/login",
        "headers": [{"name": "Cookie", "value": "sid=cookie-secret"}],
        "postData": {"mimeType": "x", "_sha1": "body.bin"},
    }
    newer = request | {"postData": {"mimeType": "x", "_file": "resources/newer.bin"}}
    network = lines(
        *({"type": "resource-snapshot", "snapshot": {"request": r}} for r in (request, newer))
    )
    typing = before("1", "fill", 1, selector='internal:label="Password"i', value="hunter22x")
    log = {"type": "log", "callId": "1", "message": 'fill("hunter22x")'}
    body = "password=hunter22x"
    beside = {"resources/body.bin": body, "resources/newer.bin": body, "trace.stacks": body}
    beside["trace.network"] = network
    (tmp_path / "t.zip").write_bytes(trace(typing, log, beside=beside))
    [bundle] = runs(tmp_path).values()
    [kept] = bundle.run.source.originals
    with zipfile.ZipFile(io.BytesIO(bundle.read_blob(kept.sha256))) as archive:
        assert sorted(archive.namelist()) == ["trace.network", "trace.trace"]
        inside = [archive.read(name).decode() for name in archive.namelist()]
    for words in [*inside, stored_text(bundle)]:
        assert "hunter22x" not in words
        assert "cookie-secret" not in words


def test_an_archive_with_too_many_steps_is_refused(tmp_path):
    lines = [before(str(n), "click", n, selector="a") for n in range(4)]
    (tmp_path / "t.zip").write_bytes(trace(*lines))
    [refused] = rejections(tmp_path, Bounds(steps_per_run=3))
    assert refused.field == "steps"
