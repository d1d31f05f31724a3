"""Read the histories that browser-use saves, one run each."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from webagent.trajectory.bundles import RunBundle, task_record
from webagent.trajectory.files.assembling import (
    RunFiles,
    dollars,
    experiment_above,
    present,
    task_name_of,
    verdict_of,
)
from webagent.trajectory.files.recognition import PlacesReader, RunPlace, unreadable
from webagent.trajectory.files.run_files import BLOB_KEY
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.browser_use.histories import (
    HistoryFile,
    actions_of,
    ending,
    find_histories,
    generation,
    is_last_word,
    is_picture,
    judgement,
    last_words,
    task_of,
)
from webagent.trajectory.formats.browser_use.steps import Steps
from webagent.trajectory.intake import Bounds
from webagent.trajectory.records import AgentRecord, BlobRecord, StepRecord, TaskRecord, Totals
from webagent.trajectory.redaction import Redactor, is_password_field
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import cost, count, counts, flag, items, mapping, text, total
from webagent.trajectory.verdict_records import EvaluationRecord, EvaluatorRecord

FORMAT = "browser_use"
TOOL = "browser-use"
OWN_JUDGE = EvaluatorRecord(name="browser-use judge", kind="self_judge", version="imported")
"""Asks the agent's own model after the run; the history does not say which one."""

_TYPING = ("input", "input_text", "type")


def _places(tree: Tree, bounds: Bounds) -> Iterator[RunPlace]:
    for history in find_histories(tree):
        yield RunPlace(
            path=history.folder + history.name,
            files=history.files,
            own=(history.folder + history.name,),
            # A history at the top of an upload does not own all that lies beside it.
            beside=[
                name
                for path, name in history.files.items()
                if history.folder or path.startswith(("screenshots/", "blobs/"))
            ],
            file=history.folder + history.name,
            read=partial(_bundle, history),
        )


BROWSER_USE = PlacesReader(FORMAT, "*.json: history of model_output, result, state", _places)


def _bundle(history: HistoryFile, files: RunFiles) -> RunBundle:
    place = history.folder + history.name
    document = mapping(files.read_json(history.name))
    if not isinstance(document.get("history"), list):
        raise unreadable(files, history.name, place, "history", "no list")
    pictures = _take_pictures(files, document)
    raw = [mapping(item) for item in document["history"]]
    goal = task_of(raw)
    files.redactor = Redactor(goal or "")
    _learn_passwords(files.redactor, raw)
    document = files.redactor.json(document)
    original = files.original(history.name, document)
    listed = [mapping(item) for item in document["history"]]
    files.run_id = bounded_name(f"{FORMAT}:{place}")
    steps = Steps(files, history, pictures).read(
        [item for item in listed if not is_last_word(item)]
    )
    task, made_by = _task(files, history, goal), generation(listed)
    ended_at = next((step.ended_at for step in reversed(steps) if step.ended_at), None)
    rest = {key: value for key, value in document.items() if key not in ("history", "usage")}
    if said := last_words(listed):
        rest["last_words"] = said
    return files.assemble(
        task,
        steps,
        place,
        format_version=made_by,
        tool=TOOL,
        originals=(original,),
        evaluations=present(_evaluation(files.run_id, ended_at, listed)),
        agent=AgentRecord(name=TOOL, version=made_by),
        experiment=experiment_above(history.folder.rstrip("/"))
        or bounded_name(files.given_name)
        or None,
        started_at=next((step.started_at for step in steps if step.started_at), None),
        ended_at=ended_at,
        **vars(ending(listed)),
        totals=_totals(files, history, document, steps),
        artefacts=_artefacts(files, history),
        extra=files.free_form(rest, history.name),
    )


