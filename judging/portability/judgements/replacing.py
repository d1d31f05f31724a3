"""Runs that are imported anew: which may not be, and what goes along to those that are."""

from __future__ import annotations

from django.db.models import Q

from judging.models import Evaluation, EvaluatorVersion, FailureReview, ReferenceVerdict, StudyItem
from judging.models.evaluations import IMPORTED_KEY
from judging.studies.imported import IMPORTED
from runs.models import Run

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
