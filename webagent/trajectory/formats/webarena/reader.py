"""Read WebArena's own result folders: one run per render file, with its steps as records."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from webagent.trajectory.actions import typed_password
from webagent.trajectory.bundles import RunBundle, task_record
from webagent.trajectory.files.assembling import (
    URL_CHARS,
    RunFiles,
    model_names,
    reward_evaluation,
    seconds_between,
)
from webagent.trajectory.files.originals import kept_picture
from webagent.trajectory.files.recognition import Answers, Recognition, guarded
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.playwright.reader import kept_trace
from webagent.trajectory.formats.webarena.folders import (
    SETTINGS,
    Logged,
    ResultFolder,
    ending,
    find_result_folders,
)
from webagent.trajectory.formats.webarena.render import (
    RenderedStep,
    early_stop,
    read_action,
    read_render,
    stop_answer,
    tab_titles,
)
from webagent.trajectory.intake import Bounds, InputError, Problem
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    BlobRecord,
    EnvironmentRecord,
    Observation,
    StepRecord,
    TabRecord,
    TaskRecord,
    Totals,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import iso_moment, items, mapping, not_none, text, whole

FORMAT = "webarena"
NOT_POSSIBLE = "N/A"
"""What the benchmark's prompts tell an agent to answer where a task cannot be done."""

_START_SEPARATOR = " |AND| "
_OWN_COLUMNS = frozenset(("task_id", "sites", "intent", "intent_template", "start_url", "eval"))
_VISUAL_SITES = frozenset(("classifieds",))
_PICTURE = re.compile(r"data:image/[a-z]+;base64,([A-Za-z0-9+/=]+)")


class WebArenaReader:
    """Every `render_<id>.html` of WebArena's runner is a run; logs and traces lie beside it."""

    name = FORMAT
    signs = "render_<id>.html"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The render files, and what else belongs to their folders."""
        folders = find_result_folders(tree)
        renders = {name for folder in folders for name in folder.renders.values()}
        beside = {name for folder in folders for name in folder.files.values()}
        return Recognition(
            runs=len(renders), files=frozenset(renders), uses=frozenset(beside - renders)
        )

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """Each run, in the order of the files' names."""
        for folder in find_result_folders(tree):
            logged, unread = folder.logged(tree, bounds)
            place = f"{tree.label}/{folder.place('')}".rstrip("/")
            yield from (Problem(place, path, "log", why) for path, why in unread.items())
            settings = folder.document(tree, SETTINGS, bounds)
            for path in folder.renders:
                files = RunFiles(tree, folder.place(path), folder.files, bounds, FORMAT)
                yield guarded(files.source, path, _bundle, files, folder, path, logged, settings)


def _bundle(
    files: RunFiles,
    folder: ResultFolder,
    render: str,
    logs: dict[str, Logged],
    settings: dict[str, Any],
) -> RunBundle:
    """The run of one render file with its steps. Raises InputError."""
    content = files.read_text(render)
    try:
        rendered = read_render(content, files.bounds.steps_per_run)
    except ValueError as error:
        raise InputError("task", str(error), file=render) from error
    task = _task(files, folder, render, rendered.config)
    logged = logs.get(task.external_id)
    if logged is None:
        files.note("outcome", render, "no log says whether the task passed")
    files.run_id = bounded_name(folder.place(render)) or task.external_id
    steps = tuple(_step_records(files, rendered.steps, render, folder.place("")))
    end = ending(steps, logged)
    # Without its pictures, which are blobs: as text, never as a page.
    words = files.redactor.text(_PICTURE.sub(_by_hash, content))
    original = files.text_blob(words, "source", render[: files.bounds.path_chars], "text/plain")
    answer = stop_answer(steps[-1].actions[-1]) if steps and steps[-1].actions else None
    log = "\n".join(logged.lines) if logged else ""
    # Without its secrets, if one was saved.
    path = f"traces/{task.external_id}.zip"
    trace = kept_trace(files, path, is_zip=True) if path in files.files else None
    has_verdict = logged is not None and (logged.verdict or logged.error)
    return files.assemble(
        task,
        steps,
        folder.place(render),
        tool="webarena",
        evaluations=(reward_evaluation(files.run_id, end),) if has_verdict else (),
        agent=AgentRecord(name=_agent_name(settings), config=files.clean_json(settings) or None),
        models=model_names([text(settings.get("model"))]),
        experiment=bounded_name(folder.name) or None,
        **vars(end),
        final_answer=answer,
        infeasible_claim=answer if answer and answer.strip() == NOT_POSSIBLE else None,
        totals=Totals(seconds=_seconds(logged)),
        environment=EnvironmentRecord(
            viewport_width=whole(settings.get("viewport_width")),
            viewport_height=whole(settings.get("viewport_height")),
        ),
        max_steps=whole(settings.get("max_steps")),
        logs=(files.text_blob(files.clean(log) or "", "log", "log.txt", "text/plain"),)
        if log
        else (),
        extra={"logged": {"started": logged.started, "ended": logged.ended}}
        if logged and logged.started
        else None,
        originals=(original, *_configs(files, folder.tasks.get(task.external_id)), trace),
    )


