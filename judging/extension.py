"""What judging adds to runs; registered in `judging.apps`."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from judging.analysis.rerun_facts import RerunFacts
from judging.models import FailureCauseTag, FailureReview, ReferenceVerdict, StudyItem
from judging.portability.judgements.extension import StoredVerdicts
from judging.studies.blinding import StudyPolicy, under_judgement
from judging.studies.integrity import invariants
from judging.studies.run_list import ReferenceVerdictColumn
from runs.operations.integrity.contract import Invariant
from runs.operations.retention.deletion_guards import Reason


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
        Reason(_("people said how it failed"), reviewed),
        Reason(_("people said why it failed"), tagged),
    ]


class JudgingExtension:
    """The `runs.extension.Extension` of this app."""

    policy = StudyPolicy()
    verdicts = StoredVerdicts()
    run_list = ReferenceVerdictColumn()
    judgements = RerunFacts()

    def deletion_reasons(self) -> Sequence[Reason]:
        return deletion_reasons()

    def invariants(self) -> Sequence[Invariant]:
        return list(invariants())
