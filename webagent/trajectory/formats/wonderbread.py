"""Read WonderBread's human demonstrations of WebArena tasks: one run of a person per folder."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from webagent.trajectory.bundles import RunBundle, task_record
from webagent.trajectory.files.assembling import (
    TARGET_CHARS,
    URL_CHARS,
    VIDEOS,
    RunFiles,
    experiment_above,
    first_start,
    present,
    with_after,
)
from webagent.trajectory.files.recognition import (
    PlacesReader,
    RunPlace,
    folders_with,
    outline,
    unreadable,
)
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.intake import Bounds
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    BlobRecord,
    EndReason,
    Observation,
    Point,
    Size,
    StepRecord,
    Target,
)
from webagent.trajectory.redaction import REDACTED, is_password_field
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import iso_moment, items, mapping, moment, number, text

DIALECT = "wonderbread"
_NAMES = {"mousedown": "mouse_down", "mouseup": "mouse_up", "keystroke": "key", "scroll": "scroll"}
_WORDS = ("text", "label", "aria-label", "placeholder", "name", "value")


@dataclass(slots=True)
class Moment:
    """A state of the screen and what was done at it. No state: done before the first was kept."""

    state: dict[str, Any]
    position: int
    done: list[dict[str, Any]] = field(default_factory=list)


def moments(trace: list[Any]) -> Iterator[Moment]:
    """States in order, each with the actions up to the next one."""
    current: Moment | None = None
    for position, item in enumerate(map(mapping, trace)):
        data = mapping(item.get("data"))
        if item.get("type") == "state":
            if current is not None:
                yield current
            current = Moment(data, position)
        elif item.get("type") == "action":
            current = current or Moment({}, position)
            current.done.append(data)
    if current is not None:
        yield current


def without_password(files: RunFiles, item: dict[str, Any]) -> dict[str, Any]:
    """An item of the trace without the key that was struck in a password field."""
    data = mapping(item.get("data"))
    attributes = _attributes(data)
    words = [text(attributes.get(key)) for key in ("type", "name", "id", *_WORDS)]
    if data.get("key") is None or not is_password_field(*words):
        return item
    files.redactor.counts["password"] += 1
    return item | {"data": data | {"key": REDACTED}}


def action_of(files: RunFiles, data: dict[str, Any], state: dict[str, Any]) -> ActionRecord:
    """What the person did; coordinates of the screen become coordinates of the window."""
    attributes = _attributes(data)
    kind = text(data.get("type")) or ""
    at = _time(data.get("timestamp"))
    words = next((w for key in _WORDS if (w := text(attributes.get(key)))), None)
    return ActionRecord(
        raw=files.clean_json(data),
        dialect=DIALECT,
        name=_NAMES.get(kind, kind)[:100] or None,
        named_args=files.clean_json(
            {key: data[key] for key in ("button", "key", "dx", "dy") if key in data}
        )
        or None,
        target=Target(
            xpath=files.clean(attributes.get("xpath")),
            role=files.clean(attributes.get("role") or attributes.get("tag"), TARGET_CHARS),
            text=files.clean(words, TARGET_CHARS),
        )
        if attributes
        else None,
        point=_point(data, state),
        coordinate_space=_size(state.get("window_size")),
        started_at=at,
        ended_at=at,
        status="ok",
    )


def _attributes(data: dict[str, Any]) -> dict[str, Any]:
    """Of the element that was acted on; some files wrap them once more."""
    found = mapping(data.get("element_attributes"))
    return mapping(found.get("element")) or found


def _point(data: dict[str, Any], state: dict[str, Any]) -> Point | None:
    x, y = number(data.get("x")), number(data.get("y"))
    if x is None or y is None:
        return None
    left, top = _pair(state.get("window_position"), ("x", "y")) or (0.0, 0.0)
    return Point(x=x - left, y=y - top)


def _size(value: Any) -> Size | None:
    pair = _pair(value, ("width", "height"))
    return Size(width=pair[0], height=pair[1]) if pair and min(pair) > 0 else None


def _pair(value: Any, keys: tuple[str, str]) -> tuple[float, float] | None:
    """Two numbers, written as an object or as a list."""
    if isinstance(value, dict):
        both = [number(value.get(key)) for key in keys]
    else:
        both = [number(part) for part in items(value)]
    known = [part for part in both if part is not None]
    return (known[0], known[1]) if len(known) == 2 else None


def _time(value: Any) -> datetime | None:
    """Of a clock; small numbers are seconds since the recording began, and tell nothing."""
    if isinstance(value, str):
        return iso_moment(value)
    seconds = number(value)
    return moment(seconds) if seconds is not None and seconds > 1e9 else None


FORMAT = "wonderbread"
PERSON = "human"

_TASK = re.compile(r"^(?P<task>\d{1,6}) @ ")
_RAW, _SOP = "[raw] ", "SOP - "
_SCREENSHOTS = "screenshots"
_SHOWN_TREE = 2_000_000


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    traces: dict[str, str] = {}

    def is_sign(name: str, last: str) -> bool:
        is_trace = last.endswith(".json") and not last.startswith((_RAW, _SOP))
        if not is_trace or not _TASK.match(last) or not outline(tree, name).has("trace"):
            return False
        traces[name.rpartition("/")[0]] = last
        return True

    for path, found in folders_with(tree, is_sign, depth=1).items():
        files = {
            inside: name
            for inside, name in found.items()
            if inside.rpartition("/")[0] in ("", _SCREENSHOTS)
        }
        read = partial(_bundle, path, traces[path])
        yield RunPlace(path=path, files=files, own=files.values(), file=traces[path], read=read)


WONDERBREAD = PlacesReader(FORMAT, "<task> @ <time>/*.json: trace", _places)


def _bundle(path: str, file: str, files: RunFiles) -> RunBundle:
    """The demonstration in a folder, whose file is named by task and time."""
    name = file.removesuffix(".json")
    value = mapping(files.read_json(file))
    trace = [without_password(files, mapping(item)) for item in items(value.get("trace"))]
    if not trace:
        raise unreadable(files, file, file, "trace", "no states and actions")
    files.run_id = bounded_name(path or name)
    steps = _steps(files, trace)
    found = _TASK.match(name)
    external_id = bounded_name(found["task"] if found else name)
    task = task_record("webarena", external_id)
    files.note("goal", file, "stands in the benchmark's task file, not in the recording")
    kept = _beside(files)
    return files.assemble(
        task,
        steps,
        f"{path}/{file}".lstrip("/"),
        tool=FORMAT,
        agent=AgentRecord(name=PERSON),
        experiment=experiment_above(path),
        started_at=first_start(steps),
        ended_at=max((step.started_at for step in steps if step.started_at), default=None),
        end_reason=EndReason.AGENT_STOPPED,
        **kept,
        originals=(files.original(file, files.clean_json(value | {"trace": trace})),),
    )


def _steps(files: RunFiles, trace: list[Any]) -> tuple[StepRecord, ...]:
    """Each state with what was done at it; the last one is what the person left."""
    found = list(moments(trace))
    files.check_steps(len(found), "trace", "states")
    last = found[-1] if len(found) > 1 and not found[-1].done else None
    shown = found[:-1] if last else found
    done = [_step(files, index, each) for index, each in enumerate(shown)]
    return with_after(done, _observation(files, last.state, last.position) if last else None)


def _step(files: RunFiles, index: int, each: Moment) -> StepRecord:
    before = _observation(files, each.state, each.position)
    actions = tuple(action_of(files, data, each.state) for data in each.done)
    times = [action.started_at for action in actions if action.started_at]
    return StepRecord(
        run_id=files.run_id,
        index=index,
        source_index=each.position,
        before=before,
        actions=actions,
        started_at=min(times, default=before.at if before else None),
        ended_at=max(times, default=None),
    )


def _observation(files: RunFiles, state: dict[str, Any], position: int) -> Observation | None:
    if not state:
        return None
    where = f"trace.{position}"
    tree, html = text(state.get("json_state")), text(state.get("html"))
    kept = {
        key: state[key]
        for key in ("window_position", "window_size", "screen_size", "active_application_name")
        if key in state
    }
    return Observation(
        at=_time(state.get("timestamp")),
        url=files.clean(state.get("url"), URL_CHARS),
        title=files.clean(state.get("tab"), URL_CHARS),
        screenshot=_picture(files, text(state.get("path_to_screenshot")), where),
        a11y_tree=_words(files, tree, "a11y_tree", f"{where}/state.json", "application/json"),
        html=_words(files, html, "html", f"{where}/page.html", "text/html"),
        extra=files.free_form(files.clean_json(kept), where) if kept else None,
    )


def _words(
    files: RunFiles, words: str | None, role: str, name: str, media_type: str
) -> BlobRecord | None:
    if not words:
        return None
    if len(words) > _SHOWN_TREE:
        files.note(role, name, f"more than {_SHOWN_TREE} characters: left out")
        return None
    return files.text_blob(files.redactor.text(words), role, name, media_type)


def _picture(files: RunFiles, path: str | None, where: str) -> BlobRecord | None:
    """The picture by its name alone: the paths are those of the machine that recorded it."""
    if path is None:
        return None
    last = path.replace("\\", "/").rpartition("/")[2]
    name = f"{_SCREENSHOTS}/{last}"
    return files.picture(name, "screenshot", where=f"{where}: {last}")


def _beside(files: RunFiles) -> dict[str, Any]:
    """The written procedure and the video; the raw recording says the same in more lines."""
    artefacts: list[BlobRecord] = []
    videos: list[BlobRecord | None] = []
    for path in sorted(files.files):
        ending = "." + path.rpartition(".")[2].lower()
        if path.startswith(_SOP) and "/" not in path:
            words = files.redactor.text(files.read_text(path))
            artefacts.append(files.text_blob(words, "artefact", path[:400], "text/plain"))
        elif ending in VIDEOS and "/" not in path:
            videos.append(files.file_blob(path, "video", VIDEOS[ending]))
        elif path.startswith(_RAW):
            files.drop("raw recording", path, "every key and mouse event before they were joined")
    return {"artefacts": tuple(artefacts), "videos": present(*videos)}
