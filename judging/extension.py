"""What judging adds to runs; registered in `judging.apps`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_tables2
from django.db.models import (
    Case,
    CharField,
    Exists,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.verdict_sources import of_success
from judging.evaluators.failure_modes import MODE_EVALUATORS
from judging.evaluators.registry import REGISTRY
from judging.models import (
    Evaluation,
    FailureCauseTag,
    FailureReview,
    Label,
    ReferenceVerdict,
    Study,
    StudyItem,
)
from judging.portability.judgements.extension import StoredVerdicts
from judging.studies.access import AUDIT, EVALUATE
from judging.studies.blinding import StudyPolicy, items_with_open_labels, under_judgement
from judging.studies.integrity import invariants
from judging.studies.protocols import DEFAULT_CAUSES, cause_choices
from runs.interface.filters import WordsFilter
from runs.interface.words import verdict
from runs.models import Run, User
from runs.models.extension import Extension, Reason, RunVerdicts
from runs.models.hooks import LinkedPage
from runs.viewer.run_list.pages import AGE_ELSEWHERE

if TYPE_CHECKING:
    from django_filters import Filter

    from runs.interface.filters import Choices
    from runs.models.runs.queries import RunQuerySet


MOST_STUDIES = 300
"""Studies whose causes of failure rules may name in words."""
DECIDED = (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED)


class RerunFacts:
    """The judgements behind `runs.models.extension.Judgements`."""

    def of(self, run_ids: Iterable[UUID], user: User | None) -> Mapping[UUID, RunVerdicts]:
        """Verdicts and marked causes by run. Runs of which nothing is said are missing."""
        ids = list(run_ids)
        references = _references(ids)
        evaluators = _evaluations(ids)
        causes = _causes(ids, user)
        return {
            run_id: RunVerdicts(
                reference=references.get(run_id),
                evaluators=evaluators.get(run_id, {}),
                causes=frozenset(causes.get(run_id, ())),
            )
            for run_id in {*references, *evaluators, *causes}
        }

    def may_read(self, user: User) -> bool:
        """Whoever reads audits."""
        return user.has_perm(AUDIT)

    def evaluators(self) -> list[tuple[str, str]]:
        """Predefined ones, and those whose evaluations are here."""
        stored = of_success().order_by("name").values_list("name", flat=True)
        known = [name for name in REGISTRY if name not in MODE_EVALUATORS]
        return [(name, name) for name in dict.fromkeys([*known, *stored])]

    def causes(self) -> list[tuple[str, str]]:
        """The built-in causes, and those that the newest studies name beside them."""
        builtin = [{"key": key, "name": name} for key, name in DEFAULT_CAUSES.items()]
        known = dict(cause_choices(builtin))
        newest = Study.objects.order_by("-created_at", "-pk")[:MOST_STUDIES]
        for taxonomy in newest.values_list("taxonomy", flat=True):
            known = dict(cause_choices(taxonomy)) | known
        return sorted(known.items(), key=lambda choice: choice[0] not in DEFAULT_CAUSES)

    def studies(self, user: User) -> QuerySet[Study]:
        """Those on the page of studies."""
        return Study.objects.listed_for(user).order_by("-created_at", "-pk")

    def runs_of_study(self, study_id: int, user: User | None) -> QuerySet[Run] | None:
        """The runs of its items."""
        studies = Study.objects.all() if user is None else Study.objects.listed_for(user)
        study = studies.filter(pk=study_id).first()
        return None if study is None else Run.objects.filter(study_items__study=study)


def _references(ids: list[UUID]) -> dict[UUID, bool]:
    """Whether the reference verdict is a success. What cannot be executed is neither."""
    decided = ReferenceVerdict.objects.filter(run__in=ids, is_authoritative=True).exclude(
        verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE
    )
    success = ReferenceVerdict.Verdict.SUCCESS
    return {run: said == success for run, said in decided.values_list("run", "verdict")}


def _evaluations(ids: list[UUID]) -> dict[UUID, dict[str, bool]]:
    """The newest verdict of each evaluator, by its name, whatever its version."""
    said: dict[UUID, dict[str, bool]] = defaultdict(dict)
    current = Evaluation.objects.filter(run__in=ids, is_current=True, verdict__in=DECIDED)
    newest_last = current.order_by("created_at").values_list("run", "evaluator__name", "verdict")
    for run, name, said_last in newest_last:
        said[run][name] = said_last == Evaluation.Verdict.PASSED
    return said


def _causes(ids: list[UUID], user: User | None) -> dict[UUID, set[str]]:
    """Causes in labels that the person may read."""
    labels = Label.objects.filter(item__run__in=ids)
    if user is not None:
        labels = labels.filter(Exists(items_with_open_labels(user).filter(pk=OuterRef("item"))))
    marked: dict[UUID, set[str]] = defaultdict(set)
    for run, causes in labels.values_list("item__run", "causes"):
        marked[run].update(str(cause) for cause in causes)
    return marked


NO_VERDICT = ""


class ReferenceVerdictColumn:
    """Column and filter `reference`: NULL where the viewer is blind, "" where there is none."""

    def annotate(self, runs: RunQuerySet[Run]) -> RunQuerySet[Run]:
        settled = ReferenceVerdict.objects.filter(run=OuterRef("pk"), is_authoritative=True)
        known = Coalesce(Subquery(settled.values("verdict")[:1]), Value(NO_VERDICT))
        return runs.annotate(
            shown_reference=Case(
                When(is_blind=True, then=Value(None)), default=known, output_field=CharField()
            )
        )

    def columns(self) -> list[tuple[str, django_tables2.Column]]:
        column = _VerdictColumn(
            verbose_name=_("reference"),
            accessor="shown_reference",
            empty_values=(),
            orderable=False,
            attrs={"td": {"data-label": _("reference")}},
        )
        return [("reference", column)]

    def filters(self) -> dict[str, Filter]:
        return {"reference": _VerdictFilter(label=_("reference"))}

    def choices(self) -> dict[str, Choices]:
        return {"reference": lambda: ReferenceVerdict.Verdict.choices}


class _VerdictFilter(WordsFilter):
    """Runs whose shown reference verdict is one of the words, found from the verdicts.

    Those are few beside the runs, of each of which the annotation would have to be worked out.
    Joined and not looked for in a list of them: a run has one authoritative verdict at most, so
    that none comes twice, and the database stops as soon as it has found enough.
    """

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        if not value:
            return qs
        settled = FilteredRelation("verdicts", condition=Q(verdicts__is_authoritative=True))
        found: QuerySet[Any] = qs.annotate(settled=settled)
        found = found.filter(is_blind=False, settled__verdict__in=value)
        undated = ReferenceVerdict.objects.filter(is_authoritative=True, run_created_at=None)
        if not undated.exists():  # an older version, at work beside this one, stores none
            # In their order by an index of theirs; else thousands are read for the newest fifty.
            age, key = (F(f"settled__{name}") for name in ("run_created_at", "run_id"))
            found = found.annotate(**dict(zip(AGE_ELSEWHERE, (age, key), strict=True)))
        return found


class _VerdictColumn(django_tables2.Column):
    def render(self, value: str | None) -> SafeString | str:
        return "" if value == NO_VERDICT else verdict(value)


def deletion_reasons() -> list[Reason]:
    """Runs that people judge or judged. Labels, disputes and causes hang on the study's item.

    Runs to which anybody may be blinded are kept by reasons that say nothing of what is hidden: so
    neither a count of kept runs nor the list of archived ones depends on it.
    """
    in_study = Q(Exists(StudyItem.objects.filter(run=OuterRef("pk")))) | Q(
        Exists(ReferenceVerdict.objects.filter(run=OuterRef("pk")))
    )
    reviewed = Q(Exists(FailureReview.objects.filter(run=OuterRef("pk"))))
    tagged = Q(Exists(FailureCauseTag.objects.filter(run=OuterRef("pk"))))
    return [
        Reason(_("part of a study, with its labels and verdicts"), in_study),
        Reason(_("people still judge a run that it repeats or that repeats it"), under_judgement()),
        Reason(_("people reviewed how it failed"), reviewed),
        Reason(_("people tagged why it failed"), tagged),
    ]


def address(page: str, args: Sequence[object]) -> str:
    """Where a page of this app lies."""
    return reverse(f"judging:{page}", args=args)


_FIGURES = ("runs.view_experiment", AUDIT)
TAKES: Mapping[str, Sequence[str]] = {
    LinkedPage.LOAD_DEMO: ("runs.import_run", "judging.add_study"),
    LinkedPage.NEW_STUDY: ("judging.add_study",),
    LinkedPage.AUDITS: (AUDIT,),
    LinkedPage.EVALUATE_RUNS: (AUDIT, EVALUATE),
    LinkedPage.REPLICATIONS: _FIGURES,
    LinkedPage.EXPERIMENT: _FIGURES,
    LinkedPage.HINT_REPORT: _FIGURES,
    LinkedPage.WRITE_HINTS: (*_FIGURES, "runs.add_hint"),
    LinkedPage.IMPORT_LABELS: ("runs.import_run", "judging.change_study"),
    LinkedPage.MILESTONE_PROPOSALS: ("runs.change_task", AUDIT, EVALUATE),
}
"""The permissions that a page takes, where it takes any."""


def may_open(user: User, page: str) -> bool:
    """Whether the person has them."""
    return user.has_perms(TAKES.get(page, ()))


EXTENSION = Extension(
    policy=StudyPolicy(),
    verdicts=StoredVerdicts(),
    run_list=ReferenceVerdictColumn(),
    judgements=RerunFacts(),
    address=address,
    may_open=may_open,
    deletion_reasons=deletion_reasons,
    invariants=invariants,
)
