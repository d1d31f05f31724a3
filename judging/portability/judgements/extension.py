"""What `runs` calls while it imports and exports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from django.db.models import Q

from judging.models import (
    Evaluation,
    EvaluatorVersion,
    FailureReview,
    Label,
    ReferenceVerdict,
    StudyItem,
)
from judging.models.evaluations import IMPORTED_KEY
from judging.portability.judgements.evaluations import evaluation_record, store_evaluations
from judging.portability.judgements.labels import label_record, store_labels
from judging.portability.judgements.verdicts import adjudication_record, store_adjudications
from judging.portability.study_bundles.services import after_runs, before_runs
from judging.studies.imported import IMPORTED
from runs.models import Run, User
from runs.models.extension import Verdicts
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord, LabelRecord

R = TypeVar("R", EvaluationRecord, LabelRecord, AdjudicationRecord)


class StoredVerdicts:
    """The `runs.models.extension.VerdictStore` of this app."""

    def store(self, run: Run, bundle: RunBundle) -> Sequence[Problem]:
        """Store evaluations, labels and adjudications that are not here yet."""
        if not (bundle.evaluations or bundle.labels or bundle.adjudications):
            return []
        stored = chain(
            store_evaluations(run=run, records=bundle.evaluations),
            store_labels(run=run, records=bundle.labels),
            store_adjudications(run=run, records=bundle.adjudications),
        )
        return [replace(problem, source=bundle.source) for problem in stored]

    def export(self, runs: Sequence[Run]) -> Mapping[UUID, Verdicts]:
        """All evaluations, labels and reference verdicts, in an order of their own making.

        The order follows from what they say, not from when they were stored here.
        """
        ids = [run.pk for run in runs]
        evaluations = _by_run(
            (row.run_id, row.is_current, evaluation_record(row))
            for row in Evaluation.objects.filter(run__in=ids).select_related("evaluator")
        )
        label_rows = (
            Label.objects.filter(item__run__in=ids)
            .select_related("item__study", "annotator", "guideline")
            .prefetch_related("revisions", "ticks__milestone", "item__comments")
        )
        labels = _by_run((row.item.run_id, True, label_record(row)) for row in label_rows)
        verdict_rows = (
            ReferenceVerdict.objects.filter(run__in=ids)
            .select_related("item__study", "decided_by")
            .prefetch_related("item__labels")
        )
        adjudications = _by_run(
            (row.run_id, True, adjudication_record(row)) for row in verdict_rows
        )
        return {
            run_id: Verdicts(
                evaluations=tuple(evaluations[run_id]),
                labels=tuple(labels[run_id]),
                adjudications=tuple(adjudications[run_id]),
            )
            for run_id in ids
        }

    def before_file(self, path: Path, user: User | None) -> None:
        """Store what the runs of a study's bundle rest on."""
        before_runs(path, user)

    def after_file(self, path: Path, label: str, user: User | None) -> Sequence[Problem]:
        """Store the study of a bundle."""
        return list(after_runs(path, label, user))

    def why_kept(self, run: Run) -> str:
        """Who here spoke of the run as it is; empty if nobody did."""
        return why_kept(run)

    def release(self, run: Run) -> Verdicts:
        """What imports said of the run; what was computed here is computed anew."""
        said = self.export([run])[run.pk]
        computed = Evaluation.objects.filter(run=run).exclude(record__has_key=IMPORTED_KEY)
        here = {str(pk) for pk in computed.values_list("pk", flat=True)}
        forget_imported(run)
        kept = tuple(record for record in said.evaluations if record.id not in here)
        return replace(said, evaluations=kept)


def _by_run(rows: Iterable[tuple[UUID, bool, R]]) -> dict[UUID, list[R]]:
    """Records of each run; of one evaluator's the current one last, as it wins on import."""
    found: dict[UUID, list[R]] = defaultdict(list)
    for run_id, _, record in sorted(rows, key=lambda row: _order(row[2], row[1])):
        found[run_id].append(record)
    return found


def _order(
    record: EvaluationRecord | LabelRecord | AdjudicationRecord, is_current: bool
) -> tuple[str, bool, str, str]:
    group = (
        f"{record.evaluator.name} {record.evaluator.version} {record.evaluator.config_hash}"
        if isinstance(record, EvaluationRecord)
        else record.study or ""
    )
    return group, is_current, record.at.isoformat() if record.at else "", record.id


Kind = EvaluatorVersion.Kind
ASKING = (Kind.JUDGE, Kind.SELF_JUDGE, Kind.PIPELINE, Kind.MILESTONES)
"""Kinds that ask a model: what they said was paid for, and of what they saw."""


def why_kept(run: Run) -> str:
    """Who here spoke of the run as it is; empty if nobody did."""
    items = StudyItem.objects.filter(run=run).exclude(study__run_filter__has_key=IMPORTED)
    if item := items.select_related("study").first():
        return f"it is in the study {item.study.name}"
    with_model = Q(evaluator__kind=Kind.MODES, evaluator__config__has_key="model")
    asked = Evaluation.objects.filter(Q(evaluator__kind__in=ASKING) | with_model, run=run)
    here = asked.exclude(record__has_key=IMPORTED_KEY).select_related("evaluator")
    if evaluation := here.first():
        return f"{evaluation.evaluator.name} was asked about it here"
    if FailureReview.objects.filter(run=run).exists():
        return "its failure was reviewed here"
    return ""


def forget_imported(run: Run) -> None:
    """Delete what imports put into studies of their own; evaluations go with the run."""
    ReferenceVerdict.objects.filter(run=run).delete()
    StudyItem.objects.filter(run=run, study__run_filter__has_key=IMPORTED).delete()