def _task(files: RunFiles, folder: ResultFolder, render: str, config: dict[str, Any]) -> TaskRecord:
    external_id = bounded_name(str(config["task_id"]))
    given = folder.document(files.tree, folder.tasks.get(external_id), files.bounds)
    if given and text(given.get("intent")) == text(config.get("intent")):
        config = given
    intent = text(config.get("intent")) or ""
    # What the goal itself says is told to everybody, so it is no secret.
    files.redactor = Redactor(intent)
    sites = tuple(bounded_name(str(site)) for site in items(config.get("sites")))
    name = "visualwebarena" if _VISUAL_SITES & set(sites) or config.get("image") else "webarena"
    if config.get("image"):
        files.note("goal", render, "its picture is named only: links are not fetched")
    starts = (text(config.get("start_url")) or "").split(_START_SEPARATOR)
    extra = {key: value for key, value in config.items() if key not in _OWN_COLUMNS}
    return task_record(
        name,
        external_id,
        sites=sites,
        goal=files.goal(intent),
        start_urls=tuple(url for s in starts if (url := files.clean(s, URL_CHARS))),
        intent_template=text(config.get("intent_template")),
        eval=files.clean_json(mapping(config.get("eval"))) or None,
        extra=files.clean_json(extra) or None,
    )


def _configs(files: RunFiles, task: str | None) -> Iterator[BlobRecord]:
    """The runner's arguments and the task's own file."""
    for path in (SETTINGS, task):
        if path is not None and path in files.files:
            yield files.original(path, files.clean_json(files.read_json(path)))


def _by_hash(picture: re.Match[str]) -> str:
    """The hash in place of a picture."""
    try:
        content = base64.b64decode(picture[1])
    except binascii.Error:
        return "data:image/png;base64,"
    return f"data:image/png;kept,{hashlib.sha256(content).hexdigest()}"


def _agent_name(settings: dict[str, Any]) -> str:
    """The prompt that made the agent, or the kind of agent."""
    prompt = (text(settings.get("instruction_path")) or "").replace("\\", "/")
    name = prompt.rpartition("/")[2].removesuffix(".json")
    return bounded_name(name or text(settings.get("agent_type")) or "webarena")


def _seconds(logged: Logged | None) -> float | None:
    """From the first line about the task to the last."""
    if logged is None or not logged.started or not logged.ended:
        return None
    # The zone is not told, and does not matter for the difference.
    first, last = (iso_moment(f"{stamp}Z") for stamp in (logged.started, logged.ended))
    seconds = seconds_between(first, last)
    return None if seconds is None else max(seconds, 0.0)


def _step_records(
    files: RunFiles, steps: Sequence[RenderedStep], where: str, folder: str
) -> Iterator[StepRecord]:
    """Each step with what was seen before it, thought and done.

    Args:
        folder: of the render file, where pictures lie that were kept apart from it.
    """
    actions = [read_action(step.prediction, step.parsed) for step in steps]
    for secret in (word for action in actions if action for word in typed_password(action)):
        files.redactor.learn(secret)
    has_pictures = any(step.picture or step.kept for step in steps)
    if steps and not has_pictures:
        files.note("screenshot", where, "the runner was not told to render screenshots")
    for index, (step, action) in enumerate(zip(steps, actions, strict=True)):
        place = f"{where}#{index}"
        if not step.whole:
            files.note("step", place, "cut short by the page's own text, or not written to its end")
        elif has_pictures and not (step.picture or step.kept):
            files.inventory.miss("screenshot", place)
        picture = kept_picture(files, folder, step.kept) if step.kept else None
        if step.picture:
            data = f"data:image/png;base64,{step.picture}"
            picture = files.embedded_picture(data, "screenshot", place)
        seen = _observation(files, step, place).model_copy(update={"screenshot": picture})
        yield _step(files, step, action, index, seen)


def _step(
    files: RunFiles, step: RenderedStep, action: ActionRecord | None, index: int, seen: Observation
) -> StepRecord:
    extra = {
        "parsed_action": files.clean(step.parsed),
        "action_object": files.clean(step.action_object),
        "by_harness": early_stop(action) is not None or None,
    }
    return StepRecord(
        run_id=files.run_id,
        index=index,
        source_index=index,
        before=seen,
        thought=files.clean(step.prediction),
        actions=(_cleaned(files, action),) if action else (),
        extra=not_none(extra) or None,
    )


def _cleaned(files: RunFiles, action: ActionRecord) -> ActionRecord:
    args = tuple(files.clean_json(arg) for arg in action.args)
    return action.model_copy(update={"raw": files.clean_json(action.raw), "args": args})


def _observation(files: RunFiles, step: RenderedStep, place: str) -> Observation:
    titles = tab_titles(step.observation)
    url = files.clean(step.url, URL_CHARS)
    current = next((title for title, active in titles if active), None)
    tree = files.clean(step.observation, files.bounds.blob_bytes)
    return Observation(
        url=url,
        title=files.clean(current, URL_CHARS),
        # Only the current tab's address is known.
        tabs=tuple(
            TabRecord(url=url or "", title=files.clean(title, URL_CHARS), active=active)
            for title, active in titles
            if active
        ),
        a11y_tree=files.text_blob(tree, "a11y_tree", f"{place}/tree.txt", "text/plain")
        if tree
        else None,
        extra={"tabs": [files.clean(title, URL_CHARS) for title, _ in titles]}
        if len(titles) > 1
        else None,
    )
