"""Read AgentRewardBench's trajectories with what people and judges said of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webagent.trajectory.actions import message_text
from webagent.trajectory.bundles import UNKNOWN, RunBundle, stub_bundle
from webagent.trajectory.files.assembling import (
    model_names,
    present,
    read_packages,
    reward_evaluation,
)
from webagent.trajectory.files.recognition import (
    Answers,
    Question,
    Recognition,
    guarded,
    outline,
    unreadable,
)
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.agentlab.endings import check_count, ending, reported_totals
from webagent.trajectory.formats.agentlab.folders import RunFiles, RunFolder
from webagent.trajectory.formats.agentlab.stepfiles import browsergym_task, shown_packages
from webagent.trajectory.formats.agentrewardbench.trajectories import (
    FORMAT,
    JsonSteps,
    Key,
    Layout,
    Trajectory,
    annotations_of,
    find_layout,
    numbered,
    passwords,
    run_folder,
    tell_dropped,
    without_trajectory,
)
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    ANNOTATIONS,
    Annotation,
    evaluation,
    is_refused,
    label,
    primary_verdict,
    written,
)
from webagent.trajectory.intake import Bounds, Problem
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    EnvironmentRecord,
    StepRecord,
    StubRecord,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import flag, mapping, text, whole
from webagent.trajectory.verdict_records import EvaluationRecord

KEEP = "keep"
QUESTION = Question(
    key="arb_alone",
    text="What becomes of labels and verdicts whose trajectories are not in the file?",
    choices={KEEP: "kept, as runs without trajectory"},
    unanswered="left out",
)
WHY = "only annotations and judgments were in the file"


class AgentRewardBenchReader:
    """Every trajectory is a run; judgments and annotations are found by content."""

    name = FORMAT
    signs = "*.json: benchmark, agent, goal, steps"

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """The trajectories, and what else belongs to them."""
        layout = find_layout(tree)
        own = frozenset(trajectory.name for trajectory in layout.trajectories)
        alone = without_trajectory(layout, annotations_of(tree, layout, bounds)[0])
        return Recognition(
            runs=len(own),
            runs_if={QUESTION.key: len(alone)} if alone else {},
            # Where there are but verdicts, they are what makes it this format.
            files=own or layout.uses(),
            uses=layout.uses() - own,
            questions=(QUESTION,) if alone else (),
        )

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[RunBundle | Problem]:
        """What belongs to no trajectory first, then each run in the order of the names."""
        layout = find_layout(tree)
        annotations, problems = annotations_of(tree, layout, bounds)
        yield from problems
        if lost := layout.unreadable:
            why = f"{len(lost)} files among the judgments are none"
            yield Problem(tree.label, lost[0], "", why)
        alone = without_trajectory(layout, annotations)
        keeps = answers.get(QUESTION.key) == KEEP
        if not keeps:
            yield from _told_strays(tree, layout, annotations)
        for trajectory in layout.trajectories:
            folder = run_folder(trajectory.name, trajectory.pictures)
            files = RunFiles(tree, folder, bounds, FORMAT)
            source, own = f"{tree.label}/{trajectory.name}", annotations.get(trajectory.key, [])
            yield guarded(source, trajectory.name, _bundle, files, trajectory, own)
        for key in alone if keeps else ():
            strays, own = layout.strays.get(key, ()), annotations.get(key, [])
            source = "/".join((tree.label, *key))
            yield guarded(source, source, _alone, tree, key, strays, own, bounds)


def _told_strays(
    tree: Tree, layout: Layout, annotations: Mapping[Key, Sequence[Annotation]]
) -> Iterator[Problem]:
    """Verdicts of trajectories that are not in the upload, where they are left out."""
    here = {trajectory.key for trajectory in layout.trajectories}
    if lost := sum(len(rows) for key, rows in annotations.items() if key not in here):
        why = f"{lost} rows are of trajectories that are not in the upload"
        yield Problem(tree.label, ", ".join(layout.annotations), "task_id", why)
    if names := [name for names in layout.strays.values() for name in names]:
        why = f"{len(names)} judgments are of trajectories that are not in the upload"
        yield Problem(tree.label, names[0], "task_id", why)


def _bundle(files: RunFiles, trajectory: Trajectory, annotations: list[Annotation]) -> RunBundle:
    """The run with its steps and verdicts. Raises InputError."""
    last = trajectory.name.rpartition("/")[2]
    document = mapping(files.read_json(last))
    if not isinstance(document.get("steps"), list):
        raise unreadable(files, last, trajectory.name, "steps", "no list")
    document = _without_secrets(files, document)
    listed = numbered(document, files.bounds.steps_per_run)
    files.folder.steps.update({number: f"step {number}" for number in listed})
    tell_dropped(files, listed)
    run_id = files.run_id = bounded_name(f"{FORMAT}:{trajectory.name}")
    summary = mapping(document.get("summary_info"))
    packages = read_packages(text(document.get("package_version")) or "")
    model = text(document.get("model"))
    steps = JsonSteps(files, (model,) if model else (), listed, summary)
    records = tuple(steps.read())
    check_count(files, summary, last)
    end = ending(summary, steps.last, bool(listed), "")
    goal = files.goal((text(document.get("goal")) or "").removesuffix("\n"))
    task_id = bounded_name(last.removesuffix(".json"))
    task = browsergym_task(task_id, packages, steps.first, goal)
    originals = [files.original(last, document)]
    said = _said(files, trajectory.judgments, annotations, originals)
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
        evaluations=(reward_evaluation(run_id, end), *said.pop("evaluations")),
        **said,
        agent=AgentRecord(
            name=bounded_name(text(document.get("agent")) or UNKNOWN),
            config=files.storable(config) or None,
        ),
        models=model_names([model]),
        experiment=bounded_name(text(document.get("experiment")) or "") or None,
        seed=whole(document.get("seed"), "seed"),
        **vars(end),
        final_answer=_message(records, "send_msg_to_user"),
        infeasible_claim=_message(records, "report_infeasible"),
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


def _message(records: tuple[StepRecord, ...], name: str) -> str | None:
    """The last message of that kind to the user."""
    actions = (action for record in reversed(records) for action in reversed(record.actions))
    return next((message_text(action) for action in actions if action.name == name), None)


def _said(
    files: RunFiles,
    judgments: Sequence[str],
    annotations: list[Annotation],
    originals: list[BlobRecord],
) -> dict[str, Any]:
    """What judges and people said, as a bundle calls it; where it stands joins the originals."""
    evaluations = tuple(_judged(files, judgments, originals))
    labels = present(*(label(each, files.run_id) for each in annotations))
    if annotations:
        words = written(annotations)
        originals.append(files.text_blob(words, "source", ANNOTATIONS, "text/csv"))
    verdicts = present(primary_verdict(labels))
    return {"evaluations": evaluations, "labels": labels, "adjudications": verdicts}


def _judged(
    files: RunFiles, names: Sequence[str], originals: list[BlobRecord]
) -> Iterator[EvaluationRecord]:
    """The verdicts of a run's judgments, which are kept among its originals."""
    # Refused first: of several by one judge the last counts, and it may have been asked again.
    for name in sorted(names, key=is_refused, reverse=True):
        judge = name.rpartition("/")[0].rpartition("/")[2]
        path = f"judgments/{judge}/{name.rpartition('/')[2]}"
        reader = RunFiles(files.tree, run_folder(name, {}), files.bounds, FORMAT)
        reader.inventory = files.inventory
        content = reader.read_json(name.rpartition("/")[2])
        files.imported += reader.imported
        if content is None:
            continue
        judgment = files.redactor.json(content)
        raw = files.json_blob(judgment, "response", path)
        originals.append(raw.model_copy(update={"role": "source"}))
        yield evaluation(mapping(judgment), files.run_id, raw, name)


