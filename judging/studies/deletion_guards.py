"""What judgements want kept: `runs.operations.retention.deletion_guards` asks."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from judging.models import FailureCauseTag, FailureReview, ReferenceVerdict, StudyItem
from judging.studies.blinding.policy import under_judgement
from runs.operations.retention.deletion_guards import Reason


class OfJudgements:
    """Runs that people judge or judged. Labels, disputes and causes hang on the study's item.

    Runs to which anybody may be blinded are kept by reasons that say nothing of what is hidden: so
    neither a count of kept runs nor the list of archived ones depends on it.
    """

    def reasons(self) -> Sequence[Reason]:
        in_study = Q(Exists(StudyItem.objects.filter(run=OuterRef("pk")))) | Q(
            Exists(ReferenceVerdict.objects.filter(run=OuterRef("pk")))
        )
        reviewed = Q(Exists(FailureReview.objects.filter(run=OuterRef("pk"))))
        tagged = Q(Exists(FailureCauseTag.objects.filter(run=OuterRef("pk"))))
        return [
            Reason(_("part of a study, with its labels and verdicts"), in_study),
            Reason(
                _("people still judge a run that it repeats or that repeats it"), under_judgement()
            ),
            Reason(_("people said how it failed"), reviewed),
            Reason(_("people said why it failed"), tagged),
        ]
