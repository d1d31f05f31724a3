"""A run that we exported, out of the records that its document carries in `extra`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError

from webagent.trajectory.atif.documents import EXTRA_KEY, FILES_KEY
from webagent.trajectory.bounds import BoundError
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.images import ImageError
from webagent.trajectory.native.blobs import Missing, shown_as_pictures, verify, without_missing
from webagent.trajectory.records import (
    AdjudicationRecord,
    EvaluationRecord,
    HintRecord,
    LabelRecord,
    Record,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
)
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.trees import Tree, TreeError, read_file
from webagent.trajectory.untyped import items, mapping, text

VERSION = 1
R = TypeVar("R", bound=Record)


def restored(
    tree: Tree, files: RunFiles, value: dict[str, Any], source: Callable[[], SourceRecord]
) -> RunBundle | None:
    """The run as it was exported; None if the document is not one of ours."""
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
            evaluations=_all(EvaluationRecord, own.get("evaluations")),
            labels=_all(LabelRecord, own.get("labels")),
            adjudications=_all(AdjudicationRecord, own.get("adjudications")),
            hints=_all(HintRecord, own.get("hints")),
            blobs=files.stash,
        )
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        files.note("extra", f"extra.{EXTRA_KEY}", f"{detail['loc']}: {detail['msg']}")
        return None
    missing = _take_blobs(tree, files, bundle, mapping(own.get(FILES_KEY)))
    whole = without_missing(bundle, missing, files.inventory)
    return replace(whole, run=whole.run.model_copy(update={"source": source()}))


def _all(kind: type[R], values: Any) -> tuple[R, ...]:
    return tuple(kind.model_validate(value) for value in items(values))


def _take_blobs(
    tree: Tree, files: RunFiles, bundle: RunBundle, paths: dict[str, Any]
) -> list[Missing]:
    """Put every blob whose bytes are right into the stash; those that are not come back."""
    missing = []
    pictures = shown_as_pictures(bundle)
    for blob in bundle.blob_records():
        path = text(paths.get(blob.sha256)) or blob.sha256
        video = blob.media_type.startswith("video/")
        limit = files.bounds.video_bytes if video else files.bounds.blob_bytes
        try:
            if path not in files.files:
                raise TreeError("not in the document's folder")
            name = files.files[path]
            content = read_file(tree, name, limit)
            verify(blob, content, files.bounds, is_picture=blob.sha256 in pictures)
        except (TreeError, BoundError, ImageError) as error:
            missing.append(Missing(blob, path, str(error)))
        else:
            files.stash.add_reader(blob.sha256, partial(read_file, tree, name, limit))
    return missing
