"""Inspect AI's logs: archives with Zstandard members, pooled and chunked samples, documents."""

import base64
import io
import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.webagent.trajectory.formats import DATA, blind_text, read, rejections, runs, truth
from tests.webagent.trajectory.samples import png
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.archives import ZipTree
from webagent.trajectory.files.trees import TreeError, read_file
from webagent.trajectory.formats.inspect_ai.samples import ending, score_number
from webagent.trajectory.intake import BoundError, Bounds, Rejection
from webagent.trajectory.records import EndReason, Outcome

SAMPLES = DATA / "inspect_ai"
TRUTH = truth("inspect_ai")
PLACES = [(log, sample) for log in TRUTH for sample in TRUTH[log]["samples"]]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return {
        f"{path.name} {bundle.task.external_id}": bundle
        for path in SAMPLES.glob("*.eval")
        for bundle in runs(path).values()
    }


@pytest.mark.parametrize(("log", "sample"), PLACES)
def test_each_sample_is_as_its_truth_says(found, log, sample):
    true, bundle = TRUTH[log]["samples"][sample], found[f"{log} {sample}"]
    actions = [action for step in bundle.steps for action in step.actions]
    said = [[action.raw["function"], action.raw["arguments"]] for action in actions]
    assert said == true["tool_calls"]
    assert [action.error for action in actions if action.error] == true["tool_errors"]
    assert bundle.n_screenshots == true["n_images"]
    assert bundle.run.goal[0].text == true["input"]
    assert (bundle.task.reference, bundle.run.trial) == (true["target"], true["epoch"])
    scores = {e.evaluator.name: e.extra["value"] for e in bundle.evaluations}
    assert scores == {f"inspect {name}": value for name, value in true["scores"].items()}
    [tokens] = true["usage"].values()
    assert [bundle.run.totals.input_tokens, bundle.run.totals.output_tokens] == tokens
    assert bundle.run.totals.seconds == true["total_time"]
    assert bundle.run.models == (TRUTH[log]["model"],)
    assert bundle.task.task_set.name == TRUTH[log]["task"]
    limited = bundle.run.end_reason is EndReason.MESSAGE_LIMIT
    assert limited is (true["limit"] == "message")
    assert not bundle.problems


def test_calls_have_their_times_and_tokens(found):
    step = found["new_zstd.eval find-price"].steps[1]
    assert step.llm_calls[0].input_tokens == 900
    assert step.started_at <= step.actions[0].started_at <= step.actions[0].ended_at
    assert (step.actions[0].name, step.actions[0].point.x) == ("left_click", 420)


def test_a_limit_leaves_no_answer(found):
    assert found["new_zstd.eval loop"].run.final_answer is None
    assert found["new_zstd.eval find-price"].run.final_answer == "24.90"


def test_target_and_scores_are_hidden_from_the_blind(found):
    words = blind_text(found["new_zstd.eval count-orders"])
    assert '"3"' not in words
    assert "includes" not in words


def test_chunked_samples_read_as_whole_ones(found):
    chunked = found["chunked.eval find-price"]
    assert [s.model_dump(exclude={"run_id"}) for s in chunked.steps] == [
        s.model_dump(exclude={"run_id"}) for s in found["new_zstd.eval find-price"].steps
    ]


def test_a_chunk_that_is_missing_is_told(tmp_path):
    tree = ZipTree(SAMPLES / "chunked.eval", Bounds(), "log")
    members = {name: read_file(tree, name, 1 << 20) for name in tree.names}
    tree.close()
    for name, content in members.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    chunks = [name for name in members if re.fullmatch(r"samples/.+/\d+\.json", name)]
    assert len(chunks) == 11
    for name in chunks:
        (tmp_path / name).unlink()
        (item,) = (one for one in read(tmp_path) if isinstance(one, RunBundle | Rejection))
        assert isinstance(item, Rejection) or item.run.gaps, name
        (tmp_path / name).write_bytes(members[name])


