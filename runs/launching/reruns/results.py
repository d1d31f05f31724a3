"""What came of reruns: better, same or worse than the runs that they repeat."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import TextChoices
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.interface.listing import listed
from runs.models import Run, User
from runs.models.extension import extension

OUTCOMES = {Run.Outcome.SUCCESS.value: True, Run.Outcome.FAILURE.value: False}


class Result(TextChoices):
    """A rerun beside its original."""

    BETTER = "better", gettext_lazy("better")
    SAME = "same", gettext_lazy("same")
    WORSE = "worse", gettext_lazy("worse")
    MIXED = "mixed", gettext_lazy("mixed")


@dataclass(frozen=True, slots=True)
class RerunResult:
    """The run that was repeated; where some source judges both, the result and whose verdicts."""

    original: UUID
    result: Result | None = None
    sources: str = ""

    @property
    def badge(self) -> str:
        """The result in a word, if there is one; on hover, whose verdicts were compared."""
        if self.result is None:
            return ""
        title = _("Compared by %(sources)s") % {"sources": self.sources}
        return format_html(
            '<span class="result {}" title="{}">{}</span>', self.result, title, self.result.label
        )


def results_of(runs: Iterable[Run], user: User) -> dict[UUID, RerunResult]:
    """By rerun that has ended. A constant number of queries.

    Args:
        runs: of `visible_to`. Those on which the person is blind are left out, and so are reruns
            of runs that are hidden from them.
    """
    reruns = [run for run in runs if run.rerun_of_id and run.ended_at and not run.is_blind]
    if not reruns:
        return {}
    keys = [run.rerun_of_id for run in reruns if run.rerun_of_id]
    originals = {run.pk: run for run in Run.objects.visible_to(user, keys).not_blind()}
    verdicts = evaluations_of([*reruns, *originals.values()], user)
    return {
        run.pk: result_of(run, originals[run.rerun_of_id], verdicts)
        for run in reruns
        if run.rerun_of_id in originals
    }


def result_of(
    rerun: Run, original: Run, verdicts: Mapping[UUID, Mapping[str, bool]]
) -> RerunResult:
    """By verdicts of evaluators and outcomes of both; the person is blind on neither."""
    then, now = ({**verdicts[run.pk], **_outcome_of(run)} for run in (original, rerun))
    both = sorted(then.keys() & now.keys())
    if not both:
        return RerunResult(original.pk)
    result = compare([(then[name], now[name]) for name in both])
    return RerunResult(original.pk, result, listed(both))


def _outcome_of(run: Run) -> dict[str, bool]:
    outcome = OUTCOMES.get(run.shown_outcome or "")
    return {} if outcome is None else {_("outcome"): outcome}


def compare(pairs: Iterable[tuple[bool, bool]]) -> Result:
    """Of verdicts before and after: mixed where one improved and another got worse."""
    changes = {now - then for then, now in pairs} - {0}
    if len(changes) > 1:
        return Result.MIXED
    return {1: Result.BETTER, -1: Result.WORSE}.get(next(iter(changes), 0), Result.SAME)


def evaluations_of(runs: Iterable[Run], user: User) -> dict[UUID, dict[str, bool]]:
    """What evaluators of success said, by run and their names. A constant number of queries.

    Args:
        runs: of `visible_to`, without those on which the person is blind.

    Empty for whoever may not read what evaluators said.
    """
    runs = list(runs)
    judgements = extension().judgements
    if not judgements.may_read(user):
        return {run.pk: {} for run in runs}
    of_success = {name for name, _words in judgements.evaluators()}
    known = judgements.of([run.pk for run in runs], user)
    found: dict[UUID, dict[str, bool]] = {}
    for run in runs:
        said = known[run.pk].evaluators if run.pk in known else {}
        found[run.pk] = {name: passed for name, passed in said.items() if name in of_success}
    return found
