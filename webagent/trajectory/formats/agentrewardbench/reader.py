"""Read AgentRewardBench's trajectories with what people and judges said of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.actions import MESSAGE_ACTIONS, message_text
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.files.assembling import (
    model_names,
    present,
    read_packages,
    reward_evaluation,
)
from webagent.trajectory.files.recognition import (
    NO_ANSWERS,
    Answers,
    Recognition,
    guarded,
    unreadable,
)
from webagent.trajectory.files.stubs import same_task
from webagent.trajectory.files.trees import Tree, TreeError, read_file
from webagent.trajectory.formats.agentlab.endings import check_count, ending, reported_totals
from webagent.trajectory.formats.agentlab.folders import RunFiles
from webagent.trajectory.formats.agentlab.observations import browsergym_task, shown_packages
from webagent.trajectory.formats.agentrewardbench.trajectories import (
    FORMAT,
    JsonSteps,
    Key,
    Layout,
    Trajectory,
    find_layout,
    numbered,
    passwords,
    run_folder,
    tell_dropped,
)
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    Annotation,
    label,
    primary_verdict,
    read_annotations,
    written,
)
from webagent.trajectory.formats.agentrewardbench.verdicts_alone import (
    KEEP,
    QUESTION,
    VerdictsAlone,
    judged,
    told_strays,
)
from webagent.trajectory.records import (
    AgentRecord,
    EnvironmentRecord,
    StepRecord,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import (
    EncodingError,
    bounded_name,
    decoded,
)
from webagent.trajectory.values import flag, mapping, text, whole


class AgentRewardBenchReader:
    """Every trajectory is a run; judgments and annotations are found by content."""

    name = FORMAT
    signs = "JSON trajectories with benchmark, agent, goal and steps (AgentRewardBench)"
    knows_what_is_cut = False

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The trajectories, and what else belongs to them."""
        layout = find_layout(tree)
        own = frozenset(trajectory.name for trajectory in layout.trajectories)
        alone = _without_trajectory(layout, _annotations_of(tree, layout, bounds)[0])
        return Recognition(
            runs=len(own),
            runs_if={QUESTION.key: len(alone)} if alone else {},
            # Where there are but verdicts, they are what makes it this format.
            files=own or layout.uses(),
            uses=layout.uses() - own,
            questions=(QUESTION,) if alone else (),
        )

    def read(
        self, tree: Tree, bounds: Bounds, answers: Answers = NO_ANSWERS
    ) -> Iterator[RunBundle | Problem]:
        """What belongs to no trajectory first, then each run in the order of the names."""
        layout = find_layout(tree)
        annotations, problems = _annotations_of(tree, layout, bounds)
        yield from problems
        alone = _without_trajectory(layout, annotations)
        keeps = answers.get(QUESTION.key) == KEEP
        if not keeps:
            yield from told_strays(tree, layout, annotations)
        for trajectory in layout.trajectories:
            run = _Run(tree, trajectory, annotations.get(trajectory.key, []), bounds)
            yield guarded(f"{tree.label}/{trajectory.name}", trajectory.name, run.read)
        for key in alone if keeps else ():
            stub = VerdictsAlone(
                tree, key, layout.strays.get(key, ()), annotations.get(key, []), bounds
            )
            yield guarded(stub.source, stub.source, stub.read)


def _without_trajectory(layout: Layout, annotations: Mapping[Key, list[Annotation]]) -> list[Key]:
    """The runs of which there are but verdicts, in the order of the files."""
    here = {trajectory.key for trajectory in layout.trajectories}
    return [key for key in dict.fromkeys((*annotations, *layout.strays)) if key not in here]


def _annotations_of(
    tree: Tree, layout: Layout, bounds: Bounds
) -> tuple[dict[Key, list[Annotation]], list[Problem]]:
    """The annotations by run, and what of them cannot be read."""
    found: dict[Key, list[Annotation]] = defaultdict(list)
    problems: list[Problem] = []
    for name in layout.annotations:
        try:
            content = decoded(read_file(tree, name, bounds.json_bytes))
        except (TreeError, BoundError, EncodingError) as error:
            problems.append(Problem(tree.label, name, "", str(error)))
        else:
            told = _sorted_by_run(content, found)
            problems += (Problem(tree.label, name, field, why) for field, why in told)
    return found, problems