def test_a_sample_that_the_log_counts_and_does_not_hold_is_told(tmp_path):
    header = {"version": 2, "eval": {}, "plan": {}, "results": {"total_samples": 2}}
    path = written(tmp_path, {"header.json": header, "samples/1_epoch_2.json": SAMPLE})
    told = [item for item in read(path) if not isinstance(item, RunBundle)]
    assert [(item.field, item.reason) for item in told] == [("samples", "1 of 2")]


def test_a_document_holds_the_same(found, tmp_path):
    with (SAMPLES / "old_deflate.eval").open("rb") as file, zipfile.ZipFile(file) as archive:
        document = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        document["samples"] = [json.loads(archive.read(name)) for name in names]
    (tmp_path / "log.json").write_text(json.dumps(document))
    again = {b.task.external_id: b for b in runs(tmp_path / "log.json").values()}
    for name, bundle in again.items():
        assert bundle.content_hash == found[f"old_deflate.eval {name}"].content_hash


def archive_of(members: dict[str, Any]) -> bytes:
    """A zip whose members are Zstandard: two frames each."""
    out, listing = io.BytesIO(), b""
    for name, value in members.items():
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        half = len(content) // 2
        frames = [zstandard.compress(part) for part in (content[:half], content[half:])]
        packed, path = b"".join(frames), name.encode()
        sizes = (zlib.crc32(content), len(packed), len(content), len(path), 0)
        head = struct.pack("<HHHHHLLLHH", 20, 0, 93, 0, 33, *sizes)
        tail = struct.pack("<HHHLL", 0, 0, 0, 0o100644 << 16, out.tell())
        listing += b"PK\x01\x02" + struct.pack("<H", 20) + head + tail + path
        out.write(b"PK\x03\x04" + head + path + packed)
    n, start = len(members), out.tell()
    end = struct.pack("<HHHHLLH", 0, 0, n, n, len(listing), start, 0)
    return out.getvalue() + listing + b"PK\x05\x06" + end


def written(folder: Path, members: dict[str, Any]) -> Path:
    (folder / "log.eval").write_bytes(archive_of(members))
    return folder


SAMPLE: dict[str, Any] = {
    "id": 1,
    "epoch": 2,
    "input": [{"role": "system", "content": "x"}, {"role": "user", "content": "Go"}],
    "messages": [{"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}]}],
}
HEADER = {"version": 2, "status": "error", "eval": {"task": "t", "model": "m"}, "plan": {}}


def test_a_crashed_evaluation_gives_the_samples_that_it_wrote(tmp_path):
    start = {key: HEADER[key] for key in ("version", "eval", "plan")}
    members = {"_journal/start.json": start, "samples/1_epoch_2.json": SAMPLE}
    [bundle] = runs(written(tmp_path, members)).values()
    assert (bundle.run.trial, bundle.steps[0].thought) == (2, "hm")
    assert [gap.what for gap in bundle.run.gaps] == ["header"]
    assert [part.text for part in bundle.run.goal] == ["Go"]


def one(folder: Path, sample: dict[str, Any]) -> Any:
    members = {"header.json": HEADER, "samples/1_epoch_2.json": SAMPLE | sample}
    [bundle] = runs(written(folder, members)).values()
    return bundle


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(identity: str, **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "function": "computer", "arguments": arguments}


def test_pictures_of_results_stand_after_the_step_and_before_the_next(found):
    look, click, kind = found["new_zstd.eval find-price"].steps[:3]
    assert look.before is None
    assert click.before.screenshot != kind.before.screenshot
    assert [step.after for step in (look, click, kind)] == [None] * 3


def test_long_texts_and_pictures_stand_elsewhere_in_the_sample(tmp_path):
    picture = "data:image/png;base64," + base64.b64encode(png()).decode()
    parts = [
        {"type": "text", "text": "attachment://long"},
        {"type": "image", "image": "attachment://p"},
    ]
    messages = [
        said("attachment://long", tool_calls=[call("a", text=["attachment://long"])]),
        {"role": "tool", "tool_call_id": "a", "content": parts},
        said("", tool_calls=[call("a", action="wait")]),
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "image", "image": "attachment://no"}]},
        {"role": "user", "content": [{"type": "image", "image": "<base64-data-removed>"}]},
    ]  # fmt: skip
    attached = {"long": "many words", "p": picture}
    bundle = one(tmp_path, {"messages": messages, "attachments": attached})
    first, second = bundle.steps
    [action] = first.actions
    assert (first.thought, action.result_text) == ("many words", "many words")
    assert action.named_args == {"text": ["many words"]}
    assert second.before.screenshot.width == 40
    assert (second.actions[0].name, second.actions[0].status) == ("wait", "ok")
    missing, removed = [gap.why for gap in bundle.run.gaps]
    assert missing == "missing"
    assert "told to log no pictures" in removed


