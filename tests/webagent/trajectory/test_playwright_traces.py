"""Playwright's traces, of three generations and made-up ones."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.webagent.trajectory.formats import DATA, read, rejections, runs, stored_text, truth
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import Rejection, RunBundle
from webagent.trajectory.playwright.events import TraceError, read_events

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
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        text = "\n".join(json.dumps(line) for line in ({**head, "monotonicTime": 0.0}, *lines))
        archive.writestr("trace.trace", text)
        for name, content in (beside or {}).items():
            archive.writestr(name, content)
    return out.getvalue()


def before(call: str, method: str, start: float, **params: object) -> dict[str, Any]:
    return {
        "type": "before",
        "callId": call,
        "startTime": start,
        "class": "Frame",
        "method": method,
        "params": params,
    }


def test_calls_that_only_look_are_no_steps(tmp_path):
    lines = [
        before("1", "title", 1),
        before("2", "evaluateExpression", 2, expression="window.pageYOffset"),
        before("3", "evaluateExpression", 3, expression="document.body.scrollTop += 9"),
        before("4", "click", 4, selector="text=Go"),
        before("5", "screenshot", 5),
    ]
    (tmp_path / "t.zip").write_bytes(trace(*lines))
    [bundle] = runs(tmp_path).values()
    assert [step.actions[0].name for step in bundle.steps] == ["evaluate_expression", "click"]
    assert [len(step.events) for step in bundle.steps] == [2, 1]
    assert bundle.steps[1].actions[0].status == "unknown"  # the trace ends before it


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
    with pytest.raises(TraceError):
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
    network = json.dumps({"type": "resource-snapshot", "snapshot": {"request": request}})
    typing = before("1", "fill", 1, selector='internal:label="Password"i', value="hunter22x")
    log = {"type": "log", "callId": "1", "message": 'fill("hunter22x")'}
    beside = {"trace.network": network, "resources/body.bin": "password=hunter22x"}
    (tmp_path / "t.zip").write_bytes(trace(typing, log, beside=beside))
    [bundle] = runs(tmp_path).values()
    [kept] = bundle.run.source.originals
    with zipfile.ZipFile(io.BytesIO(bundle.read_blob(kept.sha256))) as archive:
        assert "resources/body.bin" not in archive.namelist()
        inside = [archive.read(name).decode() for name in archive.namelist()]
    for words in [*inside, stored_text(bundle)]:
        assert "hunter22x" not in words
        assert "cookie-secret" not in words


def test_an_archive_with_too_many_steps_is_refused(tmp_path):
    lines = [before(str(n), "click", n, selector="a") for n in range(4)]
    (tmp_path / "t.zip").write_bytes(trace(*lines))
    [refused] = rejections(tmp_path, Bounds(steps_per_run=3))
    assert refused.field == "steps"
