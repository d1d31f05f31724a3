"""Runs as ATIF v1.8 documents and back: what the format can hold, and the rest in `extra`.

One folder per run: `trajectory.json`, `images/<n>.png` in the order in which the run shows them,
and `files/` for what ATIF has no content type for (trees, logs, messages). Every step's and the
run's own record stand under `extra.crosscheck`, so that reading the document again gives the same
run, to the last bit of its content hash.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from zipfile import ZipFile

from pydantic import ValidationError

from webagent.trajectory.bundles import UNKNOWN, RunBundle
from webagent.trajectory.canonical import canonical_json, utc_text
from webagent.trajectory.files.assembling import RunFiles
from webagent.trajectory.files.originals import take_blobs, without_missing
from webagent.trajectory.formats.native.schema import EXTENSIONS, Blinding
from webagent.trajectory.formats.native.writer import FolderSink, Sink, ZipSink
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    EndReason,
    GoalPart,
    Observation,
    Record,
    RunRecord,
    StepRecord,
    TaskRecord,
    TextPart,
    sums_of,
)
from webagent.trajectory.values import items, mapping, not_none, text
from webagent.trajectory.verdict_records import SAID

SCHEMA_VERSION = "ATIF-v1.8"
EXTRA_KEY = "crosscheck"
"""Under this key of `extra` our own exports keep what ATIF has no place for."""
FILES_KEY = "files"
VERSION = 1
NOT_BESIDE = "not in the document's folder"
DOCUMENT = "trajectory.json"
NOTES = (
    "ATIF has no place for outcome, reward, end reason, evaluations, labels, element boxes and"
    f" page trees: they are in extra and in extra.{EXTRA_KEY}, whose blobs are in files."
)
_IMAGES = frozenset(("image/png", "image/jpeg", "image/webp", "image/gif"))
_UNSAFE = re.compile(r"[^\w.\-]+")
_NAME_CHARS = 100

Json = dict[str, Any]
R = TypeVar("R", bound=Record)


def write_atif(
    target: Path | BinaryIO, bundles: Iterable[RunBundle], *, blinding: Blinding | None = None
) -> int:
    """Write the runs to a zip, or to a folder if a path does not end in `.zip`; how many.

    The same runs in the same order give the same bytes.

    Raises:
        FileExistsError: the folder holds something already.
        BlobError: a blob that is mentioned cannot be read.
    """
    if isinstance(target, Path) and target.suffix != ".zip":
        return _write(FolderSink(target), bundles, blinding)
    with ZipFile(target, "w") as archive:
        return _write(ZipSink(archive), bundles, blinding)


def _write(sink: Sink, bundles: Iterable[RunBundle], blinding: Blinding | None) -> int:
    folders: set[str] = set()
    for given in bundles:
        bundle = blinding.apply(given) if blinding else given
        folder = _folder(bundle.run.id, folders)
        paths = blob_paths(bundle)
        content = json.dumps(document(bundle, paths), ensure_ascii=False, indent=1).encode()
        sink.add(f"{folder}/{DOCUMENT}", content, len(content))
        for sha256, path in paths.items():
            blob = bundle.read_blob(sha256)
            sink.add(f"{folder}/{path}", blob, len(blob))
    return len(folders)


def blob_paths(bundle: RunBundle) -> dict[str, str]:
    """Where each blob of the run lies beside its document, by hash."""
    paths = {}
    images = 0
    for blob in bundle.blob_records():
        if blob.media_type in _IMAGES:
            paths[blob.sha256] = f"images/{images:03}.{EXTENSIONS[blob.media_type]}"
            images += 1
        else:
            # Without an extension, so that nobody takes a kept file for a run of its own.
            paths[blob.sha256] = f"files/{blob.sha256}"
    return paths


def document(bundle: RunBundle, paths: dict[str, str]) -> Json:
    """The run as an ATIF document; `paths` tells where its blobs lie."""
    run = bundle.run
    steps = [_task_turn(bundle, paths)]
    for place, step in enumerate(bundle.steps):
        following = bundle.steps[place + 1].before if place + 1 < len(bundle.steps) else None
        steps.append(_turn(step, step.after or following, paths, len(steps) + 1))
    totals = run.totals
    agent = {
        "name": run.agent.name or UNKNOWN,
        "version": run.agent.version or UNKNOWN,
        "model_name": run.models[0] if run.models else None,
        "extra": {"config": run.agent.config} if run.agent.config else None,
    }
    metrics = {
        "total_prompt_tokens": totals.input_tokens,
        "total_completion_tokens": totals.output_tokens,
        "total_cached_tokens": totals.cached_tokens,
        "total_cost_usd": float(totals.cost) if totals.cost is not None else None,
        "total_steps": len(steps),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": run.id,
        "trajectory_id": run.id,
        "agent": not_none(agent),
        "steps": steps,
        "notes": NOTES,
        "final_metrics": not_none(metrics),
        "extra": not_none(_run_facts(bundle)) | {EXTRA_KEY: _own_records(bundle, paths)},
    }


def _task_turn(bundle: RunBundle, paths: dict[str, str]) -> Json:
    """The first turn: what was to be done, and what could be seen when it was said."""
    seen = bundle.steps[0].before if bundle.steps else None
    goal = bundle.run.goal or bundle.task.goal
    parts = [part for given in goal if (part := _part(given, paths))]
    if image := _image(seen.screenshot if seen else None, paths):
        parts.append(image)
    turn: Json = {"step_id": 1, "source": "user", "message": parts}
    if seen and seen.url:
        turn["extra"] = {"url": seen.url}
    return turn


def _turn(
    step: StepRecord, following: Observation | None, paths: dict[str, str], number: int
) -> Json:
    calls = [_call(step, place, action) for place, action in enumerate(step.actions)]
    facts = {
        "url": step.before.url if step.before else None,
        "url_after": following.url if following else None,
        "raw_action": "".join(a.raw for a in step.actions if isinstance(a.raw, str)) or None,
        "reward": step.reward,
        "state": step.state.value if step.state != "live" else None,
    }
    turn = {
        "step_id": number,
        "timestamp": utc_text(step.started_at) if step.started_at else None,
        "source": "agent",
        "model_name": step.llm_calls[0].model if step.llm_calls else None,
        "message": step.thought or "",
        "reasoning_content": step.thought,
        "tool_calls": calls or None,
        "observation": _observation(step, calls, following, paths),
        "metrics": _metrics(step),
        "extra": not_none(facts) | {EXTRA_KEY: _plain(step)},
    }
    return not_none(turn)


def _call(step: StepRecord, place: int, action: ActionRecord) -> Json:
    call = {"tool_call_id": f"call_{step.index}_{place}", "function_name": action.name or "raw"}
    if action.name is None:
        raw = action.raw if isinstance(action.raw, dict) else {"code": action.raw}
        return call | {"arguments": raw}
    arguments: Json = {f"arg{n}": value for n, value in enumerate(action.args)}
    return call | {"arguments": arguments | (action.named_args or {})}


def _observation(
    step: StepRecord, calls: list[Json], following: Observation | None, paths: dict[str, str]
) -> Json | None:
    """What each call brought about; what could be seen then stands with the last."""
    image = _image(following.screenshot if following else None, paths)
    results = []
    for place, action in enumerate(step.actions):
        words = f"Error: {action.error}" if action.error else action.result_text
        content = [{"type": "text", "text": words}] if words else []
        if image and place == len(step.actions) - 1:
            content.append(image)
        if content:
            results.append({"source_call_id": calls[place]["tool_call_id"], "content": content})
    if not calls and image:
        results.append({"content": [image]})
    return {"results": results} if results else None


def _metrics(step: StepRecord) -> Json | None:
    """Sums over the step's model calls; ATIF counts cached tokens among those of the prompt."""
    sums = sums_of(step.llm_calls)
    metrics = {
        "prompt_tokens": sums["input_tokens"],
        "completion_tokens": sums["output_tokens"],
        "cached_tokens": sums["cached_tokens"],
        "cost_usd": None if sums["cost"] is None else float(sums["cost"]),
    }
    return not_none(metrics) or None


