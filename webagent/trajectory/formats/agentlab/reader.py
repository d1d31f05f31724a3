"""Read AgentLab's and BrowserGym's result directories, run by run."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.assembling import (
    VIDEOS,
    experiment_above,
    present,
    read_packages,
    reward_evaluation,
    seen_backwards,
)
from webagent.trajectory.files.pickle_reader import PickleError, PickleReader
from webagent.trajectory.files.recognition import Answers, Recognition, guarded
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.agentlab.endings import (
    check_count,
    claimed_infeasible,
    ending,
    reported_totals,
    said_to_user,
)
from webagent.trajectory.formats.agentlab.folders import (
    EXP_ARGS,
    GOAL,
    LOG,
    PACKAGES,
    SUMMARY,
    ExpArgs,
    Place,
    RunFiles,
    RunFolder,
    exp_args_from_name,
    find_run_folders,
    places,
    read_exp_args,
    without_secrets,
)
from webagent.trajectory.formats.agentlab.stepfiles import (
    browsergym_task,
    goal_from_observation,
    goal_parts,
    shown_packages,
)
from webagent.trajectory.formats.agentlab.steps import Steps
from webagent.trajectory.intake import Bounds, Problem, Rejection
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EnvironmentRecord,
    GoalPart,
    StepRecord,
    TextPart,
)
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import mapping, moment

_OWN_FILES = frozenset((EXP_ARGS, GOAL, LOG))
_MEDIA_TYPES = {".json": "application/json"} | dict.fromkeys((".txt", ".csv", ".md"), "text/plain")


class AgentLabReader:
    """Every folder with an `exp_args.pkl` is a run, at any depth."""

    name = "agentlab"
    signs = "exp_args.pkl"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The run folders, with all that is in them."""
        folders = find_run_folders(tree)
        files = (name for folder in folders for name in folder.files.values())
        return Recognition(runs=len(folders), files=frozenset(files))

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """Each run, the earlier attempts of one before the later."""
        folders = find_run_folders(tree)
        with PickleReader(bounds) as pickles:
            runs = [
                RunInFolder(RunFiles(tree, folder, bounds, self.name), pickles)
                for folder in folders
            ]
            waiting = dict(enumerate(runs))
            order = places([(run.folder, run.exp_args) for run in runs])
            del runs
            for index, place in order:
                # Taken out, so that a run's blobs go when nobody holds its bundle any more.
                yield waiting.pop(index).read(place)