def _alone(
    tree: Tree, key: Key, judgments: Sequence[str], annotations: list[Annotation], bounds: Bounds
) -> RunBundle:
    """What was said of one run whose trajectory is not here, as a stub. Raises InputError."""
    benchmark, agent, task = (bounded_name(word) for word in key)
    names = StubRecord(task_set=benchmark, task=task, agent=agent)
    goals = (outline(tree, name).texts.get("goal", "") for name in judgments)
    goal = next(filter(None, goals), "").removesuffix("\n")
    studies = (each.row.get("exp_name", "").strip() for each in annotations)
    experiment = next((bounded_name(name) for name in studies if name), None)
    stub = stub_bundle(names, format=FORMAT, why=WHY, goal=goal, experiment=experiment)
    files = RunFiles(tree, RunFolder(path="/".join(key), name=task), bounds, FORMAT)
    files.redactor, files.run_id = Redactor(goal), stub.run.id
    originals: list[BlobRecord] = []
    said = _said(files, judgments, annotations, originals)
    origin = stub.run.source.model_copy(
        update={"originals": tuple(originals), "imported_files": tuple(files.imported)}
    )
    run = stub.run.model_copy(update={"source": origin})
    bundle = files.bundle(stub.task, run, (), **said)
    gaps = (*stub.run.gaps, *bundle.run.gaps)
    return replace(bundle, run=bundle.run.model_copy(update={"gaps": gaps}))