def test_the_id_of_a_call_may_come_again(tmp_path):
    asked = said("", tool_calls=[call("a", action="wait")])
    answer = {"role": "tool", "tool_call_id": "a", "content": "done"}
    first, second = one(tmp_path, {"messages": [asked, asked, answer]}).steps
    assert (first.actions[0].status, first.actions[0].result_text) == ("unknown", None)
    assert (second.actions[0].status, second.actions[0].result_text) == ("ok", "done")


def test_hidden_reasoning_is_no_thought_and_strange_parts_are_told(tmp_path):
    hidden = {"type": "reasoning", "reasoning": "Y2lwaGVy", "redacted": True}
    content = [
        *(hidden, hidden | {"summary": "in short"}, {"type": "text", "text": "Go on"}),
        *({"type": "audio", "audio": "x"}, {"no": "type"}),
    ]
    bundle = one(tmp_path, {"messages": [said(content)]})
    assert bundle.steps[0].thought_parts == {"reasoning": "in short", "message": "Go on"}
    assert [gap.why for gap in bundle.run.gaps] == [
        "audio: not read",
        "a part without a type: not read",
    ]


@pytest.mark.parametrize(("total", "expected"), [(1112, 1110), (12, 10), (None, 10)])
def test_cached_tokens_are_part_of_the_input_whoever_counts(tmp_path, total, expected):
    usage = {
        "input_tokens": 10,
        "output_tokens": 2,
        "total_tokens": total,
        "input_tokens_cache_read": 100,
        "input_tokens_cache_write": 1000,
    }
    model = {
        "event": "model",
        "model": "m",
        "output": {"usage": usage, "choices": [{"message": {"id": "i"}}]},
    }
    sample = {"messages": [said("Hi", id="i")], "events": [model], "model_usage": {"m": usage}}
    bundle = one(tmp_path, sample)
    assert bundle.steps[0].llm_calls[0].input_tokens == expected
    assert (bundle.run.totals.input_tokens, bundle.run.totals.cached_tokens) == (expected, 100)


def test_epochs_that_went_alike_are_runs_of_their_own(tmp_path):
    names = {f"samples/1_epoch_{n}.json": SAMPLE | {"epoch": n} for n in (1, 2)}
    first, second = runs(written(tmp_path, {"header.json": HEADER, **names})).values()
    assert {first.run.trial, second.run.trial} == {1, 2}
    assert first.task == second.task
    assert first.content_hash != second.content_hash


def test_retries_are_counted_and_what_was_declared_invalid_is_told(tmp_path):
    retried = {"message": "timeout", "traceback": "t"}
    bundle = one(tmp_path, {"error_retries": [retried, retried], "invalidation": {"reason": "x"}})
    assert bundle.run.totals.retries == 2
    assert bundle.run.extra["error_retries"] == [retried, retried]
    assert [gap.what for gap in bundle.run.gaps] == ["validity"]


