"""What is known of one run, for one person: labels, reference verdict, evaluators, progress."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from judging.analysis.audits.explanations import Explanation
from judging.analysis.audits.matrices import cell_under
from judging.analysis.audits.population import FAILURE, SUCCESS, shown
from judging.analysis.progress.sources import ticked_progress
from judging.evaluators.milestones import StoredFinding, StoredRates, stored_progress
from judging.models import (
    Assignment,
    Evaluation,
    EvaluatorVersion,
    Label,
    ReferenceVerdict,
    StudyItem,
)
from judging.studies.access import AUDIT
from judging.studies.blinding import items_with_open_labels
from runs.catalogue.milestones.definitions import definitions_of
from runs.models import Run, User
from webagent.milestones.findings import Definition, Finding, Progress, digest_of


class EvaluatorLine:
    """One evaluator's verdict on the run; `cell` is "" where there is no reference verdict."""

    def __init__(
        self, evaluation: Evaluation, reference: str, earlier: Sequence[Evaluation]
    ) -> None:
        self.evaluation = evaluation
        self.cell = cell_of(reference, evaluation.verdict)
        self.explanation = Explanation(evaluation)
        self.earlier = earlier
        """What the same version said before it was asked again, newest first."""


class RunJudgements:
    """Everything of a run got by `visible_to(user)` that the person may see, and nothing else.

    Args:
        study_id: the study whose reference verdict decides the cells; the authoritative one
            where it has none.
    """

    def __init__(self, run: Run, user: User, study_id: int | None = None) -> None:
        self.run = run
        self.is_blind = is_blind = run.is_blind
        self.reads_audits = not is_blind and user.has_perm(AUDIT)
        self.own_labels = list(_own_labels(run, user)) if is_blind else []
        """The person's own, while they are blind."""
        self.references = [] if is_blind else _references(run, study_id)
        self.labels = [] if is_blind else list(_open_labels(run, user))
        reference = self.references[0].verdict if self.references else ""
        self.evaluators = _evaluators(run, reference) if self.reads_audits else []

    @property
    def links_experiment(self) -> bool:
        """Whether the person may go on to the figures of the run's experiment, if it has one."""
        return self.reads_audits and shows_experiment(self.run)


def shows_experiment(run: Run) -> bool:
    """Whether a run got by `visible_to(user)` has an experiment that the person may know."""
    return run.experiment_id is not None and not run.is_anonymous


def opened_items(judgements: RunJudgements) -> list[StudyItem]:
    """The items whose labels or verdicts are shown, so that it can be recorded who saw them."""
    opened = [verdict.item for verdict in judgements.references]
    opened += [label.item for label in judgements.labels]
    return list({item.pk: item for item in opened}.values())


def _references(run: Run, study_id: int | None) -> list[ReferenceVerdict]:
    """Reference verdicts, the one that decides the cells first."""
    found = list(run.verdicts.select_related("item__study", "decided_by"))
    return sorted(
        found, key=lambda verdict: (verdict.item.study_id != study_id, not verdict.is_authoritative)
    )


def _own_labels(run: Run, user: User) -> QuerySet[Label]:
    """The person's first labels; none while a hidden second look at the run is under way."""
    again = Assignment.objects.filter(
        user=user, item__run=run, is_repeat=True, state=Assignment.State.LEASED
    )
    if again.exists():
        return Label.objects.none()
    own = Label.objects.filter(annotator=user, item__run=run, is_repeat=False)
    return own.select_related("item__study").prefetch_related("ticks__milestone")


def _open_labels(run: Run, user: User) -> QuerySet[Label]:
    items = items_with_open_labels(user).filter(run=run)
    return (
        Label.objects.filter(item__in=items.values("pk"), is_repeat=False)
        .select_related("annotator", "item__study")
        .prefetch_related("ticks__milestone")
        .order_by("item__study", "submitted_at")
    )


def _evaluators(run: Run, reference: str) -> list[EvaluatorLine]:
    said = run.evaluations.exclude(evaluator__kind=EvaluatorVersion.Kind.MODES)
    evaluations = said.filter(is_current=True).select_related("evaluator")
    earlier = defaultdict(list)
    for each in said.filter(is_current=False).order_by("-created_at", "pk"):
        earlier[each.evaluator_id].append(each)
    listed = evaluations.order_by("evaluator__name", "evaluator__version")
    return [EvaluatorLine(each, reference, earlier[each.evaluator_id]) for each in listed]


def cell_of(reference: str, verdict: str) -> str:
    """The cell of the confusion matrix as it is shown; empty where the reference is neither."""
    if reference not in (SUCCESS, FAILURE):
        return ""
    return shown(cell_under(reference, verdict))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The progress that one source sees, in percent, and what it says of each milestone."""

    label: str
    progress: Progress | StoredRates
    milestones: Sequence[Finding | StoredFinding]
    not_told: Sequence[str] = ()
    """Milestones that the source could say nothing of; the rates are over the others."""

    def drawn(self) -> dict[str, object]:
        """What the script needs to draw it."""
        return {
            "label": self.label,
            "rates": list(self.progress.by_step),
            "milestones": [
                {"name": one.name, "at": at, "lost": lost}
                for one in self.milestones
                for at, lost in ((one.achieved_at, one.lost_at), *one.regained)
            ],
        }


def curves_of(judgements: RunJudgements) -> list[Curve]:
    """All curves that may be shown to whoever the judgements were read for.

    Evaluators first, then people; who is blind sees the curve of their own ticks alone. What was
    measured by milestones that the task no longer has is left out.
    """
    run = judgements.run
    milestones = definitions_of(run.task)
    curves = list(_evaluated([line.evaluation for line in judgements.evaluators], milestones))
    own = [(label, _("Your ticks")) for label in judgements.own_labels]
    others = [
        (label, _("Ticks by %(who)s") % {"who": label.annotator}) for label in judgements.labels
    ]
    return curves + list(_ticked(run, [*own, *others], milestones))


def _evaluated(
    evaluations: Sequence[Evaluation], milestones: Sequence[Definition]
) -> Iterator[Curve]:
    digest = digest_of(milestones)
    for evaluation in evaluations:
        stored = stored_progress(evaluation.details)
        if stored is not None and stored.milestones_hash == digest:
            known = {one.name for one in stored.milestones}
            yield Curve(
                label=evaluation.evaluator.shown,
                progress=stored.progress,
                milestones=stored.milestones,
                not_told=[one.name for one in milestones if one.name not in known],
            )


def _ticked(
    run: Run, labels: Sequence[tuple[Label, str]], milestones: Sequence[Definition]
) -> Iterator[Curve]:
    for label, words in labels:
        found = ticked_progress(label, milestones, run.n_steps)
        if found is not None:
            findings, progress = found
            yield Curve(label=words, progress=progress, milestones=findings)
