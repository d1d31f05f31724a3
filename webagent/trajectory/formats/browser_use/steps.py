"""One item of a history as a step."""

from collections.abc import Iterator
from typing import Any

from webagent.trajectory.bundles import UNKNOWN
from webagent.trajectory.files.assembling import (
    TARGET_CHARS,
    URL_CHARS,
    RunFiles,
    box_of,
    point_at,
    seconds_between,
)
from webagent.trajectory.files.run_files import BLOB_KEY
from webagent.trajectory.formats.browser_use.histories import (
    HistoryFile,
    actions_of,
    brain,
    results_of,
    thought,
)
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Box,
    LlmCall,
    Observation,
    Point,
    StepRecord,
    TabRecord,
    Target,
)
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import count, items, mapping, moment, text, whole

DIALECT = "browser_use"

NOT_IN_UPLOAD = "not in the upload: give the folder with the screenshots"

_POINTS = (("click_x", "click_y"), ("input_x", "input_y"), ("x", "y"))
_MAX_TABS = 100


class Steps:
    """Turns a history's items, without secrets and pictures, into steps."""

    def __init__(
        self, files: RunFiles, history: HistoryFile, pictures: dict[str, BlobRecord]
    ) -> None:
        """`pictures` are those that stood in the history as base64, by hash."""
        self._files = files
        self._history = history
        self._pictures = pictures

    def read(self, listed: list[dict[str, Any]]) -> tuple[StepRecord, ...]:
        numbers = (whole(mapping(item.get("metadata")).get("step_number")) for item in listed)
        # Some generations count from 2.
        self._files.inventory.numbered("step", "step", numbers)
        return tuple(self._step(index, item) for index, item in enumerate(listed))

    def _step(self, index: int, item: dict[str, Any]) -> StepRecord:
        metadata, output = mapping(item.get("metadata")), mapping(item.get("model_output"))
        results, parts = results_of(item), brain(output)
        started, ended = (moment(metadata.get(f"step_{end}_time")) for end in ("start", "end"))
        actions = tuple(self._actions(item, actions_of(output), results))
        seconds = seconds_between(started, ended)
        limit = self._files.bounds.text_chars
        extra = {
            key: value
            for key, value in item.items()
            if key not in ("model_output", "result", "state", "metadata", "state_message")
        }
        spare = results[len(actions) :] if actions else []
        if spare:
            extra["results"] = spare
        return StepRecord(
            run_id=self._files.run_id,
            index=index,
            source_index=whole(metadata.get("step_number")),
            before=self._before(index, mapping(item.get("state"))),
            thought=thought(parts),
            thought_parts=self._files.free_form(
                {key: value for key, value in parts.items() if value not in (None, "")},
                f"step {index}: thoughts",
            ),
            actions=actions,
            messages=self._messages(index, item, results),
            llm_calls=_llm_calls(output, results, metadata),
            metrics=storable_json(metadata, limit, 8) or None,
            started_at=started,
            ended_at=ended,
            seconds=seconds if seconds is not None and seconds >= 0 else None,
            extra=self._files.free_form(extra, f"step {index}"),
        )

    def _before(self, index: int, state: dict[str, Any]) -> Observation:
        url = (text(state.get("url")) or "")[:URL_CHARS]
        tabs = [mapping(tab) for tab in items(state.get("tabs"))[:_MAX_TABS]]
        active = next((place for place, tab in enumerate(tabs) if tab.get("url") == url), None)
        return Observation(
            url=url or None,
            title=text(state.get("title")),
            tabs=tuple(
                TabRecord(
                    url=(text(tab.get("url")) or "")[:URL_CHARS],
                    title=text(tab.get("title")),
                    active=place == active,
                )
                for place, tab in enumerate(tabs)
            ),
            screenshot=self._picture(index, state),
        )

    def _picture(self, index: int, state: dict[str, Any]) -> BlobRecord | None:
        where = f"step {index}"
        if sha256 := text(mapping(state.get("screenshot")).get(BLOB_KEY)):
            if sha256 in self._pictures:
                return self._pictures[sha256]
            found = self._files.picture(f"blobs/{sha256}", "screenshot", where=where)
            return found.model_copy(update={"name": None}) if found else None
        path = text(state.get("screenshot_path"))
        if path is None:
            self._files.inventory.miss("screenshot", where, "the history has none")
            return None
        called = path.replace("\\", "/").rpartition("/")[2]
        own = self._history.picture(path)
        where = f"{where}: {called}"
        return self._files.picture(own, "screenshot", where=where, why=NOT_IN_UPLOAD)

    def _messages(
        self, index: int, item: dict[str, Any], results: list[dict[str, Any]]
    ) -> tuple[BlobRecord, ...]:
        """The prompt's state part, and pictures that actions brought back."""
        found: list[BlobRecord] = []
        if words := text(item.get("state_message")):
            name = f"step_{index}/state_message.txt"
            found.append(self._files.text_blob(words, "messages", name, "text/plain"))
        for result in results:
            for image in map(mapping, items(result.get("images"))):
                sha256 = text(mapping(image.get("data")).get(BLOB_KEY)) or ""
                found += [self._pictures[sha256]] if sha256 in self._pictures else []
        return tuple(found)

    def _actions(
        self, item: dict[str, Any], chosen: list[dict[str, Any]], results: list[dict[str, Any]]
    ) -> Iterator[ActionRecord]:
        elements = items(mapping(item.get("state")).get("interacted_element"))
        for place, action in enumerate(chosen):
            name = next(iter(action), None)
            result = results[place] if place < len(results) else None
            element = mapping(elements[place]) if place < len(elements) else {}
            box = _box(element)
            point = _point(action.get(name or ""), mapping((result or {}).get("metadata")))
            yield ActionRecord(
                raw=storable_json(action, self._files.bounds.text_chars),
                dialect=DIALECT,
                name=bounded_name(name) if name else None,
                named_args=mapping(action.get(name or "")) or None,
                target=_target(element, box, point),
                point=point or (box.centre if box else None),
                **_outcome(result),
            )