def _sorted_by_run(content: str, found: dict[Key, list[Annotation]]) -> Iterator[tuple[str, str]]:
    """Put the rows of a file to their runs; field and reason of those that say too little."""
    lacking, unknown = [], []
    for annotation in read_annotations(content):
        row = annotation.row
        if not annotation.is_whole:
            lacking.append(annotation.line)
            continue
        if annotation.success is None:
            unknown.append(annotation.line)
        key = (
            row["benchmark"].strip(),
            row["model_name"].strip(),
            same_task(row["task_id"].strip()),
        )
        found[key].append(annotation)
    if lacking:
        why = f"{len(lacking)} rows lack a name, task or word, the first in line {lacking[0]}"
        yield "row", why
    if unknown:
        why = f"{len(unknown)} rows have another word than is known, first line {unknown[0]}"
        yield "trajectory_success", why


@dataclass(frozen=True, slots=True)
class _Run:
    """One trajectory with what was said of it."""

    tree: Tree
    trajectory: Trajectory
    annotations: list[Annotation]
    bounds: Bounds

    def read(self) -> RunBundle:
        """The run with its steps and verdicts. Raises InputError."""
        trajectory, last = self.trajectory, self.trajectory.name.rpartition("/")[2]
        files = RunFiles(
            self.tree, run_folder(trajectory.name, trajectory.pictures), self.bounds, FORMAT
        )
        document = mapping(files.read_json(last))
        if not isinstance(document.get("steps"), list):
            raise unreadable(files, last, trajectory.name, "steps", "no list")
        document = _without_secrets(files, document)
        listed = numbered(document, self.bounds.steps_per_run)
        files.folder.steps.update({number: f"step {number}" for number in listed})
        tell_dropped(files, listed)
        run_id = files.run_id = bounded_name(f"{FORMAT}:{trajectory.name}")
        summary = mapping(document.get("summary_info"))
        packages = read_packages(text(document.get("package_version")) or "")
        model = text(document.get("model"))
        steps = JsonSteps(files, (model,) if model else (), listed, summary)
        records = steps.read()
        check_count(files, summary, last)
        end = ending(summary, steps.last, bool(listed), "")
        goal = files.goal((text(document.get("goal")) or "").removesuffix("\n"))
        task = browsergym_task(bounded_name(trajectory.task_id), packages, steps.first, goal)
        originals = [files.original(last, document)]
        evaluations = [*judged(self.tree, trajectory.judgments, self.bounds, files, originals)]
        labels = present(*(label(each, run_id) for each in self.annotations))
        if self.annotations:
            words = written(self.annotations)
            originals.append(files.text_blob(words, "source", "annotations.csv", "text/csv"))
        if flag(document.get("valid")) is False:
            files.note("valid", "valid", "the benchmark calls this trajectory not valid")
        config = {k: document[k] for k in ("model_args", "flags") if document.get(k)}
        return files.assemble(
            task,
            records,
            trajectory.name,
            tool="agentlab",
            tool_version=packages.get("agentlab"),
            originals=originals,
            evaluations=(reward_evaluation(run_id, end), *evaluations),
            labels=labels,
            adjudications=present(primary_verdict(labels, run_id)),
            agent=AgentRecord(
                name=bounded_name(text(document.get("agent")) or "unknown"),
                config=files.storable(config) or None,
            ),
            models=model_names([model]),
            experiment=bounded_name(text(document.get("experiment")) or "") or None,
            seed=whole(document.get("seed")),
            **vars(end),
            final_answer=_said(records, "send_msg_to_user"),
            infeasible_claim=_said(records, "report_infeasible"),
            totals=reported_totals(summary, steps.stats),
            environment=EnvironmentRecord(packages=shown_packages(packages)),
        )


def _without_secrets(files: RunFiles, document: dict[str, Any]) -> dict[str, Any]:
    """The document without secrets, and without paths of the machine that made it."""
    files.redactor = Redactor(text(document.get("goal")) or "")
    listed = numbered(document, files.bounds.steps_per_run)
    for password in passwords(listed, files.bounds.text_chars):
        files.redactor.learn(password)
    here = {k: v for k, v in document.items() if k not in ("trajectory_dir", "logs")}
    return mapping(files.redactor.json(here))


def _said(records: tuple[StepRecord, ...], name: str) -> str | None:
    """The last message of that kind to the user."""
    for record in reversed(records):
        for action in reversed(record.actions):
            if action.name == name and name in MESSAGE_ACTIONS:
                return message_text(action)
    return None