def _run_facts(bundle: RunBundle) -> Json:
    """What other readers of ATIF may look for in `extra`."""
    run = bundle.run
    return {
        "task": bundle.task.external_id,
        "seed": run.seed,
        "outcome": run.outcome.value,
        "end_reason": run.end_reason.value,
        "cum_reward": run.reward,
        "terminated": run.end_reason in (EndReason.TASK_ENDED, EndReason.AGENT_STOPPED),
        "truncated": run.end_reason is EndReason.MAX_STEPS,
        "err_msg": run.error.message if run.error else None,
        "final_answer": run.final_answer,
    }


def _own_records(bundle: RunBundle, paths: dict[str, str]) -> Json:
    return {
        "version": VERSION,
        "task": _plain(bundle.task),
        "run": _plain(bundle.run),
        **{name: [_plain(record) for record in getattr(bundle, name)] for name in SAID},
        FILES_KEY: paths,
    }


def _part(part: GoalPart, paths: dict[str, str]) -> Json | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return _image(part.blob, paths)


def _image(blob: BlobRecord | None, paths: dict[str, str]) -> Json | None:
    if blob is None or blob.media_type not in _IMAGES:
        return None
    source = {"media_type": blob.media_type, "path": paths[blob.sha256]}
    return {"type": "image", "source": source}


def _plain(record: Record) -> Json:
    value: Json = json.loads(canonical_json(record))
    return value


def _folder(run_id: str, taken: set[str]) -> str:
    """A folder's name for the run, other than all before."""
    base = _UNSAFE.sub("_", run_id).strip(".")[-_NAME_CHARS:] or "run"
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}-{n}"
    taken.add(name)
    return name


def restored(files: RunFiles, value: dict[str, Any], path: str) -> RunBundle | None:
    """The run as it was exported, with a new source; None if the document is not one of ours."""
    own = mapping(mapping(value.get("extra")).get(EXTRA_KEY))
    if own.get("version") != VERSION:
        return None
    turns = [mapping(mapping(turn).get("extra")) for turn in items(value.get("steps"))]
    kept = [turn[EXTRA_KEY] for turn in turns if EXTRA_KEY in turn]
    try:
        bundle = RunBundle(
            source=files.source,
            task=TaskRecord.model_validate(own.get("task")),
            run=RunRecord.model_validate(own.get("run")),
            steps=_all(StepRecord, kept),
            blobs=files.stash,
            **{name: _all(kind, own.get(name)) for name, kind in SAID.items()},
        )
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        files.note("extra", f"extra.{EXTRA_KEY}", f"{detail['loc']}: {detail['msg']}")
        return None
    paths = mapping(own.get(FILES_KEY))

    def name_of(blob: BlobRecord) -> tuple[str | None, str]:
        named = text(paths.get(blob.sha256)) or blob.sha256
        return files.files.get(named), named

    missing = take_blobs(bundle, files.stash, files.tree, files.bounds, name_of, NOT_BESIDE)
    whole = without_missing(bundle, missing, files.inventory)
    source = files.source_record(path, format_version=text(value.get("schema_version")))
    return replace(whole, run=whole.run.model_copy(update={"source": source}))


def _all(kind: type[R], values: Any) -> Any:
    return tuple(kind.model_validate(value) for value in items(values))
