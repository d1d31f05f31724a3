"""What `runs` calls while it imports and exports."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
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
from judging.portability.judgements.labels import (
    KnownLabels,
    label_records,
    referred_labels,
    store_label,
)
from judging.portability.judgements.verdicts import (
    KnownEvaluations,
    adjudication_record,
    evaluation_record,
    settle,
    store_adjudication,
    store_evaluation,
)
from judging.portability.study_bundles.reading import holds_bundle
from judging.portability.study_bundles.services import after_runs, before_runs
from judging.studies.imported import IMPORTED, KEPT_HERE, Places, kept_here, study_name
from runs.models import Run, User
from runs.models.extension import Verdicts
from webagent.trajectory.bundles import RunBundle, place_of
from webagent.trajectory.intake import InputError, Problem
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord, LabelRecord

R = TypeVar("R", EvaluationRecord, LabelRecord, AdjudicationRecord)

Kind = EvaluatorVersion.Kind
ASKING = (Kind.JUDGE, Kind.SELF_JUDGE, Kind.PIPELINE, Kind.MILESTONES)
"""Kinds that ask a model: what they said was paid for, and of what they saw."""


class StoredVerdicts:
    """The `runs.models.extension.VerdictStore` of this app."""

    def store(self, run: Run, bundle: RunBundle) -> Sequence[Problem]:
        """Store evaluations, labels and adjudications that are not here yet."""
        if not (bundle.evaluations or bundle.labels or bundle.adjudications):
            return []
        places, labels, evaluations = Places(), KnownLabels(), KnownEvaluations()
        settled = frozenset(evaluations.of(run).settled)
        judge = partial(store_evaluation, run=run, known=evaluations, settled=settled)
        label = partial(store_label, run=run, places=places, known=labels)
        adjudicate = partial(store_adjudication, run=run, places=places)
        problems = [
            *_stored(bundle, bundle.evaluations, judge),
            *_stored(bundle, bundle.labels, label),
        ]
        places.count()
        places.forget(run)
        problems += _stored(bundle, bundle.adjudications, adjudicate)
        settle(run)
        return problems

    def refused(self, bundle: RunBundle) -> Sequence[Problem]:
        """Labels and adjudications of studies that are kept here."""
        said: list[LabelRecord | AdjudicationRecord] = [*bundle.labels, *bundle.adjudications]
        kept = kept_here(each.study for each in said) if said else ()
        return [
            Problem(bundle.source, place_of(each), "study", KEPT_HERE)
            for each in said
            if study_name(each.study) in kept
        ]

    def completed(self, run: Run, bundle: RunBundle) -> Sequence[Problem]:
        """Tick the milestones of the run's task anew; tell of labels that name other steps."""
        return list(referred_labels(run, bundle.source))

    def export(self, runs: Sequence[Run]) -> Mapping[UUID, Verdicts]:
        """All evaluations, labels and reference verdicts, in an order of their own making.

        The order follows from what they say, not from when they were stored here.
        """
        ids = [run.pk for run in runs]
        evaluations = _by_run(
            (row.run_id, row.is_current, evaluation_record(row), None)
            for row in Evaluation.objects.filter(run__in=ids).select_related("evaluator")
        )
        labels = _by_run(
            (label.run, True, record, label.submitted_at)
            for label, record in label_records(Label.objects.filter(item__run__in=ids))
        )
        verdict_rows = (
            ReferenceVerdict.objects.filter(run__in=ids)
            .select_related("item__study", "decided_by")
            .prefetch_related("item__labels")
        )
        adjudications = _by_run(
            (row.run_id, True, adjudication_record(row), None) for row in verdict_rows
        )
        return {
            run_id: Verdicts(
                evaluations=tuple(evaluations[run_id]),
                labels=tuple(labels[run_id]),
                adjudications=tuple(adjudications[run_id]),
            )
            for run_id in ids
        }

    def holds_study(self, path: Path) -> bool:
        """Whether the file is a study's bundle."""
        return holds_bundle(path)

    def before_file(self, path: Path, user: User | None) -> None:
        """Store what the runs of a study's bundle rest on."""
        before_runs(path, user)

    def after_file(self, path: Path, label: str, user: User | None) -> Sequence[Problem]:
        """Store the study of a bundle."""
        return list(after_runs(path, label, user))

    def why_kept(self, run: Run) -> str:
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

    def release(self, run: Run) -> Verdicts:
        """What imports said of the run; what was computed here is computed anew."""
        said = self.export([run])[run.pk]
        computed = Evaluation.objects.filter(run=run).exclude(record__has_key=IMPORTED_KEY)
        here = {str(pk) for pk in computed.values_list("pk", flat=True)}
        # Evaluations go with the run.
        ReferenceVerdict.objects.filter(run=run).delete()
        StudyItem.objects.filter(run=run, study__run_filter__has_key=IMPORTED).delete()
        kept = tuple(record for record in said.evaluations if record.id not in here)
        return replace(said, evaluations=kept)


def _stored(
    bundle: RunBundle, records: Iterable[R], store: Callable[..., object]
) -> Iterator[Problem]:
    """Store each of the records; yields those that cannot be."""
    for record in records:
        try:
            store(record=record)
        except InputError as error:
            yield error.problem(bundle.source, place_of(record))


def _by_run(rows: Iterable[tuple[UUID, bool, R, datetime | None]]) -> dict[UUID, list[R]]:
    """Records of each run; of one evaluator's the current one last, as it wins on import.

    Labels stand in the order in which they were given, or stood in their file.
    """
    found: dict[UUID, list[R]] = defaultdict(list)
    for run_id, _, record, _at in sorted(rows, key=lambda row: _order(*row[1:])):
        found[run_id].append(record)
    return found


def _order(
    is_current: bool,
    record: EvaluationRecord | LabelRecord | AdjudicationRecord,
    given_at: datetime | None,
) -> tuple[str, bool, str, str]:
    group = (
        f"{record.evaluator.name} {record.evaluator.version} {record.evaluator.config_hash}"
        if isinstance(record, EvaluationRecord)
        else record.study or ""
    )
    at = given_at or record.at
    return group, is_current, at.isoformat() if at else "", record.id