def _take_pictures(files: RunFiles, document: dict[str, Any]) -> dict[str, BlobRecord]:
    """Pictures in base64 become blobs; in the document their hash stands instead."""
    found: dict[str, BlobRecord] = {}

    def take(holder: dict[str, Any], key: str, where: str, role: str) -> None:
        words = holder.get(key)
        if not isinstance(words, str) or not words:
            return
        url = words if words.startswith("data:") else f"data:image/png;base64,{words}"
        blob = files.embedded_picture(url, role, where)
        holder[key] = {BLOB_KEY: blob.sha256} if blob else None
        if blob:
            found[blob.sha256] = blob

    for index, item in enumerate(items(document.get("history"))):
        take(mapping(mapping(item).get("state")), "screenshot", f"step {index}", "screenshot")
        for result in items(mapping(item).get("result")):
            for image in items(mapping(result).get("images")):
                take(mapping(image), "data", f"step {index}: images", "messages")
    return found


def _task(files: RunFiles, history: HistoryFile, goal: str | None) -> TaskRecord:
    if goal is not None:
        return task_record(TOOL, task_name_of(goal), goal=files.goal(goal))
    files.note("task", history.name, "this generation does not save what the agent was told")
    folder = history.folder.rstrip("/").rpartition("/")[2] or files.given_name
    return task_record(TOOL, bounded_name(folder or history.name))


def _totals(
    files: RunFiles, history: HistoryFile, document: dict[str, Any], steps: tuple[StepRecord, ...]
) -> Totals:
    usage = mapping(document.get("usage"))
    given = count(usage.get("total_prompt_tokens"), "total_prompt_tokens")
    if not usage:
        given = total(call.input_tokens for step in steps for call in step.llm_calls)
        estimated = "the tool's own estimate of the input"
        why = "the tool does not save its usage" if given is None else estimated
        files.note("tokens", history.name, why)
    return Totals(
        input_tokens=given,
        **counts(
            usage,
            cached_tokens="total_prompt_cached_tokens",
            output_tokens="total_completion_tokens",
            llm_calls="entry_count",
        ),
        **dollars(cost(usage.get("total_cost"), "total_cost")),
        seconds=total(step.seconds for step in steps),
    )


def _artefacts(files: RunFiles, history: HistoryFile) -> tuple[BlobRecord, ...]:
    """Conversations and animations beside the history, as far as they are this run's."""
    found: list[BlobRecord | None] = []
    if not history.folder or history.shares_folder:
        return ()
    for path in sorted(history.files):
        if path == history.name or is_picture(path) or path.startswith("blobs/"):
            continue
        if path.endswith((".txt", ".md", ".log", ".csv")):
            found.append(files.text_file(path, "artefact"))
        elif path.endswith(".gif"):
            found.append(files.file_blob(path, "artefact", "image/gif"))
        else:
            files.drop("file", path, "of no known kind, and may hold secrets")
    return present(*found)


def _learn_passwords(redactor: Redactor, history: list[dict[str, Any]]) -> None:
    """What was typed into password fields."""
    for item in history:
        elements = items(mapping(item.get("state")).get("interacted_element"))
        chosen = actions_of(mapping(item.get("model_output")))
        for action, element in zip(chosen, elements, strict=False):
            attributes = mapping(mapping(element).get("attributes"))
            words = (attributes.get(k) for k in ("type", "name", "id", "autocomplete"))
            if not is_password_field(*(text(word) for word in words)):
                continue
            for name in _TYPING:
                redactor.learn(text(mapping(action.get(name)).get("text")))


def _evaluation(
    run_id: str, ended_at: datetime | None, history: list[dict[str, Any]]
) -> EvaluationRecord | None:
    """The verdict of browser-use's own judge, where it was asked."""
    said = judgement(history)
    if not said:
        return None
    beside = {k: v for k, v in said.items() if k not in ("reasoning", "verdict") and v is not None}
    return EvaluationRecord(
        id=bounded_name(f"{run_id}-judge"),
        run_id=run_id,
        evaluator=OWN_JUDGE,
        verdict=verdict_of(flag(said.get("verdict"))),
        rationale=text(said.get("reasoning")),
        at=ended_at,
        extra={"details": beside} if beside else None,
    )