class RunInFolder:
    """One run folder. The settings are read at once, the rest when its turn comes."""

    def __init__(self, files: RunFiles, pickles: PickleReader) -> None:
        self._files = files
        self._pickles = pickles
        self._settings_json: Any = None
        self.folder: RunFolder = files.folder
        self.exp_args = self._settings()

    def read(self, place: Place) -> RunBundle | Rejection:
        """The run with its steps, or why it cannot be taken."""
        files, source = self._files, self._files.source
        if not self.exp_args.readable and not self.folder.steps:
            return Rejection(source, EXP_ARGS, "exp_args", "not readable, and there is no step")
        if (last := max(self.folder.steps, default=0)) >= files.bounds.steps_per_run:
            reason = f"step {last}: more than {files.bounds.steps_per_run} steps"
            return Rejection(source, self.folder.steps[last], "step", reason)
        return guarded(source, self.folder.name, self._bundle, place)

    def _settings(self) -> ExpArgs:
        content = self._files.read(EXP_ARGS, self._files.bounds.pickle_bytes)
        if content is not None:
            try:
                pickled = self._pickles.read(content)
            except PickleError as error:
                self._files.note("settings", EXP_ARGS, str(error))
            else:
                self._files.check_pickle(pickled, EXP_ARGS)
                exp_args = read_exp_args(pickled.value)
                self._settings_json = pickled.value
                if exp_args.readable:
                    return exp_args
                self._files.note("settings", EXP_ARGS, "holds no settings of a run")
        return exp_args_from_name(self.folder.name, self._files.read_text(LOG))

    def _bundle(self, place: Place) -> RunBundle:
        files, exp = self._files, self.exp_args
        packages = read_packages(files.read_text(PACKAGES))
        summary = self._summary()
        goal = self._goal_file()
        files.redactor.public = "\n".join(p.text for p in goal if isinstance(p, TextPart))
        files.takes_pictures, files.run_id = exp.save_screenshot, place.id
        steps = Steps(files, self._pickles, exp.models)
        records = tuple(steps.read())
        check_count(files, summary, SUMMARY)
        log_text = files.redactor.apart().text(files.read_text(LOG))
        started = bool(self.folder.steps or log_text)
        end = ending(summary, steps.last, started, log_text)
        goal = goal or goal_from_observation(files, steps.first)
        task = browsergym_task(bounded_name(exp.task_name), packages, steps.first, goal)
        chat = next((seen.chat for seen in seen_backwards(records) if seen.chat), ())
        answers = said_to_user(chat)
        kept = self._kept_files()
        last = steps.last
        loop, (width, height) = exp.loop or "", exp.viewport or (None, None)
        tool = "agentlab" if loop.startswith("agentlab") else "browsergym-experiments"
        # A picture alone is no original: nothing can be read again from it.
        files.spoilt.clear()
        return files.assemble(
            task,
            records,
            self.folder.path or self.folder.name,
            format_version=loop,
            tool=tool if loop else None,
            tool_version=packages.get(tool) if loop else None,
            evaluations=(reward_evaluation(place.id, end),),
            **{key: value for key, value in vars(place).items() if key != "id"},
            agent=AgentRecord(
                name=bounded_name(exp.agent_name), config=files.storable(exp.agent_config)
            ),
            models=exp.models,
            experiment=experiment_above(self.folder.path, files.given_name),
            seed=exp.seed,
            started_at=_started(steps, records),
            ended_at=next(
                (at for r in reversed(records) if (at := r.ended_at or r.started_at)), None
            ),
            **vars(end),
            final_answer=answers[-1] if answers else None,
            infeasible_claim=claimed_infeasible(chat),
            totals=reported_totals(summary, steps.stats),
            environment=EnvironmentRecord(
                viewport_width=width, viewport_height=height, packages=shown_packages(packages)
            ),
            max_steps=exp.max_steps,
            **kept,
            # What it thought when it returned no action: no step holds it.
            extra=files.free_form(
                {"gave_up": {"thought": last.thought, "metrics": last.stats}}, "last step"
            )
            if last and last.gave_up
            else None,
        )

    def _summary(self) -> dict[str, Any]:
        if SUMMARY not in self.folder.files:
            if self.folder.steps:
                self._files.note("summary", SUMMARY, "missing")
            return {}
        content = self._files.read_text(SUMMARY)
        try:
            read = json.loads(content) if content.strip() else {}
            self._files.check_numbers(read, SUMMARY)
            summary = mapping(storable_json(read, self._files.bounds.text_chars))
            summary = mapping(self._files.redactor.json(summary))
        except (ValueError, RecursionError):
            summary = {}
        if not summary:
            self._files.note("summary", SUMMARY, "empty or not readable")
        return summary

    def _goal_file(self) -> tuple[GoalPart, ...]:
        """The goal as its own file has it; nothing where that is missing or not readable."""
        if GOAL in self.folder.files:
            content = self._files.read(GOAL, self._files.bounds.pickle_bytes)
            try:
                pickled = self._pickles.read(content or b"")
                self._files.check_pickle(pickled, GOAL)
                if parts := goal_parts(self._files, pickled.value, GOAL):
                    return parts
                self._files.inventory.miss("goal", GOAL, "holds no goal")
            except PickleError as error:
                self._files.inventory.miss("goal", GOAL, str(error))
        return ()

    def _kept_files(self) -> dict[str, Any]:
        """Artefacts, logs and videos of the run: whatever was not understood to the last bit."""
        files = self._files
        artefacts: list[BlobRecord | None] = []
        videos: list[BlobRecord | None] = []
        if self._settings_json is not None:
            if without_secrets(self._settings_json) != self._settings_json:
                files.note("secret", EXP_ARGS, "text under keys such as api_key was left out")
            settings = files.redactor.json(self._settings_json)
            artefacts.append(files.json_blob(settings, "artefact", "exp_args.json"))
        for path in self.folder.rest():
            ending_ = "." + path.rpartition(".")[2].lower()
            if path in _OWN_FILES or path.endswith((".pkl", ".pkl.gz")):
                continue
            if ending_ in VIDEOS:
                videos.append(files.file_blob(path, "video", VIDEOS[ending_]))
            else:
                media_type = _MEDIA_TYPES.get(ending_, "application/octet-stream")
                artefacts.append(files.file_blob(path, "artefact", media_type))
        log = files.file_blob(LOG, "log", "text/plain") if LOG in self.folder.files else None
        kept = {"artefacts": artefacts, "logs": [log], "videos": videos}
        return {name: present(*blobs) for name, blobs in kept.items()}


def _started(steps: Steps, records: tuple[StepRecord, ...]) -> datetime | None:
    if steps.first is not None and steps.first.number == 0:
        profiled = moment(steps.first.profiling.get("env_start"))
        if profiled is not None:
            return profiled
    return next((record.started_at for record in records if record.started_at), None)
