"""Progress of one run as everybody who spoke of it sees it: the curves above its scrubber."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from judging.analysis.audits.judgements import RunJudgements
from judging.analysis.progress.sources import ticked_progress
from judging.evaluators.milestones import StoredFinding, StoredRates, stored_progress
from judging.models import Evaluation, Label
from runs.catalogue.milestones.definitions import definitions_of
from runs.models import Run
from webagent.milestones.findings import Definition, Finding, Progress, digest_of


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