def test_a_log_that_is_cut_short_is_told_and_costs_itself_only(tmp_path):
    whole = (DATA / "inspect_ai" / "new_zstd.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "whole.eval").write_bytes(whole)
    (refused,) = rejections(tmp_path)
    assert refused.file == "cut.eval"
    assert "cannot be read: " in refused.reason
    assert sum(isinstance(found, RunBundle) for found in read(tmp_path)) == 3


def test_a_broken_sample_costs_itself_only(tmp_path):
    died = SAMPLE | {"error": {"message": "boom", "traceback": "t"}, "scores": {}}
    members = {
        "header.json": HEADER,
        "samples/1_epoch_1.json": b"{",
        "samples/1_epoch_2.json": died,
        "samples/a_epoch_1/sample.json": SAMPLE | {"message_refs": [[0, 1]]},
        "samples/a_epoch_1/messages/1.json": [],
    }
    folder = written(tmp_path, members)
    refused = {item.file for item in rejections(folder)}
    assert refused == {"samples/1_epoch_1.json", "samples/a_epoch_1/messages/1.json"}
    [bundle] = [item for item in read(folder) if isinstance(item, RunBundle)]
    assert bundle.run.outcome is Outcome.ERROR
    assert bundle.run.error is not None
    assert bundle.run.error.message == "boom"
    assert bundle.run.reward is None


@pytest.mark.parametrize(
    ("sample", "status", "expected"),
    [
        ({"scores": {"s": {"value": "P"}}}, "success", ("failure", "agent_stopped")),
        ({"scores": {"s": {"value": 0.7}}}, "success", ("success", "agent_stopped")),
        ({"scores": {"s": {"value": {"a": 1}}}}, "success", ("unknown", "unknown")),
        ({"limit": {"type": "token"}}, "success", ("unknown", "token_limit")),
        ({"limit": "working", "scores": {"s": {"value": "I"}}}, "", ("failure", "time_limit")),
        ({}, "cancelled", ("incomplete", "cancelled")),
        ({"error": {"message": "e"}, "scores": {"s": {"value": "C"}}}, "", ("error", "exception")),
    ],
)
def test_endings(sample, status, expected):
    end = ending(sample, status)
    assert (end.outcome, end.end_reason) == expected


def test_scores_as_numbers():
    assert [score_number(v) for v in ("C", "N", True, 0.25, "good", None)] == [
        *(1.0, 0.0, 1.0, 0.25, None, None)
    ]


def test_zstandard_members_are_held_to_what_the_listing_says(tmp_path):
    def tree(content: bytes) -> ZipTree:
        return ZipTree(io.BytesIO(content), Bounds(), "t")

    good = archive_of({"a": b"x" * 5_000})
    assert read_file(tree(good), "a", 10_000) == b"x" * 5_000
    with pytest.raises(BoundError):
        read_file(tree(good), "a", 4_999)
    for size in (4_999, 5_001):  # more and less than declared
        lied = good.replace(struct.pack("<L", 5_000), struct.pack("<L", size))
        with pytest.raises(TreeError):
            read_file(tree(lied), "a", 10_000)
    with pytest.raises(BoundError):  # a bomb is refused before anything is unpacked
        tree(archive_of({"a": b"\0" * 30_000_000}))
    damaged = bytearray(good)
    damaged[45] ^= 0xFF
    with pytest.raises(TreeError):
        read_file(tree(bytes(damaged)), "a", 10_000)


def test_several_members_are_read_side_by_side():
    tree = ZipTree(io.BytesIO(archive_of({"a": b"a" * 9, "b": b"b" * 9})), Bounds(), "t")
    with tree.open("a") as one, tree.open("b") as other:
        assert one.read(3) + other.read(3) + one.read() + other.read() == b"aaabbbaaaaaabbbbbb"