def _outcome(result: dict[str, Any] | None) -> dict[str, Any]:
    """Status, error and result; an action without a result was not carried out."""
    if result is None:
        return {"status": "unknown", "result_text": None}
    error = text(result.get("error"))
    return {
        "status": "error" if error else "ok",
        "error": error,
        "result_text": text(result.get("extracted_content")),
    }


def _llm_calls(
    output: dict[str, Any], results: list[dict[str, Any]], metadata: dict[str, Any]
) -> tuple[LlmCall, ...]:
    """The step's question to the model, as far as its tokens or its failure are told."""
    tokens = count(metadata.get("input_tokens"))
    problem = None
    if not output:
        problem = next((words for r in results if (words := text(r.get("error")))), None)
    if tokens is None and problem is None:
        return ()
    return (LlmCall(model=UNKNOWN, input_tokens=tokens, problem=problem),)


def _target(element: dict[str, Any], box: Box | None, point: Point | None) -> Target | None:
    if not element:
        return None
    attributes = mapping(element.get("attributes"))
    names = (element.get("ax_name"), *(attributes.get(k) for k in ("aria-label", "name", "id")))
    words = next((words for name in names if (words := text(name))), None)
    role = text(element.get("node_name")) or text(element.get("tag_name"))
    path = text(element.get("x_path")) or text(element.get("xpath"))
    return Target(
        selector=text(element.get("css_selector")),
        xpath=path,
        text=words[:TARGET_CHARS] if words else None,
        role=text(attributes.get("role")) or (role.lower() if role else None),
        box=_around(box, point),
    )


def _box(element: dict[str, Any]) -> Box | None:
    bounds = mapping(element.get("bounds"))
    box = box_of(bounds.get(key) for key in ("x", "y", "width", "height"))
    return box if box and box.width and box.height else None


def _around(box: Box | None, point: Point | None) -> Box | None:
    """The box in the picture: bounds are of the page, the point is of what was in view."""
    if box is None or point is None or box.holds(point):
        return box
    return box.model_copy(update={"x": point.x - box.width / 2, "y": point.y - box.height / 2})


def _point(params: Any, metadata: dict[str, Any]) -> Point | None:
    """Where it was clicked or typed; as chosen, where the agent named coordinates."""
    for x_key, y_key in _POINTS:
        if point := point_at(metadata.get(x_key), metadata.get(y_key)):
            return point
    chosen = mapping(params)
    return point_at(chosen.get("coordinate_x"), chosen.get("coordinate_y"))
