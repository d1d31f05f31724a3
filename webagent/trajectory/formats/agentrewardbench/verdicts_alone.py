"""Annotations and judgments of trajectories that are not in the upload: told, or kept as stubs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.files.recognition import Question, outline
from webagent.trajectory.files.stubs import stub_bundle
from webagent.trajectory.files.trees import Tree
from webagent.trajectory.formats.agentlab.folders import RunFiles, RunFolder
from webagent.trajectory.formats.agentrewardbench.trajectories import (
    FORMAT,
    Key,
    Layout,
    run_folder,
)
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    Annotation,
    evaluation,
    is_refused,
    label,
    primary_verdict,
    written,
)
from webagent.trajectory.records import BlobRecord, StubRecord
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import mapping
from webagent.trajectory.verdict_records import EvaluationRecord

KEEP = "keep"
QUESTION = Question(
    key="arb_alone",
    text="What becomes of labels and verdicts whose trajectories are not in the file?",
    choices={KEEP: "kept, as runs without trajectory"},
    unanswered="left out",
)
WHY = "only annotations and judgments were in the file"


def told_strays(
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


def judged(
    tree: Tree,
    names: Sequence[str],
    bounds: Bounds,
    files: RunFiles,
    originals: list[BlobRecord],
) -> Iterator[EvaluationRecord]:
    """The verdicts of a run's judgments, which are kept among its originals."""
    # Refused first: of several by one judge the last counts, and it may have been asked again.
    for name in sorted(names, key=is_refused, reverse=True):
        judge = name.rpartition("/")[0].rpartition("/")[2]
        path = f"judgments/{judge}/{name.rpartition('/')[2]}"
        reader = RunFiles(tree, run_folder(name, {}), bounds, FORMAT)
        reader.inventory = files.inventory
        content = reader.read_json(name.rpartition("/")[2])
        files.imported += reader.imported
        if content is None:
            continue
        judgment = files.redactor.json(content)
        raw = files.json_blob(judgment, "response", path)
        originals.append(raw.model_copy(update={"role": "source"}))
        yield evaluation(mapping(judgment), files.run_id, raw, name)


@dataclass(frozen=True, slots=True)
class VerdictsAlone:
    """What was said of one run whose trajectory is not here."""

    tree: Tree
    key: Key
    judgments: tuple[str, ...]
    annotations: list[Annotation]
    bounds: Bounds

    @property
    def source(self) -> str:
        """Where it stands, for reports."""
        return "/".join((self.tree.label, *self.key))

    def read(self) -> RunBundle:
        """A stub with the verdicts. Raises InputError."""
        benchmark, agent, task = (bounded_name(word) for word in self.key)
        names = StubRecord(task_set=benchmark, task=task, agent=agent)
        goal = self._goal().removesuffix("\n")
        stub = stub_bundle(names, format=FORMAT, why=WHY, goal=goal, experiment=self._experiment())
        run_id = stub.run.id
        files = RunFiles(
            self.tree, RunFolder(path="/".join(self.key), name=task), self.bounds, FORMAT
        )
        files.redactor, files.run_id = Redactor(goal), run_id
        originals: list[BlobRecord] = []
        evaluations = (*judged(self.tree, self.judgments, self.bounds, files, originals),)
        labels = tuple(found for each in self.annotations if (found := label(each, run_id)))
        if self.annotations:
            words = written(self.annotations)
            originals.append(files.text_blob(words, "source", "annotations.csv", "text/csv"))
        origin = stub.run.source.model_copy(
            update={"originals": tuple(originals), "imported_files": tuple(files.imported)}
        )
        verdict = primary_verdict(labels, run_id)
        run = stub.run.model_copy(update={"source": origin})
        verdicts = (verdict,) if verdict else ()
        bundle = files.bundle(stub.task, run, (), evaluations, labels, verdicts)
        gaps = (*stub.run.gaps, *bundle.run.gaps)
        return replace(bundle, run=bundle.run.model_copy(update={"gaps": gaps}))

    def _goal(self) -> str:
        told = (outline(self.tree, name).texts.get("goal", "") for name in self.judgments)
        return next((goal for goal in told if goal), "")

    def _experiment(self) -> str | None:
        told = (each.row.get("exp_name", "").strip() for each in self.annotations)
        return next((bounded_name(name) for name in told if name), None)
